"""A big tree on disk: read once, copied by `cp -a`, and saved by a snapshot. All files are warm in memory.

    python -m bench.drivers.big_tree FILES MEBIBYTES

The tree is made when the driver starts, and removed when it ends. Whoever makes a copy removes it again, which
is timed by itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from plughost.files import store
from plughost.files.snapshot import Snapshot

from ..loop import serve
from ..stopwatch import Marks, Stopwatch
from .passes import ON_DISK

MIB = 1_048_576
PIECE = MIB  # bytes read at a time
PER_DIRECTORY = 100  # files
NUMBER = 8  # bytes that make each file another one


def grow(tree: Path, files: int, size: int) -> None:
    """Fill *tree* with *files* files of *size* bytes without holes or zeros, and bring them to disk."""
    noise = os.urandom(size - NUMBER)
    for number in range(files):
        directory = tree / f"{number // PER_DIRECTORY:04}"
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / f"{number:06}.dat").open("wb") as file:
            file.write(number.to_bytes(NUMBER, "big") + noise)
    os.sync()  # else the first who is measured competes with the disk for them


def read(tree: Path, total: int) -> Marks:
    """Read every file once."""
    buffer = bytearray(PIECE)
    found = 0
    watch = Stopwatch()
    for directory, _, names in os.walk(tree):
        for name in names:
            with open(os.path.join(directory, name), "rb", buffering=0) as file:
                while count := file.readinto(buffer):
                    found += count
    watch.mark("read")
    _check("read", found, total)
    return watch.marks


def copy(tree: Path, total: int) -> Marks:
    """Copy the tree with `cp -a`, and remove the copy with `rm -r`."""
    target = tree.with_name("copy")
    watch = Stopwatch()
    subprocess.run(["cp", "-a", tree, target], check=True)
    watch.mark("copied")
    _check("copied", _size(target), total)
    removing = Stopwatch()
    subprocess.run(["rm", "-r", target], check=True)
    removing.mark("removed")
    return watch.marks | removing.marks


def snap(tree: Path, total: int) -> Marks:
    """Take a snapshot of the tree, ask it for changes where there are none, and close it."""
    place = store.place(tree)
    watch = Stopwatch()
    snapshot = Snapshot.take(tree, place)
    watch.mark("taken")
    _check("saved", sum(each.size for each in snapshot.paths.values() if each.kind == "file"), total)
    comparing = Stopwatch()
    changes = snapshot.changes()
    comparing.mark("compared")
    _check("changed", len(changes), 0)
    closing = Stopwatch()
    snapshot.close()
    closing.mark("closed")
    return watch.marks | comparing.marks | closing.marks


def _size(tree: Path) -> int:
    return sum(path.stat().st_size for path in tree.rglob("*.dat"))


def _check(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"{what}: {found}, not {expected}")


def main() -> None:
    files, mebibytes = map(int, sys.argv[1:])
    size = mebibytes * MIB // files
    with tempfile.TemporaryDirectory(prefix="plughost-bench-", dir=ON_DISK) as home:
        tree = Path(home) / "tree"
        grow(tree, files, size)
        jobs = {"read": read, "copy": copy, "snapshot": snap}
        serve({name: partial(job, tree, files * size) for name, job in jobs.items()})


if __name__ == "__main__":
    main()
