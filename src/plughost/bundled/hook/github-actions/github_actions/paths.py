"""Paths and globs of the schema to patterns of `hashFiles`. Looks at names only, never at a disk."""

from __future__ import annotations

import re
from collections.abc import Iterable

from plughost_sdk.hook_messages import CigenSchema

from .expressions import quoted

_FILE = re.compile(r".*\.[A-Za-z]\w*(?:-\w+)*")  # an extension that begins with a letter: not `3.10`
_BARE_NAMES = ("Gemfile", "Dockerfile", "Makefile", "Pipfile", "Rakefile", "Procfile")


def is_path(text: str) -> bool:
    """Say whether *text* names files: a glob, a name with an extension, or one that never has any."""
    if not text or any(char.isspace() for char in text) or "${{" in text:
        return False
    return "*" in text or text.rpartition("/")[2] in _BARE_NAMES or bool(_FILE.fullmatch(text))


def resolve(names: Iterable[str], schema: CigenSchema) -> list[str]:
    """Return *names* with each `@group` as the paths of that group. Raises ValueError for one that is not there."""
    found = []
    for name in names:
        if not name.startswith("@"):
            found.append(name)
        elif name[1:] in schema.source_file_groups:
            found.extend(schema.source_file_groups[name[1:]].values)
        else:
            raise ValueError(f"there is no source file group {name[1:]!r}")
    return list(dict.fromkeys(found))


def hash_files(paths: Iterable[str]) -> str:
    """Return the expression that hashes *paths*, folders with all that is in them."""
    patterns = [pattern for path in paths for pattern in _patterns(path)]
    return f"hashFiles({', '.join(map(quoted, dict.fromkeys(patterns)))})"


def _patterns(path: str) -> list[str]:
    no, path = ("!", path[1:]) if path.startswith("!") else ("", path)
    path = path.removeprefix("./").lstrip("/")
    if path.endswith("/") or not path:
        return [f"{no}{path}**"]
    if is_path(path):
        return [no + path]
    return [no + path, f"{no}{path}/**"]  # a folder, or a file without an extension
