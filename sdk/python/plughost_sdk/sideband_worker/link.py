"""Turns the descriptors that come from the host into lines, payloads and sent messages, and hides them from user code.

The variables that name them are removed, they are closed on exec and in forked children: what a user starts does not
inherit them. That is against accidents and no wall: a process of the same user may open the descriptors of another,
where the system lets it. Refuses to be made without a sideband.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from os import close, read, set_blocking, write  # now: user code may put something else in their place

from .payload import CHUNK, Payload
from .wire import LINE_BYTES, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .wire import Value

READ_FD, WRITE_FD = "MCP_CONSOLE_IPC_READ_FD", "MCP_CONSOLE_IPC_WRITE_FD"
PIPES = ("MCP_CONSOLE_IPC_PIPE_TO_WORKER", "MCP_CONSOLE_IPC_PIPE_FROM_WORKER")  # of a host on Windows


class Link:
    """The host, as seen from the worker. Messages may be sent from any thread."""

    def __init__(self, control: int, answers: int, payload: int) -> None:
        self._control, self._answers = control, answers
        self.payload = Payload(payload, control)
        self.listens = (
            True  # for input that is not announced, or with no text: until the host is seen to know better
        )
        self._lock = allocate_lock()
        self.open = True  # false when the host is gone, or in a forked child
        self.forked = False
        self.ignored = 0  # lines that were no message

    def lines(self) -> Iterator[bytes | None]:
        """Yield the host's lines without their ends until there are no more. One that is too long is left out.

        Yields None where there is input that was not announced.
        """
        held, searched, skipping = bytearray(), 0, False
        while True:
            while self.listens and not held and not self.payload.ended and not self.payload.is_announced():
                yield None
            try:
                data = read(self._control, CHUNK)
            except OSError:
                return
            if not data:
                return
            held += data
            while True:
                end = held.find(b"\n", searched)
                if end < 0:
                    break
                line = bytes(held[:end])
                del held[: end + 1]
                searched = 0
                if skipping or len(line) > LINE_BYTES:
                    skipping = False
                    self.ignored += 1
                elif line.strip():
                    yield line
            if len(held) > LINE_BYTES:  # forget it now: no line may cost more than it may hold
                held.clear()
                skipping = True
            searched = len(held)

    def send(self, *messages: Mapping[str, Value]) -> None:
        """Send *messages*, whole and in one write; nothing if nobody can hear them."""
        if not self.open:
            return
        data = b"".join([encode(message) for message in messages])
        with self._lock:
            try:
                write_all(self._answers, data)
            except OSError:
                self.open = False

    def forget(self) -> None:
        """Be nobody: a forked child must neither hear nor answer the host."""
        self.open, self.forked = False, True
        for fd in (self._control, self._answers, self.payload.fd):
            try:
                close(fd)
            except OSError:
                pass


def connect() -> Link:
    """Return the link that the environment names. Raises SystemExit if there is none."""
    piped = [name for name in PIPES if os.environ.pop(name, None) is not None]
    if piped and READ_FD not in os.environ:
        raise SystemExit(
            f"{piped[0]} names a pipe of Windows, which this program cannot open: it is started with {READ_FD}"
            f" and {WRITE_FD}, two descriptors, on Linux or macOS"
        )
    fds = []
    for name in (READ_FD, WRITE_FD):
        value = os.environ.pop(name, "")
        try:
            fd = int(value)
            os.set_inheritable(fd, False)
        except (ValueError, OverflowError, OSError):
            raise SystemExit(
                f"{name} is {value!r}, which is no open descriptor: this program is started by a `sideband` host"
            ) from None
        fds.append(fd)
    payload = os.dup(0)  # closed on exec, as every new descriptor
    empty, unused = os.pipe()
    close(unused)  # what is left is at its end: raw readers of descriptor 0 get an end, never a later request
    os.dup2(empty, 0)
    close(empty)
    return Link(fds[0], fds[1], payload)


def write_all(fd: int, data: bytes) -> None:
    """Write all of *data*, also where user code has made the pipe non-blocking: it blocks meanwhile. Raises OSError."""
    view, changed = memoryview(data), False
    try:
        while view:
            try:
                view = view[write(fd, view) :]
            except BlockingIOError:
                set_blocking(fd, True)
                changed = True
    finally:
        if changed:
            set_blocking(fd, False)
