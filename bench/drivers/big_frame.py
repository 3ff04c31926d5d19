"""Calls whose bodies are a whole number of MiB each way: what they carry, and what they took per MiB."""

from __future__ import annotations

from functools import cache

from ..stopwatch import Marks

MIB = (1, 4, 16)  # of a body: 16 is the most that the contract allows
BYTES = 1_048_576
ENVELOPE = 256  # bytes of a body that are not its payload, at most
ACTION_S = 60.0  # no deadline is to strike on a machine that stands still


@cache
def payload(mib: int) -> bytes:
    """Return bytes that, in base64, make a body of *mib* MiB, or a little less."""
    size = (mib * BYTES - ENVELOPE) // 4 * 3
    pattern = bytes(range(256))
    return (pattern * (size // len(pattern) + 1))[:size]


def check(mib: int, answer: bytes) -> None:
    """Raise ValueError unless *answer* is what was sent."""
    if answer != payload(mib):
        raise ValueError(f"the message is not whole: {len(answer)} bytes")


def marks(mib: int, taken_s: float, faults: int) -> Marks:
    """Return what is told of one call."""
    return {"ms_per_mib": taken_s * 1000 / mib, "faults": faults}
