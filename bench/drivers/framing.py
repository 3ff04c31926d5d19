"""Cutting streams into frames, in memory: many small frames, and one big one of three sizes.

Jobs are `WAY:small` and `WAY:MEBIBYTES`. All ways take turns in this one process.
"""

from __future__ import annotations

from functools import cache, partial

from ..loop import Job, serve
from ..stopwatch import Marks, Stopwatch
from . import faults
from .streams import LIMIT, WAYS, Encode, cut, text_message

SMALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}'
SMALL_BYTES = 128  # blanks make up the rest
FRAMES = 20_000
MIB = 1_048_576
SIZES = (4, 8, 16)  # MiB


def count_small(way: str) -> Marks:
    """Cut a stream of small frames, and return how many per second."""
    encode, _ = WAYS[way]
    pieces = _pieces(encode, SMALL.ljust(SMALL_BYTES), FRAMES)
    return {"per_s": FRAMES / _seconds(way, pieces, FRAMES)}


def time_big(way: str, size: int) -> Marks:
    """Cut one frame of *size* MiB out of its pieces, and return what one MiB took."""
    encode, _ = WAYS[way]
    pieces = _pieces(encode, text_message(size * MIB), 1)
    before = faults.count()
    seconds = _seconds(way, pieces, 1)
    return {"ms_per_mib": seconds * 1000 / size, "faults_per_mib": (faults.count() - before) / size}


def _seconds(way: str, pieces: list[bytes], expected: int) -> float:
    _, consume = WAYS[way]
    watch = Stopwatch()
    found = consume(pieces)
    watch.mark("done")
    if found != expected:
        raise ValueError(f"{way} found {found} frames, not {expected}")
    return watch.marks["done"] / 1000


@cache
def _pieces(encode: Encode, body: bytes, count: int) -> list[bytes]:
    return cut(encode(body, LIMIT) * count)


def main() -> None:
    jobs: dict[str, Job] = {f"{way}:small": partial(count_small, way) for way in WAYS}
    jobs |= {f"{way}:{size}": partial(time_big, way, size) for way in WAYS for size in SIZES}
    serve(jobs)


if __name__ == "__main__":
    main()
