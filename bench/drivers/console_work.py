"""What every session is asked to do, and what has to come of it, so that nobody is measured on less."""

from __future__ import annotations

CODE = "1"
SHOWN = "1\n"
CALLS = 1000
FLOOD_BYTES = 100_000_000
FLOOD_LINE = "y" * 63  # and its line feed: 64 bytes, of which whole blocks are written at once
FLOOD_BLOCK = 1000  # lines
FLOOD = f"import os; block = b'{FLOOD_LINE}\\n' * {FLOOD_BLOCK}"
FLOOD_RUN = f"for _ in range({FLOOD_BYTES // (64 * FLOOD_BLOCK)}): os.write(1, block)"
FLOOD_SIZE = FLOOD_BYTES // (64 * FLOOD_BLOCK) * 64 * FLOOD_BLOCK  # what that writes


def check(shown: object) -> None:
    """Raise ValueError unless *shown* is what running CODE shows."""
    if shown != SHOWN:
        raise ValueError(f"the work was not done: {shown!r:.100}")


def rate(size: int, seconds: float) -> dict[str, float]:
    """Return how many megabytes a second came through. Raises ValueError unless *size* is all of them."""
    if size != FLOOD_SIZE:
        raise ValueError(f"{size} bytes came through, not {FLOOD_SIZE}")
    return {"mb_per_s": size / 1_000_000 / seconds}
