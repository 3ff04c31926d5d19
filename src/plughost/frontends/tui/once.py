"""One frame of a plugin's screen, without a terminal: keys first, then wait until nothing changes. Draws nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from ...contracts.duplex.keys import KeyEvent
from ...contracts.duplex.messages import RenderResult
from ...host.duplex.status import Status
from .room import keys_at_once

POLL_S = 0.05  # between two frames: what has come meanwhile is seen soon, and a plugin is not kept busy
QUIET = 0.5  # of the time that is allowed: unchanged for so long, the screen counts as settled


class Plugin(Protocol):
    """What a frame needs of a plugin."""

    @property
    def status(self) -> Status: ...
    def render(self, width: int, height: int) -> RenderResult: ...
    def key(self, screen_id: str, key: KeyEvent) -> bool: ...


def settle(
    plugin: Plugin,
    screen_id: str,
    size: tuple[int, int],
    keys: Sequence[KeyEvent],
    settle_s: float,
    busy: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
    at_once: int = keys_at_once(),
) -> RenderResult:
    """Send *keys* and return the frame on which the screen settles, or the last one within *settle_s*.

    While somebody is *busy*, or the plugin asks to be asked again, it has not settled. Raises what `render` raises.
    """
    result = plugin.render(*size)
    for first in range(0, len(keys), at_once):
        for key in keys[first : first + at_once]:
            plugin.key(screen_id, key)
        result = plugin.render(
            *size
        )  # it has read them when it answers: of too many it would lose the oldest
    began = changed_at = clock()
    while (now := clock()) - began < settle_s:
        moving = result.redraw or busy() or plugin.status.waiting_events > 0
        if not moving and now - changed_at >= settle_s * QUIET:
            break
        wait(POLL_S)
        latest = plugin.render(*size)
        if latest.buffer != result.buffer:
            changed_at = clock()
        result = latest
    return result
