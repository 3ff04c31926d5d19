"""A host that is made to be killed: it takes, changes, advances and reverts a tree until nobody lets it.

Every state that it accepts is marked in the tree itself and in the note: `state-N` and the file `number`.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from pathlib import Path

from plughost.files.snapshot import Snapshot
from plughost.files.store import place

SIZE = 300_000  # bytes of the big file: more than one write, so that half of it could be seen


def shape(root: Path, number: int) -> None:
    """Bring *root* from any state into that of *number*."""
    for each in root.iterdir():
        shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
    (root / "number").write_text(str(number))
    (root / "big").write_bytes(bytes([number % 251]) * SIZE)
    (root / f"dir-{number}/deep").mkdir(parents=True)
    (root / f"dir-{number}/deep/file").write_text(f"file of {number}")
    os.link(root / "number", root / f"dir-{number}/number")
    (root / "link").symlink_to(f"dir-{number}")
    os.utime(root / "big", ns=(number, number))
    os.chmod(root / f"dir-{number}", 0o500 + number % 0o70)


def vandalize(root: Path, chance: random.Random) -> None:
    """Do to *root* what a plugin might."""
    for path in sorted(root.rglob("*")):
        match chance.randrange(5):
            case 0 if path.is_file() and not path.is_symlink():
                path.write_bytes(b"vandalized")
            case 1 if not path.is_dir() or path.is_symlink():
                path.unlink(missing_ok=True)
            case 2 if path.exists():
                path.rename(root / f"renamed-{chance.random()}")
            case 3 if path.is_dir() and not path.is_symlink():
                (path / "planted").write_text("planted")
                path.chmod(0)


def main(root: Path, seed: int) -> None:
    chance = random.Random(seed)
    number = int((root / "number").read_text())
    while True:
        snapshot = Snapshot.take(root, place(root), {"number": number})
        sys.stdout.write("taken\n")
        sys.stdout.flush()
        for _ in range(3):
            vandalize(root, chance)
            snapshot.revert()
            number += 1
            shape(root, number)
            snapshot.advance({"number": number})
            snapshot.set_note({"number": number, "done": True})
        snapshot.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
