"""Requests to posit-mcp-repl, a server of MCP in one program, and its start; raw lines of JSON over its stdio.

    python -m bench.peers.mcp_repl_session PLACE

Without its sandbox, which plughost's worker has none of here either.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .. import latency, pinning
from ..drivers import console_work as work
from ..loop import serve
from ..stopwatch import Marks, Stopwatch

CALLS = 10  # each takes more than a tenth of a second
PROTOCOL = "2025-06-18"
PROGRAM = str(Path(sys.executable).with_name("mcp-repl"))
COMMAND = (PROGRAM, "--interpreter", "python", "--sandbox", "danger-full-access")


class Server:
    """One server, and its interpreter, which the first call starts."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._calls = 0
        client = {"name": "bench", "version": "0"}
        self._call("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.run("")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._to.close()
        self._process.wait()
        self._from.close()

    def run(self, text: str) -> str:
        """Run *text*, and return what it shows."""
        result = self._call("tools/call", {"name": "repl", "arguments": {"input": text}})
        return "".join(content["text"] for content in result["content"])

    def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._calls += 1
        self._send({"jsonrpc": "2.0", "id": self._calls, "method": method, "params": params})
        while line := self._from.readline():
            message = json.loads(line)
            if message.get("id") == self._calls:
                result: dict[str, Any] = message["result"]
                return result
        raise EOFError("it has ended")

    def _send(self, message: dict[str, Any]) -> None:
        self._to.write(json.dumps(message).encode() + b"\n")
        self._to.flush()


def start() -> Marks:
    """Start a server and its interpreter."""
    watch = Stopwatch()
    with Server():
        watch.mark("ready")
    return watch.marks


def main() -> None:
    pinning.settle()
    with Server() as server:
        calls = partial(latency.measure, partial(server.run, f"{work.CODE}\n"), work.check, CALLS)
        serve({"call": calls, "start": start})


if __name__ == "__main__":
    main()
