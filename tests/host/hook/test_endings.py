"""How a provider ends, and what it leaves behind: a warning, since its results were whole; and nothing stays."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from plughost import FailureCode, PluginFailure, Stage
from tests.host.hook.lab import QUICK, Lab, generated, gone, info, is_alive, write

FILE = ("ci.yml", "on: push\n")
ANSWERED = ["read", write(info()), "read", write(generated(FILE))]
PATIENT = {"handshake_s": 10.0, "timeout_s": 10.0, "teardown_s": 10.0, "terminate_s": 10.0}
BRIEF = {**PATIENT, "teardown_s": 0.2}  # for one that does not end by itself
BRIEFER = {**BRIEF, "terminate_s": 0.2}  # nor when it is told to

ENDINGS = {
    "exit 0": (["drain", "exit:0"], "", PATIENT),
    "exit 3": (["drain", "exit:3"], "exit status 3", PATIENT),
    "a segmentation fault": (["drain", "die:11"], "SIGSEGV", PATIENT),
    "last words": (["drain", "say:bye\n", "exit:0"], "", PATIENT),
    "stdout closed first": (["drain", "close:1", "exit:0"], "", PATIENT),
    "one that ignores the end of its input": (["stay"], "terminate", BRIEF),
    "one that ignores SIGTERM too": (["ignore:15", "drain", "stay"], "kill", BRIEFER),
}


@pytest.mark.requirement("hook:exit:gone", "hook:deadline:owner")
@pytest.mark.thin(3)
@pytest.mark.parametrize("ending", ENDINGS)
def test_how_it_ended_is_a_warning_of_its_handle(ending: str, both: Lab) -> None:
    words, warning, limits = ENDINGS[ending]
    provider = both.connect(both.play(*ANSWERED, *words, **limits))
    assert provider.ask("generate") == generated(FILE)
    provider.close()
    assert len(provider.warnings) == bool(warning)
    assert warning in "".join(provider.warnings)
    assert not is_alive(both.spawned()[0])


@pytest.mark.requirement("hook:exit:gone")
@pytest.mark.thin(3)
@pytest.mark.parametrize("ending", ENDINGS)
def test_how_it_ended_is_a_warning_of_its_run_which_writes_all_the_same(ending: str, both: Lab) -> None:
    words, warning, limits = ENDINGS[ending]
    result = both.generate(both.play(*ANSWERED, *words, **limits))
    (report,) = result.providers
    assert len(report.warnings) == bool(warning)
    assert warning in "".join(report.warnings)
    assert result.written
    assert both.files() == dict([FILE])


@pytest.mark.requirement("hook:exit:gone", "hook:failure:exit-before-answer")
def test_one_that_ends_once_it_has_answered_does_not_fail_the_others(both: Lab) -> None:
    """It ends its output while another is still asked: nothing more was to come from it."""
    ended = both.pipe("ended")
    first = [*ANSWERED, "close:1", f"signal:{ended}", "drain", "exit:0"]
    other = ["read", write(info("other")), "read", f"await:{ended}", write(generated(("b.yml", "b\n")))]
    result = both.generate(both.play(*first, **PATIENT), both.play(*other, "drain", "exit:0", **PATIENT))
    assert result.written
    assert both.files() == {**dict([FILE]), "b.yml": "b\n"}


@pytest.mark.requirement("hook:exit:gone", "hook:frame:unasked")
@pytest.mark.parametrize("size", [1, 4, 70_000])
def test_what_it_writes_while_it_is_let_go_fails_the_run(size: int, both: Lab) -> None:
    path = both.home / "rest"
    path.write_bytes(b"\0" * size)
    with pytest.raises(PluginFailure) as caught:
        both.generate(both.play(*ANSWERED, "drain", f"file:{path}", "exit:0", **PATIENT))
    assert (caught.value.code, caught.value.stage) == (FailureCode.MALFORMED_RESPONSE, Stage.TEARDOWN)
    assert both.files() == {}


def test_a_flood_while_it_is_let_go_is_ended(both: Lab) -> None:
    provider = both.connect(both.play(*ANSWERED, "drain", "ignore:15", "flood", **BRIEFER))
    provider.ask("generate")
    with pytest.raises(PluginFailure) as caught:
        provider.close()
    assert caught.value.stage is Stage.TEARDOWN
    assert not is_alive(both.spawned()[0])


# What it leaves behind


def child_of(lab: Lab) -> int:
    return int((lab.home / "child").read_text())


@pytest.mark.requirement("hook:exit:gone")
def test_a_grandchild_that_holds_stdout_is_ended_and_told(both: Lab) -> None:
    child = f"child:{both.home / 'child'}"
    result = both.generate(
        both.play("read", write(info()), "read", child, write(generated(FILE)), "drain", "exit:0")
    )
    (report,) = result.providers
    assert str(child_of(both)) in "".join(report.warnings)
    assert gone(child_of(both))
    assert both.files() == dict([FILE])


@pytest.mark.requirement("hook:exit:gone")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("before", "after"),
    [([], ["exit:1"]), ([], ["stay"]), (ANSWERED[:3], ["exit:1"]), (ANSWERED[:3], ["stay"])],
    ids=["exits unshaken", "hangs unshaken", "exits unanswered", "hangs unanswered"],
)
def test_a_grandchild_does_not_outlive_a_failure(before: list[str], after: list[str], both: Lab) -> None:
    limits = {**QUICK, "handshake_s": 1.5}
    with pytest.raises(PluginFailure) as caught:
        both.connect(both.play(*before, f"child:{both.home / 'child'}", *after, **limits)).ask("generate")
    assert caught.value.code is (FailureCode.CRASHED if after == ["exit:1"] else FailureCode.TIMEOUT)
    assert [survivor.pid for survivor in caught.value.autopsy.survivors] == [child_of(both)]
    assert gone(child_of(both))


def test_one_that_may_leave_something_behind_does_so(lab: Lab) -> None:
    words = ["read", write(info()), "read", f"child:{lab.home / 'child'}", write(generated()), "drain"]
    provider = lab.connect(lab.play(*words, survivors="allow"))
    provider.ask("generate")
    provider.close()
    child = child_of(lab)
    try:
        assert is_alive(child)
        assert str(child) in "".join(provider.warnings)
    finally:
        os.kill(child, signal.SIGKILL)
        assert gone(child)


def test_nothing_of_a_provider_is_left_in_the_directory_it_ran_in(both: Lab) -> None:
    both.generate(both.play(*ANSWERED, "drain"))
    assert {path.name for path in Path(both.home).iterdir()} == {"out"}
