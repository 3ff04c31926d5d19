"""The keys from the top of a file to a value -> how a message names them: on one line, and short."""

from __future__ import annotations

from ..messages.quoting import one_line

LONGEST = 200  # characters of a path: keys may have 256 each, and lie 32 deep


def shown(path: str) -> str:
    """Return *path*, such as `jobs.test.steps[0]`, with control characters spelled out and its middle left out."""
    line = one_line(path)
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]}…{line[1 - LONGEST // 2 :]}"
