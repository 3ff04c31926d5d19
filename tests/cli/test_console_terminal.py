"""`plughost console` as a person meets it, at a real terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.console_terminal import CTRL_C, CTRL_D, UP, ConsoleTerminal
from tests.host.sideband.lab import FOREIGN

At = Callable[..., ConsoleTerminal]
pytestmark = pytest.mark.thin(7, "plughost console at a terminal")  # each starts three or four programs

# What is typed is echoed, so that words to wait for are put together by the code.
STUBBORN = """\
import time
while True:
    try:
        print('be' + 'gun'); time.sleep(1e6)
    except KeyboardInterrupt: pass"""
EDITS = "\x1b[?2004h"  # how readline says that it takes keys: those that come earlier are the terminal's
DRAWN = """\
import struct, zlib
chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
class Drawing:
    def _repr_png_(self):
        rows = zlib.compress(b"\\0\\x80\\x80\\x80" * 2)
        header = struct.pack(">IIBBBBB", 3, 2, 8, 0, 0, 0, 0)
        return b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
Drawing()"""


@pytest.fixture
def at_terminal(tmp_path: Path) -> Iterator[At]:
    begun: list[ConsoleTerminal] = []

    def begin(
        *words: str, environment: dict[str, str] | None = None, worker: str | None = None
    ) -> ConsoleTerminal:
        if worker is not None:  # the file of one
            (tmp_path / "plugin.toml").write_text(worker)
            words = (*words, "--worker", "plugin.toml")
        begun.append(ConsoleTerminal(tmp_path, *words, environment=environment))
        return begun[-1]

    yield begin
    for terminal in begun:
        terminal.close()


def paste(text: str) -> bytes:
    """Return what a terminal sends for a paste that is followed by the key Enter."""
    return b"\x1b[200~" + text.encode() + b"\x1b[201~\r"


def test_lines_blocks_and_errors_share_one_state_until_ctrl_d(at_terminal: At) -> None:
    terminal = at_terminal()
    terminal.enter("def double(x):")
    terminal.until("... ")
    terminal.type("\treturn 'do' + 'ne' * x\r")  # a tab is four blanks
    terminal.until("... ")
    terminal.type("\r")
    terminal.enter("1/0")
    terminal.until("ZeroDivisionError")
    terminal.enter("double(2)")
    terminal.until("'donene'")
    terminal.until(">>> ")
    terminal.type(CTRL_D)
    assert terminal.status() == 0
    assert b"\x1b[31m" in terminal.seen  # what went to stderr


def test_what_is_pasted_is_one_request(at_terminal: At) -> None:
    terminal = at_terminal()
    terminal.until(">>> ")
    terminal.type(paste("def f():\n    x = 6\n\n    return x * 7\n\nprint('is', f())"))
    terminal.until("is 42")
    terminal.enter(":quit")
    assert terminal.status() == 0


def test_history_brings_back_blocks_whole_also_of_earlier_sessions(at_terminal: At, tmp_path: Path) -> None:
    terminal = at_terminal("--history", "typed")
    terminal.until(">>> ")
    terminal.type(paste("for x in range(2):\n    print('it', 'is', x)"))
    terminal.until("it is 1")
    terminal.enter("input('Sa' + 'y: ')")
    terminal.until("Say: ")
    terminal.type("not to be remembered\r")
    terminal.enter(":quit")
    assert terminal.status() == 0
    kept = [json.loads(line) for line in (tmp_path / "typed").read_text().splitlines()]
    assert kept == ["for x in range(2):\n    print('it', 'is', x)", "input('Sa' + 'y: ')", ":quit"]
    later = at_terminal("--history", "typed")
    later.until(">>> ")
    later.type(UP * 3 + b"\r")
    later.until("it is 1")
    later.enter(":quit")
    assert later.status() == 0


def test_long_work_is_shown_while_it_runs(at_terminal: At, tmp_path: Path) -> None:
    terminal = at_terminal()
    terminal.until(">>> ")
    terminal.type(
        paste(
            "import os, time\nprint('fir' + 'st')\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('la' + 'st')"
        )
    )
    terminal.until("first")
    (tmp_path / "go").touch()
    terminal.until("last")


def test_ctrl_c_stops_what_runs_and_the_state_survives(at_terminal: At) -> None:
    terminal = at_terminal()
    terminal.enter("kept = 6")
    terminal.enter("import time; print('be' + 'gun'); time.sleep(1e6)")
    terminal.until("begun")
    terminal.type(CTRL_C)
    terminal.until("KeyboardInterrupt")
    terminal.enter("print('is', kept * 7)")
    terminal.until("is 42")
    assert b"[interrupted]" in terminal.seen or b"Ctrl-C again" in terminal.seen  # a slow worker answers late


def test_ctrl_c_pressed_again_replaces_a_worker_that_does_not_stop(at_terminal: At) -> None:
    terminal = at_terminal()
    terminal.until(">>> ")
    terminal.type(paste(STUBBORN))
    terminal.until("begun")
    terminal.type(CTRL_C)
    terminal.until("Ctrl-C again")
    terminal.type(CTRL_C)
    terminal.until("in-memory state lost")
    terminal.enter("print('is', 6 * 7)")
    terminal.until("is 42")


def test_ctrl_c_at_the_prompt_drops_what_was_typed(at_terminal: At) -> None:
    terminal = at_terminal()
    terminal.until(">>> ")
    terminal.type("garbage(")
    terminal.until("garbage(")
    terminal.type(CTRL_C)
    terminal.enter("if True:")
    terminal.until("... ")
    terminal.type(CTRL_C)
    terminal.enter("print('is', 6 * 7)")
    assert "Error" not in terminal.until("is 42")


def test_code_asks_the_person(at_terminal: At) -> None:
    terminal = at_terminal()
    terminal.enter(r"print('begun: ', end=''); name = input('first line\nsecond: ')")
    terminal.until("begun: first line", "second: ")
    terminal.type("Ada\r")
    terminal.enter("print('is', name)")
    terminal.until("is Ada")


def test_a_secret_is_not_shown(at_terminal: At) -> None:
    terminal = at_terminal()
    terminal.enter("import getpass; said = getpass.getpass('Pass' + 'word: ')")
    terminal.until("Password: ")
    terminal.type("xyzzy\r")
    terminal.enter("print('is', said[::-1])")
    terminal.until("is yzzyx")
    assert b"xyzzy" not in terminal.seen


@pytest.mark.parametrize("call", ["input('Na' + 'me? ')", "import getpass; getpass.getpass('Na' + 'me? ')"])
def test_ctrl_c_instead_of_an_answer_stops_the_request(at_terminal: At, call: str) -> None:
    terminal = at_terminal()
    terminal.enter(call)
    terminal.until("Name? ")
    terminal.type(CTRL_C)
    terminal.until("KeyboardInterrupt")
    terminal.enter("print('is', 6 * 7)")
    terminal.until("is 42")


@pytest.mark.parametrize("call", ["input('Na' + 'me? ')", "import getpass; getpass.getpass('Na' + 'me? ')"])
def test_ctrl_d_instead_of_an_answer_is_the_end_of_the_input(at_terminal: At, call: str) -> None:
    terminal = at_terminal()
    terminal.enter(call)
    terminal.until("Name? ")
    terminal.type(CTRL_D)
    terminal.until("EOFError")
    terminal.enter("print('is', 6 * 7)")
    terminal.until("is 42")


def test_code_that_reads_to_the_end_gets_all_lines_before_ctrl_d(at_terminal: At) -> None:
    terminal = at_terminal()
    terminal.enter("import sys; print('be' + 'gun'); said = sys.stdin.readlines()")
    terminal.until("begun", EDITS)
    for line in ("one", "", "two"):
        terminal.type(f"{line}\r")
        terminal.until(line, EDITS)
    terminal.type(CTRL_D)
    terminal.enter("print('is', len(said), said[0] + said[2])")
    terminal.until("is 3 one", "two")


def test_ctrl_d_stops_code_whose_worker_knows_no_end_of_input(at_terminal: At) -> None:
    command = ", ".join(json.dumps(word) for word in (sys.executable, "-I", "-S", str(FOREIGN)))
    terminal = at_terminal(worker=f'[plugin]\nname = "raw"\ncontract = "sideband"\ncommand = [{command}]\n')
    terminal.until("> ")
    terminal.type("ask colour? \r")
    terminal.until("colour? ", "colour? ")
    terminal.type(CTRL_D)
    terminal.until("interrupted")


def test_after_a_ctrl_d_no_blank_line_comes_behind_those_that_are_typed(at_terminal: At) -> None:
    terminal = at_terminal()
    terminal.enter("print('is', 6 * 7)")
    before = terminal.until("is 42").count("\n")
    terminal.enter("input('Na' + 'me? ')")
    terminal.until("Name? ")
    terminal.type(CTRL_D)
    terminal.until("EOFError: ", "\n")
    terminal.enter("print('is', 6 * 7)")
    assert terminal.until("is 42").count("\n") == before


@pytest.mark.parametrize("prompt", [r"\x1b]0;title\x07\nNa", r"\x1b]0;title\x07' + 'x' * 200 + '\nNa"])
def test_no_part_of_a_prompt_speaks_to_the_terminal(at_terminal: At, prompt: str) -> None:
    terminal = at_terminal()
    terminal.enter(f"input('{prompt}' + 'me? ')")
    terminal.until("Name? ")
    terminal.type("Ada\r")
    terminal.until("'Ada'")
    assert b"\x1b]0" not in terminal.seen


def test_what_is_not_utf8_is_not_sent(at_terminal: At) -> None:
    terminal = at_terminal()
    terminal.until(">>> ")
    terminal.type(b"print('sent \xff')\r")
    terminal.until("not UTF-8")
    terminal.enter("said = input('Na' + 'me? ')")
    terminal.until("Name? ")
    terminal.type(b"A\xffda\r")
    terminal.until("not UTF-8", "Name? ")
    terminal.type("Ada\r")
    terminal.enter("print('is', said)")
    terminal.until("is Ada")


def test_a_worker_that_dies_is_reported_and_replaced(at_terminal: At) -> None:
    terminal = at_terminal()
    terminal.enter("import os; os._exit(3)")
    terminal.until("worker 1", "exit status 3", "state lost")
    terminal.enter("print('is', 6 * 7)")
    terminal.until("is 42")
    terminal.enter(":worker")
    terminal.until("worker 2", "process ")


def test_our_own_commands_begin_with_a_colon(at_terminal: At) -> None:
    terminal = at_terminal()
    terminal.enter("x = 5")
    terminal.enter(":help")
    terminal.until(":restart", ":quit")
    terminal.enter(":restart")
    terminal.until("state lost", "worker 2")
    terminal.enter("x")
    terminal.until("NameError")
    terminal.enter(":nonesuch")
    terminal.until("[there is no :nonesuch")


@pytest.mark.parametrize(
    ("line", "status"), [("exit()", 0), ("raise SystemExit", 0), (":quit", 0)], ids=["exit", "raise", "quit"]
)
def test_code_that_ends_its_session_ends_ours(at_terminal: At, line: str, status: int) -> None:
    terminal = at_terminal()
    terminal.enter(line)
    assert terminal.status() == status


def test_a_picture_is_kept_and_named_and_drawn_where_the_terminal_can(
    at_terminal: At, tmp_path: Path
) -> None:
    terminal = at_terminal("--output-dir", "out", environment={"KITTY_WINDOW_ID": "1"})
    terminal.until(">>> ")
    terminal.type(paste(DRAWN))
    terminal.until("\x1b_Ga=T,f=100,q=2,m=0;", "\x1b\\")
    terminal.until(f"[picture: {tmp_path}/out/picture-1.png 3×2]")
    assert (tmp_path / "out" / "picture-1.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("images", ["path", "none"])
def test_pictures_are_not_drawn_where_that_is_not_wanted(
    at_terminal: At, tmp_path: Path, images: str
) -> None:
    terminal = at_terminal(
        "--images", images, "--output-dir", "out", environment={"TERM_PROGRAM": "iTerm.app", "NO_COLOR": "1"}
    )
    terminal.until(">>> ")
    terminal.type(paste(DRAWN))
    shown = terminal.until("[picture: ", "3×2")
    assert "\x1b]1337" not in shown
    assert "\x1b[2m" not in shown  # NO_COLOR
    assert (tmp_path / "out" / "picture-1.png").exists() is (images == "path")


def test_colours_that_code_leaves_on_end_before_our_prompt(at_terminal: At) -> None:
    terminal = at_terminal()
    terminal.enter(r"print('\x1b[?25l\x1b[44m' + 'bl' + 'ue', end='')")
    terminal.until("blue", "\x1b[0m\x1b[?25h", ">>> ")


def test_what_takes_too_long_is_stopped(at_terminal: At) -> None:
    terminal = at_terminal("--timeout", "0.2")
    terminal.enter("import time; time.sleep(1e6)")
    terminal.until("0.2 s", "KeyboardInterrupt", ">>> ")


def test_a_worker_that_cannot_be_started_is_an_error_and_no_end(at_terminal: At, tmp_path: Path) -> None:
    (tmp_path / "interpreter").symlink_to(sys.executable)
    terminal = at_terminal("--worker", "./interpreter")
    terminal.enter("import os; os.unlink('interpreter'); os._exit(3)")
    terminal.until("exit status 3")
    terminal.enter("'never run'")
    terminal.until("plughost: ")
    terminal.until(">>> ")
    (tmp_path / "interpreter").symlink_to(sys.executable)
    terminal.type("print('is', 6 * 7)\r")
    terminal.until("is 42")


def test_a_script_may_ask_the_person_at_the_terminal(at_terminal: At, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print('is', input('Name? '))")
    terminal = at_terminal("--run", "script.py")
    terminal.until("Name? ")
    terminal.type("Ada\r")
    terminal.until("is Ada")
    assert terminal.status() == 0


def test_ctrl_c_stops_a_script_with_the_status_of_shells(at_terminal: At, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import time; print('begun'); time.sleep(1e6)")
    terminal = at_terminal("--run", "script.py")
    terminal.until("begun")
    terminal.type(CTRL_C)
    assert terminal.status() == 130


def test_json_is_not_for_a_person(at_terminal: At) -> None:
    terminal = at_terminal("--json")
    assert terminal.status() == 2
