"""Calls, each timed by itself, to their percentiles in microseconds. Judges nothing."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

from .stopwatch import Marks

P99 = 0.99

Check = Callable[[Any], None]


def measure(call: Callable[[], Any], check: Check, count: int) -> Marks:
    """Make *count* calls one after another, and return how long they took. What comes back is checked, untimed."""
    used, times = time.process_time(), []
    for _ in range(count):
        began = perf_counter()
        answer = call()
        times.append(perf_counter() - began)
        check(answer)
    return percentiles(times) | {"own_us": (time.process_time() - used) * 1_000_000 / count}


async def measure_awaited(call: Callable[[], Awaitable[Any]], check: Check, count: int) -> Marks:
    """Do the same with calls that are awaited."""
    used, times = time.process_time(), []
    for _ in range(count):
        began = perf_counter()
        answer = await call()
        times.append(perf_counter() - began)
        check(answer)
    return percentiles(times) | {"own_us": (time.process_time() - used) * 1_000_000 / count}


def percentiles(times_s: list[float]) -> Marks:
    """Return the middle one and the 99th percentile of *times_s*, in microseconds."""
    ordered = sorted(times_s)
    last = len(ordered) - 1
    return {"p50_us": ordered[last // 2] * 1_000_000, "p99_us": ordered[round(last * P99)] * 1_000_000}
