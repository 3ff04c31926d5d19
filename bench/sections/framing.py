"""Bytes to frames: many small ones, one big one through a pipe, and whether the time stays linear."""

from __future__ import annotations

from ..contender import Contender
from ..samples import Source
from ..section import Base, Row, Section
from ..target import Kind, Target

FRAMING = "bench.drivers.framing"
BIG = "bench.drivers.big_message"
OURS = {
    "lines": "plughost lines",
    "content-length": "plughost content-length",
    "length-prefix": "plughost length-prefix",
}
OTHERS = {"stream-reader": "asyncio.StreamReader.readline", "split": '(buffer + chunk).split("\\n")'}
WAYS = OURS | OTHERS
SIZES = (4, 8, 16)  # MiB

# glibc moves the size from which memory comes fresh from the system, by what was freed before: the same code
# then takes 20 ms or 45. Set by hand it stays, and everybody's big buffers are fresh, as for a first message.
FRESH_MEMORY = (("MALLOC_MMAP_THRESHOLD_", "131072"),)

_BARE = Source("big-bare", "decoded")
_THRICE = Target(Kind.TIMES, 3, "the bare pipe and one decode", _BARE)


def small_frames() -> Section:
    lines = Source("small-lines", "per_s")
    return Section(
        key="frames",
        title="Frames of 128 bytes in pieces of 64 KiB",
        unit="frames/s",
        contenders=tuple(Contender(f"small-{way}", FRAMING, f"{way}:small") for way in WAYS),
        rows=tuple(
            Row(label, Source(f"small-{way}", "per_s"), ours=way in OURS) for way, label in WAYS.items()
        ),
        bases=(Base("× lines", lines),),
        notes=(
            "More is better. Nothing is decoded; split is the MCP SDK client's way, bytes to text included.",
        ),
        higher_is_better=True,
    )


def one_big_message() -> Section:
    ours = OURS | {"strict": "plughost lines, and the host's strict decoder"}
    return Section(
        key="big",
        title="One 16 MiB message through a pipe, decoded",
        unit="ms",
        contenders=tuple(
            Contender(f"big-{job}", BIG, job, environment=FRESH_MEMORY) for job in ("bare", *ours)
        ),
        rows=(
            Row("bare pipe, join, one decode", _BARE),
            *(Row(label, Source(f"big-{job}", "decoded"), _THRICE, ours=True) for job, label in ours.items()),
        ),
        bases=(Base("× bare", _BARE),),
        notes=(
            "The message is one long string: the least work per byte that a decoder can have.",
            "Big buffers are fresh memory for everybody; latest.json has the page faults.",
        ),
    )


def linearity() -> Section:
    return Section(
        key="linear",
        title="One message in pieces of 64 KiB",
        unit="ms per MiB",
        contenders=tuple(
            Contender(
                f"{way}-{size}",
                FRAMING,
                f"{way}:{size}",
                environment=FRESH_MEMORY,
                times=1 if way == "split" else 3,
            )
            for way in WAYS
            for size in SIZES
        ),
        rows=tuple(_growth(way, label, size) for way, label in WAYS.items() for size in SIZES),
        bases=(Base("× 4 MiB", Source("lines-4", "ms_per_mib")),),
        notes=(
            "In memory. Linear means that the last column stays near 1; quadratic, that it reaches 4.",
            "Big buffers are fresh memory for everybody; latest.json has the page faults.",
        ),
    )


def _growth(way: str, label: str, size: int) -> Row:
    smallest = Base("× 4 MiB", Source(f"{way}-{SIZES[0]}", "ms_per_mib"))
    source = Source(f"{way}-{size}", "ms_per_mib")
    return Row(f"{label}, {size} MiB", source, ours=way in OURS, bases=(smallest,))
