"""Raw frames to and from a process, bounded whatever it does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from plughost.conformance.hook_probe import FrameProbe
from plughost.manifest import binding as bindings
from plughost.process.local import LocalLauncher

LIMIT = 16
WITHIN = 10.0  # seconds; an upper bound that is never reached

Echo = Callable[..., AbstractContextManager[FrameProbe]]


@pytest.fixture
def probe(launcher: LocalLauncher, tmp_path: Path) -> Echo:
    """Start a command, `cat` unless told otherwise."""

    def start(*command: str) -> FrameProbe:
        binding = bindings.of_command("hook", command or ("cat",), directory=tmp_path)
        return FrameProbe(launcher, binding, LIMIT)

    return start


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("size", [0, 1, LIMIT - 1, LIMIT])
def test_a_frame_up_to_the_limit_comes_back_whole(size: int, probe: Echo) -> None:
    with probe() as echo:
        assert echo.send(frame(b"x" * size), WITHIN)
        assert echo.frame(WITHIN) == b"x" * size
        assert echo.promised is None


def test_a_frame_over_the_limit_is_known_from_its_header(probe: Echo) -> None:
    with probe() as echo:
        echo.send((LIMIT + 1).to_bytes(4, "big"), WITHIN)
        assert echo.frame(WITHIN) is None
        assert echo.promised == LIMIT + 1
        assert echo.frame(0) is None


def test_frames_come_one_at_a_time_and_the_rest_can_be_dropped(probe: Echo) -> None:
    with probe() as echo:
        echo.send(frame(b"one") + frame(b"two") + b"stray", WITHIN)
        echo.close_stdin()
        echo.wait_exit(WITHIN)
        assert echo.frame(0) == b"one"
        assert echo.frame(0) == b"two"
        assert echo.frame(0) is None
        assert echo.drop() == b"stray"
        assert echo.rest == b""


@pytest.mark.parametrize("cut", range(1, 6))
def test_a_frame_that_is_cut_off_is_none(cut: int, probe: Echo) -> None:
    with probe() as echo:
        echo.send(frame(b"ab")[:cut], WITHIN)
        echo.close_stdin()
        assert echo.frame(WITHIN) is None
        assert echo.promised is None
        assert len(echo.rest) == cut


def test_bytes_are_written_one_by_one(probe: Echo) -> None:
    script = "import os\nwhile data := os.read(0, 99): os.write(1, bytes([0, 0, 0, len(data)]) + data)"
    with probe(sys.executable, "-I", "-c", script) as echo:
        assert echo.dribble(b"bytes", WITHIN)
        assert [echo.frame(WITHIN) for _ in range(5)] == [b"b", b"y", b"t", b"e", b"s"]


def test_a_process_that_reads_nothing_is_written_to_all_the_same(probe: Echo) -> None:
    with probe("sleep", "60") as deaf:
        assert deaf.dribble(b"bytes", 0.1)
        assert deaf.unread() == 5


def test_a_process_that_is_gone_takes_nothing(probe: Echo) -> None:
    with probe("true") as gone:
        gone.wait_exit(WITHIN)
        assert not gone.dribble(b"bytes", WITHIN)


def test_the_last_frame_of_a_process_that_ends_is_read(probe: Echo) -> None:
    with probe("sh", "-c", r"printf '\0\0\0\2ok'; exit 3") as last:
        assert last.frame(WITHIN) == b"ok"
        status = last.wait_exit(WITHIN)
        assert status is not None
        assert status.code == 3


def test_what_floods_stderr_after_the_plugin_is_gone_is_not_read_for_ever(probe: Echo) -> None:
    with probe("sh", "-c", "yes >&2 & exit 0") as flood:
        assert flood.wait_exit(WITHIN) is not None


def test_a_flood_of_stdout_is_kept_up_to_a_bound(probe: Echo) -> None:
    with probe("sh", "-c", "head -c 9000000 /dev/zero | tr '\\0' x") as flood:
        flood.wait_exit(WITHIN)
        assert len(flood.stdout) == 3 * LIMIT + 1_048_576
