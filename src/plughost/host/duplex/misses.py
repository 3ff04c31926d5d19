"""A call that a plugin did not answer in time -> everybody is told, and one that hangs is given up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...messages.jsonrpc import Reason
from ..events import Wedged
from .ticket import Ticket

if TYPE_CHECKING:
    from .member import DuplexLink, Member

RENDER = "plugin/render"


def note(member: Member, link: DuplexLink, ticket: Ticket, others: Iterable[Ticket], now: float) -> None:
    """*ticket* was given up *now*; the *others* are still under way."""
    ask = ticket.ask
    if ask is None:
        return
    limits, patience = member.binding.limits, member.patience
    limit_s = limits.render_s if ask.method == RENDER else limits.timeout_s
    took = patience.miss(ticket.asked_at, now, limit_s, link.conversation.ignored[Reason.LATE])
    if took is None:
        return
    if not patience.is_wedged:
        patience.is_wedged = True
        member.herald.tell(Wedged(ask.method, took))
    # One that is busy with something that may take its time is not to blame for the screens it owes us.
    at_work = any(each.ask and each.ask.method != RENDER and each.ask.timeout_s for each in others)
    if patience.is_over and not at_work:
        limit = "limits.render_s" if ask.method == RENDER else "limits.timeout_s"
        link.conversation.give_up(f"it did not answer {patience.misses} calls in a row", limit)
        link.pump()
