"""The physical limit: our worker on bare pipes. The same frames, read one pipe after another, and no check.

    python -m bench.drivers.console_bare PLACE

`call` announces a request, writes it, and reads until its end and both of its marks. `start` is a worker to its
backend_info. `flood` copies what a request prints, and nothing else, to a file.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from types import TracebackType
from typing import Self

from plughost_sdk import sideband_worker

from .. import latency, pinning
from ..loop import serve
from ..stopwatch import Marks, Stopwatch
from . import console_work as work

WORKER = str(Path(sideband_worker.__file__).with_name("__main__.py"))
PIECE = 65_536  # bytes: what a pipe holds
MARK = "0123456789abcdef0123456789abcdef"
MARK_BYTES = b"\x1e" + MARK.encode() + b"\x1e"


class Bare:
    """One worker, which has introduced itself."""

    def __init__(self) -> None:
        read, self._told = os.pipe()
        self._tells, write = os.pipe()
        pipe = subprocess.PIPE
        variables = {"MCP_CONSOLE_IPC_READ_FD": str(read), "MCP_CONSOLE_IPC_WRITE_FD": str(write)}
        self._process = subprocess.Popen(
            [sys.executable, WORKER],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            pass_fds=(read, write),
            env=os.environ | variables,
        )
        os.close(read)
        os.close(write)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._in, self._out, self._err = (pipe.fileno() for pipe in self._pipes)
        self._requests = 0
        if b'"backend_info"' not in os.read(self._tells, PIECE):
            raise ValueError("it did not introduce itself")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for fd in (self._told, self._tells):
            os.close(fd)
        for pipe in self._pipes:
            pipe.close()
        self._process.wait()

    def run(self, text: str) -> str:
        """Run *text*, which shows little, and return what it shows on stdout."""
        self._begin(text)
        end = b""
        while not end.endswith(b"}\n"):
            end += os.read(self._tells, PIECE)
        shown = self._rest_of(self._out)
        self._rest_of(self._err)
        if b'"request_end"' not in end:
            raise ValueError(f"it did not end: {end!r:.200}")
        return shown[: -len(MARK_BYTES)].decode()

    def copy(self, text: str, to: int) -> int:
        """Run *text*, copy what it prints to descriptor *to*, and return how many bytes that were."""
        size, end = 0, b""
        with selectors.DefaultSelector() as selector:
            for fd in (self._out, self._tells):
                selector.register(fd, selectors.EVENT_READ)
            self._begin(text)
            while not end:
                for key, _ in selector.select():
                    if key.fd == self._out:
                        size += os.write(to, os.read(self._out, PIECE))
                    else:
                        end = os.read(self._tells, PIECE)
        os.set_blocking(self._out, False)
        try:
            while data := os.read(self._out, PIECE):
                size += os.write(to, data)
        except BlockingIOError:
            pass
        os.set_blocking(self._out, True)
        self._rest_of(self._err)
        return size - len(MARK_BYTES)

    def _begin(self, text: str) -> None:
        self._requests += 1
        request = {"request_id": self._requests, "mark": MARK, "image_mark": MARK[::-1]}
        told = {"type": "stdin_write", "text": text + "\n", **request}
        os.write(self._told, json.dumps(told).encode() + b"\n")
        os.write(self._in, text.encode() + b"\n")

    @staticmethod
    def _rest_of(fd: int) -> bytes:
        """Read to the mark: it is in the pipe before the request's end is told."""
        data = os.read(fd, PIECE)
        while not data.endswith(MARK_BYTES):
            data += os.read(fd, PIECE)
        return data


def start() -> Marks:
    """Start a worker."""
    watch = Stopwatch()
    with Bare():
        watch.mark("ready")
    return watch.marks


def flood(bare: Bare, directory: str) -> Marks:
    """Have a worker print, and keep all of it in a file."""
    bare.run(work.FLOOD)
    path = Path(directory, "flood")
    with path.open("wb", buffering=0) as file:
        began = perf_counter()
        size = bare.copy(work.FLOOD_RUN, file.fileno())
        taken = perf_counter() - began
    path.unlink()
    return work.rate(size, taken)


def main() -> None:
    pinning.settle()
    with Bare() as bare, TemporaryDirectory() as directory:
        calls = partial(latency.measure, partial(bare.run, work.CODE), work.check, work.CALLS)
        serve({"call": calls, "start": start, "flood": partial(flood, bare, directory)})


if __name__ == "__main__":
    main()
