"""Which plugins run, in which order, which of them at once, and what stops them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import plughost
from plughost.host.events import PluginApplied, PluginBegun
from tests.host.envelope.lab import Lab

FAILS = "def transform(self, path, ctx):\n    path.write_text('x'); raise PluginError('no')"


def statuses(result: Any) -> list[tuple[str, str]]:
    return [(entry.plugin, entry.status) for entry in result.plugins_applied]


@pytest.mark.requirement("envelope:order:listed-first")
def test_listed_plugins_run_first_and_the_others_by_name(both: Lab) -> None:
    plugins = [both.plugin(name) for name in ("delta", "alpha", "charlie", "bravo")]
    result = both.run(*plugins, order=["charlie", "delta"])
    assert both.text("a.txt") == "a\ncharlie\ndelta\nalpha\nbravo\n"
    assert [entry["plugin"] for entry in both.entries] == ["charlie", "delta", "alpha", "bravo"]
    assert result.ok
    begun = [event.plugin for event in both.events if isinstance(event.what, PluginBegun)]
    applied = [event.plugin for event in both.events if isinstance(event.what, PluginApplied)]
    assert begun == applied == ["charlie", "delta", "alpha", "bravo"]


@pytest.mark.requirement("envelope:order:listed-first")
@pytest.mark.thin(2)
@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize(
    "bad",
    [
        FAILS,
        "def transform(self, path, ctx):\n    os._exit(3)",
        "def transform(self, path, ctx):\n    Path('README.md').touch()",
    ],
    ids=["fails", "crashes", "violates"],
)
def test_a_failed_plugin_does_not_stop_the_rest_unless_the_pass_is_fatal(
    bad: str, jobs: int, lab: Lab
) -> None:
    lab.write({"b.csv": "b\n", "c.csv": "c\n"})
    plugins = [lab.plugin("a-bad", bad), lab.plugin("b-good", extensions=[".csv"])]
    result = lab.run(*plugins, jobs=jobs)
    assert statuses(result)[1] == ("b-good", "success")
    assert not result.aborted
    assert not result.ok
    result = lab.run(*plugins, jobs=jobs, fatal=True)
    assert [plugin for plugin, _ in statuses(result)] == ["a-bad"]
    assert result.aborted
    assert lab.text("b.csv") == "b\nb-good\n"


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_fatal_pass_whose_last_plugin_fails_was_not_stopped_for_all_have_run(jobs: int, lab: Lab) -> None:
    lab.write({"b.csv": ""})
    fails = lab.plugin("z-fails", "def transform(self, path, ctx):\n    raise PluginError('x')")
    for plugins in ([fails], [lab.plugin("a-good", extensions=[".csv"]), fails]):
        result = lab.run(*plugins, jobs=jobs, fatal=True)
        assert result.plugins_applied[-1].status == "failed"
        assert not result.aborted
        assert not result.ok


def test_a_plugin_that_has_nothing_to_do_does_not_stop_a_fatal_pass(lab: Lab) -> None:
    result = lab.run(lab.plugin("a-none", extensions=[".none"]), lab.plugin("b-good"), fatal=True)
    assert statuses(result) == [("a-none", "skipped"), ("b-good", "success")]


# At once


def together(lab: Lab, number: int, body: str = "") -> Path:
    """Return a plugin for files of its own kind."""
    lab.write({f"{number}.k{number}": f"{number}\n", f"sub/{number}.k{number}": f"{number}\n"})
    return lab.plugin(f"p{number}", body, extensions=[f".k{number}"])


@pytest.mark.requirement("envelope:record:truth")
def test_plugins_that_share_no_file_run_at_once_and_each_is_recorded_with_its_own(both: Lab) -> None:
    plugins = [together(both, number) for number in range(3)]
    result = both.run(*plugins, jobs=3)
    assert statuses(result) == [("p0", "success"), ("p1", "success"), ("p2", "success")]
    for number, entry in enumerate(result.plugins_applied):
        assert entry.files_affected == [f"{number}.k{number}", f"sub/{number}.k{number}"]
        assert entry.isolation.attempts == 1
    assert [entry["plugin"] for entry in both.entries] == ["p0", "p1", "p2"]
    names = [
        (event.name, event.plugin)
        for event in both.events
        if isinstance(event.what, PluginBegun | PluginApplied)
    ]
    assert [plugin for _, plugin in names] == ["p0", "p1", "p2", "p0", "p1", "p2"]


def test_plugins_that_share_a_file_take_turns(both: Lab) -> None:
    result = both.run(both.plugin("one"), both.plugin("two"), both.plugin("three"), jobs=3)
    assert result.ok
    assert both.text("a.txt") == "a\none\nthree\ntwo\n"


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("deed", "seen"),
    [
        ("Path('0.k0').write_text('stolen')", ["0.k0", "1.k1", "sub/1.k1"]),
        ("Path('made.new').touch()", ["1.k1", "made.new", "sub/1.k1"]),
        ("Path('0.k0').chmod(0o600)", ["0.k0", "1.k1", "sub/1.k1"]),
        ("Path('0.k0').rename('moved.k0')", ["1.k1", "moved.k0", "sub/1.k1"]),
        ("Path('x').write_text('stolen'); Path('x').replace('0.k0')", ["0.k0", "1.k1", "sub/1.k1"]),
    ],
)
def test_a_plugin_that_touches_what_is_anothers_is_found_and_the_record_is_true(
    deed: str, seen: list[str], lab: Lab
) -> None:
    quiet = "def transform(self, path, ctx):\n    pass"
    liar = f"def post_transform_all(self, ctx):\n    {deed}"
    first, second = lab.run(together(lab, 0, quiet), together(lab, 1, liar), jobs=2).plugins_applied
    assert (first.status, first.files_affected) == ("skipped", [])
    assert second.status == "success"
    assert second.files_affected == seen


def test_a_failure_among_several_at_once_is_undone_and_the_others_stay(both: Lab) -> None:
    plugins = [together(both, 0), together(both, 1, FAILS), together(both, 2)]
    result = both.run(*plugins, jobs=3)
    assert statuses(result) == [("p0", "success"), ("p1", "failed"), ("p2", "success")]
    assert (both.text("0.k0"), both.text("1.k1"), both.text("2.k2")) == ("0\np0\n", "1\n", "2\np2\n")
    assert len(both.entries) == 3
    assert all("again" in entry.warnings[0] for entry in result.plugins_applied)


def test_what_a_plugin_cost_that_was_run_again_is_over_all_its_attempts(both: Lab) -> None:
    large_at_first = """
    def transform(self, path, ctx):
        seen = Path(os.environ["TMPDIR"], "seen")
        held = None if seen.exists() else b"x" * 100_000_000
        seen.touch()
    """
    plugins = [together(both, 0, large_at_first), together(both, 1, FAILS)]
    first, second = both.run(*plugins, jobs=2).plugins_applied
    assert (first.isolation.attempts, second.isolation.attempts) == (2, 2)
    assert first.isolation.peak_memory_mb is not None
    assert first.isolation.peak_memory_mb >= 95
    assert second.started_at <= first.finished_at  # they were begun together


def test_nor_is_the_time_forgotten_when_one_was_begun_that_is_given_up(both: Lab) -> None:
    plugins = [together(both, 0), together(both, 1, ASKS)]
    first, second = both.run(*plugins, jobs=2, ask=lambda question: None).plugins_applied
    assert (second.status, second.isolation.attempts) == ("aborted", 1)
    assert second.started_at <= first.finished_at


def test_that_a_name_could_not_be_told_is_said_once_however_long_a_plugin_waits_for_its_turn(
    lab: Lab,
) -> None:
    (lab.root / os.fsdecode(b"\xff.txt")).touch()
    result = lab.run(*(lab.plugin(name) for name in ("one", "three", "two")), jobs=3)
    assert [len(entry.warnings) for entry in result.plugins_applied] == [1, 1, 1]


def test_a_plugin_that_replaces_its_file_instead_of_writing_to_it_takes_its_turn(both: Lab) -> None:
    replaces = "def transform(self, path, ctx):\n    Path('new').write_text('new'); Path('new').replace(path)"
    result = both.run(together(both, 0, replaces), together(both, 1), jobs=2)
    assert result.ok
    assert (both.text("0.k0"), both.text("1.k1")) == ("new", "1\np1\n")


def test_a_violation_among_several_at_once_is_the_culprits_alone(lab: Lab) -> None:
    sly = "def transform(self, path, ctx):\n    path.write_text('x'); Path('README.md').write_text('x')"
    result = lab.run(together(lab, 0), together(lab, 1, sly), jobs=2)
    assert statuses(result) == [("p0", "success"), ("p1", "policy_violation")]
    assert not (lab.root / "README.md").exists()
    assert lab.text("1.k1") == "1\n"


ASKS = """
def transform(self, path, ctx):
    if not ctx.extra_inputs:
        raise PluginInputRequired([field("word", "Word?"), field("more", "More?", required=False)], self.name)
    path.write_text(ctx.extra_inputs["word"])
"""


def test_questions_of_plugins_at_once_are_put_one_at_a_time(both: Lab) -> None:
    asking, asked = [], []

    def ask(question: Any) -> dict[str, str]:
        assert not asking
        asking.append(question)
        asked.append(question.plugin)
        asking.clear()
        return {"word": question.plugin}

    result = both.run(*(together(both, number, ASKS) for number in range(3)), jobs=3, ask=ask)
    assert result.ok
    assert sorted(asked) == ["p0", "p1", "p2"]
    assert [both.text(f"{number}.k{number}") for number in range(3)] == ["p0", "p1", "p2"]


def test_an_answer_is_not_asked_for_again_when_plugins_must_take_turns_after_all(both: Lab) -> None:
    asked = []
    plugins = [together(both, 0, ASKS), together(both, 1, FAILS)]
    result = both.run(
        *plugins, jobs=2, ask=lambda question: asked.append(question.plugin) or {"word": "said"}
    )
    assert statuses(result) == [("p0", "success"), ("p1", "failed")]
    assert asked == ["p0"]


def test_an_operator_who_gives_up_on_one_of_several_is_not_asked_again_and_ends_the_pass(both: Lab) -> None:
    asked = []
    plugins = [together(both, 0), together(both, 1, ASKS), together(both, 2)]
    result = both.run(*plugins, jobs=3, ask=lambda question: asked.append(question.plugin))
    assert asked == ["p1"]
    assert result.aborted
    assert statuses(result) == [("p0", "success"), ("p1", "aborted")]
    assert (both.text("0.k0"), both.text("1.k1"), both.text("2.k2")) == ("0\np0\n", "1\n", "2\n")


def held_back(lab: Lab) -> tuple[str, Callable[[], None]]:
    """Return the body of a plugin that asks when it is let, and what lets it, once and for all."""
    gate = lab.home / "gate"
    os.mkfifo(gate)

    def let() -> None:
        with gate.open("w"):
            gate.unlink()

    waits = f"    if os.path.exists({str(gate)!r}): open({str(gate)!r}).read()\n"
    return ASKS.replace("    if not", f"{waits}    if not", 1), let


def test_who_gives_one_up_is_not_asked_for_those_behind_it(both: Lab) -> None:
    body, let = held_back(both)
    asked = []

    def ask(question: Any) -> None:
        asked.append(question.plugin)
        if question.plugin == "p1":
            let()

    plugins = [together(both, 0), together(both, 1, ASKS), together(both, 2, body)]
    result = both.run(*plugins, jobs=3, ask=ask)
    assert asked == ["p1"]
    assert statuses(result) == [("p0", "success"), ("p1", "aborted")]
    assert result.not_run == ("p2",)


def test_but_is_asked_for_those_before_it_which_are_run(both: Lab) -> None:
    body, let = held_back(both)
    asked = []

    def ask(question: Any) -> dict[str, str] | None:
        asked.append(question.plugin)
        if question.plugin == "p0":
            return {"word": "said"}
        let()
        return None

    result = both.run(together(both, 0, body), together(both, 1, ASKS), jobs=2, ask=ask)
    assert asked == ["p1", "p0"]
    assert statuses(result) == [("p0", "success"), ("p1", "aborted")]
    assert both.text("0.k0") == "said"


async def test_passes_over_several_trees_run_side_by_side_on_one_host(lab: Lab) -> None:
    hello = lab.plugin("hello")
    trees = [lab.home / f"t{number}" for number in range(3)]
    for tree in trees:
        tree.mkdir()
        (tree / "a.txt").write_text("a\n")
    async with plughost.Host() as host:
        results = await asyncio.gather(*(host.run_pass(tree, [hello]) for tree in trees))
    assert all(result.ok for result in results)
    assert len({result.run for result in results}) == 3
