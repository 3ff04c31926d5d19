"""The loop one writes by hand for the same SDK plugin: Content-Length, JSON and base64 of the standard library.

    python -m bench.drivers.duplex_by_hand PLACE

It has no deadline, no limit, no check, and one call at a time.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from functools import partial
from time import perf_counter
from types import TracebackType
from typing import Any, Self

from .. import echo, latency, pinning
from ..loop import Job, serve
from ..stopwatch import Marks
from . import big_frame, duplex_plugin, faults

CALLS = 1500


class ByHand:
    """One process of the plugin, introduced."""

    def __init__(self) -> None:
        words = [sys.executable, "-I", duplex_plugin.NAME]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, cwd=duplex_plugin.DIRECTORY)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self.calls = 0
        self._snapshot = base64.b64encode(echo.PAYLOAD).decode()
        manifest = str(duplex_plugin.DIRECTORY / "manifest.toml")
        granted = {"manifest_path": manifest, "granted_capabilities": ["event_bus"], "abi_version": 2}
        self.call("plugin/init", granted)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._to.close()
        self._process.wait()
        self._from.close()

    @property
    def pipes(self) -> tuple[int, int]:
        """The descriptors by which it is told and heard. Nothing that came is held back from them."""
        return self._to.fileno(), self._from.fileno()

    def call(self, method: str, params: dict[str, Any]) -> Any:
        """Call *method*, answer what is asked meanwhile, and return the result."""
        self.calls += 1
        self._send({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params})
        while True:
            message = self._receive()
            if "method" not in message:
                return message["result"]
            result = {"payload": self._snapshot, "version": 1}
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def invoke(self, payload: bytes) -> bytes:
        """Have *payload* echoed."""
        spelled = base64.b64encode(payload).decode()
        params = {"action": duplex_plugin.ACTION, "payload": spelled, "timeout_ms": 0}
        return base64.b64decode(self.call("host/action/invoke", params)["payload"])

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        self._to.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._to.flush()

    def _receive(self) -> dict[str, Any]:
        size = int(self._from.readline().split(b":")[1])
        self._from.readline()
        message: dict[str, Any] = json.loads(self._from.read(size))
        return message


def ask(plugin: ByHand) -> Marks:
    """Have the plugin ask."""
    began = perf_counter()
    params = {"namespace": duplex_plugin.NAMESPACE, "argv": duplex_plugin.ARGV}
    result = plugin.call("plugin/cli_dispatch", params)
    taken = perf_counter() - began
    duplex_plugin.check_asked(base64.b64decode(result["stdout"]))
    return {"ask_us": taken * 1_000_000 / duplex_plugin.ASKS}


def frame(plugin: ByHand, mib: int) -> Marks:
    """Have a big payload echoed."""
    before, began = faults.count(), perf_counter()
    answer = plugin.invoke(big_frame.payload(mib))
    taken = perf_counter() - began
    big_frame.check(mib, answer)
    return big_frame.marks(mib, taken, faults.count() - before)


def main() -> None:
    pinning.settle()
    with ByHand() as plugin:
        jobs: dict[str, Job] = {f"frame:{mib}": partial(frame, plugin, mib) for mib in big_frame.MIB}
        jobs["call"] = partial(latency.measure, partial(plugin.invoke, echo.PAYLOAD), echo.check, CALLS)
        jobs["ask"] = partial(ask, plugin)
        serve(jobs)


if __name__ == "__main__":
    main()
