"""The place for calls to a process that stays: sequential and pipelined. Not measured yet; it says so.

The `execute` contract is one process per call. When a contract that keeps its process can be called, add a
driver that calls it, and rows here with these targets of the design:

- sequential call, host and plugin pinned to one core: blocking host at most 4 × a raw Python pipe ping-pong,
  asyncio host at most 8 ×;
- sequential, beside the peers: the MCP SDK at least 30 × slower on one core and 12 × unpinned, gRPC over a Unix
  socket at least 5 ×, execnet, rpyc and python-lsp-jsonrpc all slower;
- pipelined, 64 in flight: at least 100 × the MCP SDK and 3 × execnet, no less than multiprocessing.Pipe.
"""

from __future__ import annotations

from ..section import Section


def calls() -> Section:
    return Section(
        key="long",
        title="Calls to a process that stays, sequential and pipelined",
        unit="",
        notes=(
            "Not measured: every call of the execute contract is a process of its own. See sections/long_lived.py.",
        ),
    )
