"""Each axis of `sideband` can pass and can fail: the canaries prove it, one fault at a time."""

from __future__ import annotations

import sys
from pathlib import Path

import plughost_sdk
import pytest

from plughost.conformance import sideband, sideband_languages
from plughost.conformance.canaries import sideband as canaries
from plughost.conformance.report import Report, Status
from plughost.conformance.requirements import requirements
from plughost.conformance.sideband_examination import Examination
from plughost.conformance.sideband_talk import Patience
from plughost.manifest import binding, sideband_binding
from plughost.manifest.binding import Binding
from plughost.manifest.sideband_snippets import Snippets
from plughost.process.local import LocalLauncher

CLAUSES = requirements("sideband")
PLUGIN_SIDE = {each.id for each in CLAUSES.values() if each.side == "plugin"}
IDS = [axis.id for axis in sideband.AXES]
PATIENT = Patience(hello_s=50, call_s=50, exit_s=50, quiet_s=0.02)
IMPATIENT = Patience(hello_s=8, call_s=8, exit_s=8, quiet_s=0.02)  # each is a hundred times what it takes
PYTHON = [sys.executable, "-E", "-s", "-B", str(canaries.PROGRAM)]


def staged(tmp_path: Path, fault: str, table: str = canaries.SNIPPETS) -> Binding:
    """Return the binding of a canary, read from its file."""
    words = ", ".join(f'"{word}"' for word in (*PYTHON, fault))
    head = f'[plugin]\nname = "{canaries.NAME}"\ncontract = "sideband"\ncommand = [{words}]\n'
    (tmp_path / "plugin.toml").write_text(head + table, encoding="utf-8")
    return binding.read(tmp_path)


def examined(found: Binding, launcher: LocalLauncher, fault: str = "") -> Report:
    return sideband.examine(Examination(found, launcher, IMPATIENT if fault in canaries.SLOW else PATIENT))


def axes(report: Report, status: Status) -> set[str]:
    return {axis.id for axis in report.axes if axis.status is status}


def unhappy(report: Report) -> list[tuple[str, str]]:
    return [(axis.id, axis.detail) for axis in report.axes if axis.status is not Status.PASSED]


def broken(report: Report) -> set[str]:
    """Return the clauses that the details of failed axes begin with."""
    return {axis.detail.split(": ")[0] for axis in report.axes if axis.status is Status.FAILED}


def test_each_clause_for_workers_belongs_to_one_axis() -> None:
    covered = [clause for axis in sideband.AXES for clause in axis.clauses]
    assert len(covered) == len(set(covered))
    assert set(covered) == PLUGIN_SIDE
    assert len(set(IDS)) == len(IDS)
    assert not set(IDS) & set(CLAUSES)


def test_every_axis_has_canaries_and_every_clause_a_worker_can_break_has_one() -> None:
    assert {f"sideband:{axis}" for axis in canaries.BY_AXIS} == set(IDS)
    assert set(canaries.FAULTS.values()) == PLUGIN_SIDE
    assert set(canaries.SLOW) <= set(canaries.AXES)
    by_id = {axis.id: axis for axis in sideband.AXES}
    assert all(canaries.FAULTS[fault] in by_id[axis].clauses for fault, axis in canaries.AXES.items())


@pytest.mark.thin(9, "a whole check of sideband")  # the first of them: it always runs
def test_the_well_behaved_canary_passes_every_axis_and_skips_none(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    report = examined(staged(tmp_path, "well-behaved"), launcher)
    assert unhappy(report) == []
    assert [axis.id for axis in report.axes] == IDS
    assert (report.contract, report.plugin) == ("sideband", canaries.NAME)
    assert report.to_junit().count("<testcase") == len(IDS)


@pytest.mark.thin(9, "a whole check of sideband")
def test_messages_that_no_host_knows_are_told_and_no_fault(tmp_path: Path, launcher: LocalLauncher) -> None:
    report = examined(staged(tmp_path, "says-more-than-is-known"), launcher)
    assert unhappy(report) == []
    assert "plughost_news" in report.axes[IDS.index("sideband:lines")].detail


@pytest.mark.thin(9, "a whole check of sideband")
def test_a_worker_without_ids_is_spared_what_needs_them_and_nothing_else(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    report = examined(staged(tmp_path, canaries.WITHOUT_IDS), launcher)
    assert axes(report, Status.FAILED) == set()
    assert axes(report, Status.SKIPPED) == {"sideband:requests", "sideband:marks"}


@pytest.mark.thin(100)
@pytest.mark.timeout(240)
@pytest.mark.parametrize("fault", sorted(canaries.AXES))
def test_a_fault_is_noticed_by_its_axis_and_no_other(
    fault: str, tmp_path: Path, launcher: LocalLauncher
) -> None:
    report = examined(staged(tmp_path, fault), launcher, fault)
    assert axes(report, Status.FAILED) == {canaries.AXES[fault]}
    assert broken(report) == {canaries.FAULTS[fault]}
    assert all(axis.detail for axis in report.axes if axis.status is not Status.PASSED)


def test_without_an_introduction_the_rest_is_not_reached_and_starts_nothing_more(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    found = Examination(staged(tmp_path, "exits-at-once"), launcher, PATIENT)
    report = sideband.examine(found)
    assert axes(report, Status.FAILED) == {sideband.FIRST}
    assert axes(report, Status.SKIPPED) == set(IDS) - {sideband.FIRST}
    assert len(found.talks) == 1
    assert all(axis.detail.startswith(sideband.NOT_REACHED) for axis in report.axes[1:])


@pytest.mark.parametrize("fault", ["exits-at-once", "closes-the-sideband"])
@pytest.mark.long
def test_why_there_is_no_introduction_is_told(fault: str, tmp_path: Path, launcher: LocalLauncher) -> None:
    report = examined(staged(tmp_path, fault), launcher)
    assert broken(report) == {"sideband:hello:first"}


def test_a_language_that_nobody_knows_is_checked_as_far_as_that_goes_without_code(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    report = examined(staged(tmp_path, "well-behaved", ""), launcher)
    assert axes(report, Status.FAILED) == set()
    assert axes(report, Status.PASSED) == set(sideband.WITHOUT_CODE)
    assert all("[check]" in axis.detail for axis in report.axes if axis.status is Status.SKIPPED)


@pytest.mark.thin(9, "a whole check of sideband")
def test_what_there_is_no_code_for_is_skipped_and_named(tmp_path: Path, launcher: LocalLauncher) -> None:
    table = '[check]\necho = "say {text}"\nget = "tell"\nset = "keep {text}"\n'
    report = examined(staged(tmp_path, "well-behaved", table), launcher)
    assert axes(report, Status.FAILED) == set()
    skipped = {axis.id: axis.detail for axis in report.axes if axis.status is Status.SKIPPED}
    assert {"sideband:interrupt", "sideband:reading", "sideband:exit"} <= set(skipped)
    assert "wait" in skipped["sideband:interrupt"]
    assert {"sideband:requests", "sideband:state", "sideband:marks"} <= axes(report, Status.PASSED)


def test_a_worker_of_which_no_request_ends_is_judged_by_that_alone(
    tmp_path: Path, launcher: LocalLauncher
) -> None:
    table = canaries.SNIPPETS.replace('echo = "say {text}"', 'echo = "leave 3"')
    report = examined(staged(tmp_path, "well-behaved", table), launcher)
    assert broken(report) == {"sideband:request:ids"}
    assert axes(report, Status.FAILED) == {sideband.SECOND}


def test_what_a_binding_has_goes_before_what_is_known_of_a_language() -> None:
    own = Snippets(echo="mine {text}")
    found = sideband_languages.snippets("Python", own)
    assert found.echo == "mine {text}"
    assert found.error == sideband_languages.LANGUAGES["python"].error
    assert sideband_languages.snippets("cobol", own) == own


@pytest.mark.parametrize("language", sorted(sideband_languages.LANGUAGES))
def test_the_code_of_a_known_language_uses_what_it_is_given(language: str) -> None:
    found = sideband_languages.LANGUAGES[language]
    wants = ("echo", "warn", "set", "value", "block", "broken", "error", "wait", "read", "flood", "picture")
    assert all("{text}" in getattr(found, name) for name in wants)
    assert "{command}" in found.run
    assert not found.background or "{file}" in found.background


@pytest.mark.thin(9, "a whole check of sideband")
@pytest.mark.timeout(240)
def test_the_python_worker_passes_every_axis(tmp_path: Path, launcher: LocalLauncher) -> None:
    pytest.importorskip("matplotlib", reason="without it there are no pictures to judge")
    worker = Path(plughost_sdk.__file__).with_name("sideband_worker") / "__main__.py"
    report = examined(
        binding.of_command("sideband", [sys.executable, str(worker)], directory=tmp_path), launcher
    )
    assert unhappy(report) == []


@pytest.mark.needs("Rscript")
@pytest.mark.thin(9, "a whole check of sideband")
@pytest.mark.timeout(240)
def test_the_r_worker_passes_every_axis(tmp_path: Path, launcher: LocalLauncher) -> None:
    report = examined(sideband_binding.bind("r", cwd=tmp_path), launcher)
    assert unhappy(report) == []
