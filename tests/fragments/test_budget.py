"""How much is merged in one run: counted by value, over all files, and stopped when it is asked to stop."""

import pytest

from plughost.errors import FragmentError
from plughost.fragments import budget, combine
from plughost.fragments.budget import TEXT_VALUES, VALUES_LIMIT, Budget
from plughost.fragments.structure import Text
from tests.fragments.offering import MERGE, offer

TEXT = Text("one", "a.yml", "")


class Stop(Exception):
    pass


class Stopping:
    """A check that raises *error* when it is called for the *last* time."""

    def __init__(self, last, error=None):
        self.calls, self.last, self.error = 0, last, error or Stop()

    def __call__(self):
        self.calls += 1
        if self.calls == self.last:
            raise self.error


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_budget_is_spent_to_the_value(over):
    found = Budget()
    for _ in range(3):
        found.foresee(TEXT, VALUES_LIMIT)
    found.spend(TEXT)
    if over > 0:
        with pytest.raises(FragmentError, match=str(VALUES_LIMIT)):
            found.spend(TEXT, VALUES_LIMIT - 1 + over)
    else:
        found.spend(TEXT, VALUES_LIMIT - 1 + over)


@pytest.mark.parametrize(
    ("path", "text", "values"),
    [
        ("a.yml", "1", 1),
        ("a.yml", "[]", 1),
        ("a.yml", "a: {b: [1, x, ~]}", 8),
        ("a.json", "1", 1),
        ("a.json", "[]", 1),
        ("a.json", '{"a": {"b": [1, "x", null]}}', 8),
        ("a.json", "[[], {}, 1.5, true]", 5),
    ],
)
def test_values_and_keys_are_counted_alike_in_both_formats(path, text, values, monkeypatch):
    monkeypatch.setattr(budget, "VALUES_LIMIT", TEXT_VALUES + values)
    assert combine([offer("one", path, text, MERGE)])
    monkeypatch.setattr(budget, "VALUES_LIMIT", TEXT_VALUES + values - 1)
    with pytest.raises(FragmentError, match=str(TEXT_VALUES + values - 1)):
        combine([offer("one", path, text, MERGE)])


def test_the_values_of_all_files_and_texts_of_a_run_count_together(monkeypatch):
    texts = [offer("one", "a.yml", "[1]", MERGE), offer("two", "a.yml", "[2]", MERGE)]
    last = offer("three", "b.json", "[1]", MERGE)
    monkeypatch.setattr(budget, "VALUES_LIMIT", 3 * TEXT_VALUES + 6)
    assert len(combine([*texts, last])) == 2
    monkeypatch.setattr(budget, "VALUES_LIMIT", 3 * TEXT_VALUES + 5)
    with pytest.raises(FragmentError) as caught:
        combine([*texts, last])
    assert (caught.value.plugin, caught.value.path) == ("three", "b.json")


def test_a_list_that_is_too_long_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(budget, "VALUES_LIMIT", 1_000)
    check = Stopping(0)
    with pytest.raises(FragmentError, match="1000"):
        combine([offer("one", "a.yml", "[" + "1," * 60_000 + "]", MERGE)], check=check)
    assert check.calls <= 1_001


def test_what_is_not_merged_is_not_counted(monkeypatch):
    monkeypatch.setattr(budget, "VALUES_LIMIT", 1)
    assert combine([offer("one", "a.yml", "[1, 2, 3]")])


@pytest.mark.parametrize("path", ["a.yml", "a.json"])
@pytest.mark.parametrize("error", [Stop(), KeyboardInterrupt()], ids=["exception", "interrupt"])
def test_what_the_check_raises_comes_out_wherever_it_is_raised(path, error):
    offers = [offer("one", path, "[1, [2]]", MERGE), offer("two", path, "[3]", MERGE)]
    counting = Stopping(0)
    whole = combine(offers, check=counting)
    assert counting.calls >= 8
    for last in range(1, counting.calls + 1):
        with pytest.raises(type(error)) as caught:
            combine(offers, check=Stopping(last, error))
        assert caught.value is error
    assert combine(offers, check=Stopping(counting.calls + 1, error)) == whole


def test_thousands_of_texts_with_an_item_each_are_one_list(monkeypatch):
    monkeypatch.setattr(budget, "VALUES_LIMIT", 100_000)
    offers = [offer("one", "a.json", f"[{number}]", MERGE) for number in range(10_000)]
    (found,) = combine(offers)
    assert found.content.count(b"\n") == 10_002
