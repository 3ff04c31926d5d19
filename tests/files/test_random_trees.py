"""Any tree, anything done to it: what is put back is what was there, to the nanosecond."""

import os
import random
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from plughost.files.recovery import recover
from plughost.files.snapshot import Snapshot
from plughost.files.store import place
from tests.files.portrait import portrait

KINDS = ["file", "directory", "symlink", "fifo", "hard link"]
DEEDS = [
    "write",
    "rewrite",
    "append",
    "delete",
    "rename",
    "create",
    "mode",
    "time",
    "swap",
    "link",
    "exchange",
]
NAMES = [b"a", b"b", b"-c", b"\xff", b"new\nline", b".hidden"]
SIZES = [0, 1, 10, 5_000, 70_000]
LOCKED = [0o555, 0o000] if os.geteuid() == 0 else []  # or this test would lock itself out
MODES = [0o755, 0o700, 0o4755, 0o1777, *LOCKED]

trees = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 999)), max_size=14)
deeds = st.lists(st.tuples(st.sampled_from(DEEDS), st.integers(0, 999)), max_size=14)


def paths(root):
    """Return all paths as bytes, the root first."""
    found = [os.fsencode(root)]
    for directory, directories, files in os.walk(os.fsencode(root)):
        found += [os.path.join(directory, name) for name in sorted([*directories, *files])]
    return found


def directories(root):
    return [path for path in paths(root) if os.path.isdir(path) and not os.path.islink(path)]


def plain_files(root):
    return [path for path in paths(root) if os.path.isfile(path) and not os.path.islink(path)]


def free_name(root, chance):
    name = os.path.join(chance.choice(directories(root)), chance.choice(NAMES))
    while os.path.lexists(name):
        name += b"~"
    return name


def build(root, kind, chance):
    path = free_name(root, chance)
    match kind:
        case "file":
            Path(os.fsdecode(path)).write_bytes(chance.randbytes(chance.choice(SIZES)))
        case "directory":
            os.mkdir(path)
        case "symlink":
            os.symlink(chance.choice(NAMES), path)
        case "fifo":
            os.mkfifo(path)
        case "hard link" if plain_files(root):
            os.link(chance.choice(plain_files(root)), path)
    if os.path.lexists(path) and not os.path.islink(path):
        os.chmod(path, chance.choice(MODES))
        os.utime(path, ns=(1, chance.randrange(2 * 10**18)))


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def commit(root, deed, chance):
    """Do something to the tree, if it can be done to what is there."""
    files, everything = plain_files(root), paths(root)[1:]
    if deed == "create" or not everything:
        build(root, chance.choice(KINDS), chance)
        return
    path = chance.choice(everything)
    match deed:
        case "write" | "append" | "rewrite" if files:
            file = chance.choice(files)
            times = os.stat(file).st_mtime_ns
            with open(file, "ab" if deed == "append" else "wb") as opened:
                opened.write(chance.randbytes(chance.choice(SIZES)))
            if deed == "rewrite":
                os.utime(file, ns=(1, times))
        case "delete":
            remove(path)
        case "rename":
            target = free_name(root, chance)
            if not target.startswith(path + b"/"):
                os.rename(path, target)
        case "mode" if not os.path.islink(path):
            os.chmod(path, chance.choice(MODES))
        case "time":
            os.utime(path, ns=(1, chance.randrange(2 * 10**18)), follow_symlinks=False)
        case "swap":
            remove(path)
            build(root, chance.choice(KINDS), chance)
        case "link" if files:
            os.link(chance.choice(files), free_name(root, chance))
        case "exchange" if len(files) > 1:
            one, other = chance.sample(files, 2)
            aside = free_name(root, chance)
            os.rename(one, aside)
            os.rename(other, one)
            os.rename(aside, other)


@settings(max_examples=settings().max_examples * 3 // 5)
@given(trees, deeds, deeds, st.booleans())
def test_whatever_is_done_to_a_tree_is_undone_exactly(tree, first, second, crash):
    above = Path(tempfile.mkdtemp(prefix="plughost-random-"))
    try:
        root = above / "tree"
        root.mkdir()
        for kind, seed in tree:
            build(root, kind, random.Random(seed))
        snapshot = Snapshot.take(root, place(root))
        before = portrait(root)
        for deed, seed in first:
            commit(root, deed, random.Random(seed))
        snapshot.changes()
        put_back(snapshot, crash)
        assert portrait(root) == before
        assert snapshot.changes() == ()
        for deed, seed in second:
            commit(root, deed, random.Random(seed))
        accepted = portrait(root)
        snapshot.advance({"accepted": True})
        assert snapshot.changes() == ()
        for deed, seed in first:
            commit(root, deed, random.Random(seed))
        put_back(snapshot, crash)
        assert portrait(root) == accepted
        snapshot.close()
        assert portrait(root) == accepted
    finally:
        shutil.rmtree(above)


def put_back(snapshot, crash):
    if crash:
        recover(snapshot.root)
    else:
        snapshot.revert()
