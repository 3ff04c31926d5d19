"""Turns what the host sends into requests for the main thread, answers for readers, interrupts, and the end.

It runs in a thread of its own, which alone reads the sideband and stdin, so that neither is ever read halfway by code
that was interrupted. It never runs user code and imports no module that could start threads.
"""

from __future__ import annotations

from .request import Request
from .wire import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .interrupt import Interrupts
    from .link import Link

MARK_CHARACTERS = (
    256  # of a mark: with its separators it must stay below what a pipe takes in one piece (512)
)
COUNTED_MARK_DIGITS = 32  # hexadecimal, and lower case
UNENDED = "the input does not end in a line feed, so it may not be whole: nothing of it was run\n"
NOT_UTF8 = "the input is not UTF-8: nothing of it was run\n"
MISMATCH = "what was written to standard input is not what stdin_write announced: nothing of it was run\n"


class Control:
    """The host's side of the conversation. *begin* takes a request, *end* a reason, *say* a line for stderr."""

    def __init__(
        self,
        link: Link,
        interrupts: Interrupts,
        begin: Callable[[Request], None],
        end: Callable[[str], None],
        say: Callable[[str], None],
    ) -> None:
        self._link, self._interrupts = link, interrupts
        self._begin, self._end, self._say = begin, end, say
        self._requests: list[Request] = []  # that are not over, in order; or the last one, which is

    def run(self) -> None:
        """Serve the host until it ends the session or is gone."""
        for line in self._link.lines():
            if line is None:
                self._take_unannounced()
                continue
            message = decode(line)
            kind = message.get("type") if message is not None else None
            if message is None or not isinstance(kind, str) or not _number_fits(message):
                self._link.ignored += 1
            elif kind == "stdin_write" and _is_write(message):
                if not self._write(message):
                    self._say(MISMATCH)
                    self._end("protocol_error")
                    return
            elif kind == "interrupt":
                self._interrupt(message.get("request_id"))
            elif kind == "session_end":
                self._end("asked")
                return
            else:
                self._link.ignored += 1
        self._end("host_gone")

    def _write(self, message: dict[str, Any]) -> bool:
        """Take what is announced, exactly. False if something else came: then nothing after it can be trusted."""
        text, number, mark = message["text"], message.get("request_id"), message.get("mark")
        self._link.listens = number is None  # a host that knows ids announces all that it writes
        if not text and number is None:
            return True  # it will be there without having been announced
        announced = text.encode("utf-8", "surrogatepass")
        taken = self._link.payload.take(announced)
        lacks_end = taken + b"\n" == announced
        if taken != announced and not lacks_end:
            return False
        request = None if mark is not None else self._find(number)
        if request is not None and (number is not None or request.waiting):
            if not request.over:  # a late answer is dropped: it must never run
                request.answer(taken)
            return True
        ending = None if mark is None else mark.encode("ascii")
        flaw = UNENDED if lacks_end else ""
        marks = message.get("image_mark"), message.get("order_mark")
        self._add(Request(number, ending, text, *marks, flaw=flaw))
        return True

    def _take_unannounced(self) -> None:
        """Take what a host has written that announces no text: code, or an answer if one is awaited."""
        data = self._link.payload.take_unannounced()
        request = self._find(None)
        if not data:
            return
        if request is not None and request.waiting and not request.over:
            request.answer(data)
            return
        flaw = "" if data.endswith(b"\n") else UNENDED
        try:
            text = data.decode()
        except ValueError:
            text, flaw = "", flaw or NOT_UTF8
        self._add(Request(None, None, text, flaw=flaw, announced=False))

    def _add(self, request: Request) -> None:
        self._requests = [each for each in self._requests if not each.over]
        self._requests.append(request)
        self._begin(request)

    def _interrupt(self, number: int | None) -> None:
        request = self._find(number)
        if request is not None and not request.over:
            request.discard()
        reached = self._interrupts.announce(request, signalled=number is not None)
        outcome = "delivered" if reached else "idle"
        told: dict[str, Any] = {"type": "interrupted", "outcome": outcome}
        if number is not None:
            told["request_id"] = number
        self._link.send(told)

    def _find(self, number: int | None) -> Request | None:
        """Return the request of that number, or the one that is up if there is no number. Forget those before it."""
        while len(self._requests) > 1 and self._requests[0].over:
            del self._requests[0]
        for request in self._requests:
            if number is None or request.number == number:
                return request
        return None


def _number_fits(message: dict[str, Any]) -> bool:
    number = message.get("request_id", 1)
    return isinstance(number, int) and not isinstance(number, bool) and number >= 1


def _is_write(message: dict[str, Any]) -> bool:
    mark = message.get("mark", "0")
    fits = (
        isinstance(mark, str) and 0 < len(mark) <= MARK_CHARACTERS and mark.isascii() and mark.isprintable()
    )
    counted = (message.get(each, "0" * COUNTED_MARK_DIGITS) for each in ("image_mark", "order_mark"))
    return fits and isinstance(message.get("text"), str) and all(map(_is_counted_mark, counted))


def _is_counted_mark(mark: object) -> bool:
    return isinstance(mark, str) and len(mark) == COUNTED_MARK_DIGITS and not mark.strip("0123456789abcdef")
