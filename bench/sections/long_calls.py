"""Calls to a process that stays, one after another, pipelined, and from the plugin to the host; beside the peers."""

from __future__ import annotations

from importlib.util import find_spec

from ..contender import Contender
from ..pinning import FREE, PINNED, PLACES
from ..samples import Source
from ..section import Base, Row, Section
from ..target import Kind, Target

KEY = "long"
RAW = "bench.drivers.ping_pong"
OURS = {
    "blocking": ("bench.drivers.duplex_blocking", "plughost, blocking fleet"),
    "asyncio": ("bench.drivers.duplex_asyncio", "plughost, asyncio fleet"),
    "uvloop": ("bench.drivers.duplex_asyncio", "plughost, the same on uvloop"),
}
HAND = ("bench.drivers.duplex_by_hand", "the same plugin, by hand")
WINDOW = "bench.drivers.duplex_window"
PEERS = {  # module, label, and what it needs from peers.txt
    "mp-pipe": ("bench.peers.pipe_echo", "multiprocessing.Pipe", ""),
    "lsp-jsonrpc": ("bench.peers.lsp_echo", "python-lsp-jsonrpc", "python-lsp-jsonrpc"),
    "execnet": ("bench.peers.execnet_echo", "execnet", "execnet"),
    "rpyc": ("bench.peers.rpyc_echo", "rpyc", "rpyc"),
    "grpc": ("bench.peers.grpc_echo", "gRPC on a Unix socket", "grpcio"),
    "mcp": ("bench.peers.mcp_echo", "MCP SDK", "mcp"),
}
NO_UVLOOP = "" if find_spec("uvloop") else "uvloop is not installed"

OF_RAW = {"blocking": 4, "asyncio": 8}  # times a bare ping-pong, on one core
SLOWER = {  # times the asyncio fleet, one call after another
    PINNED: {"mcp": 30, "grpc": 5, "execnet": 1, "rpyc": 1, "lsp-jsonrpc": 1},
    FREE: {"mcp": 12, "grpc": 5, "execnet": 1, "rpyc": 1, "lsp-jsonrpc": 1},
}
SHARE = {"mcp": 1 / 100, "execnet": 1 / 3, "mp-pipe": 1}  # of the asyncio fleet's pipelined calls, at most


def sequential(place: str) -> Section:
    raw = Source(f"raw-{place}", "p50_us")
    hand = Source(f"hand-{place}", "p50_us")
    return Section(
        key=KEY,
        title=f"One call after another, {PLACES[place]}",
        unit="µs",
        contenders=(
            Contender(raw.contender, RAW, "call", (place,)),
            Contender(hand.contender, HAND[0], "call", (place,)),
            *(_ours(way, place, "call") for way in OURS),
            *(_peer(name, place, "call") for name in PEERS),
        ),
        rows=(
            Row("a bare pipe, 128 bytes there and back", raw),
            Row(HAND[1], hand),
            *(_call(way, place, raw) for way in OURS),
            *(_peer_call(name, place) for name in PEERS),
        ),
        bases=(Base("× bare", raw), Base("× by hand", hand)),
        notes=(
            "The middle call of each job: 100 bytes there and back, checked. The other end does nothing with them.",
            "By hand: Content-Length, json and base64; no deadline, no limit, no check of any kind.",
            *(_PINNED_NOTES if place == PINNED else _FREE_NOTES),
        ),
    )


_PINNED_NOTES = ("On one core all work adds up, and nobody waits for another core to wake up.",)
_FREE_NOTES = (
    "To wake another core takes longer than a message, and the scheduler decides when it is done.",
)


def pipelined() -> Section:
    ours = Source(f"asyncio-pipelined-{FREE}", "per_s")
    hand = Source(f"hand-pipelined-{FREE}", "per_s")
    return Section(
        key=KEY,
        title="64 calls in flight, not pinned",
        unit="calls/s",
        contenders=(
            Contender(hand.contender, WINDOW, "pipelined", (FREE,)),
            *(_ours(way, FREE, "pipelined") for way in ("asyncio", "uvloop")),
            *(_peer(name, FREE, "pipelined") for name in SHARE),
        ),
        rows=(
            Row(HAND[1], hand),
            *(
                Row(OURS[way][1], Source(f"{way}-pipelined-{FREE}", "per_s"), ours=True)
                for way in ("asyncio", "uvloop")
            ),
            *(
                Row(
                    PEERS[name][1],
                    Source(f"{name}-pipelined-{FREE}", "per_s"),
                    Target(Kind.TIMES, round(share, 2), "the asyncio fleet", ours),
                )
                for name, share in sorted(SHARE.items(), key=lambda item: -item[1])
            ),
        ),
        bases=(Base("× asyncio", ours), Base("× by hand", hand)),
        notes=(
            "More is better. plughost and the MCP SDK: 64 tasks, each of which calls and waits.",
            "multiprocessing.Pipe and execnet have no calls: one thread sends a message for each that comes back.",
            "By hand: 64 tasks, futures and msgspec; no deadline, no limit, no check of any kind.",
        ),
        higher_is_better=True,
    )


def reverse() -> Section:
    raw = Source(f"raw-{PINNED}", "p50_us")
    hand = Source(f"hand-ask-{PINNED}", "ask_us")
    return Section(
        key=KEY,
        title="A call of the plugin to the host, on one core",
        unit="µs",
        contenders=(
            Contender(raw.contender, RAW, "call", (PINNED,)),
            Contender(hand.contender, HAND[0], "ask", (PINNED,)),
            *(_ours(way, PINNED, "ask") for way in OURS),
        ),
        rows=(
            Row("a bare pipe, 128 bytes there and back", raw),
            Row("answered by hand", hand),
            *(Row(OURS[way][1], Source(f"{way}-ask-{PINNED}", "ask_us"), ours=True) for way in OURS),
        ),
        bases=(Base("× bare", raw), Base("× by hand", hand)),
        notes=(
            "One command asks for a snapshot of 100 bytes 2000 times, one after another; its time, divided by them.",
            "By hand whatever is asked is answered with the same snapshot; the fleet looks up grants and topic.",
        ),
    )


def _ours(way: str, place: str, job: str) -> Contender:
    loop = () if way == "blocking" else (way,)
    missing = NO_UVLOOP if way == "uvloop" else ""
    return Contender(_key(way, place, job), OURS[way][0], job, (place, *loop), missing=missing)


def _peer(name: str, place: str, job: str) -> Contender:
    module, _, peer = PEERS[name]
    return Contender(
        _key(name, place, job), module, job, (place,), times=1 if name == "mcp" else 3, peer=peer
    )


def _key(name: str, place: str, job: str) -> str:
    return f"{name}-{place}-call" if job == "call" else f"{name}-{job}-{place}"


def _call(way: str, place: str, raw: Source) -> Row:
    judged = place == PINNED and way in OF_RAW
    target = Target(Kind.TIMES, OF_RAW[way], "the bare pipe", raw) if judged else None
    return Row(OURS[way][1], Source(_key(way, place, "call"), "p50_us"), target, ours=True)


def _peer_call(name: str, place: str) -> Row:
    _, label, _ = PEERS[name]
    times = SLOWER[place].get(name)
    ours = Source(_key("asyncio", place, "call"), "p50_us")
    target = Target(Kind.LEAST, times, f"the asyncio fleet, {PLACES[place]}", ours) if times else None
    return Row(label, Source(_key(name, place, "call"), "p50_us"), target)
