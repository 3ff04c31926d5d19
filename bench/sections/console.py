"""A worker of a console: a trivial request, its start, and a flood of output; beside bare pipes and the peers."""

from __future__ import annotations

from ..contender import Contender
from ..pinning import FREE, PINNED, PLACES
from ..samples import Source
from ..section import Base, Row, Section
from ..target import Kind, Target
from .long_calls import NO_UVLOOP
from .python_start import BASES, CONTENDERS, PASS, ROWS

KEY = "console"
BARE = ("bench.drivers.console_bare", "the same worker on bare pipes")
OURS = {
    "blocking": ("bench.drivers.console_blocking", "plughost, blocking console"),
    "asyncio": ("bench.drivers.console_asyncio", "plughost, asyncio console"),
    "uvloop": ("bench.drivers.console_asyncio", "plughost, the same on uvloop"),
}
PEERS = {  # module, label, and what it needs from peers.txt
    "ipykernel": ("bench.peers.ipykernel_session", "ipykernel, by jupyter_client", "ipykernel"),
    "mcp-repl": ("bench.peers.mcp_repl_session", "posit-mcp-repl, over its stdio", "posit-mcp-repl"),
}
ON_DISK = (("TMPDIR", "/var/tmp"),)  # where the files of floods are: /tmp is often no disk

OF_BARE = 3  # times the same worker on bare pipes, on one core
OF_PASS = 2  # times python -c pass
FLOOD_ROUNDS = 8  # at most: each writes hundreds of megabytes
PEER_ROUNDS = 8  # at most: a start of a peer takes a second


def requests(place: str) -> Section:
    bare = Source(f"console-bare-{place}", "p50_us")
    return Section(
        key=KEY,
        title=f"A trivial request to a console, {PLACES[place]}",
        unit="µs",
        contenders=(
            Contender(bare.contender, BARE[0], "call", (place,)),
            *(_ours(way, place, "call") for way in OURS),
            *(_peer(name, place, "call") for name in PEERS),
        ),
        rows=(
            Row(BARE[1], bare),
            *(_request(way, place, bare) for way in OURS),
            *(
                Row(label, Source(_key(name, place, "call"), "p50_us"))
                for name, (_, label, _) in PEERS.items()
            ),
        ),
        bases=(Base("× bare", bare),),
        notes=(
            "The middle one of each job: `1` is run, and what it shows is there, checked.",
            "Bare: the same frames and bytes by hand, one after another; no wait that could end, no order, no check.",
            "ipykernel: execute_request, its reply, and the iopub messages until idle, on loopback TCP.",
        ),
    )


def start() -> Section:
    bare = Source(f"console-bare-start-{FREE}", "ready")
    return Section(
        key=KEY,
        title="A worker's start to its introduction",
        unit="ms",
        contenders=(
            *CONTENDERS,
            Contender(bare.contender, BARE[0], "start", (FREE,), times=5),
            *(_ours(way, FREE, "start") for way in ("blocking", "asyncio")),
            *(_peer(name, FREE, "start") for name in PEERS),
        ),
        rows=(
            *ROWS,
            Row(BARE[1], bare),
            *(_start(way) for way in ("blocking", "asyncio")),
            *(
                Row(label, Source(_key(name, FREE, "start"), "ready"))
                for name, (_, label, _) in PEERS.items()
            ),
        ),
        bases=BASES,
        notes=(
            "Ours: to backend_info; code can be given from then on. ipykernel: to the answer to kernel_info_request.",
            "posit-mcp-repl: to the answer to its first, empty call; before that no interpreter is started.",
        ),
    )


def flood() -> Section:
    bare = Source(f"console-bare-flood-{FREE}", "mb_per_s")
    return Section(
        key=KEY,
        title="100 MB printed, all of it in a file",
        unit="MB/s",
        contenders=(
            Contender(bare.contender, BARE[0], "flood", (FREE,), ON_DISK, times=1, rounds=FLOOD_ROUNDS),
            *(_ours(way, FREE, "flood") for way in ("blocking", "asyncio")),
        ),
        rows=(
            Row("copied from the pipe as it comes", bare),
            *(
                Row(OURS[way][1], Source(_key(way, FREE, "flood"), "mb_per_s"), ours=True)
                for way in ("blocking", "asyncio")
            ),
        ),
        bases=(Base("× copied", bare),),
        notes=(
            "More is better. Written by os.write, 64 kB at a time, in lines of 64 bytes; nothing is brought to disk.",
            "A console looks for the mark, decodes, keeps the head and the tail, and encodes what goes to the file.",
        ),
        higher_is_better=True,
    )


def _ours(way: str, place: str, job: str) -> Contender:
    loop = () if way == "blocking" else (way,)
    return Contender(
        _key(way, place, job),
        OURS[way][0],
        job,
        (place, *loop),
        ON_DISK if job == "flood" else (),
        times={"flood": 1, "start": 5}.get(job, 3),
        rounds=FLOOD_ROUNDS if job == "flood" else None,
        missing=NO_UVLOOP if way == "uvloop" else "",
    )


def _peer(name: str, place: str, job: str) -> Contender:
    module, _, peer = PEERS[name]
    return Contender(_key(name, place, job), module, job, (place,), times=1, rounds=PEER_ROUNDS, peer=peer)


def _key(name: str, place: str, job: str) -> str:
    return f"console-{name}-{place}" if job == "call" else f"console-{name}-{job}-{place}"


def _request(way: str, place: str, bare: Source) -> Row:
    judged = place == PINNED and way != "uvloop"
    target = Target(Kind.TIMES, OF_BARE, "the bare pipes", bare) if judged else None
    return Row(OURS[way][1], Source(_key(way, place, "call"), "p50_us"), target, ours=True)


def _start(way: str) -> Row:
    target = Target(Kind.TIMES, OF_PASS, "python -c pass", PASS)
    return Row(OURS[way][1], Source(_key(way, FREE, "start"), "ready"), target, ours=True)
