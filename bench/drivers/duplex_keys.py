"""Keys to a plugin on an asyncio host, from the key to the plugin's word that it has handled it: idle, and under load.

The load is a data set of 50 chunks of 2 MiB, published to the same plugin as it reads them; keys come at any moment of
that, a few milliseconds apart. `echo` is the plugin by the SDK, which decodes what it reads, on one thread; `listener`
is the one in Perl, which decodes nothing.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

import plughost
from plughost import KeyCode, KeyEvent
from plughost.manifest.duplex_binding import DuplexBinding

from .. import latency
from ..loop import serve
from ..stopwatch import Marks
from . import duplex_plugin, listener

PRESSED = "bench.pressed"
CHUNK = bytes(2 * 1_048_576)
CHUNKS = 50
AHEAD = 16  # chunks published and not handled yet: all 50 at once would be more than the host keeps for a subscriber
DATA_SETS = 3  # one after another: for enough keys to speak of a 99th percentile
IDLE_KEYS = 150
ALONE = 15  # chunks, one at a time
GAP_S = 0.01  # between one key's answer and the next key, at most
KEY = KeyEvent(KeyCode("char", ch="j"))
SEED = 1


@dataclass(frozen=True, slots=True)
class Reader:
    """A plugin, the topic that it subscribes to, and the one by which it says that it has handled a publish of it."""

    place: Path | DuplexBinding
    load: str
    loaded: str


READERS = {
    "echo": Reader(duplex_plugin.DIRECTORY, "bench.load", "bench.loaded"),
    "listener": Reader(listener.bind("listener"), listener.FAN, listener.HEARD),
}


class Typist:
    """Presses keys, and publishes chunks, on the plugin of a fleet of one."""

    def __init__(self, fleet: plughost.AsyncFleet, reader: Reader) -> None:
        self._fleet = fleet
        (self._plugin,) = fleet
        self._topic = reader.load
        self._pressed = asyncio.Queue[None]()
        self._loaded = asyncio.Queue[bytes]()
        self._random = random.Random(SEED)
        fleet.subscribe(PRESSED, lambda _: self._pressed.put_nowait(None))
        fleet.subscribe(reader.loaded, lambda snapshot: self._loaded.put_nowait(snapshot.payload))

    async def measure(self) -> Marks:
        """Return how long keys and chunks take."""
        idle = [await self._press() for _ in range(IDLE_KEYS)]
        alone = [await self._load_one() for _ in range(ALONE)]
        under_load = await self._press_under_load()
        quiet, loaded = latency.percentiles(idle), latency.percentiles(under_load)
        chunk = latency.percentiles(alone)["p50_us"]
        return {
            "idle_p50": quiet["p50_us"] / 1000,
            "idle_p99": quiet["p99_us"] / 1000,
            "loaded_p50": loaded["p50_us"] / 1000,
            "loaded_p99": loaded["p99_us"] / 1000,
            "chunk": chunk / 1000,
            "times_idle": loaded["p99_us"] / quiet["p99_us"],
            "times_chunk": loaded["p99_us"] / (chunk + quiet["p99_us"]),
            "keys": len(under_load),
        }

    async def _press(self) -> float:
        await asyncio.sleep(self._random.uniform(0, GAP_S))
        began = perf_counter()
        if not self._plugin.key("echo", KEY):
            raise ValueError("the plugin will not be told of the key")
        await self._pressed.get()
        return perf_counter() - began

    async def _press_under_load(self) -> list[float]:
        times: list[float] = []
        for _ in range(DATA_SETS):
            load = asyncio.create_task(self._load())
            await asyncio.sleep(0)  # the first chunks are on their way before the first key is
            while not load.done():
                times.append(await self._press())
            await load
        return times

    async def _load_one(self) -> float:
        began = perf_counter()
        self._fleet.publish(self._topic, CHUNK)
        await self._until_loaded()
        return perf_counter() - began

    async def _load(self) -> None:
        for number in range(CHUNKS):
            if number >= AHEAD:
                await self._until_loaded()
            self._fleet.publish(self._topic, CHUNK)
        for _ in range(min(AHEAD, CHUNKS)):
            await self._until_loaded()

    async def _until_loaded(self) -> None:
        if int(await self._loaded.get() or len(CHUNK)) != len(
            CHUNK
        ):  # the one that decodes nothing does not say
            raise ValueError("a chunk is not whole")


async def measure(host: plughost.Host, reader: Reader) -> Marks:
    """Have the plugin started, measured and ended."""
    async with await host.fleet(reader.place) as fleet:
        (plugin,) = fleet
        await plugin.start()
        return await Typist(fleet, reader).measure()


def main() -> None:
    with asyncio.Runner() as runner:
        host = plughost.Host()
        serve({name: partial(_run, runner, host, reader) for name, reader in READERS.items()})
        runner.run(host.aclose())


def _run(runner: asyncio.Runner, host: plughost.Host, reader: Reader) -> Marks:
    return runner.run(measure(host, reader))


if __name__ == "__main__":
    main()
