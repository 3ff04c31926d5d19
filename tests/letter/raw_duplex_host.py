"""A `duplex` host in plain Python, from the document alone: frames to and from one real process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WAIT_S = 30.0
INIT = {"manifest_path": "/nowhere/manifest.toml", "granted_capabilities": ["event_bus"], "abi_version": 2}


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class RawHost:
    """One plugin's process. What it asks is answered with `{}`, or with −32001 if *denies*."""

    def __init__(self, process: subprocess.Popen[bytes], *, denies: bool = False) -> None:
        self.process = process
        self.denies = denies
        self.asked: list[dict[str, Any]] = []
        self.told: list[dict[str, Any]] = []
        self._next = 1

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def tell(self, method: str, params: Any) -> None:
        self.send(frame(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()))

    def read(self) -> dict[str, Any] | None:
        """Return the next message, or None at the end of the output."""
        assert self.process.stdout is not None
        head = self.process.stdout.readline()
        if not head:
            return None
        assert head.startswith(b"Content-Length: ")
        assert head.endswith(b"\r\n")
        assert self.process.stdout.readline() == b"\r\n"
        found: dict[str, Any] = json.loads(self.process.stdout.read(int(head.split(b":")[1])))
        return found

    def ask(self, method: str, params: Any, id: Any = None) -> dict[str, Any]:
        """Call *method*, serve what the plugin asks meanwhile, and return the whole answer."""
        mine = self._next if id is None else id
        self._next += 1
        message = {"jsonrpc": "2.0", "id": mine, "method": method, "params": params}
        self.send(frame(json.dumps(message).encode()))
        while True:
            found = self.read()
            assert found is not None, "it ended instead of answering"
            if "method" not in found:
                assert found["id"] == mine
                return found
            (self.asked if "id" in found else self.told).append(found)
            if "id" in found:
                self._answer(found["id"])

    def _answer(self, id: Any) -> None:
        refused = {"error": {"code": -32001, "message": "capability denied: event_bus"}}
        said = refused if self.denies else {"result": {}}
        self.send(frame(json.dumps({"jsonrpc": "2.0", "id": id, **said}).encode()))

    def end(self) -> int:
        """Wait for the process, its input still open."""
        return self.process.wait(WAIT_S)


@contextmanager
def hosted(*command: str | Path, denies: bool = False) -> Iterator[RawHost]:
    process = subprocess.Popen(
        list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        yield RawHost(process, denies=denies)
    finally:
        process.kill()
        process.wait(WAIT_S)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
