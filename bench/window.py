"""So many messages in flight on a wire without calls: one is sent for each that comes back. Turns them into a rate."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from . import echo
from .stopwatch import Marks


def measure(send: Callable[[Any], object], receive: Callable[[], Any], message: Any, count: int) -> Marks:
    """Have *count* messages echoed, and return how many that were in a second. Each of them is checked."""
    began = perf_counter()
    for _ in range(echo.IN_FLIGHT):
        send(message)
    for number in range(count):
        answer = receive()
        if number < count - echo.IN_FLIGHT:
            send(message)
        echo.check(answer)
    return {"per_s": count / (perf_counter() - began)}
