"""Text from a plugin as it may stand in a sentence of ours: quoted, printable and short."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 80  # characters of one text
MOST = 12  # texts of one list


def quote(text: str) -> str:
    """Return *text* in quotes, with control characters spelled out, cut to a readable length."""
    return repr(text) if len(text) <= LONGEST else f"{text[:LONGEST]!r}…"


def listed(texts: Sequence[str]) -> str:
    """Return *texts* separated by commas; plain where they are plain, quoted where they are not."""
    shown = [each if each.isprintable() and len(each) <= LONGEST else quote(each) for each in texts[:MOST]]
    more = [f"and {len(texts) - MOST} more"] if len(texts) > MOST else []
    return ", ".join(shown + more)
