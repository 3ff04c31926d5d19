"""Ctrl-C at any moment of a blocking call costs no descriptor and leaves no process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import pytest

import plughost
from plughost import blocking
from plughost.manifest.binding import Binding
from plughost.process.local import LocalLauncher, LocalProcess

PROGRAM = Path(__file__).with_name("interrupted_host.py")
BUNDLED = Path(plughost.__file__).with_name("bundled")


@pytest.mark.timeout(2400)
@pytest.mark.parametrize("times", [5, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ["execute", "hook", "envelope"])
def test_ctrl_c_at_any_moment_costs_no_descriptor_and_leaves_no_zombie(
    kind: str, times: int, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    words = [sys.executable, "-W", "ignore", str(PROGRAM), kind, str(times), str(BUNDLED), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=2300, cwd=tmp_path)
    assert done.stdout == "(0, 0, True)\n", done.stderr


class Interrupting(LocalLauncher):
    """A launcher during which Ctrl-C is pressed, when the process runs and nobody knows of it yet."""

    def launch(self, binding: Binding) -> LocalProcess:
        process = super().launch(binding)
        self.fds = len(os.listdir("/proc/self/fd"))
        signal.raise_signal(signal.SIGINT)
        return process


def children() -> set[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


WORK: dict[str, Callable[[blocking.Host, Path], Any]] = {
    "execute": lambda host, _: host.add(BUNDLED / "execute/greeter").call("greet", {"name": "x"}),
    "describe": lambda host, _: host.add(BUNDLED / "execute/greeter").describe(),
    "hook": lambda host, _: host.generate([BUNDLED / "hook/woodpecker"], BUNDLED / "hook/cigen.yml"),
    "connect": lambda host, _: host.connect(BUNDLED / "hook/woodpecker"),
    "envelope": lambda host, here: host.run_pass(here, [BUNDLED / "envelope/header-stamper"]),
}


@pytest.mark.parametrize("kind", WORK)
def test_ctrl_c_when_a_process_was_just_started_leaves_nothing_of_it(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    launcher = Interrupting()
    before, descriptors = children(), len(os.listdir("/proc/self/fd"))
    with blocking.Host(launcher=launcher) as host:
        with pytest.raises(KeyboardInterrupt):
            WORK[kind](host, tmp_path)
        assert len(children() - before) == 1  # the guard
        assert len(os.listdir("/proc/self/fd")) == descriptors + 1  # its pipe
        assert launcher.fds > descriptors + 1


class Openings:
    """The functions of `os` that open something. Ctrl-C is pressed when one has done so for the *last* time."""

    def __init__(self, patch: pytest.MonkeyPatch, last: int) -> None:
        self.left = last
        for name in ("open", "pipe", "dup", "eventfd"):
            patch.setattr(os, name, self.pressing(getattr(os, name)))

    def pressing(self, opens: Callable[..., Any]) -> Callable[..., Any]:
        def opened(*args: Any, **options: Any) -> Any:
            result = opens(*args, **options)
            # What /proc says of the processes of this machine is read in one place, once for each of them.
            if not str(args[:1]).startswith("('/proc/") and current_thread() is main_thread():
                self.left -= 1
                if self.left == 0:
                    signal.raise_signal(signal.SIGINT)
            return result

        return opened


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        ("execute", 1),
        ("hook", 1),
        ("connect", 1),
        ("envelope", 13),
        pytest.param("envelope", 1, marks=pytest.mark.long),
    ],
)
def test_ctrl_c_when_a_descriptor_was_just_opened_leaves_none(
    kind: str, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with blocking.Host() as host:
        end(WORK[kind](host, directory_for(0, tmp_path)))  # starts the guard, and imports what it needs
        descriptors = os.listdir("/proc/self/fd")
        for last in count(1, step):
            here = directory_for(last, tmp_path)
            with monkeypatch.context() as patch:
                openings = Openings(patch, last)
                try:
                    result = WORK[kind](host, here)
                except KeyboardInterrupt:
                    result = None
            assert openings.left > 0 or result is None, "it was not raised"
            end(result)
            assert os.listdir("/proc/self/fd") == descriptors, last
            if openings.left > 0:
                break
    assert last > 5


def directory_for(attempt: int, parent: Path) -> Path:
    """Make a new tree. An interrupted pass leaves its log behind, and every file there is one more to open."""
    here = parent / str(attempt)
    here.mkdir()
    (here / "a.txt").write_text("hello\n")
    return here


def end(result: Any) -> None:
    """Close *result* if it is something to be closed."""
    getattr(result, "close", lambda: None)()
