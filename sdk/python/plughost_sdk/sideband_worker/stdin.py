"""Turns the host's answers into `sys.stdin`, `input()` and `getpass()`. Refuses to read a byte of a later request.

Whoever reads asks for a line: readline_start, the answer, readline_result. Where no request runs nobody can be asked,
and the input is at its end; so it is for a reader whose request ends before it was answered. Descriptor 0 itself is
always at its end, for C code and for subprocesses.
"""

from __future__ import annotations

import builtins
import io
import sys
from _queue import Empty
from _thread import get_ident

from .interrupt import invoke, wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from .interrupt import Interrupts
    from .link import Link
    from .request import Request
    from .wire import Value

TOLD = (
    1_000_000  # characters of a prompt and of a line that are told: as JSON they stay below the cap of a line
)

_python_input = builtins.input


class Answers(io.RawIOBase):
    """The bytes that the host answers with, at most one line per read."""

    def __init__(self, link: Link, interrupts: Interrupts, ready: Callable[[], None]) -> None:
        self._link, self._interrupts, self._ready = link, interrupts, ready
        self._rest = memoryview(b"")  # of a line that was longer than the reader's buffer
        self._drained = False
        self.used = False  # something was read: there may be a rest in the layers above
        self.prompts: dict[int, tuple[str, bool]] = {}  # thread to what it asks with, and whether in secret
        self.name, self.mode = "<stdin>", "rb"

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0

    def isatty(self) -> bool:
        return False

    def readinto(self, buffer: Any) -> int:
        """Give what is left of a line, or ask for one."""
        if not self._rest and not self._drained:
            self._rest = memoryview(self._ask())
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]  # no copy: an answer may be as long as a line of the sideband
        return size

    def _ask(self) -> bytes:
        self.used = True
        prompt, secret = self.prompts.pop(get_ident(), ("", False))
        request = self._interrupts.request
        if request is None or request.over or not self._link.open:
            return b""
        self._ready()
        start = request.tagged(type="readline_start", prompt=prompt)
        if secret:
            start["secret"] = True
        unsent = [start]
        try:
            line = request.lines.get_nowait()
        except Empty:
            unsent.clear()
        if not unsent:  # not above: an interrupt of the wait would be shown as one that came of being empty
            request.waiting += 1
            try:
                self._link.send(start, *self._pause(request))
                line = wait(request.lines.get)
            finally:
                request.waiting -= 1
        if line is None:
            request.lines.put(None)  # the next reader shall find it too
            return b""
        told = "\n" if secret else line.decode("utf-8", "replace")[:TOLD]
        self._link.send(*unsent, request.tagged(type="readline_result", prompt=prompt, line=told))
        return line

    def _pause(self, request: Request) -> list[dict[str, Value]]:
        """Return what else an older host has to hear before it lets anybody answer."""
        if request.announced or get_ident() != self._interrupts.main:
            return []
        return [request.tagged(type="request_end")]

    def drain(self, stream: io.TextIOWrapper) -> None:
        """Empty the layers above of what a request has left unread."""
        self._rest, self._drained = memoryview(b""), True
        self.prompts.clear()
        try:
            stream.read()
        finally:
            self.used = self._drained = False


class Stdin:
    """`sys.stdin` and the functions that read it."""

    def __init__(self, make: Callable[[], Answers]) -> None:
        self._make = make
        self._open()
        builtins.input = self.input

    def _open(self) -> None:
        self._answers = self._make()
        self._stream = io.TextIOWrapper(io.BufferedReader(self._answers), "utf-8", "replace")
        self._stream.mode = "r"  # type: ignore[misc]
        sys.stdin = sys.__stdin__ = self._stream  # type: ignore[misc]

    def clear(self) -> None:
        """Forget what a request has left unread, and mend what it has closed, detached or deleted."""
        if not hasattr(sys, "stdin"):
            sys.stdin = self._stream
        try:
            if self._stream.closed:
                self._open()
            elif self._answers.used:
                self._answers.drain(self._stream)
        except (ValueError, OSError):
            self._open()

    def input(self, prompt: object = "", /) -> str:
        """Read a line from the user, without its end. The prompt is shown by the host."""
        if getattr(sys, "stdin", None) is not self._stream:
            return invoke(_python_input, prompt)
        return self._line(invoke(str, prompt), secret=False)

    def getpass(self, prompt: str = "Password: ", stream: object = None) -> str:
        """Read a line that is not to be shown."""
        del stream
        return self._line(invoke(str, prompt), secret=True)

    def patch_getpass(self, module: ModuleType) -> None:
        """Let the module getpass ask the host: it would turn to a terminal that is not the user's."""
        module.getpass = self.getpass  # type: ignore[attr-defined]

    def _line(self, prompt: str, *, secret: bool) -> str:
        shown = prompt[:TOLD].encode("utf-8", "backslashreplace").decode()[:TOLD]
        self._answers.prompts[get_ident()] = (shown, secret)
        try:
            line = self._stream.readline()
        finally:
            self._answers.prompts.pop(get_ident(), None)
        if not line:
            raise EOFError("EOF when reading a line")
        return line[:-1] if line.endswith("\n") else line
