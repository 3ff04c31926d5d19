"""`plughost console --run`: a script as one request, its output or one JSON object, and an exit status."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plughost.contracts.sideband.timeline import Budget
from plughost.failures import EXPLANATIONS, FailureCode
from plughost.frontends.console import workers
from plughost.frontends.console.workers import HEAD_CHARS
from tests.cli.conftest import PLUGHOST
from tests.cli.test_console_terminal import DRAWN

Run = Callable[..., Any]
TIMEOUT = EXPLANATIONS[FailureCode.TIMEOUT].exit_status
pytestmark = pytest.mark.thin(7, "plughost console --run")  # each starts two or three programs
CRASHED = EXPLANATIONS[FailureCode.CRASHED].exit_status


@pytest.fixture
def perform(run: Run, tmp_path: Path) -> Run:
    """Run a script from a file."""

    def go(script: str, *words: str, **options: Any) -> Any:
        (tmp_path / "script.py").write_text(script)
        environment = {"TMPDIR": str(tmp_path)}
        return run(
            "console", "--worker", sys.executable, "--run", "script.py", *words, env=environment, **options
        )

    return go


def test_output_goes_where_the_script_writes_it_and_nothing_else_does(perform: Run, tmp_path: Path) -> None:
    ran = perform("import sys\nprint('out\\x1b[31m')\nprint('err', file=sys.stderr)\n6 * 7")
    assert (ran.status, ran.stdout, ran.stderr) == (0, "out\x1b[31m\n42\n", "err\n")
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


@pytest.mark.parametrize("words", [["--run", "-"], []], ids=["dash", "no terminal"])
def test_standard_input_is_a_script_too(run: Run, words: list[str]) -> None:
    ran = run("console", "--worker", sys.executable, *words, stdin="\ufeffx = 6\n\nprint(x * 7)")
    assert (ran.status, ran.stdout, ran.stderr) == (0, "42\n", "")


def test_a_large_output_is_all_there(perform: Run) -> None:
    ran = perform("for number in range(400_000): print(number)")
    assert ran.status == 0
    assert ran.stdout == "".join(f"{number}\n" for number in range(400_000))


@pytest.mark.parametrize(
    ("script", "status", "said"),
    [
        ("1/0", 1, "ZeroDivisionError"),
        ("def", 1, "SyntaxError"),
        ("import sys; sys.exit(0)", 0, ""),
        ("import sys; sys.exit(5)", 5, "5"),
        ("import sys; sys.exit('why')", 1, "why"),
        ("import sys; sys.exit(-1)", 255, "255"),
        ("import os; os._exit(3)", CRASHED, "exit status 3"),
        ("import os; os.kill(os.getpid(), 9)", CRASHED, "KILL"),
        ("input('What now? ')", 1, "What now? "),
        ("import sys; sys.stdin.read()", 1, "input"),
    ],
)
def test_how_a_script_ends_is_its_status(perform: Run, script: str, status: int, said: str) -> None:
    ran = perform(f"print('begun')\n{script}")
    assert ran.status == status
    assert ran.stdout == ("" if script == "def" else "begun\n")
    assert said in ran.stderr


def test_a_script_that_takes_too_long_is_stopped(perform: Run) -> None:
    ran = perform("import time\ntime.sleep(1e6)", "--timeout", "0.1")
    assert ran.status == TIMEOUT
    assert "0.1 s" in ran.stderr


STUBBORN = "import time\nwhile True:\n  try: time.sleep(1e6)\n  except KeyboardInterrupt: pass"


def test_a_script_that_takes_too_long_and_does_not_stop_is_killed_and_no_worker_replaces_it(
    perform: Run,
) -> None:
    ran = perform(STUBBORN, "--timeout", "0.1", "--json")
    assert ran.status == TIMEOUT
    assert (ran.json["state"], ran.json["generation"]) == ("ended", 1)
    shown = perform(STUBBORN, "--timeout", "0.1")
    assert shown.status == TIMEOUT
    assert "the worker was killed" in shown.stderr


@pytest.mark.parametrize(("timeout", "limit"), [(None, 10), (0.1, 3), (5, 5), (60, 10)])
def test_the_time_of_a_script_shortens_that_for_the_start_of_its_worker(
    timeout: float | None, limit: float
) -> None:
    assert workers.bind(sys.executable, None, start_s=timeout).limits.handshake_s == limit


@pytest.mark.parametrize("words", [[], ["--json"]], ids=["text", "json"])
def test_a_script_that_asks_and_does_not_stop_is_stopped_by_force(perform: Run, words: list[str]) -> None:
    stubborn = "while True:\n  try: time.sleep(1e6)\n  except KeyboardInterrupt: pass"
    ran = perform(
        f"import time\ntry: input('What now? ')\nexcept KeyboardInterrupt: pass\n{stubborn}", *words
    )
    assert ran.status == 1
    assert "What now? " in ran.stdout + ran.stderr
    assert "state lost" in ran.stdout + ran.stderr


def test_one_json_object_has_the_timeline_with_pictures_as_paths(perform: Run, tmp_path: Path) -> None:
    ran = perform(f"print('before')\n{DRAWN}", "--json", "--output-dir", "out")
    assert (ran.status, ran.stderr) == (0, "")
    reply = ran.json
    items = reply.pop("items")
    assert [items[0][key] for key in ("kind", "stream", "request_id")] == ["text", "stdout", 1]
    assert items[0]["text"].startswith("before\n")
    (picture,) = (item for item in items if item["kind"] == "image")
    assert (picture["mime_type"], picture["is_new"], picture["request_id"]) == ("image/png", True, 1)
    assert (picture["path"], picture["width"], picture["height"]) == (f"{tmp_path}/out/picture-1.png", 3, 2)
    assert "data" not in picture
    assert reply.pop("elapsed_ms") >= 0
    assert reply == {
        "ok": True,
        "state": "ready",
        "prompt": "",
        "request_id": 1,
        "generation": 1,
        "error": False,
        "full_output": None,
        "failure": None,
    }


def test_json_without_pictures_keeps_none(perform: Run, tmp_path: Path) -> None:
    (picture,) = (
        item for item in perform(DRAWN, "--json", "--images", "none").json["items"] if "path" in item
    )
    assert (picture["path"], picture["width"]) == (None, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


@pytest.mark.parametrize(
    ("script", "status", "expected"),
    [
        ("1/0", 1, {"ok": False, "state": "ready", "error": True}),
        ("import os; os._exit(3)", CRASHED, {"ok": False, "state": "ended", "error": True}),
        ("import sys; sys.exit()", 0, {"ok": True, "state": "ended", "error": False}),
        ("import sys; sys.exit(5)", 5, {"ok": False, "state": "ended", "error": True}),
    ],
)
def test_json_says_how_the_script_ended(
    perform: Run, script: str, status: int, expected: dict[str, Any]
) -> None:
    ran = perform(script, "--json")
    assert ran.status == status
    reply = ran.json
    assert {key: reply[key] for key in expected} == expected
    assert (reply["failure"] is not None) is (status == CRASHED)
    assert "problem" not in reply


@pytest.mark.parametrize(
    ("script", "words", "status", "problem"),
    [
        ("input('What now? ')", [], 1, "What now? "),
        ("print('begun'); import time; time.sleep(1e6)", ["--timeout", "0.1"], TIMEOUT, "0.1 s"),
    ],
    ids=["asks", "too long"],
)
def test_json_says_why_a_script_was_stopped(
    perform: Run, script: str, words: list[str], status: int, problem: str
) -> None:
    ran = perform(script, "--json", *words)
    assert ran.status == status
    assert ran.json["ok"] is False
    assert problem in ran.json["problem"]


def test_json_names_the_file_of_a_large_output_which_stays(perform: Run) -> None:
    reply = perform("print('x' * 3_000_000)", "--json").json
    assert [item["kind"] for item in reply["items"]] == ["text", "omitted", "text"]
    assert reply["items"][1]["spooled"] is True
    assert Path(reply["full_output"]).read_text() == "x" * 3_000_000 + "\n"


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
def test_whoever_ends_us_finds_nothing_left(tmp_path: Path, end: signal.Signals) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "script.py").write_text(f"open({str(gate)!r}, 'w').close()\nimport time\ntime.sleep(1e6)")
    (tmp_path / "temporary").mkdir()
    with subprocess.Popen(
        [*PLUGHOST, "console", "--worker", sys.executable, "--run", "script.py"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    ) as process:
        gate.read_bytes()  # it has begun
        assert len(list((tmp_path / "temporary").iterdir())) == 1
        process.send_signal(end)
        process.wait(timeout=250)
    assert process.returncode == -end
    assert list((tmp_path / "temporary").iterdir()) == []


# Lines of a thousand bytes: more than two replies of a script hold. The first may be what we wait to get rid of, and
# then the second has to leave something out, however fast or slow anybody is.
LINES = 2 * (HEAD_CHARS + Budget().tail_chars) // 1000 + 2000


@pytest.mark.parametrize(
    ("then", "status", "is_whole"),
    [
        ("", 0, True),
        ("import sys; sys.exit(5)", 5, True),
        ("import glob, os\nfor name in glob.glob('temporary/*/output-*'): os.unlink(name)", 70, False),
    ],
    ids=["whole", "whole with a status", "the file is removed"],
)
@pytest.mark.long
def test_a_slow_reader_gets_all_of_the_output_or_a_status_that_says_no(
    tmp_path: Path, then: str, status: int, is_whole: bool
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "script.py").write_text(
        f"for number in range({LINES}): print(f'{{number:0999}}')\n"
        f"import sys; sys.stdout.flush(); open({str(gate)!r}, 'w').close()\n{then}"
    )
    (tmp_path / "temporary").mkdir()
    with subprocess.Popen(
        [*PLUGHOST, "console", "--worker", sys.executable, "--run", "script.py"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        gate.read_bytes()  # all of it is printed, and nobody has read any of it
        stdout, stderr = process.communicate(timeout=250)
    assert process.returncode == status
    expected = hashlib.sha256()
    for number in range(LINES):
        expected.update(b"%0999d\n" % number)
    assert (hashlib.sha256(stdout).digest() == expected.digest()) is is_whole
    assert (b"lost" in stderr.replace(b"state lost", b"")) is not is_whole
    assert (list((tmp_path / "temporary").iterdir()) == []) is is_whole


def test_ctrl_c_stops_a_script_and_its_object_is_printed_still(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "script.py").write_text(
        f"print('begun')\nopen({str(gate)!r}, 'w').close()\nimport time\ntime.sleep(1e6)"
    )
    with subprocess.Popen(
        [*PLUGHOST, "console", "--worker", sys.executable, "--run", "script.py", "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
    ) as process:
        gate.read_bytes()  # it has begun
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=250)
    assert process.returncode == 130
    reply = json.loads(stdout)
    assert (reply["ok"], reply["problem"]) == (False, "interrupted")
    assert "begun\n" in [item["text"] for item in reply["items"] if item["kind"] == "text"]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--run", "nonesuch.py"], 2),
        (["--run", "."], 2),
        (["--run", "latin.py"], 2),
        (["--run", "latin.py", "--timeout", "0"], 2),
        (["--timeout", "nan"], 2),
        (["--cwd", "nonesuch"], 2),
        (["--images", "loud"], 2),
        (["--output-dir", ""], 2),
        (["--worker", "python3 -i"], 2),
        (["--worker", "nonesuch"], 3),
        (["--worker", "latin.py"], 3),
        (["--worker", ""], 3),
        (["--worker", "/bin/true"], CRASHED),
        (["--worker", "/bin/true", "--json"], CRASHED),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else str(words),
)
@pytest.mark.thin(7)
def test_wrong_words_say_so_and_run_nothing(run: Run, tmp_path: Path, words: list[str], status: int) -> None:
    (tmp_path / "latin.py").write_bytes(b"print('\xe9')")
    ran = run("console", *words, stdin="open('ran', 'w')", env={"TMPDIR": str(tmp_path)})
    assert ran.status == status
    assert (ran.json["ok"] is False) if "--json" in words else (ran.stdout == "" and ran.stderr != "")
    assert [path.name for path in tmp_path.iterdir()] == ["latin.py"]


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ("SyntaxError: invalid syntax", 3),
        ("ImportError: cannot import name 'PyCF_ONLY_AST'", 3),
        ("MemoryError", CRASHED),
        ("", CRASHED),
    ],
)
def test_an_interpreter_that_is_too_old_for_our_worker_is_a_wrong_one(
    run: Run, tmp_path: Path, last: str, status: int
) -> None:
    (tmp_path / "old").write_text(f'#!/bin/sh\necho "  File $1, line 1" >&2\necho "{last}" >&2\nexit 1\n')
    (tmp_path / "old").chmod(0o755)
    ran = run("console", "--worker", "./old", "--json", stdin="1", env={"TMPDIR": str(tmp_path)})
    assert ran.status == status
    assert ("3.9" in ran.json.get("binding", {}).get("remedy", "")) is (status == 3)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_code_runs_where_it_is_told_to(perform: Run, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    ran = perform("import os; print(os.getcwd())", "--cwd", "there")
    assert ran.stdout == f"{tmp_path}/there\n"
