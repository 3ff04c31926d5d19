"""A notification that goes to many: encoded and framed once, and held once however many wait for it."""

from __future__ import annotations

from typing import NamedTuple

from plughost_sdk.frames import content_length
from plughost_sdk.frames.errors import FrameTooLarge

from ...errors import LocalProtocolError
from .messages import FRAME_BYTES


class Parcel(NamedTuple):
    """A body, and the frame around it."""

    body: bytes
    frame: bytes

    def check(self, limit: int) -> None:
        """Raise LocalProtocolError if the body has over *limit* bytes."""
        if len(self.body) > limit:
            problem = f"a body of {len(self.body)} bytes is over the limit of {limit}"
            raise LocalProtocolError(f"a notification cannot be sent: {problem}")


def parcel(body: bytes) -> Parcel:
    """Return *body* in its frame. Raises LocalProtocolError if it fits none."""
    return Parcel(body, framed(body, FRAME_BYTES, "a notification"))


def framed(body: bytes, limit: int, what: str) -> bytes:
    """Return the frame of *body*, which is *what*. Raises LocalProtocolError if that has over *limit* bytes."""
    try:
        return content_length.encode(body, limit)
    except FrameTooLarge as error:
        raise LocalProtocolError(f"{what} cannot be sent: {error}") from error
