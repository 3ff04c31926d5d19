"""Whether a message of a worker that knows ids is about the request that runs. Decides from the ids alone."""

from __future__ import annotations

from msgspec import UNSET

from .input import Input
from .messages import ReadlineResult, ReadlineStart, Reason, RequestEnd


def misplaced(
    message: ReadlineStart | ReadlineResult | RequestEnd, running: int | None, last: int
) -> tuple[Reason, str] | None:
    """Say why *message* is not about the request *running*, or return None. *last* is the latest id given out."""
    what = message.__struct_config__.tag
    if message.request_id is UNSET:
        return Reason.UNKNOWN_ID, f"{what} names no request"
    if message.request_id > last:
        return Reason.UNKNOWN_ID, f"{what} of request {message.request_id}, which was never made"
    if message.request_id != running:
        return Reason.LATE, f"{what} of request {message.request_id}, which is over"
    return None


def stray_end(running: int | None, given: Input, *, again: bool, named: bool) -> tuple[Reason, str] | None:
    """Say why a request_end does not end the request *running*, which was *given* its input, or return None.

    *again*: it has ended already. *named*: the message says which request it is about.
    """
    if running is None or not (given.handed or named):
        return Reason.LATE, "request_end, and no request runs"
    if given and not named:
        return Reason.LATE, "request_end, and not all of the request's input was written"
    return (Reason.REPEATED, f"request_end of request {running}") if again else None
