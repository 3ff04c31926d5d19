"""Questions of plugins to the operator, answered, answered wrongly, given up, and asked by liars."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from plughost.host.envelope.options import Question
from tests.host.envelope.lab import Lab, outcome

# Counts how often each file is transformed, and asks in the middle of the second of three.
COUNTS = """
def transform(self, path, ctx):
    with path.open("a") as file:
        file.write("+")
    if path.name == "b.txt" and "colour" not in ctx.extra_inputs:
        raise PluginInputRequired([field("colour", "Colour?")], "needed for b")
    if path.name == "b.txt":
        path.write_text(path.read_text() + ctx.extra_inputs["colour"])
"""


class Operator:
    """Gives prepared answers, one after the other, and remembers the questions."""

    def __init__(self, *answers: Any) -> None:
        self.questions: list[Question] = []
        self._answers = list(answers)

    def __call__(self, question: Question) -> Any:
        self.questions.append(question)
        return self._answers.pop(0) if self._answers else None


def asking(fields: str, use: str = "path.write_text(json.dumps(ctx.extra_inputs))") -> str:
    return f"""
def transform(self, path, ctx):
    if not ctx.extra_inputs:
        raise PluginInputRequired([{fields}], "needed")
    {use}
"""


@pytest.mark.requirement("envelope:input:resume")
def test_a_resumed_plugin_gets_the_file_that_asked_and_those_behind_it_and_none_twice(both: Lab) -> None:
    both.write({"a.txt": "", "b.txt": "", "c.txt": ""})
    operator = Operator({"colour": "blue"})
    entry = both.one(both.plugin("counts", COUNTS), ask=operator)
    assert entry.status == "success"
    assert [both.text(name) for name in ("a.txt", "b.txt", "c.txt")] == ["+", "++blue", "+"]
    assert [told.status for told in entry.per_file] == ["modified"] * 3
    (question,) = operator.questions
    assert (question.plugin, question.reason, question.round) == ("counts", "needed for b", 1)
    assert [field.label for field in question.fields] == ["Colour?"]
    assert entry.isolation.attempts == 2


@pytest.mark.requirement("envelope:input:resume")
@pytest.mark.parametrize("spelled", ["os.path.relpath(path, root)", "'./' + os.path.relpath(path, root)"])
def test_nor_is_a_file_done_twice_that_a_worker_reports_relative_to_the_root(both: Lab, spelled: str) -> None:
    both.write({"a.txt": "", "b.txt": "", "deep/c.txt": ""})
    deed = f"""
    told_of = []
    for path in files:
        if path.endswith("b.txt") and not told["extra_inputs"]:
            told_of.append({{"path": {spelled}, "status": "input_required"}})
            asked = {{"fields": [{{"id": "who", "label": "Who?", "required": True}}], "reason": "needed"}}
            answer(2, result="input_required", per_file=told_of, input_required=asked)
        with open(path, "a") as file:
            file.write("+")
        told_of.append({{"path": {spelled}, "status": "modified"}})
    answer(result="success", per_file=told_of)
    """
    entry = both.one(both.raw("counts", deed), ask=Operator({"who": "me"}))
    assert entry.status == "success"
    assert [both.text(name) for name in ("a.txt", "b.txt", "deep/c.txt")] == ["+"] * 3
    assert [(told.path, told.status) for told in entry.per_file] == [
        (name, "modified") for name in ("a.txt", "b.txt", "deep/c.txt")
    ]
    assert entry.warnings == []


def test_answers_accumulate_over_rounds(both: Lab) -> None:
    twice = both.plugin(
        "twice",
        """
        def transform(self, path, ctx):
            for name in ("first", "second", "third"):
                if name not in ctx.extra_inputs:
                    raise PluginInputRequired([field(name, name)], name)
            path.write_text(json.dumps(ctx.extra_inputs))
        """,
    )
    operator = Operator({"first": "1"}, {"second": "2"}, {"third": "3"})
    assert both.one(twice, ask=operator).status == "success"
    assert both.text("a.txt") == '{"first": "1", "second": "2", "third": "3"}'
    assert [question.round for question in operator.questions] == [1, 2, 3]


@pytest.mark.requirement("envelope:input:resume")
@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "hook",
    ["pre_transform_all(self, ctx)", "post_transform_all(self, ctx)", "can_handle(self, path, variables)"],
)
def test_every_hook_may_ask_and_no_file_is_done_twice(hook: str, lab: Lab) -> None:
    lab.write({"a.txt": "", "b.txt": ""})
    known = "ctx.extra_inputs" if "ctx" in hook else "self.told"
    asks = lab.plugin(
        "asks",
        f"""
        told = {{}}

        def pre_transform_all(self, ctx):
            self.told.update(ctx.extra_inputs)

        def transform(self, path, ctx):
            with path.open("a") as file:
                file.write("+")

        def {hook}:
            if not {known}:
                raise PluginInputRequired([field("word", "Word?")], "needed")
            return True
        """,
    )
    assert lab.one(asks, ask=Operator({"word": "x"})).status == "success"
    assert (lab.text("a.txt"), lab.text("b.txt")) == ("+", "+")


def test_a_preview_may_ask_too(lab: Lab) -> None:
    asks = lab.plugin(
        "asks",
        """
        def describe_changes(self, path, ctx):
            if not ctx.extra_inputs:
                raise PluginInputRequired([field("word", "Word?")], "needed")
            return [FileChange(path, "modify", ctx.extra_inputs["word"])]
        """,
    )
    entry = lab.one(asks, dry_run=True, ask=Operator({"word": "said"}))
    assert entry.per_file[0].changes[0]["summary"] == "said"


@pytest.mark.requirement("envelope:input:resume")
def test_a_plugin_that_asks_without_end_fails_after_ten_rounds(both: Lab) -> None:
    endless = both.plugin(
        "endless",
        "def transform(self, path, ctx):\n"
        "    path.write_text('x'); raise PluginInputRequired([field(f'f{len(ctx.extra_inputs)}', 'F?')], 'more')",
    )
    asked = []
    entry = both.one(endless, ask=lambda question: asked.append(question) or {question.fields[0].id: "x"})
    assert (entry.status, len(asked), entry.isolation.attempts) == ("failed", 10, 11)
    assert both.text("a.txt") == "a\n"


FIELDS = """
    field("s", "S"), field("t", "T", "text"), field("d", "D", "date"), field("b", "B", "boolean"),
    field("c", "C", "choice", options=["red", "green"]), field("o", "O", required=False),
    field("e", "E", default="given")
"""
RIGHT = {"s": "one", "t": "two\nlines", "d": "2026-01-31", "b": "yes", "c": "red"}


@pytest.mark.requirement("envelope:input:validated")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "wrong",
    [
        {"s": ""},
        {"s": "two\nlines"},
        {"s": 5},
        {"d": "31.1.2026"},
        {"b": "perhaps"},
        {"c": "blue"},
        {"unknown": "x"},
        {"t": "x" * 100_001},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_wrong_answers_are_asked_for_again_and_no_worker_sees_them(wrong: dict[str, Any], lab: Lab) -> None:
    operator = Operator({**RIGHT, **wrong}, RIGHT)
    entry = lab.one(lab.plugin("asks", asking(FIELDS)), ask=operator)
    assert entry.status == "success"
    assert lab.text("a.txt") == (
        '{"s": "one", "t": "two\\nlines", "d": "2026-01-31", "b": true, "c": "red", "e": "given"}'
    )
    assert not operator.questions[0].problems
    assert operator.questions[1].problems
    assert entry.isolation.attempts == 2


def test_ten_wrong_answers_are_enough(lab: Lab) -> None:
    asked = []
    entry = lab.one(
        lab.plugin("asks", asking("field('a', 'A')")), ask=lambda question: asked.append(question) or {}
    )
    assert (entry.status, len(asked)) == ("failed", 10)


@pytest.mark.parametrize("answer", ["\ud800", "x" * 99_000])
def test_an_answer_that_cannot_be_sent_fails_the_plugin_and_nothing_else(answer: str, lab: Lab) -> None:
    asks, other = (
        lab.plugin("asks", asking("field('a', 'A')", "path.write_text('fine')")),
        lab.plugin("zz-other"),
    )
    first, second = lab.run(
        asks, other, answers={"a": answer}, variables={"v": "x" * 1_000_000}
    ).plugins_applied
    assert (first.status, second.status) == ("failed", "success")
    assert lab.text("a.txt") == "a\nzz-other\n"


@pytest.mark.requirement("envelope:input:validated")
def test_answers_given_beforehand_are_not_asked_for_unless_they_are_wrong(lab: Lab) -> None:
    asks = lab.plugin("asks", asking(FIELDS))
    operator, given = Operator(), {**RIGHT, "o": "", "e": "mine"}
    assert lab.one(asks, answers={**given, "other": "for another"}, ask=operator).status == "success"
    assert not operator.questions
    operator = Operator({"c": "green"})
    assert lab.one(asks, answers={**given, "c": "blue"}, ask=operator).status == "success"
    assert '"c": "green"' in lab.text("a.txt")
    assert operator.questions[0].problems


def asked(operator: Operator) -> list[list[str]]:
    return [[field.id for field in question.fields] for question in operator.questions]


@pytest.mark.requirement("envelope:input:validated")
def test_only_what_is_not_answered_beforehand_is_asked_for(both: Lab) -> None:
    asks = both.plugin("asks", asking(FIELDS))
    operator = Operator({"c": "green", "o": "", "e": ""})
    given = {name: RIGHT[name] for name in "stdb"}
    assert both.one(asks, answers=given, ask=operator).status == "success"
    assert asked(operator) == [["c", "o", "e"]]
    assert not operator.questions[0].problems
    assert json.loads(both.text("a.txt")) == {**RIGHT, "b": True, "c": "green", "e": "given"}


@pytest.mark.requirement("envelope:input:validated")
def test_what_fits_is_not_asked_for_again_when_something_else_does_not(lab: Lab) -> None:
    operator = Operator({**RIGHT, "d": "soon", "c": "blue"}, {"d": "2026-02-01", "c": "blue"}, {"c": "green"})
    assert lab.one(lab.plugin("asks", asking(FIELDS)), ask=operator).status == "success"
    assert asked(operator) == [list("stdbcoe"), ["d", "c"], ["c"]]
    assert json.loads(lab.text("a.txt")) == {
        **RIGHT,
        "d": "2026-02-01",
        "b": True,
        "c": "green",
        "e": "given",
    }


def test_nothing_does_not_take_the_place_of_an_answer_but_another_answer_does(lab: Lab) -> None:
    asks = lab.plugin("asks", asking('field("s", "S"), field("t", "T"), field("e", "E")'))
    operator = Operator({"s": "", "t": "other", "e": "new"})
    assert lab.one(asks, answers={"s": "given", "t": "given"}, ask=operator).status == "success"
    assert asked(operator) == [["e"]]
    assert json.loads(lab.text("a.txt")) == {"s": "given", "t": "other", "e": "new"}


def test_nothing_takes_the_default_in_place_of_an_answer_that_does_not_fit(lab: Lab) -> None:
    asks = lab.plugin("asks", asking('field("c", "C", "choice", options=["red", "green"], default="red")'))
    operator = Operator({"c": ""})
    assert lab.one(asks, answers={"c": "blue"}, ask=operator).status == "success"
    assert json.loads(lab.text("a.txt")) == {"c": "red"}


def test_of_answers_to_what_was_not_asked_none_is_taken(lab: Lab) -> None:
    operator = Operator({"s": "one", "misspelt": "x"}, {"s": "two", "o": "x"})
    asks = lab.plugin("asks", asking('field("s", "S"), field("o", "O", required=False)'))
    assert lab.one(asks, ask=operator).status == "success"
    assert asked(operator) == [["s", "o"], ["s", "o"]]
    assert json.loads(lab.text("a.txt")) == {"s": "two", "o": "x"}


def test_a_default_is_offered_to_whoever_is_there_and_taken_where_nobody_is(lab: Lab) -> None:
    asks = lab.plugin("asks", asking('field("e", "E", default="given")'))
    operator = Operator({"e": ""})
    assert lab.one(asks, ask=operator).status == "success"
    assert [field.default for field in operator.questions[0].fields] == ["given"]
    assert lab.text("a.txt") == '{"e": "given"}'
    lab.write({"a.txt": ""})
    assert lab.one(asks).status == "success"
    assert lab.text("a.txt") == '{"e": "given"}'


def test_without_anybody_to_ask_the_plugin_fails_with_what_is_missing(both: Lab) -> None:
    entry = both.one(both.plugin("asks", asking("field('colour', 'Colour?')", "pass")))
    assert entry.status == "failed"
    assert entry.error is not None
    assert "colour" in entry.error
    assert both.text("a.txt") == "a\n"


@pytest.mark.requirement("envelope:input:resume", "envelope:tree:undone")
def test_an_operator_who_gives_up_aborts_the_pass_which_is_recorded_and_undone(both: Lab) -> None:
    both.write({"b.txt": "", "c.txt": ""})
    before = both.portrait()
    result = both.run(both.plugin("a-counts", COUNTS), both.plugin("b-later"), ask=Operator())
    assert result.aborted
    assert result.to_dict()["not_run"] == ["b-later"]
    assert not result.ok
    assert [entry.status for entry in result.plugins_applied] == ["aborted"]
    assert [(entry["plugin"], outcome(entry)) for entry in both.entries] == [("a-counts", "aborted")]
    assert both.portrait() == before


def test_an_operator_who_does_not_answer_in_time_has_given_up(lab: Lab) -> None:
    never = threading.Event()
    result = lab.run(
        lab.plugin("asks", asking("field('a', 'A')")), ask=lambda _: never.wait(200), input_timeout_s=0.1
    )
    never.set()
    assert result.aborted
    assert result.not_run == ()  # it was the last


async def test_nor_one_who_is_asked_asynchronously(lab: Lab) -> None:
    async def ask(question: Question) -> Any:
        await asyncio.Event().wait()

    result = await lab.arun(lab.plugin("asks", asking("field('a', 'A')")), ask=ask, input_timeout_s=0.1)
    assert result.aborted


async def test_an_asynchronous_answer_is_awaited(lab: Lab) -> None:
    async def ask(question: Question) -> Any:
        await asyncio.sleep(0)
        return {"a": "later"}

    result = await lab.arun(lab.plugin("asks", asking("field('a', 'A')")), ask=ask)
    assert result.ok
    assert lab.text("a.txt") == '{"a": "later"}'


# Liars

FORGED: dict[str, Callable[[], str]] = {
    "a password": lambda: '[{"id": "p", "label": "Your password", "type": "password"}]',
    "nothing": lambda: "[]",
    "the same twice": lambda: '[{"id": "p"}, {"id": "p"}]',
    "without an id": lambda: '[{"label": "x"}]',
    "an id of blanks": lambda: '[{"id": "  "}]',
    "an id with an escape": lambda: '[{"id": "\\u001b[2J"}]',
    "a choice of nothing": lambda: '[{"id": "p", "type": "choice", "options": []}]',
    "a choice of objects": lambda: '[{"id": "p", "type": "choice", "options": [{}]}]',
    "a text for a list": lambda: '"p"',
    "51 fields": lambda: "[" + ", ".join(f'{{"id": "p{n}"}}' for n in range(51)) + "]",
    "a novel": lambda: '[{"id": "p", "hint": "' + "x" * 100_001 + '"}]',
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_question_that_may_not_be_asked_is_malformed_and_nobody_is_asked(
    forged: str, lab: Lab
) -> None:
    written = f'{{"result": "input_required", "per_file": [], "input_required": {{"fields": {FORGED[forged]()}}}}}\n'
    liar = lab.raw("liar", f"os.write(1, {written!r}.encode()) and os._exit(2)")
    operator = Operator()
    entry = lab.one(liar, ask=operator)
    assert entry.status == "failed"
    assert entry.failure is not None
    assert entry.failure.code == "malformed_response"
    assert not operator.questions


def test_a_forged_question_is_asked_under_the_plugins_own_name(both: Lab) -> None:
    liar = both.raw(
        "liar",
        "if told['extra_inputs']: answer(result='success')\n"
        "answer(2, result='input_required', input_required={'fields': [{'id': 'p', 'label': 'Password'}],"
        " 'reason': 'plughost asks', 'plugin': 'plughost'})",
    )
    operator = Operator({"p": "x"})
    assert both.one(liar, ask=operator).status == "skipped"
    assert [question.plugin for question in operator.questions] == ["liar"]


@pytest.mark.thin(3)
@pytest.mark.parametrize("code", [0, 1, 3])
def test_a_question_with_another_exit_code_is_not_asked(code: int, lab: Lab) -> None:
    liar = lab.raw(
        "liar", f"answer({code}, result='input_required', input_required={{'fields': [{{'id': 'p'}}]}})"
    )
    operator = Operator()
    assert lab.one(liar, ask=operator).status == "failed"
    assert not operator.questions


def test_a_liar_that_reports_its_files_as_done_is_only_given_the_rest(lab: Lab) -> None:
    lab.write({"b.txt": "", "c.txt": ""})
    liar = lab.raw(
        "liar",
        """
        if told["extra_inputs"]:
            open("given", "w").write(repr([os.path.basename(each) for each in files]))
            answer(result="success")
        done = [{"path": files[0], "status": "modified"}, {"path": "/etc/passwd", "status": "input_required"}]
        answer(2, result="input_required", input_required={"fields": [{"id": "p"}]}, per_file=done)
        """,
    )
    lab.one(liar, answers={"p": "x"})
    assert lab.text("given") == "['b.txt', 'c.txt']"


def test_a_plugin_that_looks_for_the_answers_among_its_variables_finds_them(both: Lab) -> None:
    asks = both.plugin(
        "asks",
        """
        def transform(self, path, ctx):
            colour = (ctx.variables.get("__extra_inputs__") or {}).get("colour")
            if not colour:
                raise PluginInputRequired([{"id": "colour", "label": "Colour?", "type": "string"}], "none")
            path.write_text(colour)
        """,
    )
    entry = both.one(asks, answers={"colour": "red"})
    assert (entry.status, entry.isolation.attempts) == ("success", 2)
    assert both.text("a.txt") == "red"
