"""Many plugins told something by hand: one frame to each, and a frame from each, with `os.write` and epoll."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
from collections.abc import Iterable
from time import perf_counter
from types import TracebackType
from typing import Any, Self

from . import listener

PIECE = 65_536  # bytes: what a pipe holds
GRANTED = {"manifest_path": "manifest.toml", "granted_capabilities": ["event_bus"], "abi_version": 2}
INIT = {"jsonrpc": "2.0", "id": 1, "method": "plugin/init", "params": GRANTED}


class Crowd:
    """Processes of the plugin, introduced."""

    def __init__(self, names: Iterable[str]) -> None:
        pipe = subprocess.PIPE
        self._processes = [
            subprocess.Popen(listener.words(name), stdin=pipe, stdout=pipe, bufsize=0) for name in names
        ]
        self._poll = select.epoll()
        for each in self._processes:
            assert each.stdout is not None
            self._poll.register(each.stdout.fileno(), select.EPOLLIN)
        self._exchange(_frame(INIT))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._processes:
            assert each.stdin is not None
            each.stdin.close()
        for each in self._processes:
            assert each.stdout is not None
            each.wait()
            each.stdout.close()
        self._poll.close()

    def tell(self, topic: str, payload: bytes) -> float:
        """Tell all of them, and return how many seconds it took until all had answered."""
        began = perf_counter()
        params = {"topic": topic, "payload": base64.b64encode(payload).decode()}
        self._exchange(_frame({"jsonrpc": "2.0", "method": "plugin/handle_event", "params": params}))
        return perf_counter() - began

    def pid(self, number: int) -> int:
        """Return the process id of one of them."""
        return self._processes[number].pid

    def call(self, number: int, action: str, payload: bytes) -> bytes:
        """Invoke *action* of one of them, and return what that returns."""
        params = {"action": action, "payload": base64.b64encode(payload).decode(), "timeout_ms": 0}
        stdin = self._processes[number].stdin
        assert stdin is not None
        os.write(
            stdin.fileno(),
            _frame({"jsonrpc": "2.0", "id": 2, "method": "host/action/invoke", "params": params}),
        )
        ((descriptor, _),) = self._poll.poll()
        _, _, body = os.read(descriptor, PIECE).partition(b"\r\n\r\n")
        return base64.b64decode(json.loads(body)["result"]["payload"])

    def _exchange(self, frame: bytes) -> None:
        for each in self._processes:
            assert each.stdin is not None
            os.write(each.stdin.fileno(), frame)
        left = len(self._processes)
        while left:
            for descriptor, _ in self._poll.poll():
                _, _, body = os.read(descriptor, PIECE).partition(b"\r\n\r\n")  # small, so whole
                json.loads(body)
                left -= 1


def _frame(message: dict[str, Any]) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body
