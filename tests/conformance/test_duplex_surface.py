"""What a `duplex` plugin does not offer is skipped and never passed; it may be a directory or a bare command."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plughost.conformance import duplex, duplex_subject
from plughost.conformance import duplex_duties as duties
from plughost.conformance.canaries import duplex as canaries
from plughost.conformance.duplex_examination import Examination
from plughost.conformance.duplex_talk import Patience
from plughost.conformance.report import Report, Status
from plughost.conformance.verdict import Flaw, Skip
from plughost.errors import ManifestError
from plughost.manifest import duplex_binding, duplex_manifest
from plughost.manifest.duplex_narrowing import Narrowing
from plughost.process.local import LocalLauncher

PATIENT = Patience(init_s=20, call_s=20, exit_s=20, quiet_s=0.02)
OF_THE_SURFACE = {
    "duplex:capability-gating",
    "duplex:render-determinism",
    "duplex:snapshot-pub-sub",
    "duplex:action-timeout",
    "duplex:log-filtering",
    "duplex:fs-path-guard",
    "duplex:cli-dispatch",
    "duplex:chunked-publish",
}


def command(fault: str) -> tuple[str, ...]:
    return (sys.executable, "-E", "-s", "-B", str(canaries.PROGRAM), fault)


def subject(tmp_path: Path, fault: str, manifest: str = canaries.MANIFEST) -> duplex_subject.Subject:
    directory = tmp_path / canaries.NAME
    directory.mkdir()
    known = duplex_manifest.parse(manifest, directory)
    return duplex_subject.of_binding(duplex_binding.bind(known, Narrowing(command=command(fault))))


def skipped(report: Report) -> set[str]:
    return {axis.id for axis in report.axes if axis.status is Status.SKIPPED}


@pytest.mark.thin(9, "a whole check of duplex")
@pytest.mark.parametrize("is_bare", [True, False], ids=["bare-command", "with-a-manifest"])
def test_a_plugin_that_offers_nothing_is_skipped_where_it_has_nothing_to_show(
    is_bare: bool, tmp_path: Path, launcher: LocalLauncher
) -> None:
    chosen = (
        duplex_subject.of_command(command("bare-bones"), tmp_path)
        if is_bare
        else subject(tmp_path, "bare-bones", canaries.BARE_MANIFEST)
    )
    report = duplex.examine(Examination(chosen, launcher, PATIENT, large=False))
    assert report.passed
    assert skipped(report) == OF_THE_SURFACE
    assert report.plugin == canaries.NAME


@pytest.mark.thin(9, "a whole check of duplex")
def test_a_bare_command_is_taken_for_what_it_says_at_init(tmp_path: Path, launcher: LocalLauncher) -> None:
    bare = duplex_subject.of_command(command("well-behaved"), tmp_path)
    report = duplex.examine(Examination(bare, launcher, PATIENT, large=False))
    assert report.passed
    assert skipped(report) == set()


@pytest.mark.parametrize(
    "fault",
    [
        "other-abi",
        "contradicts-itself",
        "neither-dialect",
        "version-in-words",
        "name-that-climbs",
        "name-of-nothing",
    ],
)
def test_a_bare_command_is_held_to_what_it_says_itself(
    fault: str, tmp_path: Path, launcher: LocalLauncher
) -> None:
    bare = duplex_subject.of_command(command(fault), tmp_path)
    found = duplex.manifest(Examination(bare, launcher, PATIENT))
    assert [each.clause for each in found if isinstance(each, Flaw)] == ["duplex:init:reply"]


def test_actions_are_not_invoked_unless_that_is_wanted(tmp_path: Path, launcher: LocalLauncher) -> None:
    found = Examination(subject(tmp_path, "dies-in-an-action"), launcher, PATIENT, large=False, call=False)
    assert [type(each) for each in duties.actions(found)] == [Skip]


def test_the_directory_of_another_contract_is_not_taken_for_one_of_this(tmp_path: Path) -> None:
    assert not duplex_subject.is_directory(tmp_path)
    (tmp_path / "manifest.toml").touch()
    assert duplex_subject.is_directory(tmp_path)
    (tmp_path / "plugin.toml").touch()
    assert not duplex_subject.is_directory(tmp_path)


def test_a_narrowing_that_is_wrong_is_the_fault_of_whoever_wrote_it(tmp_path: Path) -> None:
    directory = tmp_path / canaries.NAME
    directory.mkdir()
    (directory / "manifest.toml").write_text(canaries.MANIFEST, encoding="utf-8")
    (directory / "narrow.toml").write_text("[capabilities]\nnetwork = true\n", encoding="utf-8")
    with pytest.raises(ManifestError):
        duplex_subject.of_directory(directory)


def test_a_command_of_the_host_stands_for_the_program_of_the_manifest(tmp_path: Path) -> None:
    directory = tmp_path / canaries.NAME
    directory.mkdir()
    (directory / "manifest.toml").write_text(canaries.MANIFEST, encoding="utf-8")
    (directory / "narrow.toml").write_text('command = ["true"]\n', encoding="utf-8")
    found = duplex_subject.of_directory(directory)
    assert found.process is not None
    assert found.process.command == ("true",)
    assert found.flaws == ()


def test_a_plugin_that_cannot_be_started_raises(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        duplex.check(duplex_subject.of_command(["./nowhere"], tmp_path))


def test_the_limits_of_the_binding_bound_the_waiting(tmp_path: Path) -> None:
    directory = tmp_path / canaries.NAME
    directory.mkdir()
    narrowing = Narrowing(
        command=("true",), limits=duplex_subject.DuplexLimits(timeout_s=3.0, handshake_s=2.0)
    )
    bound = duplex_binding.bind(duplex_manifest.parse(canaries.MANIFEST, directory), narrowing)
    found = duplex.patience(duplex_subject.of_binding(bound))
    assert (found.init_s, found.call_s) == (2.0, 3.0)
    usual = duplex.patience(duplex_subject.of_command(["true"], tmp_path))
    assert usual.call_s == duplex.CALL_S
