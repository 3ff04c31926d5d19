"""A host without descriptors says so, as it says everything else that goes wrong."""

from __future__ import annotations

import importlib
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import plughost
from plughost import FailureCode, blocking
from plughost.manifest.binding import Binding

for _name in ("sideband.blocking_console", "sideband.asyncio_console", "duplex.blocking_fleet"):
    importlib.import_module(f"plughost.host.{_name}")  # now: a module cannot be read without a descriptor


@contextmanager
def no_descriptors() -> Iterator[None]:
    """Use up every descriptor that this process may have, up to a limit of its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
    taken: list[int] = []
    try:
        while True:
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        yield
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_console_without_descriptors_is_a_failed_launch() -> None:
    with blocking.Host() as host:
        with no_descriptors(), pytest.raises(plughost.PluginFailure) as caught:
            host.console("python")
        assert caught.value.code is FailureCode.LAUNCH_FAILED
        assert "ulimit -n" in str(caught.value)


async def test_the_same_on_a_loop() -> None:
    async with plughost.Host() as host:
        with no_descriptors(), pytest.raises(plughost.PluginFailure) as caught:
            await host.console("python")
        assert caught.value.code is FailureCode.LAUNCH_FAILED


def test_a_fleet_without_descriptors_is_refused(tmp_path: Path) -> None:
    with blocking.Host() as host, no_descriptors(), pytest.raises(plughost.LocalProtocolError):
        host.fleet(tmp_path)


@contextmanager
def high_descriptors() -> Iterator[None]:
    """Use up the descriptors that `select` can wait for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, hard))
    taken: list[int] = []
    try:
        while not taken or taken[-1] < 1100:
            taken.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_host_with_more_than_1024_descriptors_ends_what_was_torn_from_its_call(tmp_path: Path) -> None:
    with blocking.Host() as host, high_descriptors():
        sleeper = Binding("p", "execute", ("sleep", "600"), tmp_path, tmp_path)
        process = host._engine.start_execute(sleeper, _Unwatched()).process
        assert process.exit_fd is not None
        assert process.exit_fd > 1024
        host._engine.end_rest()
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


class _Unwatched:
    """A watcher that looks at nothing."""

    def watch(self, fd: int, on_ready: object) -> None: ...
    def watch_writable(self, fd: int, on_ready: object) -> None: ...
    def unwatch(self, fd: int) -> None: ...
    def unwatch_writable(self, fd: int) -> None: ...


# A host that has imported nothing yet of what its first console, or fleet, needs.
FIRST = """
import asyncio, os, resource, sys, plughost
from plughost import blocking

def fill():
    try:
        while True:
            os.open(os.devnull, os.O_RDONLY)
    except OSError:
        pass

async def on_a_loop():
    host = plughost.Host()
    fill()
    await host.console("python")

def begin(kind):
    if kind == "asyncio":
        asyncio.run(on_a_loop())
    host = blocking.Host()
    fill()
    host.console("python") if kind == "console" else host.fleet(".")

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
try:
    begin(sys.argv[1])
except plughost.PlughostError as error:
    os.write(1, f"{type(error).__name__}: {error}".encode())
"""


@pytest.mark.parametrize("kind", ["console", "fleet", "asyncio"])
def test_the_very_first_one_is_refused_as_well(kind: str) -> None:
    words = [sys.executable, "-W", "ignore", "-c", FIRST, kind]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.startswith("LocalProtocolError: "), done.stderr
    assert "ulimit -n" in done.stdout
