"""A big tree, saved before a plugin may touch it: beside a copy of it, and beside reading it once."""

from __future__ import annotations

from dataclasses import dataclass

from ..contender import Contender
from ..samples import Source
from ..section import Base, Row, Section

KEY = "envelope"  # a pass saves the tree that it works on
MODULE = "bench.drivers.big_tree"
JOBS = ("read", "copy", "snapshot")
ROUNDS = 5  # at most: each writes the whole tree twice

READ = Source("tree-read", "read")
COPIED = Source("tree-copy", "copied")
REMOVED = Source("tree-copy", "removed")


@dataclass(frozen=True, slots=True)
class Size:
    """How big the tree is. All its files are of one size."""

    files: int
    mebibytes: int


SIZES = {"small": Size(1_000, 200), "full": Size(10_000, 2_048)}


def snapshot(size: Size) -> Section:
    arguments = (str(size.files), str(size.mebibytes))
    return Section(
        key=KEY,
        title=f"A tree of {size.files:,} files, {size.mebibytes:,} MiB",
        unit="ms",
        contenders=tuple(
            Contender(f"tree-{job}", MODULE, job, arguments, times=1, rounds=ROUNDS, last=True)
            for job in JOBS
        ),
        rows=(
            Row("read it all once", READ),
            Row("cp -a", COPIED),
            Row("rm -r of that copy", REMOVED),
            Row("snapshot: take", Source("tree-snapshot", "taken"), ours=True),
            Row("snapshot: changes, of which there are none", Source("tree-snapshot", "compared"), ours=True),
            Row("snapshot: close", Source("tree-snapshot", "closed"), ours=True),
        ),
        bases=(Base("× read", READ), Base("× cp", COPIED), Base("× rm", REMOVED)),
        notes=(
            f"On disk in /var/tmp, and all of it in the system's cache; at most {ROUNDS} rounds.",
            "Take and close bring the inventory of the store to disk; cp and rm leave all that to the system.",
        ),
    )
