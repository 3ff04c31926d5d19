"""Work of a tool call -> its result, with progress on the way. Passes the client's cancellation on, once.

The SDK cancels a call again at every step that it takes, which would cut short how the work is put to an end. So that
runs as a task of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

# Tells the client how many seconds a call has taken; nothing if it did not ask.
Progress = Callable[[float], Awaitable[None]]

PROGRESS_S = 1.0  # between two reports: clients that wait for one count in tens of seconds


async def carried_out(
    work: Coroutine[Any, Any, T],
    progress: Progress,
    abandon: Callable[[asyncio.Task[Any]], None] | None = None,
    take_back: Callable[[T], None] | None = None,
    over: Callable[[], None] | None = None,
) -> T:
    """Return what *work* does. If the call is cancelled, so is the work.

    *abandon* is told at that moment, and *take_back* is given what was done by then all the same. *over* is told when
    the work is, also if it never began.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    task = asyncio.ensure_future(work)
    if over is not None:
        task.add_done_callback(lambda _: over())

    def is_over(task: asyncio.Task[T]) -> None:
        if not task.cancelled() and task.exception() is None and take_back is not None:
            take_back(task.result())

    try:
        while not task.done():
            await asyncio.wait({task}, timeout=PROGRESS_S)
            if not task.done():
                await progress(loop.time() - began)
    except BaseException:
        if abandon is not None:
            abandon(task)
        task.add_done_callback(is_over)  # also if it is done; the loop holds it as long as it is not
        task.cancel()
        raise
    return task.result()
