"""`plughost console --run`: a script as one request, its output or one JSON object, and an exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plughost.failures import EXPLANATIONS, FailureCode
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
        ("import sys; sys.exit(5)", 1, "5"),
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
        stdout, _ = process.communicate(timeout=50)
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


def test_code_runs_where_it_is_told_to(perform: Run, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    ran = perform("import os; print(os.getcwd())", "--cwd", "there")
    assert ran.stdout == f"{tmp_path}/there\n"
