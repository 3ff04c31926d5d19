"""Every number that bounds a `sideband` worker, with its unit and its reason. Knows no worker.

The `[limits]` of a worker's `plugin.toml` may hold any of those below, and those that every contract has: `reap_s`,
`line_bytes`, `stderr_bytes`, `memory_mb`, `cpu_s`, `open_files`, `processes`, `file_mb`. Seconds are above 0, and a day
at most.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from .binding import Limits, Seconds

LINE_BYTES = 33_554_432  # one line beside the output, either way: what the contract sets
ENDING_S = 2.0  # from the wish that a worker end to its end, at most: what the contract promises

Chars = Annotated[int, Meta(ge=1_024, le=2**28)]  # less would not hold a remark and what it is about
Images = Annotated[int, Meta(ge=0, le=4_096)]
Bytes = Annotated[int, Meta(ge=0, le=2**40)]


class SidebandLimits(Limits, frozen=True, forbid_unknown_fields=True):
    """What is usual for `sideband`: a worker lives as long as somebody's work, and is let go quickly."""

    timeout_s: Seconds = 60.0  # a reply is given by then; the request goes on, and can be polled
    launch_s: Seconds = 10.0
    handshake_s: Seconds = 10.0  # an interpreter may be slow to start, from a cold or distant disk
    teardown_s: Seconds = 1.5  # from `session_end` to its exit: our worker needs no more, whatever it runs
    terminate_s: Seconds = 0.25  # both together stay below ENDING_S
    frame_bytes: Annotated[int, Meta(gt=0, le=LINE_BYTES)] = LINE_BYTES
    head_chars: Chars = 1_048_576  # of the beginning of what one reply shows
    tail_chars: Chars = 1_048_576  # and of its end; the whole is in a file then
    images: Images = 64  # in one reply
    image_bytes: Bytes = 67_108_864  # of all of them
    spool_bytes: Bytes = 1_073_741_824  # of all files with whole outputs, while the console is open
