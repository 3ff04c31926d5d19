"""`plughost screen`: one frame without a terminal, and the errors of both ways."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from plughost.failures import EXPLANATIONS, FailureCode
from tests.cli.conftest import PLUGHOST
from tests.frontends.told_plugin import write_plugin

Run = Callable[..., Any]
At = Callable[..., "Terminal"]
pytestmark = pytest.mark.thin(3, "plughost screen")  # each starts two or three programs


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The directory where plugins are looked for if nobody says where."""
    write_plugin(tmp_path / "plugins", "viewer", screens='["main", "other"]', topics='["news.today"]')
    return tmp_path / "plugins"


def test_a_frame_is_printed_as_text_after_keys(root: Path, run: Run) -> None:
    ran = run(
        "screen", "viewer", "--once", "--size", "20x3", "--settle", "0", "--key", "a", "--key", "ctrl+x"
    )
    assert (ran.status, ran.stdout, ran.stderr) == (0, "viewer 20x3\na 2:x\n\n", "")


def test_a_frame_is_one_json_object(root: Path, run: Run) -> None:
    shown = run("screen", str(root / "viewer"), "--json", "--settle", "0", "--size", "9x2").json
    assert (shown["ok"], shown["plugin"], shown["screen"]) == (True, "viewer", "main")
    assert (shown["width"], shown["height"], shown["lines"]) == (9, 2, ["viewer 9x", ""])


def test_a_frame_is_a_picture(root: Path, run: Run) -> None:
    ran = run("screen", "viewer", "--once", "--format", "svg", "--settle", "0")
    assert ran.status == 0
    assert "viewer" in "".join(ElementTree.fromstring(ran.stdout).itertext())


def test_other_plugins_of_the_root_feed_it(root: Path, run: Run) -> None:
    write_plugin(root, "reporter", "publishes", screens="[]", spawn="eager")
    ran = run(
        "screen", "viewer", "--root", str(root), "--once", "--size", "20x3", "--settle", "4", cwd=root.parent
    )
    assert ran.stdout == "viewer 20x3\n\nnews.today\n"


@pytest.mark.parametrize(
    ("keys", "status"),
    [(["x"], EXPLANATIONS[FailureCode.CRASHED].exit_status), (["e"], 1)],
    ids=["crash", "error"],
)
def test_a_failure_has_the_status_of_its_code(root: Path, run: Run, keys: list[str], status: int) -> None:
    ran = run("screen", "viewer", "--once", *(word for key in keys for word in ("--key", key)))
    assert ran.status == status
    assert ran.stdout == ""
    assert "\x1b" not in ran.stderr


def test_a_failure_is_json_where_json_is_asked_for(root: Path, run: Run) -> None:
    assert run("screen", "viewer", "--json", "--key", "x").json["failure"]["code"] == "crashed"


def test_with_an_error_of_the_plugins_is_shown_what_it_wrote_to_standard_error(root: Path, run: Run) -> None:
    ran = run("screen", "viewer", "--once", "--key", "e")
    assert ran.status == 1
    assert "why it" in ran.stderr
    ran = run("screen", "viewer", "--json", "--key", "e")
    assert (ran.status, ran.stderr) == (1, "")


def test_what_plugins_log_is_shown_where_a_level_is_given(root: Path, run: Run) -> None:
    words = ("screen", "viewer", "--once", "--key", "l")
    ran = run(*words, "--log-level", "info")
    assert '[viewer] INFO: it was\\x1b[31m told  {"size": 5, "name": "é"}' in ran.stderr
    assert ran.stdout == run(*words).stdout
    assert run(*words, "--log-level", "warn").stderr == run(*words).stderr == ""


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["viewer"],
        ["viewer", "--key", "a"],
        ["viewer", "--log-level", "info"],
        ["veiwer", "--once"],
        ["viewer", "other", "--once"],
        ["viewer", "--once", "--screen", "none"],
        ["viewer", "--once", "--size", ""],
        ["viewer", "--once", "--size", "80"],
        ["viewer", "--once", "--size", "0x5"],
        ["viewer", "--once", "--size", "5x1001"],
        ["viewer", "--once", "--size", "-5x5"],
        ["viewer", "--once", "--key", "nokey"],
        ["viewer", "--once", "--key", ""],
        ["viewer", "--once", "--settle", "-1"],
        ["viewer", "--once", "--settle", "nan"],
        ["viewer", "--once", "--config", "viewer=1"],
        ["viewer", "--once", "--config", "nothing"],
        ["viewer", "--once", "--logs", "read_sessions"],
        ["viewer", "--once", "--logs", "read_sessions=nowhere"],
        ["viewer", "--once", "--log-level", "loud"],
        ["viewer", "--once", "--root", "nowhere"],
    ],
    ids=" ".join,
)
@pytest.mark.thin(9)
def test_wrong_words_are_a_usage_error(root: Path, run: Run, words: list[str]) -> None:
    ran = run("screen", *words)
    assert ran.status == 2
    assert ran.stdout == ""
    assert "Error: " in ran.stderr


def test_json_is_no_other_format(root: Path, run: Run) -> None:
    assert run("screen", "viewer", "--json", "--format", "svg").status == 2


def test_a_near_miss_is_named(root: Path, run: Run) -> None:
    assert "Did you mean viewer?" in run("screen", "veiwer", "--once").stderr


def test_a_plugin_that_lists_no_screen_is_drawn_under_its_own_name(root: Path, run: Run) -> None:
    write_plugin(root, "mute", screens="[]")
    shown = run("screen", "mute", "--json", "--settle", "0", "--size", "9x2").json
    assert (shown["plugin"], shown["screen"], shown["lines"]) == ("mute", "mute", ["mute 9x2", ""])


def test_a_wrong_manifest_says_what_is_wrong(root: Path, run: Run) -> None:
    (root / "viewer" / "manifest.toml").write_text("[plugin]\nname = 5\n")
    ran = run("screen", "viewer", "--once")
    assert ran.status == 3
    assert "manifest.toml" in ran.stderr


class Terminal:
    """`plughost` at a terminal, where a test types. What it writes is in `seen`."""

    def __init__(self, cwd: Path, *words: str) -> None:
        self._end, other = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color"}
        self._process = subprocess.Popen(
            [*PLUGHOST, *words],
            cwd=cwd,
            env=environment,
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)
        self.seen = b""

    def until(self, word: bytes) -> None:
        while word not in self.seen:
            self.seen += os.read(self._end, 65_536)

    def type(self, keys: bytes) -> None:
        os.write(self._end, keys)

    def interrupt(self, number: int = signal.SIGINT) -> None:
        """Do what a terminal does for Ctrl-C when no program has asked for it as a key; or send another signal."""
        self._process.send_signal(number)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(timeout=250)

    def status(self) -> int:
        """Read to the end, and return the exit status."""
        try:
            while piece := os.read(self._end, 65_536):
                self.seen += piece
        except OSError:  # how Linux says that the other side has gone
            pass
        os.close(self._end)
        return self._process.wait(timeout=250)


@pytest.fixture
def at_terminal(root: Path, tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Run `plughost` at a terminal; what a failing test leaves is ended."""
    begun: list[Terminal] = []

    def begin(*words: str) -> Terminal:
        begun.append(Terminal(tmp_path, *words))
        return begun[-1]

    yield begin
    for terminal in begun:
        terminal.end()


def test_without_textual_the_error_says_how_to_get_it(at_terminal: At, tmp_path: Path) -> None:
    (tmp_path / "textual.py").write_text("raise ModuleNotFoundError('it is not here', name='textual')")
    terminal = at_terminal("screen", "viewer")
    assert terminal.status() == 1
    assert b"pip install 'plughost[tui]'" in terminal.seen


def test_what_textual_lacks_is_no_lack_of_textual(at_terminal: At, tmp_path: Path) -> None:
    (tmp_path / "textual.py").write_text("import something_else_that_is_not_here")
    terminal = at_terminal("screen", "viewer")
    assert terminal.status() == 70
    assert b"something_else_that_is_not_here" in terminal.seen


def test_in_a_terminal_ctrl_c_leaves_with_status_0(at_terminal: At) -> None:
    terminal = at_terminal("screen", "viewer")
    terminal.until(b"running")  # in the status line: the plugin has shown itself
    terminal.type(b"\x03")
    assert terminal.status() == 0
    assert b"\x1b[?1049l" in terminal.seen  # the terminal has its own screen back


@pytest.mark.parametrize(
    "words", [["--size", "9x9"], ["--settle", "2"], ["--format", "text"], ["--key", "a"]]
)
def test_what_only_a_frame_can_have_is_refused_at_a_terminal(at_terminal: At, words: list[str]) -> None:
    terminal = at_terminal("screen", "viewer", *words)
    assert terminal.status() == 2
    assert b"go with --once" in terminal.seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_it_gives_the_terminal_back_too(at_terminal: At, number: int) -> None:
    terminal = at_terminal("screen", "viewer")
    terminal.until(b"running")
    terminal.interrupt(number)
    assert terminal.status() == 128 + number
    assert b"\x1b[?1049l" in terminal.seen


def test_a_plugin_that_is_left_in_quarantine_has_failed(at_terminal: At, root: Path) -> None:
    (root / "viewer" / "narrow.toml").write_text("[limits]\nfailures_to_quarantine = 1\n")
    (root / "viewer" / "broken").touch()
    terminal = at_terminal("screen", "viewer")
    terminal.until(b"quarantined")
    terminal.type(b"\x03")
    assert terminal.status() == EXPLANATIONS[FailureCode.CRASHED].exit_status
    assert b"plughost: viewer" in terminal.seen  # and says why, where the prompt comes back


def test_ctrl_c_does_not_wait_for_a_plugin_that_does_not_end(at_terminal: At, root: Path) -> None:
    (root / "viewer" / "narrow.toml").write_text("[limits]\nteardown_s = 3600\n")
    terminal = at_terminal("screen", "viewer")
    terminal.until(b"running")
    terminal.type(b"h")
    terminal.type(b"\x03")
    terminal.until(b"Ctrl-C")  # it says that once more would do
    terminal.interrupt()
    assert terminal.status() == 130
