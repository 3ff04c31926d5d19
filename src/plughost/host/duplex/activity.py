"""A process that nobody has asked or told anything just now -> whether it is at work all the same. Ends nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .member import DuplexLink


class Activity:
    """What is known of the work of one plugin."""

    __slots__ = ("_unread",)

    def __init__(self) -> None:
        self._unread = 0  # bytes of its input, when that was last looked at

    def is_at_work(self, link: DuplexLink, *, has_events: bool) -> bool:
        """Tell whether it owes an answer, is owed one, or has something to hear yet.

        One that does not read on is not at work, whatever it leaves unread.
        """
        session = link.conversation
        if session.calls or session.unanswered or session.unsent or has_events:
            return True
        before, self._unread = self._unread, link.process.unread()
        return self._unread not in (0, before)
