"""For tests: a fake process with knobs, a clock moved by hand, plugins in memory, and pytest fixtures.

Public and documented, for authors of plugins and of applications. Nothing here needs pytest, except the
fixtures of `plughost.testkit.pytest_plugin`, which pytest finds by itself.
"""

from __future__ import annotations

from .clock import ManualClock
from .conforms import assert_conforms
from .duplex_harness import DuplexHarness, screen_text
from .duplex_key import key_event
from .fake_process import FakeLauncher, FakeProcess
from .pair import Pair, Script

__all__ = [
    "DuplexHarness",
    "FakeLauncher",
    "FakeProcess",
    "ManualClock",
    "Pair",
    "Script",
    "assert_conforms",
    "key_event",
    "screen_text",
]
