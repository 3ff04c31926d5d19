"""Each axis of `duplex` can pass and can fail: the canaries prove it, one fault at a time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plughost.conformance import duplex, duplex_subject
from plughost.conformance.canaries import duplex as canaries
from plughost.conformance.duplex_examination import Examination
from plughost.conformance.duplex_talk import Patience
from plughost.conformance.report import Report, Status
from plughost.conformance.requirements import requirements
from plughost.process.local import LocalLauncher

CLAUSES = requirements("duplex")
PLUGIN_SIDE = {each.id for each in CLAUSES.values() if each.side == "plugin"}
IDS = [axis.id for axis in duplex.AXES]
PATIENT = Patience(init_s=20, call_s=20, exit_s=20, quiet_s=0.02)
IMPATIENT = Patience(init_s=1.5, call_s=1.5, exit_s=1, quiet_s=0.02)
ABOUT_LENGTH = "duplex:frame:large"


def staged(tmp_path: Path, fault: str, manifest: str = canaries.MANIFEST) -> Path:
    """Return the directory of a canary: a manifest, and a program of its name."""
    directory = tmp_path / canaries.NAME
    directory.mkdir()
    (directory / "manifest.toml").write_text(manifest, encoding="utf-8")
    program = directory / canaries.NAME
    program.write_text(
        f"#!/bin/sh\nexec {sys.executable} -E -s -B {canaries.PROGRAM} {fault}\n", encoding="utf-8"
    )
    program.chmod(0o755)
    return directory


def examined(directory: Path, launcher: LocalLauncher, fault: str = "", *, large: bool = False) -> Report:
    subject = duplex_subject.of_directory(directory)
    patience = IMPATIENT if fault in canaries.SLOW else PATIENT
    return duplex.examine(Examination(subject, launcher, patience, large=large))


def axes(report: Report, status: Status) -> set[str]:
    return {axis.id for axis in report.axes if axis.status is status}


def broken(report: Report) -> set[str]:
    """Return the clauses that the details of failed axes begin with."""
    return {axis.detail.split(": ")[0] for axis in report.axes if axis.status is Status.FAILED}


def test_there_are_fourteen_axes_and_each_plugin_clause_belongs_to_one() -> None:
    assert len(set(IDS)) == 14
    covered = {clause for axis in duplex.AXES for clause in axis.clauses}
    assert covered <= set(CLAUSES)
    assert covered >= PLUGIN_SIDE
    assert set(duplex.LAST) < set(IDS)
    assert not set(IDS) & set(CLAUSES)


def test_every_axis_has_canaries_and_every_clause_a_plugin_can_break_has_one() -> None:
    assert {f"duplex:{axis}" for axis in canaries.BY_AXIS} == set(IDS)
    assert set(canaries.FAULTS.values()) == PLUGIN_SIDE
    assert set(canaries.SLOW) <= set(canaries.AXES)
    by_id = {axis.id: axis for axis in duplex.AXES}
    assert all(canaries.CLAUSES[fault] in by_id[axis].clauses for fault, axis in canaries.AXES.items())


@pytest.mark.thin(9, "a whole check of duplex")  # the first of them: it always runs
def test_the_well_behaved_canary_passes_every_axis_and_skips_none(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    report = examined(staged(tmp_path, "well-behaved"), launcher, large=True)
    assert [(axis.id, axis.detail) for axis in report.axes if axis.status is not Status.PASSED] == []
    assert [axis.id for axis in report.axes] == IDS
    assert (report.contract, report.plugin) == ("duplex", canaries.NAME)
    assert report.to_junit().count("<testcase") == 14


@pytest.mark.thin(9, "a whole check of duplex")
@pytest.mark.parametrize("variant", canaries.VARIANTS)
def test_either_dialect_and_any_answer_to_shutdown_is_fine(
    variant: str, tmp_path: Path, launcher: LocalLauncher
) -> None:
    report = examined(staged(tmp_path, variant), launcher)
    assert [axis.detail for axis in report.axes if axis.status is not Status.PASSED] == []


@pytest.mark.thin(130)
@pytest.mark.parametrize("fault", sorted(canaries.AXES))
def test_a_fault_is_noticed_by_its_axis_and_no_other(
    fault: str, tmp_path: Path, launcher: LocalLauncher
) -> None:
    large = canaries.CLAUSES[fault] == ABOUT_LENGTH
    report = examined(staged(tmp_path, fault), launcher, fault, large=large)
    assert axes(report, Status.FAILED) == {canaries.AXES[fault]}
    assert broken(report) == {canaries.CLAUSES[fault]}
    assert all(axis.detail for axis in report.axes if axis.status is not Status.PASSED)


@pytest.mark.parametrize("fault", sorted(canaries.MANIFESTS))
def test_a_fault_of_the_manifest_is_reported_and_nothing_is_started(
    fault: str, tmp_path: Path, launcher: LocalLauncher
) -> None:
    directory = staged(tmp_path, "writes-a-file", canaries.MANIFESTS[fault])
    (directory / canaries.NAME).write_text("#!/bin/sh\ntouch started\n", encoding="utf-8")
    report = examined(directory, launcher)
    assert axes(report, Status.FAILED) == {duplex.FIRST}
    assert axes(report, Status.SKIPPED) == set(IDS) - {duplex.FIRST}
    assert f"duplex:{canaries.MANIFEST_FAULTS[fault]}" in broken(report)
    assert not (directory / "started").exists()


@pytest.mark.parametrize("mode", [None, 0o644], ids=["missing", "not-executable"])
def test_a_manifest_without_its_program_beside_it_is_out_of_place(
    mode: int | None, tmp_path: Path, launcher: LocalLauncher
) -> None:
    directory = staged(tmp_path, "well-behaved")
    program = directory / canaries.NAME
    program.chmod(mode) if mode is not None else program.unlink()
    report = examined(directory, launcher)
    assert broken(report) == {"duplex:manifest:place"}
    assert axes(report, Status.SKIPPED) == set(IDS) - {duplex.FIRST}


def test_without_an_answer_to_init_the_rest_is_not_reached_and_starts_nothing_more(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    subject = duplex_subject.of_directory(staged(tmp_path, "exits-at-once"))
    found = Examination(subject, launcher, PATIENT)
    report = duplex.examine(found)
    assert axes(report, Status.FAILED) == {duplex.FIRST}
    assert axes(report, Status.SKIPPED) == set(IDS) - {duplex.FIRST}
    assert len(found.talks) == 1
    assert all(axis.detail.startswith(duplex.NOT_REACHED) for axis in report.axes[1:])
