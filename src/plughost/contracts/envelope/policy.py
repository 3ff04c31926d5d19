"""Which paths of a tree no plugin may touch. Compares path components, in any case; knows no file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# The host's own: what it writes for people, what it writes down, and what the operator had answered.
FORBIDDEN = ("README.md", ".exlab-wizard/", ".exlab-answers.yml")


def violations(paths: Iterable[str], forbidden: Sequence[str] = FORBIDDEN) -> tuple[str, ...]:
    """Return those of *paths*, relative to the tree's root, that are or lie below a *forbidden* one, sorted."""
    guarded = [_parts(each) for each in forbidden]
    touched = {path for path in paths if any(_parts(path)[: len(one)] == one for one in guarded)}
    return tuple(sorted(touched))


def _parts(path: str) -> list[str]:
    """Return the components of *path*; a filesystem may not tell README.md from readme.md, so neither do we."""
    return [part for part in path.casefold().split("/") if part not in ("", ".")]
