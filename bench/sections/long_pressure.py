"""A plugin that stays under pressure: bodies as big as a frame may be, and keys while much is published to it."""

from __future__ import annotations

from ..contender import Contender
from ..pinning import FREE
from ..samples import Source
from ..section import Base, Row, Section
from ..target import Kind, Target
from .framing import FRESH_MEMORY
from .long_calls import HAND, KEY, OURS, RAW
from .long_crowd import NO_PERL

MIB = (1, 4, 16)  # of a body, each way; the last is the most that the contract allows
WAYS = {
    "bare": "bare pipes and one decode",
    "hand": HAND[1],
    "blocking": "blocking fleet",
    "asyncio": "asyncio fleet",
}
KEYS = "bench.drivers.duplex_keys"
READERS = {"echo": "SDK plugin", "listener": "Perl plugin"}
DEFAULT = "default"
SIZES = {DEFAULT: "of the SDK's own size", "2MiB": "of 2 MiB"}  # the largest that the contract speaks of
KEY_ROUNDS = {DEFAULT: 8, "2MiB": 3}  # at most: each takes some seconds

OF_BARE = 3  # times the bare pipes and one decode
OF_IDLE = 2  # times the 99th percentile of keys to an idle plugin


def frames() -> Section:
    return Section(
        key=KEY,
        title="A call and an answer with big bodies",
        unit="ms per MiB",
        contenders=tuple(_contender(way, mib) for way in WAYS for mib in MIB),
        rows=tuple(_big(way, mib) for way in WAYS for mib in MIB),
        bases=(Base("× bare", _frame("bare", 1)), Base("× 1 MiB", _frame("bare", 1))),
        notes=(
            "Not pinned. Per MiB of one body: each MiB goes there and comes back.",
            "Bare: the same bytes, joined and decoded once at each end. A call has base64 to do as well, four times.",
            "Linear means that the last column stays near 1; quadratic, that it reaches 16.",
            "Big buffers are fresh memory for everybody; latest.json has the page faults.",
        ),
    )


def keys(size: str) -> Section:
    """Return the table for chunks of one *size*: that of the SDK's chunks has the target."""
    overtaken = (
        "A key overtakes every chunk that waits in the host. What it cannot overtake is what the plugin is handling, "
        "what it has read, and what its pipe holds. In chunks: were it put behind all that wait, it would be up to 50."
    )
    return Section(
        key=KEY,
        title=f"Keys while 50 chunks {SIZES[size]} are published",
        unit="",
        contenders=tuple(_typing(reader, size) for reader in READERS),
        rows=tuple(row for reader in READERS for row in _typed(reader, size)),
        notes=(
            "Asyncio fleet, not pinned. From the key to the plugin's word that it has handled it.",
            "Keys come at any moment, up to 10 ms apart, idle and then while such sets pass to the same plugin.",
            overtaken,
            "The SDK plugin decodes what it reads, on one thread; the one in Perl decodes nothing.",
        ),
    )


def _typing(reader: str, size: str) -> Contender:
    return Contender(
        f"keys-{reader}-{size}",
        KEYS,
        f"{reader}:{size}",
        times=1,
        rounds=KEY_ROUNDS[size],
        missing=_absence(reader),
    )


def _typed(reader: str, size: str) -> list[Row]:
    slowdown = Target(Kind.AMOUNT, OF_IDLE, "× in the median round", of_median=True)

    def fact(label: str, measure: str, target: Target | None = None) -> Row:
        return Row(
            f"{READERS[reader]}: {label}",
            Source(f"keys-{reader}-{size}", measure),
            target,
            ours=True,
            bases=(),
        )

    return [
        fact("a key, idle, p50, ms", "idle_p50"),
        fact("a key, idle, p99, ms", "idle_p99"),
        fact("a chunk, idle, p50, ms", "chunk"),
        fact("a key meanwhile, p50, ms", "loaded_p50"),
        fact("a key meanwhile, p99, ms", "loaded_p99"),
        fact("p99 meanwhile over p99 idle", "times_idle", slowdown if size == DEFAULT else None),
        fact("p99 meanwhile in chunks", "times_chunk"),
        fact("a MiB published meanwhile, ms", "ms_per_mib"),
    ]


def _absence(reader: str) -> str:
    return NO_PERL if reader == "listener" else ""


def _contender(way: str, mib: int) -> Contender:
    modules = {"bare": RAW, "hand": HAND[0]} | {name: module for name, (module, _) in OURS.items()}
    loop = ("asyncio",) if way == "asyncio" else ()
    source = _frame(way, mib)
    return Contender(source.contender, modules[way], f"frame:{mib}", (FREE, *loop), environment=FRESH_MEMORY)


def _big(way: str, mib: int) -> Row:
    bare, smallest = _frame("bare", mib), _frame(way, MIB[0])
    ours = way in OURS
    target = Target(Kind.TIMES, OF_BARE, "bare pipes and one decode", bare) if ours else None
    return Row(
        f"{WAYS[way]}, {mib} MiB",
        _frame(way, mib),
        target,
        ours=ours,
        bases=(Base("× bare", bare), Base("× 1 MiB", smallest)),
    )


def _frame(way: str, mib: int) -> Source:
    return Source(f"{way}-frame-{mib}", "ms_per_mib")
