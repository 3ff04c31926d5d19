"""A fresh process per call: to the handshake, to the first result, and the whole of it, beside the peers."""

from __future__ import annotations

from ..contender import Contender
from ..samples import Source
from ..section import Row, Section
from ..target import Kind, Target
from . import languages
from .python_start import BASES, CONTENDERS, FIRST_BYTE, ROWS

ASYNCIO = languages.asyncio_host()
NEW_HOST = Contender("new-host", languages.ASYNCIO_MODULE, "new-host", languages.directories())
BLOCKING = Contender("blocking", "bench.drivers.blocking_host", "greeter", (languages.BUNDLED,))
NAIVE = Contender("subprocess-run", "bench.peers.subprocess_run", "call")
SPAWN = Contender("mp-spawn", "bench.peers.process_pipe", "spawn")
FORK = Contender("mp-fork", "bench.peers.process_pipe", "fork")
EXECNET = Contender("execnet", "bench.peers.execnet_gateway", "call", peer="execnet")
MCP = Contender("mcp", "bench.peers.mcp_stdio", "call", times=1, peer="mcp")

_TWICE_PYTHON = Target(Kind.TIMES, 2, "python's first byte", FIRST_BYTE)
_FORTY = Target(Kind.FASTER, 40, "the MCP SDK", Source("mcp", "result"))


def handshake() -> Section:
    return Section(
        key="handshake",
        title="Cold start to handshake",
        unit="ms",
        contenders=(*CONTENDERS, ASYNCIO, BLOCKING, EXECNET, MCP),
        rows=(
            *ROWS,
            Row("plughost, asyncio host", Source("asyncio", "handshake"), _TWICE_PYTHON, ours=True),
            Row("plughost, blocking host", Source("blocking", "handshake"), _TWICE_PYTHON, ours=True),
            Row("execnet, gateway made", Source("execnet", "handshake")),
            Row("MCP SDK server, initialized", Source("mcp", "handshake")),
        ),
        bases=BASES,
        notes=(
            "From the call to the accepted handshake, by the host's own clock. Imports of hosts are never in.",
        ),
        drawn=True,
    )


def first_result() -> Section:
    return Section(
        key="result",
        title="Cold start to first result",
        unit="ms",
        contenders=(*CONTENDERS, ASYNCIO, BLOCKING, NEW_HOST, NAIVE, MCP),
        rows=(
            Row("plughost, asyncio host: answered", Source("asyncio", "answered"), _FORTY, ours=True),
            Row("plughost, asyncio host: returned", Source("asyncio", "gone"), _FORTY, ours=True),
            Row("plughost, blocking host: answered", Source("blocking", "answered"), _FORTY, ours=True),
            Row("plughost, blocking host: returned", Source("blocking", "gone"), _FORTY, ours=True),
            Row("plughost, a new host and its guard: returned", Source("new-host", "result"), ours=True),
            Row("subprocess.run and json", Source("subprocess-run", "gone")),
            Row("MCP SDK server, first tool call", Source("mcp", "result")),
        ),
        bases=BASES,
        notes=(
            "Answered: the host has the answer, as the MCP client has when it returns.",
            "Returned: the process has ended too; only then plughost and subprocess.run give the answer.",
        ),
        drawn=True,
    )


def whole_call() -> Section:
    return Section(
        key="call",
        title="A process per call, from start to end",
        unit="ms",
        contenders=(*CONTENDERS, ASYNCIO, BLOCKING, NAIVE, SPAWN, FORK, EXECNET, MCP),
        rows=(
            Row("plughost, asyncio host", Source("asyncio", "gone"), ours=True),
            Row("plughost, blocking host", Source("blocking", "gone"), ours=True),
            Row("subprocess.run and json", Source("subprocess-run", "gone")),
            Row("multiprocessing, fork: a copy of the host", Source("mp-fork", "gone")),
            Row("multiprocessing, spawn", Source("mp-spawn", "gone")),
            Row("execnet", Source("execnet", "gone")),
            Row("MCP SDK", Source("mcp", "gone")),
        ),
        bases=BASES,
        notes=("fork starts no program: it shares the host's memory, modules and descriptors.",),
        drawn=True,
    )
