"""Each axis can pass and can fail: the canaries prove it, one fault at a time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plughost.conformance import execute
from plughost.conformance.canaries import execute as canaries
from plughost.conformance.execute import CHECKS, Examination, examine
from plughost.conformance.report import Status
from plughost.conformance.requirements import requirements
from plughost.manifest.binding import Binding, Limits
from plughost.process.local import LocalLauncher

PLUGIN_SIDE = [each.id for each in requirements("execute").values() if each.side == "plugin"]


def canary(fault: str, tmp_path: Path) -> Binding:
    grant = canaries.NEEDS_GRANT.get(fault)
    return Binding(
        name=canaries.NAME,
        contract="execute",
        command=(sys.executable, "-I", str(canaries.__file__), fault),
        directory=tmp_path,
        cwd=tmp_path,
        allow=(grant,) if grant else (),
        limits=Limits(handshake_s=1.0, timeout_s=1.0, teardown_s=0.4),
    )


def test_every_clause_a_plugin_can_break_has_a_check_and_a_canary() -> None:
    assert set(CHECKS) == set(PLUGIN_SIDE)
    assert set(canaries.FAULTS.values()) == set(PLUGIN_SIDE)


def test_the_well_behaved_canary_passes_every_axis(tmp_path: Path, launcher: LocalLauncher) -> None:
    report = examine(Examination(canary("well-behaved", tmp_path), launcher, None, None))
    assert {axis.status for axis in report.axes} == {Status.PASSED}
    assert [axis.id for axis in report.axes] == PLUGIN_SIDE


@pytest.mark.thin(3)
@pytest.mark.parametrize("fault", canaries.FAULTS)
def test_the_axis_of_a_fault_notices_it(fault: str, tmp_path: Path, launcher: LocalLauncher) -> None:
    clause = canaries.FAULTS[fault]
    found = Examination(canary(fault, tmp_path), launcher, None, None)
    verdict = CHECKS[clause](found)
    assert isinstance(verdict, str), f"{clause} did not notice {fault}"


def test_axes_that_need_a_handshake_are_skipped_without_one(tmp_path: Path, launcher: LocalLauncher) -> None:
    report = examine(Examination(canary("exits-at-once", tmp_path), launcher, None, None))
    failed = {axis.id for axis in report.axes if axis.status is Status.FAILED}
    assert failed == {"execute:handshake:reply"}
    skipped = [axis for axis in report.axes if axis.status is Status.SKIPPED]
    assert {axis.id for axis in skipped} == set(PLUGIN_SIDE) - execute.NEED_NO_HANDSHAKE
    assert all(axis.detail for axis in skipped)


def test_without_a_call_nothing_is_called(tmp_path: Path, launcher: LocalLauncher) -> None:
    found = Examination(canary("no-answer", tmp_path), launcher, None, None, call=False)
    report = examine(found)
    assert report.passed
    assert found.ordinary.response is None
    assert report.count(Status.SKIPPED) > 0


def test_a_tool_that_answers_with_an_error_leaves_the_exit_unjudged(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    found = Examination(canary("well-behaved", tmp_path), launcher, "nothing", None)
    axis = next(axis for axis in examine(found).axes if axis.id == "execute:exit:zero")
    assert axis.status is Status.SKIPPED
