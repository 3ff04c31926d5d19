"""What the commands for every contract make of `sideband` workers: list, describe, doctor, check; call refuses them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plughost.conformance import sideband
from plughost.conformance.canaries import sideband as canaries
from plughost.failures import EXPLANATIONS, FailureCode

Run = Callable[..., Any]
Put = Callable[..., Path]

CANARY = (sys.executable, "-E", "-s", "-B", str(canaries.PROGRAM))
INTRODUCTION = """\
import json, os
told = int(os.environ["MCP_CONSOLE_IPC_WRITE_FD"])
os.write(told, json.dumps({"type": "backend_info", "language": "x\\u001b[1m\\nforged  sideband"}).encode() + b"\\n")
os.read(int(os.environ["MCP_CONSOLE_IPC_READ_FD"]), 1)
"""


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Write the binding of a worker, and return its directory."""

    def write(name: str, *command: str, rest: str = canaries.SNIPPETS, more: str = "") -> Path:
        directory = tmp_path / name
        directory.mkdir()
        words = json.dumps(list(command))
        head = f'[plugin]\nname = "{name}"\ncontract = "sideband"\ncommand = {words}\n{more}'
        (directory / "plugin.toml").write_text(head + rest, encoding="utf-8")
        return directory

    return write


def problem(ran: Any) -> dict[str, Any]:
    """Return the finding that is none."""
    assert ran.status == 1, ran.stdout
    found: dict[str, Any] = next(each for each in ran.json["findings"] if not each["ok"])
    return found


def test_list_shows_a_worker_and_why_another_cannot_be_used(run: Run, put: Put) -> None:
    put("good", *CANARY, "well-behaved", more='description = "a canary"\n')
    put("bad", "true", rest="[limits]\nhead_chars = 5\n")
    put("worse", "true", rest='[check]\necho = "x"\nehco = "y"\n')
    ran = run("list", "--json")
    assert ran.status == 3
    found = {each["name"]: each for each in ran.json["plugins"]}
    assert (found["good"]["contract"], found["good"]["description"]) == ("sideband", "a canary")
    assert "limits.head_chars" in found["bad"]["problem"]
    assert "check.ehco" in found["worse"]["problem"]
    assert "echo" in found["worse"]["problem"]


def test_describe_shows_introduction_limits_and_timings(run: Run, put: Put) -> None:
    put("bird", *CANARY, "well-behaved", more='description = "sings"\n', rest="[limits]\nimages = 7\n")
    found = run("describe", "bird", "--json").json
    assert (found["ok"], found["contract"]) == (True, "sideband")
    assert found["introduction"] == {
        "language": "canary",
        "supports_images": True,
        "worker": "canary",
        "version": "",
        "request_ids": True,
        "marks": True,
    }
    assert found["limits"]["images"] == 7
    assert set(found["timings_ms"]) == {"start", "end"}
    text = run("describe", "bird").stdout
    assert all(word in text for word in ("bird", "sings", "canary", "7 pictures"))


def test_describe_of_a_bare_command_shows_a_worker_without_ids_too(run: Run) -> None:
    ran = run("describe", "--contract", "sideband", "--json", "--", *CANARY, canaries.WITHOUT_IDS)
    assert ran.status == 0
    assert ran.json["introduction"]["request_ids"] is False


@pytest.mark.parametrize("word", ["describe", "doctor"])
def test_what_a_worker_says_cannot_forge_a_line_or_colour_of_ours(word: str, run: Run, put: Put) -> None:
    directory = put("bird", sys.executable, "bird.py", rest="")
    (directory / "bird.py").write_text(INTRODUCTION, encoding="utf-8")
    ran = run(word, "bird")
    assert "\x1b" not in ran.stdout
    assert not any(line.startswith("forged") for line in ran.stdout.splitlines())


def test_describe_of_a_worker_that_does_not_introduce_itself_is_its_failure(run: Run) -> None:
    ran = run("describe", "--contract", "sideband", "--json", "--", *CANARY, "exits-at-once")
    assert ran.json["failure"]["code"] == FailureCode.CRASHED
    assert ran.status == EXPLANATIONS[FailureCode.CRASHED].exit_status


def test_call_names_the_command_that_a_worker_is_used_by(run: Run, put: Put) -> None:
    put("bird", *CANARY, "well-behaved")
    ran = run("call", "bird", "sing")
    assert ran.status == 2
    assert "plughost console" in ran.stderr


def test_doctor_of_a_healthy_worker_runs_code(run: Run, put: Put) -> None:
    put("bird", *CANARY, "well-behaved")
    ran = run("doctor", "bird", "--json")
    assert ran.status == 0
    assert any("with ids and marks" in each["what"] for each in ran.json["findings"])
    assert "it runs code" in ran.json["findings"][-1]["what"]


def test_doctor_of_a_language_that_nobody_knows_says_what_would_help(run: Run, put: Put) -> None:
    put("bird", *CANARY, "well-behaved", rest="")
    ran = run("doctor", "bird", "--json")
    assert ran.status == 0
    assert "[check]" in ran.json["findings"][-1]["advice"]


BEHAVIOUR = {
    "exits": ([*CANARY, "exits-at-once"], "ended with"),
    "closes": ([*CANARY, "closes-the-sideband"], "closes the sideband"),
    "lacks": (["python", "-c", "import no_such_module"], "ModuleNotFoundError"),
    "speaks": ([*CANARY, "speaks-before-its-introduction"], "before backend_info"),
}


@pytest.mark.thin(2)
@pytest.mark.parametrize("case", BEHAVIOUR)
def test_doctor_says_what_came_in_place_of_an_introduction(case: str, run: Run) -> None:
    command, expected = BEHAVIOUR[case]
    found = problem(run("doctor", "--contract", "sideband", "--json", "--", *command))
    assert expected in found["what"]
    assert found["advice"]


def test_doctor_finds_a_worker_that_speaks_on_the_wrong_pipe(run: Run, put: Put) -> None:
    code = 'import sys\nprint(\'{"type": "backend_info", "language": "x"}\', flush=True)\nsys.stdin.read()\n'
    directory = put("bird", sys.executable, "bird.py", rest="[limits]\nhandshake_s = 3\n")
    (directory / "bird.py").write_text(code, encoding="utf-8")
    assert "standard output" in problem(run("doctor", "bird", "--json"))["what"]


def test_check_reports_axis_by_axis_and_ends_with_1_for_a_broken_clause(run: Run, tmp_path: Path) -> None:
    words = ("--contract", "sideband", "--json", "--junit", "report.xml", "--", *CANARY, "exits-at-once")
    ran = run("check", *words)
    assert ran.status == 1
    assert (ran.json["ok"], ran.json["contract"]) == (False, "sideband")
    found = {axis["id"]: axis["status"] for axis in ran.json["axes"]}
    assert found.pop(sideband.FIRST) == "failed"
    assert set(found.values()) == {"skipped"}
    assert (tmp_path / "report.xml").read_text(encoding="utf-8").count("<skipped") == len(found)


def test_check_of_a_worker_that_keeps_the_contract_ends_with_0(run: Run, put: Put) -> None:
    put("bird", *CANARY, "well-behaved", rest='[check]\necho = "say {text}"\n')
    ran = run("check", "bird")
    assert ran.status == 0, ran.stdout
    assert "0 failed" in ran.stdout


@pytest.mark.thin(3)
@pytest.mark.parametrize("option", [("--tool", "x"), ("--no-large",), ("--answer", "a=b")])
def test_an_option_of_another_contract_is_a_usage_error(option: tuple[str, ...], run: Run) -> None:
    ran = run("check", "--contract", "sideband", *option, "--", "true")
    assert ran.status == 2
    assert option[0] in ran.stderr


def test_a_program_that_is_not_there_is_a_failure_to_launch(run: Run) -> None:
    ran = run("check", "--contract", "sideband", "--json", "--", "./no-such-worker")
    assert ran.json["failure"]["code"] == FailureCode.LAUNCH_FAILED
