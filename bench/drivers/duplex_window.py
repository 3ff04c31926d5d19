"""64 calls in flight to the same SDK plugin, by hand: what asyncio, msgspec and the plugin itself take, no more.

    python -m bench.drivers.duplex_window PLACE

It has no deadline, no limit and no check but the bench's own. No host on this loop can be much faster.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from time import perf_counter

from msgspec import Struct, json

from .. import echo, pinning
from ..loop import serve
from ..stopwatch import Marks
from . import duplex_plugin
from .duplex_by_hand import ByHand

PIPELINED = 6400  # calls, over all those in flight
READ_SIZE = 65_536
_HEAD, _BLANK_LINE = b"Content-Length: ", b"\r\n\r\n"


class Params(Struct):
    action: str
    payload: bytes
    timeout_ms: int


class Request(Struct):
    jsonrpc: str
    id: int
    method: str
    params: Params


class Result(Struct):
    payload: bytes


class Answer(Struct):
    id: int
    result: Result


class Window:
    """Calls in flight. *to* and *from* are the plugin's pipes, and *calls* how many were made before."""

    def __init__(self, to: int, from_: int, calls: int) -> None:
        self._to, self._from, self._calls = to, from_, calls
        self._loop = asyncio.get_running_loop()
        self._futures: dict[int, asyncio.Future[bytes]] = {}
        self._unsaid: list[bytes] = []
        self._rest = b""
        self._encode, self._decode = json.Encoder().encode, json.Decoder(Answer).decode
        self._loop.add_reader(from_, self._hear)

    async def invoke(self, payload: bytes) -> bytes:
        """Have *payload* echoed."""
        self._calls += 1
        params = Params(duplex_plugin.ACTION, payload, 0)
        body = self._encode(Request("2.0", self._calls, "host/action/invoke", params))
        if not self._unsaid:
            self._loop.call_soon(self._say)
        self._unsaid.append(b"%b%d%b%b" % (_HEAD, len(body), _BLANK_LINE, body))
        future = self._futures[self._calls] = self._loop.create_future()
        return await future

    def close(self) -> int:
        """Stop listening. Returns how many calls were made."""
        self._loop.remove_reader(self._from)
        return self._calls

    def _say(self) -> None:
        data, self._unsaid = b"".join(self._unsaid), []
        while data:
            data = data[os.write(self._to, data) :]

    def _hear(self) -> None:
        data, at = self._rest + os.read(self._from, READ_SIZE), 0
        while (blank := data.find(_BLANK_LINE, at)) >= 0:
            body = blank + len(_BLANK_LINE)
            end = body + int(data[at + len(_HEAD) : blank])
            if end > len(data):
                break
            answer = self._decode(data[body:end])
            self._futures.pop(answer.id).set_result(answer.result.payload)
            at = end
        self._rest = data[at:]


async def pipelined(plugin: ByHand) -> Marks:
    """Keep so many calls in flight, each of a task of its own."""
    window = Window(*plugin.pipes, plugin.calls)

    async def call_on_and_on() -> None:
        for _ in range(PIPELINED // echo.IN_FLIGHT):
            echo.check(await window.invoke(echo.PAYLOAD))

    began = perf_counter()
    await asyncio.gather(*(call_on_and_on() for _ in range(echo.IN_FLIGHT)))
    taken = perf_counter() - began
    plugin.calls = window.close()
    return {"per_s": PIPELINED / taken}


def main() -> None:
    pinning.settle()
    with ByHand() as plugin, asyncio.Runner() as runner:
        serve({"pipelined": partial(_run, runner, plugin)})


def _run(runner: asyncio.Runner, plugin: ByHand) -> Marks:
    return runner.run(pipelined(plugin))


if __name__ == "__main__":
    main()
