"""The clauses of document 000 (envelope) on the operator: a question at a terminal, the log, a dry run."""

from __future__ import annotations

import ctypes
import json
import os
import pty
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.letter.raw_envelope_worker import transform, write_plugins

WAIT_S = 60.0
IN_MODIFY, IN_CREATE = 0x2, 0x100


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with one file, beside the raw workers."""
    root = tmp_path / "run"
    root.mkdir()
    (root / "metadata.xlsx").write_text("x")
    write_plugins(tmp_path / "plugins")
    return root


def plugin(root: Path, what: str) -> list[str]:
    return ["--plugin", str(root.parent / "plugins" / what)]


def read_until(fd: int, wanted: bytes) -> bytes:
    """Return what comes out of a terminal up to *wanted*, or up to its end."""
    seen = b""
    until = time.monotonic() + WAIT_S
    while wanted not in seen:
        assert select.select([fd], [], [], max(0.0, until - time.monotonic()))[0], seen
        try:
            piece = os.read(fd, 65_536)
        except OSError:  # how Linux says that nobody writes to it any more
            break
        seen += piece
    return seen


def test_0_23_the_host_puts_the_question_to_the_operator(root: Path) -> None:
    """The host surfaces the prompt to the operator, who types a value at a terminal."""
    mine, theirs = pty.openpty()
    with subprocess.Popen(
        [*transform(root), *plugin(root, "asks")], stdin=theirs, stdout=theirs, stderr=theirs
    ) as host:
        os.close(theirs)
        try:
            shown = read_until(mine, b"Color?")
            assert b"asks" in shown  # the name of the plugin
            assert b"none given" in shown  # its reason
            os.write(mine, b"blue\n")
            read_until(mine, b"the end of its output")
            assert host.wait(WAIT_S) == 0
        finally:
            host.kill()
            os.close(mine)
    second = sorted((root / ".exlab-wizard/plugins/asks").glob("*.stderr"))[1].read_text().splitlines()[0]
    request = json.loads(json.loads(second.removeprefix("TOLD "))["line"])
    assert request["extra_inputs"] == {"color": "blue"}
    assert (root / "metadata.xlsx").read_text() == "xasks"


@contextmanager
def watched(directory: Path) -> Iterator[Callable[[], None]]:
    """Give a function that waits until a file below *directory* is made or grows."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC)
    assert fd >= 0
    assert libc.inotify_add_watch(fd, os.fsencode(directory), IN_MODIFY | IN_CREATE) >= 0

    def wait() -> None:
        assert select.select([fd], [], [], WAIT_S)[0], "nothing is written"
        os.read(fd, 65_536)

    try:
        yield wait
    finally:
        os.close(fd)


def test_0_30_the_log_has_the_lines_of_a_pass_that_was_cut_short(root: Path) -> None:
    """The lines of a plugin are in the log while it runs, and once only after the host was killed."""
    manifest = root.parent / "plugins/late/manifest.yml"
    manifest.write_text(manifest.read_text().replace('"timeout_seconds": 3', '"timeout_seconds": 300'))
    book = root / ".exlab-wizard"
    book.mkdir()
    with watched(book) as wait, subprocess.Popen([*transform(root), *plugin(root, "late")]) as host:
        try:
            while not any("begun late" in log.read_text() for log in book.glob("wizard.*.log")):
                wait()
        finally:
            host.kill()
    subprocess.run([*transform(root), "--recover"], capture_output=True, timeout=WAIT_S, check=True)
    (log,) = book.glob("wizard.*.log")
    assert log.read_text().count("begun late") == 1
    assert "status=aborted" in log.read_text()


def test_0_38_what_a_worker_writes_in_a_dry_run_is_undone(root: Path) -> None:
    """dry_run is in both places of the request; a worker that writes all the same breaks the rules."""
    words = [*plugin(root, "modifies"), "--dry-run", "--json"]
    ran = subprocess.run(
        [*transform(root), *words], capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    (entry,) = json.loads(ran.stdout)["plugins_applied"]
    assert "DRY True True" in ran.stderr
    assert entry["status"] == "policy_violation"
    assert (root / "metadata.xlsx").read_text() == "x"
