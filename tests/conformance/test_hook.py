"""Each axis can pass and can fail: the canaries prove it, one fault at a time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plughost import pipeline
from plughost.conformance import hook
from plughost.conformance.canaries import hook as canaries
from plughost.conformance.hook_interview import Interviewer
from plughost.conformance.report import Report, Status
from plughost.conformance.requirements import requirements
from plughost.conformance.verdict import Remark, Skip
from plughost.contracts.hook.messages import Phase
from plughost.errors import LocalProtocolError
from plughost.manifest import binding as bindings
from plughost.manifest.binding import Binding, Environment, Limits
from plughost.process.local import LocalLauncher

PLUGIN_SIDE = [each.id for each in requirements("hook").values() if each.side == "plugin"]
ABOUT_LENGTH = ("hook:frame:limit", "hook:frame:large-request")
QUIET_S = 0.05
PATIENT = Limits(handshake_s=20, timeout_s=20, teardown_s=20)
IMPATIENT = Limits(handshake_s=2, timeout_s=2, teardown_s=0.5)


def canary(fault: str, tmp_path: Path) -> Binding:
    return Binding(
        name=canaries.NAME,
        contract="hook",
        command=(sys.executable, "-E", "-s", "-B", str(canaries.PROGRAM), fault),
        directory=tmp_path,
        cwd=tmp_path,
        allow=(canaries.CAPABILITY,),
        limits=IMPATIENT if fault in canaries.SLOW else PATIENT,
    )


def axes(report: Report, status: Status) -> set[str]:
    return {axis.id for axis in report.axes if axis.status is status}


def test_every_clause_a_plugin_can_break_has_a_check_and_a_canary() -> None:
    assert set(hook.CHECKS) == set(PLUGIN_SIDE)
    assert set(canaries.FAULTS.values()) == set(PLUGIN_SIDE)
    assert set(canaries.SLOW) <= set(canaries.FAULTS)
    assert set(canaries.ALSO) <= set(canaries.FAULTS)


def test_the_well_behaved_canary_passes_every_axis(tmp_path: Path, launcher: LocalLauncher) -> None:
    report = hook.check(canary("well-behaved", tmp_path), launcher)
    assert [(axis.id, axis.detail) for axis in report.axes if axis.status is not Status.PASSED] == []
    assert [axis.id for axis in report.axes] == PLUGIN_SIDE
    assert report.plugin == canaries.NAME


@pytest.mark.thin(12)
@pytest.mark.parametrize("fault", sorted(canaries.FAULTS.keys() - set(canaries.SLOW)))
def test_a_fault_is_noticed_by_its_axis_and_no_other(
    fault: str, tmp_path: Path, launcher: LocalLauncher
) -> None:
    expected = {canaries.FAULTS[fault], *canaries.ALSO.get(fault, ())}
    large = not expected.isdisjoint(ABOUT_LENGTH)
    with hook.examination(canary(fault, tmp_path), launcher, large=large, quiet_s=QUIET_S) as found:
        report = hook.examine(found)
    assert axes(report, Status.FAILED) == expected
    assert all(axis.detail for axis in report.axes if axis.status is not Status.PASSED)


@pytest.mark.thin(3)
@pytest.mark.parametrize("fault", sorted(canaries.SLOW))
@pytest.mark.long
def test_a_plugin_that_stays_is_noticed_and_does_not_outlive_the_check(
    fault: str, tmp_path: Path, launcher: LocalLauncher
) -> None:
    with hook.examination(canary(fault, tmp_path), launcher, large=False, quiet_s=QUIET_S) as found:
        verdict = hook.CHECKS[canaries.FAULTS[fault]](found)
    assert isinstance(verdict, str)


def test_a_plugin_that_declares_nothing_is_asked_as_usual_and_chooses_nothing(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    with hook.examination(canary("declares-nothing", tmp_path), launcher, large=False) as found:
        report = hook.examine(found)
        assert found.round == (Phase.PLAN, Phase.GENERATE)
    assert axes(report, Status.FAILED) == set()
    assert axes(report, Status.SKIPPED) == {"hook:round:chosen", "hook:frame:large-request"}


def test_axes_that_need_an_introduction_are_skipped_without_one(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    report = hook.check(canary("exits-at-once", tmp_path), launcher)
    assert axes(report, Status.FAILED) == {"hook:handshake:reply"}
    skipped = [axis for axis in report.axes if axis.status is Status.SKIPPED]
    assert {axis.id for axis in skipped} == set(PLUGIN_SIDE) - hook.NEED_NO_INTRODUCTION
    assert all(axis.detail for axis in skipped)


def test_axes_that_need_a_round_are_skipped_if_its_phases_make_no_sense(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    with hook.examination(canary("odd-phase", tmp_path), launcher, quiet_s=QUIET_S) as found:
        report = hook.examine(found)
    assert axes(report, Status.SKIPPED) >= hook.NEED_ROUNDS


def test_a_plugin_is_asked_about_the_pipeline_that_is_given(tmp_path: Path, launcher: LocalLauncher) -> None:
    given = pipeline.parse(
        "jobs:\n  ship:\n    workflow: release\n    steps:\n      - run: make ship\n", "given"
    )
    with hook.examination(canary("well-behaved", tmp_path), launcher, schema=given) as found:
        made = found.results[Phase.GENERATE]
    assert sorted(each.path for each in made.fragments) == ["canary/release.json", "canary/release.sh"]


def test_a_pipeline_without_jobs_leaves_the_fragments_unjudged(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    given = pipeline.parse(pipeline_with_job("make ship"), "given")
    del given.expanded.jobs[:], given.native.jobs[:]
    with hook.examination(canary("well-behaved", tmp_path), launcher, schema=given) as found:
        assert isinstance(hook.CHECKS["hook:result:stable"](found), Skip)


def test_an_error_about_the_pipeline_is_a_remark_and_no_broken_clause(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    given = pipeline.parse(pipeline_with_job("name with blanks"), "given")
    given.expanded.jobs[0].workflow = given.native.jobs[0].workflow = "name with blanks"
    with hook.examination(canary("well-behaved", tmp_path), launcher, schema=given) as found:
        assert isinstance(hook.CHECKS["hook:result:diagnostics"](found), Remark)


def pipeline_with_job(command: str) -> str:
    return f"jobs:\n  ship:\n    steps:\n      - run: {command}\n"


def test_a_bare_command_has_no_name_and_no_list_to_be_held_to(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    bare = bindings.of_command("hook", canary("well-behaved", tmp_path).command, directory=tmp_path)
    report = hook.check(bare, launcher, large=False)
    assert report.passed
    assert report.plugin == canaries.NAME
    assert axes(report, Status.SKIPPED) == {"hook:capabilities:subset", "hook:frame:large-request"}


def test_phases_that_the_binding_chooses_are_the_round(tmp_path: Path, launcher: LocalLauncher) -> None:
    chosen = bindings.replace(
        canary("well-behaved", tmp_path), hook=bindings.HookOptions(phases=("generate",))
    )
    with hook.examination(chosen, launcher, large=False, quiet_s=QUIET_S) as found:
        report = hook.examine(found)
        assert found.round == (Phase.GENERATE,)
    assert report.passed


def test_the_limits_of_the_contract_count_and_not_those_of_the_binding(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    low = bindings.replace(
        canary("well-behaved", tmp_path),
        limits=Limits(frame_bytes=100, handshake_s=20, timeout_s=20, teardown_s=20),
    )
    with hook.examination(low, launcher, large=False, quiet_s=QUIET_S) as found:
        assert hook.examine(found).passed


def test_a_plugin_is_greeted_with_the_environment_of_its_binding(
    tmp_path: Path, launcher: LocalLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "x")
    binding = bindings.replace(
        canary("well-behaved", tmp_path), environment=Environment(("PATH",), {"A": "b"})
    )
    hello = Interviewer(binding, launcher, QUIET_S).hello()
    assert b"SECRET" not in hello
    assert b"PLUGHOST_HOOK_ROUND" in hello


def test_a_plugin_of_another_contract_is_refused(tmp_path: Path) -> None:
    other = bindings.replace(canary("well-behaved", tmp_path), contract="execute")
    with pytest.raises(LocalProtocolError):
        hook.check(other)


def test_a_plugin_that_cannot_be_started_raises(tmp_path: Path) -> None:
    nowhere = bindings.replace(canary("well-behaved", tmp_path), command=("./nowhere",))
    with pytest.raises(OSError, match="nowhere"):
        hook.check(nowhere)


def test_nothing_is_left_of_the_sample_project(tmp_path: Path, launcher: LocalLauncher) -> None:
    with hook.examination(canary("well-behaved", tmp_path), launcher) as found:
        root = found.sample.root
        assert (root / "README.md").is_file()
    assert not root.exists()
