"""All that can be seen of a tree, by other means than the code under test: two equal portraits, two equal trees."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import Any


def portrait(root: Path) -> dict[bytes, tuple[Any, ...]]:
    """Return kind, mode, owner, time, content, target and attributes of every path, and which are one file."""
    top = os.fsencode(root)
    paths = [top]
    for directory, directories, files in os.walk(top):
        paths += [os.path.join(directory, name) for name in [*directories, *files]]
    shared: dict[tuple[int, int], list[bytes]] = {}
    for path in paths:
        status = os.lstat(path)
        shared.setdefault((status.st_dev, status.st_ino), []).append(path)
    return {os.path.relpath(path, top): _look(path, shared, top) for path in paths}


def _look(path: bytes, shared: dict[tuple[int, int], list[bytes]], top: bytes) -> tuple[Any, ...]:
    status = os.lstat(path)
    kind = stat.S_IFMT(status.st_mode)
    content: Any = None
    if stat.S_ISLNK(status.st_mode):
        content = os.readlink(path)
    elif stat.S_ISREG(status.st_mode):
        content = (status.st_size, _digest(path))
    xattrs = {name: os.getxattr(path, name, follow_symlinks=False) for name in _xattrs(path)}
    names = sorted(os.path.relpath(each, top) for each in shared[status.st_dev, status.st_ino])
    return (
        kind,
        stat.S_IMODE(status.st_mode),
        status.st_uid,
        status.st_gid,
        status.st_mtime_ns,
        content,
        tuple(sorted(xattrs.items())),
        tuple(names),
    )


def _xattrs(path: bytes) -> list[str]:
    return os.listxattr(path, follow_symlinks=False) if hasattr(os, "listxattr") else []


def _digest(path: bytes) -> str:
    state = sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            state.update(piece)
    return state.hexdigest()
