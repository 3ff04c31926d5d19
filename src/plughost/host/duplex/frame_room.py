"""How much a host may put into one answer so that it fits a frame. Measures nothing itself."""

from __future__ import annotations

from ...contracts.duplex.messages import FRAME_BYTES

ENVELOPE_ROOM = (
    65_536  # bytes for the JSON around the payload, ids and names of members: far more than it takes
)


def raw_bytes(room: int) -> int:
    """Return how many bytes can travel in base64 when *room* bytes of a frame are left for them."""
    return room // 4 * 3


PAYLOAD_LIMIT = raw_bytes(FRAME_BYTES - ENVELOPE_ROOM)  # bytes of one file or of one snapshot
