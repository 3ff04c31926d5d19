"""Files to be, and the output directory -> what would change there, and how. Reads only.

What a killed run has left in the directory is not looked at: files count as they are.
"""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from ..errors import TreeError
from ..files.checkpoints import checkpoint
from ..files.tree import shown
from ..messages.quoting import one_line
from .ground import Ground, find
from .offers import Output
from .paths import normalise

DIFF_BYTES = 262_144  # of one side of a diff: nobody reads more
DIFF_LINES = 2_000  # of one side: finding the shortest diff takes squared time
KEPT_BYTES = 67_108_864  # of all old contents that are kept for a diff

_END = "\\ No newline at end of file"


class ChangeKind(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one *path*. *before* is None where it was too long to be kept."""

    path: str
    kind: ChangeKind
    before: bytes | None = field(repr=False)
    after: bytes = field(repr=False)

    def diff(self) -> str:
        """Return the change for people, as a unified diff whose lines hold nothing that a terminal would obey.

        What is too long, or no text, is said in words; nothing is said of what is unchanged.
        """
        if self.kind is ChangeKind.UNCHANGED:
            return ""
        old, new = _lines(self.before), _lines(self.after)
        name = one_line(self.path)
        if old is None or new is None:
            why = "too long to be shown, or not text"
            return f"{name}: {self.kind}, {len(self.after)} bytes: {why}\n"
        source = "/dev/null" if self.kind is ChangeKind.CREATED else f"a/{name}"
        lines = list(difflib.unified_diff(old, new, source, f"b/{name}", lineterm=""))
        if not lines:  # an empty file
            lines = [f"--- {source}", f"+++ b/{name}"]
        return "".join(f"{line}\n" for line in lines)


def compare(outputs: Sequence[Output], directory: Path) -> list[Change]:
    """Return what writing *outputs* to *directory* would do, in their order.

    Raises TreeError where something is in the way, or cannot be read.
    """
    root = find(directory)
    if root is None:
        return [Change(output.path, ChangeKind.CREATED, b"", output.content) for output in outputs]
    with Ground(root) as ground:
        return list(compare_in(ground, outputs))


def compare_in(ground: Ground, outputs: Sequence[Output]) -> Iterator[Change]:
    """Yield what writing each of *outputs* to *ground* would do. Raises TreeError."""
    kept = 0
    for output in outputs:
        checkpoint()
        path = normalise(", ".join(output.plugins), output.path)  # they may come from anywhere
        if ground.look(path) is None:
            yield Change(path, ChangeKind.CREATED, b"", output.content)
            continue
        before = _read(ground, path, max(len(output.content), DIFF_BYTES) + 1)
        if before == output.content:
            yield Change(path, ChangeKind.UNCHANGED, before, output.content)
            continue
        shows = len(before) <= DIFF_BYTES and kept + len(before) <= KEPT_BYTES
        kept += len(before) if shows else 0
        yield Change(path, ChangeKind.CHANGED, before if shows else None, output.content)


def _read(ground: Ground, path: str, limit: int) -> bytes:
    """Return the first *limit* bytes of the file *path*."""
    fd = ground.open_file(path)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):  # swapped since it was looked at
            raise TreeError(shown(ground.root, path), "is not a file", "Move it out of the way")
        with open(fd, "rb", closefd=False) as file:
            return file.read(limit)
    except OSError as error:
        raise ground.trouble(path, "cannot be read", error) from error
    finally:
        os.close(fd)


def _lines(content: bytes | None) -> list[str] | None:
    """Return the lines of *content* as they may be shown; None if they may not."""
    if content is None or len(content) > DIFF_BYTES or b"\0" in content or content.count(b"\n") > DIFF_LINES:
        return None
    try:
        lines = content.decode().split("\n")
    except UnicodeDecodeError:
        return None
    visible = ["\t".join(map(one_line, line.split("\t"))) for line in lines]
    last = visible.pop()
    return [*visible, f"{last}\n{_END}"] if last else visible
