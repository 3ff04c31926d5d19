"""Each of the nine codes, produced by a real process through the command line: stage, exit status and hint."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HOSTILE = str(Path(__file__).parent.parent / "process/hostile.py")


def write_binding(
    directory: Path, fault: str, *, allow: str = "[]", limits: str = "", name: str = "hostile"
) -> Path:
    file = directory / "plugin.toml"
    command = json.dumps([sys.executable, "-I", HOSTILE, fault])
    file.write_text(
        f'[plugin]\nname = "{name}"\ncontract = "execute"\ncommand = {command}\n'
        f"[capabilities]\nallow = {allow}\n[limits]\n{limits}\n"
    )
    return file


CASES: list[tuple[str, str, str, int, dict[str, Any]]] = [
    ("handshake_failed", "handshake", 'manifest-{"type": "hi"}', 11, {}),
    ("timeout", "handshake", "silent", 12, {"limits": "handshake_s = 0.2"}),
    ("timeout", "execute", "silent-after-handshake", 12, {"limits": "timeout_s = 0.5"}),
    ("crashed", "handshake", "exit-9", 13, {}),
    ("crashed", "execute", "segfaults", 13, {}),
    ("crashed", "teardown", "lingers", 13, {"limits": "teardown_s = 0.1"}),
    ("malformed_response", "handshake", "raw-text", 14, {}),
    ("malformed_response", "execute", 'answer-{"status": "fine"}', 14, {}),
    ("tool_not_exposed", "handshake", 'manifest-{"manifest": {"exposed_tools": ["other"]}}', 15, {}),
    ("protocol_version_mismatch", "handshake", 'manifest-{"manifest": {"protocol_version": "v9"}}', 16, {}),
    ("capability_not_declared", "handshake", "well", 17, {"allow": '["read"]'}),
    ("capability_not_allowed", "handshake", 'manifest-{"manifest": {"capabilities": ["root"]}}', 18, {}),
]


@pytest.mark.requirement("execute:failure:codes")
@pytest.mark.thin(3)
@pytest.mark.parametrize(("code", "stage", "fault", "status", "options"), CASES)
def test_a_failure_has_its_code_stage_exit_status_and_hint(
    code: str,
    stage: str,
    fault: str,
    status: int,
    options: dict[str, Any],
    run: Callable[..., Any],
    tmp_path: Path,
) -> None:
    write_binding(tmp_path, fault, **options)
    ran = run("call", str(tmp_path), "echo", "--json")
    assert ran.status == status
    failure = ran.json["failure"]
    assert ran.json["ok"] is False
    assert (failure["code"], failure["stage"]) == (code, stage)
    assert failure["plugin"] == "hostile"
    assert failure["message"]
    assert failure["hint"]
    assert failure["exit"]["meaning"]
    assert {"stderr_tail", "delivered", "rung"} <= set(failure)


def test_each_of_the_nine_codes_is_covered_here() -> None:
    from plughost import FailureCode

    assert {case[0] for case in CASES} | {"launch_failed"} == set(FailureCode)


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "kind", ["missing", "directory", "not-executable", "bad-cwd", "no-interpreter", "not-a-program"]
)
def test_a_program_that_cannot_be_started_is_launch_failed_and_says_why(
    kind: str, run: Callable[..., Any], tmp_path: Path
) -> None:
    program = tmp_path / "program"
    cwd = "."
    if kind == "directory":
        program.mkdir()
    elif kind != "missing":
        program.write_bytes(
            {"no-interpreter": b"#!/nowhere/python\n", "not-a-program": b"\x00\x01\x02"}.get(
                kind, b"#!/bin/sh\n"
            )
        )
        program.chmod(0o644 if kind == "not-executable" else 0o755)
    if kind == "bad-cwd":
        cwd = "nowhere"
    (tmp_path / "plugin.toml").write_text(
        f'[plugin]\nname = "p"\ncontract = "execute"\ncommand = ["./program"]\ncwd = "{cwd}"\n'
    )
    ran = run("call", ".", "echo", "--json")
    assert ran.status == 10
    failure = ran.json["failure"]
    assert (failure["code"], failure["stage"], failure["exit"]) == ("launch_failed", "launch", None)
    assert ("nowhere" if kind == "bad-cwd" else "program") in failure["message"]
    assert failure["hint"]


def test_a_missing_program_on_the_path_is_named(run: Callable[..., Any]) -> None:
    ran = run("call", "--contract", "execute", "echo", "--", "no-such-program-anywhere")
    assert ran.status == 10
    assert "no-such-program-anywhere" in ran.stderr


def test_a_limit_that_cannot_be_set_is_launch_failed(run: Callable[..., Any], tmp_path: Path) -> None:
    import os
    import resource

    if os.geteuid() == 0:
        limits, key = "processes = 5", "processes"
    else:
        highest = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        limits, key = f"open_files = {highest + 1}", "open_files"
    write_binding(tmp_path, "well", limits=limits)
    ran = run("call", ".", "echo", "--json")
    assert ran.status == 10
    assert key in ran.json["failure"]["message"]
