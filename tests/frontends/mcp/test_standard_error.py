"""Lines on standard error: one each, cleaned and bounded, and no reader can hold up or end who reports."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

from plughost.frontends.mcp import standard_error
from plughost.frontends.mcp.standard_error import StandardError
from tests.frontends.mcp.agent import PATIENCE_S


@pytest.fixture
def pipe() -> Iterator[list[int]]:
    ends = list(os.pipe())
    yield ends
    for fd in ends:
        os.close(fd)


def filled(fd: int) -> int:
    """Write to *fd* until it takes no more, and return how much that was."""
    os.set_blocking(fd, False)
    size = 0
    try:
        while True:
            size += os.write(fd, b"x" * 4096)
    except BlockingIOError:
        return size
    finally:
        os.set_blocking(fd, True)


def read(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += os.read(fd, size - len(data))
    return data


def test_a_line_is_one_line_without_escape_sequences_and_not_too_long(pipe):
    lines = StandardError(pipe[1])
    lines.report("a\nb\x1b[31m" + "c" * 5_000)
    assert lines.flush(PATIENCE_S)
    said = os.read(pipe[0], 10_000)
    assert said.startswith(b"plughost mcp: a\\x0ab\\x1b[31mccc")
    assert said.count(b"\n") == 1
    assert len(said) < 2_000
    lines.close()


def test_who_reports_is_not_held_up_by_one_who_does_not_read_and_what_is_dropped_is_counted(pipe):
    size = filled(pipe[1])
    lines = StandardError(pipe[1])
    for number in range(2 * standard_error.LINES):
        lines.report(str(number))  # would wait for ever here
    assert not lines.flush(0.0)
    read(pipe[0], size)
    assert lines.flush(PATIENCE_S)
    lines.report("last")
    assert lines.flush(PATIENCE_S)
    said = os.read(pipe[0], 1_000_000).decode().splitlines()
    assert "plughost mcp: 0" in said
    assert said[-1] == "plughost mcp: last"
    dropped = [int(line.split()[2]) for line in said if line.endswith("dropped")]
    assert sum(dropped) >= standard_error.LINES - 1
    assert len(said) - len(dropped) - 1 + sum(dropped) == 2 * standard_error.LINES
    lines.close()


def test_a_reader_that_is_gone_ends_nothing(pipe):
    lines = StandardError(pipe[1])
    os.close(pipe[0])
    pipe[0] = os.open(os.devnull, os.O_RDONLY)
    for _ in range(3):
        lines.report("x")
        assert lines.flush(PATIENCE_S)
    lines.close()


def test_what_is_logged_is_reported_in_lines_of_ours_and_no_more_afterwards(pipe, monkeypatch):
    monkeypatch.setattr(standard_error, "StandardError", lambda: StandardError(pipe[1]))
    log = logging.getLogger("somebody.else")
    with standard_error.taken() as lines:
        log.warning("Invalid Host header: %s", "evil\x1b[31m\nplughost: hello")
        try:
            raise ValueError("a\nb")
        except ValueError:
            log.exception("a bug")
        log.info("not this")
        assert lines.flush(PATIENCE_S)
    log.warning("later")
    said = os.read(pipe[0], 100_000).decode().splitlines()
    assert said[0] == "plughost mcp: Invalid Host header: evil\\x1b[31m\\x0aplughost: hello"
    assert all(line.startswith("plughost mcp: ") for line in said)
    assert "ValueError: a" in "".join(said)
    assert "later" not in said[-1]


def test_standard_error_itself_is_what_is_written_to(capfd):
    lines = StandardError()
    lines.report("x")
    assert lines.flush(PATIENCE_S)
    assert capfd.readouterr().err == "plughost mcp: x\n"
    lines.close()
