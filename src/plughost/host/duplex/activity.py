"""When a plugin was last in use: asked, told something, or reading what it was told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .member import DuplexLink, Member


class Activity:
    """What is known of the work of one process."""

    __slots__ = ("_unread",)

    def __init__(self) -> None:
        self._unread = 0  # bytes of its input, when that was last looked at

    def note(self, member: Member, link: DuplexLink, now: float) -> None:
        """Tell the lifecycle of *member* when it was last in use.

        Only when it would be let go is its input looked at: one that has left that unread since then does not read on.
        """
        if is_at_work(link, has_events=member.has_events):
            member.touched = now
        member.lifecycle.used(member.touched)
        if member.lifecycle.is_idle(now) and self.reads_on(link):
            member.touched = now
            member.lifecycle.used(now)

    def reads_on(self, link: DuplexLink) -> bool:
        """Tell whether it has something to read, and not just what it had when this was last asked."""
        before, self._unread = self._unread, link.process.unread()
        return self._unread not in (0, before)


def is_at_work(link: DuplexLink, *, has_events: bool) -> bool:
    """Tell whether it owes an answer, is owed one, or has something to be told yet."""
    session = link.conversation
    return bool(session.calls or session.unanswered or session.unsent or has_events)
