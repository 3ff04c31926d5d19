"""Keys to a plugin on an asyncio host, from the key to the plugin's word that it has handled it: idle, and under load.

The load is a data set of 50 chunks as the SDK cuts them, by its own default or to a size that is asked for. They are
published one after another to the same plugin, without waiting for it, and again when it has handled them all, for as
long as keys are pressed: at any moment, a few milliseconds apart. `echo` is the plugin by the SDK, which decodes
what it reads, on one thread; `listener` is the one in Perl, which decodes nothing.
"""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from time import perf_counter

from plughost_sdk import duplex

import plughost
from plughost import KeyCode, KeyEvent
from plughost.manifest.duplex_binding import DuplexBinding

from .. import latency
from ..loop import serve
from ..stopwatch import Marks
from . import duplex_plugin, listener

MIB = 1_048_576
PRESSED = "bench.pressed"
CHUNKS = 50
ROWS = 100  # of a data set, about, in one chunk
KEYS = 200  # idle, and as many under load: enough to speak of a 99th percentile
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
SIZES = {"default": duplex.CHUNK_BYTES, "2MiB": 2 * MIB}  # of a chunk, at most


def data_set(size: int) -> list[bytes]:
    """Return 50 chunks of at most *size* bytes, as full as they get."""
    row = "x" * (size // ROWS)
    fit = len(json.loads(next(duplex.chunks(repeat(row), target_bytes=size)))["data"])
    cut = list(duplex.chunks(repeat(row, fit * CHUNKS), target_bytes=size))
    if len(cut) != CHUNKS:
        raise ValueError(f"it is cut into {len(cut)} chunks")
    return cut


class Typist:
    """Presses keys, and publishes chunks, on the plugin of a fleet of one."""

    def __init__(self, fleet: plughost.AsyncFleet, reader: Reader, data_set: list[bytes]) -> None:
        self._fleet = fleet
        (self._plugin,) = fleet
        self._topic = reader.load
        self._data_set = data_set
        self._pressed = asyncio.Queue[None]()
        self._loaded = asyncio.Queue[bytes]()
        self._random = random.Random(SEED)
        fleet.subscribe(PRESSED, lambda _: self._pressed.put_nowait(None))
        fleet.subscribe(reader.loaded, lambda snapshot: self._loaded.put_nowait(snapshot.payload))

    async def measure(self) -> Marks:
        """Return how long keys and chunks take."""
        idle = [await self._press() for _ in range(KEYS)]
        alone = [await self._load(self._data_set[:1]) for _ in range(ALONE)]
        under_load, loads = await self._press_under_load()
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
            "ms_per_mib": sum(loads) * 1000 / (sum(map(len, self._data_set)) * len(loads) / MIB),
            "data_sets": len(loads),
        }

    async def _press(self) -> float:
        await asyncio.sleep(self._random.uniform(0, GAP_S))
        began = perf_counter()
        if not self._plugin.key("echo", KEY):
            raise ValueError("the plugin will not be told of the key")
        await self._pressed.get()
        return perf_counter() - began

    async def _press_under_load(self) -> tuple[list[float], list[float]]:
        """Return how long each key took, and each data set that was published meanwhile."""
        loads: list[float] = []
        enough = asyncio.Event()

        async def load() -> None:
            while not enough.is_set():
                loads.append(await self._load(self._data_set))

        loading = asyncio.create_task(load())
        await asyncio.sleep(0)  # the first chunks are on their way before the first key is
        times = [await self._press() for _ in range(KEYS)]
        enough.set()
        await loading
        return times, loads

    async def _load(self, chunks: list[bytes]) -> float:
        began = perf_counter()
        for chunk in chunks:
            self._fleet.publish(self._topic, chunk)
            await asyncio.sleep(0)  # the loop is everybody's
        for size in map(len, chunks):
            heard = await self._loaded.get()
            if heard and int(heard) != size:  # the one that decodes nothing does not say
                raise ValueError("a chunk is not whole")
        return perf_counter() - began


async def measure(host: plughost.Host, reader: Reader, size: int) -> Marks:
    """Have the plugin started, measured and ended."""
    async with await host.fleet(reader.place) as fleet:
        (plugin,) = fleet
        await plugin.start()
        return await Typist(fleet, reader, data_set(size)).measure()


def main() -> None:
    with asyncio.Runner() as runner:
        host = plughost.Host()
        serve(
            {
                f"{name}:{size}": partial(_run, runner, host, reader, SIZES[size])
                for name, reader in READERS.items()
                for size in SIZES
            }
        )
        runner.run(host.aclose())


def _run(runner: asyncio.Runner, host: plughost.Host, reader: Reader, size: int) -> Marks:
    return runner.run(measure(host, reader, size))


if __name__ == "__main__":
    main()
