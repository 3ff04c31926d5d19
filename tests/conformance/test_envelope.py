"""Each axis of `envelope` can pass and can fail: the canaries prove it, one fault at a time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plughost.conformance.canaries import envelope as canaries
from plughost.conformance.envelope import CHECKS, NEED_AN_ANSWER, Advice, examine
from plughost.conformance.envelope_examination import Examination
from plughost.conformance.envelope_ground import Layout
from plughost.conformance.envelope_subject import subject
from plughost.conformance.report import Report, Status
from plughost.conformance.requirements import requirements
from plughost.manifest import binding as bindings
from plughost.manifest.binding import Binding, EnvelopeOptions, Limits
from plughost.process import landlock
from plughost.process.local import LocalLauncher

PLUGIN_SIDE = [each.id for each in requirements("envelope").values() if each.side == "plugin"]
CONFINED = [
    False,
    pytest.param(True, marks=pytest.mark.skipif(not landlock.available(), reason="no Landlock")),
]


def canary(fault: str, tmp_path: Path) -> Binding:
    return Binding(
        name="canary",
        contract="envelope",
        command=(sys.executable, "-I", str(canaries.__file__), fault),
        directory=tmp_path,
        cwd=tmp_path,
        limits=Limits(timeout_s=1.0 if fault in canaries.SLOW else 20.0),
    )


def status_of(report: Report, clause: str) -> Status:
    return next(axis.status for axis in report.axes if axis.id == f"envelope:{clause}")


def test_every_clause_a_plugin_can_break_has_a_check_and_a_canary() -> None:
    assert set(CHECKS) == set(PLUGIN_SIDE)
    assert set(canaries.FAULTS.values()) == set(PLUGIN_SIDE)
    assert set(PLUGIN_SIDE) >= NEED_AN_ANSWER


@pytest.mark.parametrize("confine", CONFINED)
def test_the_well_behaved_canary_passes_every_axis(
    confine: bool, tmp_path: Path, launcher: LocalLauncher
) -> None:
    found = subject(canary("well-behaved", tmp_path), confine=confine)
    report = examine(Examination(found, launcher))
    assert {axis.id: axis.detail for axis in report.axes if axis.status is not Status.PASSED} == {}
    assert [axis.id for axis in report.axes] == PLUGIN_SIDE


@pytest.mark.thin(6)
@pytest.mark.parametrize("fault", canaries.FAULTS)
def test_the_axis_of_a_fault_notices_it(fault: str, tmp_path: Path, launcher: LocalLauncher) -> None:
    clause = canaries.FAULTS[fault]
    found = subject(canary(fault, tmp_path), {"operator": "Ada"})
    verdict = CHECKS[clause](Examination(found, launcher))
    expected = Advice if fault in canaries.MILD else str
    assert isinstance(verdict, expected), f"{clause} did not notice {fault}"


def test_a_worker_whose_manifest_is_lenient_may_leave_out_an_empty_report(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    lenient = bindings.replace(canary("no-empty-report", tmp_path), envelope=EnvelopeOptions(lenient=True))
    assert CHECKS["envelope:request:files"](Examination(subject(lenient), launcher)) is None


@pytest.mark.skipif(not landlock.available(), reason="no Landlock")
@pytest.mark.thin(2)
@pytest.mark.parametrize("fault", [each for each, axis in canaries.FAULTS.items() if "confined" in axis])
def test_a_stray_write_is_seen_with_and_without_confinement(
    fault: str, tmp_path: Path, launcher: LocalLauncher
) -> None:
    for confine in (True, False):
        found = subject(canary(fault, tmp_path), confine=confine)
        assert isinstance(CHECKS["envelope:request:confined"](Examination(found, launcher)), str)


def test_without_any_answer_the_axes_that_need_one_are_skipped(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    report = examine(Examination(subject(canary("crashes", tmp_path)), launcher))
    assert {axis.id for axis in report.axes if axis.status is Status.FAILED} == {"envelope:reply:pair"}
    skipped = {axis.id: axis.detail for axis in report.axes if axis.status is Status.SKIPPED}
    assert skipped.keys() >= NEED_AN_ANSWER
    assert all(skipped.values())


@pytest.mark.thin(5)
@pytest.mark.parametrize("fault", ["disagrees", "prints-first", "asks-again", "strays", "long-reply"])
def test_a_fault_breaks_no_other_axis(fault: str, tmp_path: Path, launcher: LocalLauncher) -> None:
    report = examine(Examination(subject(canary(fault, tmp_path)), launcher))
    assert [axis.id for axis in report.axes if axis.status is Status.FAILED] == [canaries.FAULTS[fault]]


def test_a_worker_that_knows_no_modes_breaks_no_clause(tmp_path: Path, launcher: LocalLauncher) -> None:
    report = examine(Examination(subject(canary(canaries.WITHOUT_MODES, tmp_path)), launcher))
    assert report.passed
    assert status_of(report, "validate:answers") is Status.SKIPPED


def test_a_worker_may_report_on_a_file_by_its_whole_path(tmp_path: Path, launcher: LocalLauncher) -> None:
    found = Examination(subject(canary(canaries.WHOLE_PATHS, tmp_path)), launcher)
    assert found.relative.given == ("below/another.txt", "sample.csv", "sample.json", "sample.txt")
    assert CHECKS["envelope:request:files"](found) is None


def test_advice_is_no_broken_clause(tmp_path: Path, launcher: LocalLauncher) -> None:
    report = examine(Examination(subject(canary("prints-its-log", tmp_path)), launcher))
    assert report.passed
    assert status_of(report, "stderr:lines") is Status.SKIPPED


def test_the_operators_answers_are_told_and_must_fit(tmp_path: Path, launcher: LocalLauncher) -> None:
    told = Examination(subject(canary("well-behaved", tmp_path)), launcher, answers={"colour": "red"})
    assert told.ordinary.result == "success"
    assert told.answers == {"colour": "red"}
    unfit = Examination(subject(canary("well-behaved", tmp_path)), launcher, answers={"colour": "mauve"})
    assert status_of(examine(unfit), "input:resumable") is Status.SKIPPED
    assert unfit.unfit


def test_a_worker_sees_copies_of_the_directory_and_never_the_directory(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/one.txt").write_text("one\n")
    found = subject(canary("well-behaved", tmp_path))
    examination = Examination(found, launcher, Layout(None, tmp_path / "data"))
    assert examine(examination).passed
    assert [Path(path).name for path in examination.ordinary.given] == ["one.txt"]
    assert (tmp_path / "data/one.txt").read_text() == "one\n"


def test_nothing_is_left_of_the_trees(
    tmp_path: Path, launcher: LocalLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    examine(Examination(subject(canary("well-behaved", tmp_path)), launcher))
    assert list(tmp_path.iterdir()) == []


def test_a_worker_may_crash_on_a_file_that_no_host_would_give_it(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    report = examine(Examination(subject(canary("crashes-when-gone", tmp_path)), launcher))
    assert report.passed
    assert status_of(report, "reply:reason") is Status.SKIPPED


def test_a_flood_of_lines_is_read_within_bounds(tmp_path: Path, launcher: LocalLauncher) -> None:
    report = examine(Examination(subject(canary("flood", tmp_path)), launcher))
    assert status_of(report, "frame:one-object") is Status.FAILED
    assert all(len(axis.detail) < 1000 for axis in report.axes)
