"""Requests to an ipykernel that stays, and its start, by jupyter_client's blocking client over loopback TCP.

python -m bench.peers.ipykernel_session PLACE
"""

from __future__ import annotations

from functools import partial
from typing import Any

from jupyter_client import BlockingKernelClient, KernelManager  # type: ignore[import-not-found]  # peers' environment

from .. import latency, pinning
from ..drivers import console_work as work
from ..loop import serve
from ..stopwatch import Marks, Stopwatch

CALLS = 100
WAIT_S = 60.0  # for any message


class Kernel:
    """One kernel that has said that it is there."""

    def __init__(self) -> None:
        self._manager = KernelManager(kernel_name="python3")
        self._manager.start_kernel()
        self._client: BlockingKernelClient = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=WAIT_S)

    def run(self, text: str) -> str:
        """Run *text* until the kernel is idle, and return what it shows."""
        request = self._client.execute(text)
        self._client.get_shell_msg(timeout=WAIT_S)
        shown = ""
        while True:
            message = self._client.get_iopub_msg(timeout=WAIT_S)
            if message["parent_header"].get("msg_id") != request:
                continue
            content: dict[str, Any] = message["content"]
            if message["msg_type"] == "execute_result":
                shown += content["data"]["text/plain"] + "\n"
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return shown

    def close(self) -> None:
        """End it."""
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


def start() -> Marks:
    """Start a kernel."""
    watch = Stopwatch()
    kernel = Kernel()
    watch.mark("ready")
    kernel.close()
    return watch.marks


def main() -> None:
    pinning.settle()
    kernel = Kernel()
    serve(
        {
            "call": partial(latency.measure, partial(kernel.run, work.CODE), work.check, CALLS),
            "start": start,
        }
    )
    kernel.close()


if __name__ == "__main__":
    main()
