"""Whether a message of a worker that knows ids is about the request that runs. Decides from the ids alone."""

from __future__ import annotations

from msgspec import UNSET

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
