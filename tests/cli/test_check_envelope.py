"""`check`, `describe` and `doctor` for plugins of the `envelope` contract."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plughost.conformance.canaries import envelope as canaries

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples" / "envelope"
CANARY = [sys.executable, "-I", str(canaries.__file__)]

Run = Callable[..., Any]


@pytest.fixture
def stamper(tmp_path: Path) -> Path:
    """A copy of an example, to be spoiled."""
    return Path(shutil.copytree(EXAMPLES / "header-stamper", tmp_path / "header-stamper"))


def axes(ran: Any, status: str) -> dict[str, str]:
    return {axis["id"]: axis["detail"] for axis in ran.json["axes"] if axis["status"] == status}


# check


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "name", ["header-stamper", "workbook-filler", pytest.param("tidy-node", marks=pytest.mark.needs("node"))]
)
@pytest.mark.long
def test_every_example_keeps_its_contract(name: str, run: Run) -> None:
    ran = run("check", str(EXAMPLES / name), "--json")
    assert ran.status == 0, ran.stdout
    assert ran.json["contract"] == "envelope"
    assert all(axes(ran, "skipped").values())


def test_check_picks_the_contract_from_what_it_finds(run: Run, greeter: Path) -> None:
    assert run("check", str(greeter), "--json").json["contract"] == "execute"


def test_check_of_a_bad_worker_is_exit_1_and_names_the_clause(run: Run) -> None:
    ran = run("check", "--contract", "envelope", "--json", "--", *CANARY, "disagrees")
    assert ran.status == 1
    assert list(axes(ran, "failed")) == ["envelope:reply:pair"]
    shown = run("check", "--contract", "envelope", "--", *CANARY, "disagrees")
    assert "FAIL  envelope:reply:pair" in shown.stdout


def test_check_of_a_worker_that_cannot_start_is_launch_failed(run: Run) -> None:
    ran = run("check", "--contract", "envelope", "--json", "--", "./nowhere")
    assert ran.json["failure"]["code"] == "launch_failed"


@pytest.mark.needs("node")
def test_variables_and_answers_make_a_plugin_ask_and_go_on(run: Run) -> None:
    words = ("check", str(EXAMPLES / "tidy-node"), "--var", "tidy_mode=ask", "--json")
    ran = run(*words, "--answer", "tidy_mode=blanks")
    assert ran.status == 0, ran.stdout
    assert "envelope:input:resumable" in axes(ran, "passed")
    assert (
        "do not fit"
        in axes(run(*words, "--answer", "tidy_mode=nonsense"), "skipped")["envelope:input:resumable"]
    )


def test_a_directory_is_worked_on_in_copies(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/notes.txt").write_text("notes\n")
    ran = run("check", str(EXAMPLES / "header-stamper"), "--against", "data")
    assert ran.status == 0
    assert (tmp_path / "data/notes.txt").read_text() == "notes\n"


SENSELESS = {
    "a tool": ("stamper", "--tool", "greet"),
    "no call": ("stamper", "--no-call"),
    "no value": ("stamper", "--var", "operator"),
    "no text": ("stamper", "--var", "operator=\udcff"),
    "no name": ("stamper", "--answer", "=x"),
    "nowhere": ("stamper", "--against", "nowhere"),
    "empty": ("stamper", "--against", "empty"),
    "large": ("stamper", *(word for n in range(12) for word in ("--var", f"v{n}=" + "x" * 100_000))),
    "a variable for a tool": ("greeter", "--var", "a=b"),
    "a directory for a tool": ("greeter", "--against", "."),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("case", SENSELESS)
def test_options_that_make_no_sense_are_usage_errors(
    case: str, run: Run, greeter: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    plugin, *options = SENSELESS[case]
    checked = EXAMPLES / "header-stamper" if plugin == "stamper" else greeter
    assert run("check", str(checked), *options).status == 2


# describe


def test_describe_shows_manifest_limits_and_what_validation_said(run: Run) -> None:
    ran = run("describe", str(EXAMPLES / "header-stamper"), "--json")
    assert ran.status == 0
    assert ran.json["manifest"]["supported_extensions"] == [".txt", ".csv", ".md", ".py"]
    assert ran.json["manifest"]["optional_variables"] == ["operator", "date"]
    assert ran.json["limits"]["memory_mb"] == 256
    assert ran.json["errors"] == []
    shown = run("describe", str(EXAMPLES / "header-stamper")).stdout
    assert "header-stamper 1.0.0" in shown
    assert ".csv" in shown


def test_describe_shows_objections_and_ends_with_1(run: Run) -> None:
    ran = run("describe", str(EXAMPLES / "workbook-filler"), "--var", "date=soon", "--json")
    assert (ran.status, ran.json["ok"]) == (1, False)
    assert "date" in ran.json["errors"][0]


def test_describe_of_a_worker_that_answers_nonsense_is_a_failure(run: Run) -> None:
    ran = run("describe", "--contract", "envelope", "--json", "--", *CANARY, "validates-with-a-text")
    assert ran.json["failure"]["code"] == "malformed_response"


def test_describe_tells_that_a_worker_is_not_asked_about_variables(run: Run, stamper: Path) -> None:
    manifest = stamper / "manifest.yml"
    manifest.write_text(manifest.read_text() + "command: [no-such-program]\n")
    ran = run("describe", str(stamper))
    assert ran.status == 0
    assert "it is not asked" in ran.stdout
    assert "took" not in ran.stdout


def test_describe_of_a_bare_command_does_without_a_manifest(run: Run) -> None:
    ran = run("describe", "--contract", "envelope", "--json", "--", *CANARY, "well-behaved")
    assert ran.status == 0
    assert ran.json["manifest"] is None


def test_variables_are_nothing_for_a_handshake(run: Run, greeter: Path) -> None:
    assert run("describe", str(greeter), "--var", "a=b").status == 2


# doctor


def test_doctor_of_a_healthy_plugin_finds_nothing(run: Run) -> None:
    ran = run("doctor", str(EXAMPLES / "header-stamper"), "--json")
    assert ran.status == 0
    assert len(ran.json["findings"]) >= 4
    assert run("doctor", "--contract", "envelope", "--", *CANARY, "well-behaved").status == 0


def spoil_syntax(plugin: Path) -> None:
    (plugin / "plugin.py").write_text("x = 1\ndef oops(:\n")


def spoil_import(plugin: Path) -> None:
    (plugin / "plugin.py").write_text("import no_such_module\n")


def spoil_package(plugin: Path) -> None:
    for file in plugin.glob("*.py"):
        file.unlink()


def spoil_version(plugin: Path) -> None:
    manifest = plugin / "manifest.yml"
    manifest.write_text(manifest.read_text().replace("1.0.0", "2.0.0"))


def spoil_extensions(plugin: Path) -> None:
    manifest = plugin / "manifest.yml"
    manifest.write_text(manifest.read_text().replace("[.txt, .csv, .md, .py]", "[]"))


def spoil_pipe(plugin: Path) -> None:
    (plugin / "plugin.py").unlink()
    os.mkfifo(plugin / "plugin.py")


SPOILT = {
    "line 2": spoil_syntax,
    "no_such_module": spoil_import,
    "neither": spoil_package,
    "2.0.0": spoil_version,
    "no extension": spoil_extensions,
    "regular file": spoil_pipe,
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("expected", SPOILT)
def test_doctor_says_what_is_wrong(expected: str, run: Run, stamper: Path) -> None:
    SPOILT[expected](stamper)
    ran = run("doctor", str(stamper), "--json")
    assert ran.status == 1
    problem = next(found for found in ran.json["findings"] if not found["ok"])
    assert expected in problem["what"]
    assert problem["advice"]


@pytest.mark.thin(3)
@pytest.mark.parametrize("fault", ["validates-with-exit-1", "true", "false"])
def test_doctor_tells_how_a_worker_fails(fault: str, run: Run) -> None:
    command = [fault] if fault in ("true", "false") else [*CANARY, fault]
    ran = run("doctor", "--contract", "envelope", "--json", "--", *command)
    assert ran.status == 1
    assert ran.json["findings"][-1]["advice"]


@pytest.mark.requirement("envelope:validate:known")
@pytest.mark.parametrize("fault", [canaries.WITHOUT_MODES, canaries.NO_WORDS])
def test_a_bare_command_need_not_know_of_validations(fault: str, run: Run) -> None:
    for command in ("check", "doctor", "describe"):
        ran = run(command, "--contract", "envelope", "--", *CANARY, fault)
        assert ran.status == 0, ran.stdout
    assert "a request for no file" in run("doctor", "--contract", "envelope", "--", *CANARY, fault).stdout


def test_doctor_of_a_wrong_manifest_names_key_and_remedy(run: Run, stamper: Path) -> None:
    (stamper / "manifest.yml").write_text("name: x\n")
    ran = run("doctor", str(stamper), "--json")
    assert ran.status == 3
    assert ran.json["binding"]["remedy"]
