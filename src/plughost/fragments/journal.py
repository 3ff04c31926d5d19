"""What is about to be done to an output directory -> JSON and back. Refuses a document that was not written there.

A directory can be copied, or cloned from a stranger, with a journal in it. The number of the inode that it lies in
tells: nobody else's directory has it.
"""

from __future__ import annotations

import msgspec

from ..errors import FragmentError
from .paths import normalise

FORMAT = 1


class Step(msgspec.Struct, frozen=True, array_like=True):
    """One file: its *path*, the inode of what was *staged* for it, and of the *original* that is replaced."""

    path: str
    staged: int
    original: int | None


class Journal(msgspec.Struct, frozen=True):
    """All steps of one run, and the *directories* that are made for them. *store* is the inode that it lies in."""

    store: int
    steps: tuple[Step, ...]
    directories: tuple[str, ...]
    format: int = FORMAT


def encode(journal: Journal) -> bytes:
    """Return *journal* as bytes."""
    return msgspec.json.encode(journal)


def decode(data: bytes, store: int) -> Journal:
    """Return the journal in *data*, found in the directory of the inode *store*. Raises ValueError."""
    journal = msgspec.json.decode(data, type=Journal)  # what it raises are ValueErrors
    if journal.format != FORMAT:
        raise ValueError(f"it has format {journal.format}, not {FORMAT}")
    if journal.store != store:
        raise ValueError("it was written in another directory")
    for path in (*journal.directories, *(step.path for step in journal.steps)):
        if not _is_plain(path):
            raise ValueError(f"{path!r} is no path of a generated file")
    return journal


def _is_plain(path: str) -> bool:
    try:
        return normalise("", path) == path
    except FragmentError:
        return False
