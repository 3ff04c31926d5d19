"""A plugin's call -> its one answer: a result, a refusal, or an exception's words. Never to another process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...capabilities.gates import Refusal
from ...errors import LocalProtocolError
from ...messages.jsonrpc import INTERNAL_ERROR, Id
from ...messages.quoting import quote
from .member import DuplexLink, Member

SHORT = 4_096  # characters of a message that would not fit a frame with all that comes along


class Asked:
    """A call that is to be answered once: to the process that made it, if that is still there."""

    __slots__ = ("_id", "_link", "_open", "member", "put_down", "until")

    def __init__(self, member: Member, link: DuplexLink, id: Id) -> None:
        self.member = member
        self._link = link
        self._id = id
        self._open = True
        self.until: Callable[[], None] | None = None  # ends the wait for its deadline
        self.put_down: Callable[[], None] | None = None  # what was held of it is let go

    @property
    def is_open(self) -> bool:
        """Whether it is not answered yet."""
        return self._open

    def conclude(self, came: Any) -> None:
        """Answer with what came of it: a result, a refusal, or an exception."""
        if isinstance(came, Refusal):
            self.refuse(came)
        elif isinstance(came, BaseException):
            self.refuse(Refusal(INTERNAL_ERROR, f"{type(came).__name__}: {quote(str(came))}"))
        else:
            self.answer(came)

    def answer(self, result: Any) -> None:
        if self._begin():
            self._link.conversation.answer(self._id, result)
            self.member.speak(self._link)

    def refuse(self, refusal: Refusal) -> None:
        self.refuse_with(refusal.code, refusal.message, refusal.data)

    def refuse_with(self, code: int, message: str, data: Any) -> None:
        if self._begin():
            for words, more in ((message, data), (message[:SHORT], None), ("", None)):
                try:
                    self._link.conversation.refuse(self._id, code, words, more)
                    break
                except LocalProtocolError:  # another plugin's words, and too many of them
                    continue
            self.member.speak(self._link)

    def _begin(self) -> bool:
        begins, self._open = self._open, False
        if begins:
            for over in (self.until, self.put_down):
                if over is not None:
                    over()
        return begins and not self._link.finished
