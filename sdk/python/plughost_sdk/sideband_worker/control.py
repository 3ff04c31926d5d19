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
IMAGE_MARK_DIGITS = 32  # hexadecimal, and lower case


class Control:
    """The host's side of the conversation. *begin* takes a request, *end* a reason."""

    def __init__(
        self, link: Link, interrupts: Interrupts, begin: Callable[[Request], None], end: Callable[[str], None]
    ) -> None:
        self._link, self._interrupts, self._begin, self._end = link, interrupts, begin, end
        self._requests: list[Request] = []  # that are not over, in order; or the last one, which is

    def run(self) -> None:
        """Serve the host until it ends the session or is gone."""
        for line in self._link.lines():
            message = decode(line)
            kind = message.get("type") if message is not None else None
            if message is None or not isinstance(kind, str) or not _number_fits(message):
                self._link.ignored += 1
            elif kind == "stdin_write" and _is_write(message):
                if not self._write(message):
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
        announced = text.encode("utf-8", "surrogatepass")
        if self._link.take(len(announced)) != announced:
            return False
        request = None if mark is not None else self._find(number)
        if request is not None and (number is not None or request.waiting):
            if not request.over:  # a late answer is dropped: it must never run
                request.answer(announced)
            return True
        self._requests = [each for each in self._requests if not each.over]
        ending = None if mark is None else mark.encode("ascii")
        request = Request(number, ending, text, message.get("image_mark"))
        self._requests.append(request)
        self._begin(request)
        return True

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
    return (
        fits and isinstance(message.get("text"), str) and _is_image_mark(message.get("image_mark", "0" * 32))
    )


def _is_image_mark(mark: object) -> bool:
    return isinstance(mark, str) and len(mark) == IMAGE_MARK_DIGITS and not mark.strip("0123456789abcdef")
