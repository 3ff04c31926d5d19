"""A tree -> the temporary directory of the pass that works on it, which is found again if that pass is killed.

Its name follows from the tree's, and the tree is locked by whoever makes it: so what stands there already was left
behind, and is removed. Nothing has to be written down for that, and no other directory be looked at.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ...files import removal
from ...files.directories import ROOT, Directories, join

PREFIX = "plughost-pass-"
TEMPORARY = "tmp"  # in there: the plugins' directory for temporary files
LOGS = "logs"  # what their workers write to stderr, in a directory for each


def make(root: Path) -> Path:
    """Make the directory for a pass over *root*, which is its real path. The caller holds the lock of that."""
    path = _named(root)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        sweep(root)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:  # somebody else's, or a worker that is being ended still writes there
            path = Path(tempfile.mkdtemp(prefix=PREFIX))
    os.mkdir(path / TEMPORARY)
    return path


def sweep(root: Path) -> None:
    """Remove what a pass over *root* has left that was killed. The caller holds the lock of *root*."""
    path = _named(root)
    with suppress(FileNotFoundError):
        status = os.lstat(path)
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            remove(path)


def remove(path: Path) -> None:
    """Remove the directory of a pass, whatever a plugin made of it. Anything else is left alone."""
    if not is_one(path):
        return
    with suppress(OSError):  # nearly always nobody has left anything there
        os.rmdir(path / TEMPORARY)
        os.rmdir(path)
        return
    _remove_below(path.parent, [path.name])


def regain(path: Path) -> None:
    """Let ourselves, and the next worker, in again: a plugin may have closed any of it, even one that is confined."""
    with Directories(path, force=True) as ours:
        for each in (ROOT, TEMPORARY, LOGS):
            with suppress(OSError):  # not there, or gone: who needs it finds out
                ours.writable(each)
        with suppress(OSError):
            for name in os.listdir(ours.open(LOGS)):
                ours.writable(join(LOGS, name))


def empty(path: Path) -> None:
    """Remove what plugins have left in their directory for temporary files; it stays what workers may write to."""
    regain(path)
    with suppress(OSError):
        _remove_below(path / TEMPORARY, os.listdir(path / TEMPORARY))


def _remove_below(directory: Path, names: list[str]) -> None:
    """Remove what can be removed of *names*; directories that a plugin has closed are opened for that."""
    with suppress(OSError):
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for name in names:
                with suppress(OSError):
                    removal.remove(name, fd)
        finally:
            os.close(fd)


def is_one(path: Path) -> bool:
    """Tell whether *path* is named as these directories are: where it was read from a file, it may be anything."""
    return path.name.startswith(PREFIX)


def _named(root: Path) -> Path:
    digest = sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"{PREFIX}{os.geteuid()}-{digest}")
