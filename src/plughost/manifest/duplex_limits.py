"""Every number that bounds a `duplex` plugin, with its unit and its reason. Knows no plugin."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from .binding import Count, Limits, Seconds

FRAME_BYTES = 16 * 1_048_576  # one body, either way: what the contract sets, and each end refuses more
IDLE_REAP_S = 600  # what a manifest means that does not say how long its plugin may be idle
SECONDS_CAP = 2**32 - 1  # the contract counts idle seconds in 32 bits

IdleSeconds = Annotated[int, Meta(ge=0, le=SECONDS_CAP)]  # 0: never ended for being idle
BackoffSeconds = Annotated[tuple[Seconds, ...], Meta(min_length=1, max_length=16)]


class DuplexLimits(Limits, frozen=True, forbid_unknown_fields=True):
    """What is usual for `duplex`: a plugin lives for hours, and people look at it while it works."""

    timeout_s: Seconds = 60.0  # one `plugin/cli_dispatch`: a person waits for it and can see that it works
    handshake_s: Seconds = 10.0  # `plugin/init` to its answer: it may read much before it is ready
    render_s: Seconds = 2.0  # one `plugin/render`: a screen that stands still for longer looks dead
    write_s: Seconds = 2.0  # for it to read what was sent; one that does not read would hold everything up
    teardown_s: Seconds = 5.0  # from the end of its input to its exit, as the contract says
    terminate_s: Seconds = 2.0  # between SIGTERM and SIGKILL: to save what it holds
    frame_bytes: Annotated[int, Meta(gt=0, le=FRAME_BYTES)] = FRAME_BYTES
    # In one message: names and numbers, lists and objects. More take many times their bytes in memory.
    values: Annotated[int, Meta(gt=0, le=FRAME_BYTES)] = 1_048_576
    key_lane: Annotated[int, Meta(gt=0, le=65_536)] = 64  # keys that wait; old ones go, nobody wants them
    backoff_s: BackoffSeconds = (1.0, 4.0, 16.0)  # before each next start; the last one stays
    failure_window_s: Seconds = 60.0  # failures older than this are forgotten
    failures_to_quarantine: Count = 3  # inside the window: it will not mend itself
    stable_s: Seconds = 60.0  # it ran so long: the next failure is a first one again
    idle_reap_s: IdleSeconds | None = None  # None: as the manifest says
