"""A worker that is gone -> the remark on its end: how it ended, what it said about that, and what is lost."""

from __future__ import annotations

from ...contracts.sideband import host as contract
from ...contracts.sideband.news import Gone
from ...messages.quoting import LONGEST, one_line

# Reasons that add nothing: its code ended it, or it was asked to go.
ORDINARY = ("", "exit", "asked")


def farewell(gone: Gone, number: int, *, asked: bool) -> str:
    """Say how worker *number* ended. *asked*: the host wanted it, and knows why."""
    said = contract.farewell(gone, number, asked=asked)
    reason = one_line(gone.reason.replace("_", " ").strip()[:LONGEST])
    if asked or not reason or gone.reason in ORDINARY:
        return said
    return f"{said.removesuffix(contract.LOST)}{reason}; {contract.LOST}"
