"""For tests: a fake process with knobs, a clock moved by hand, an in-memory pair, and pytest fixtures.

Public and documented, for authors of plugins and of applications. Nothing here needs pytest, except the
fixtures of `plughost.testkit.pytest_plugin`, which pytest finds by itself.
"""

from __future__ import annotations

from .clock import ManualClock
from .conforms import assert_conforms
from .fake_process import FakeLauncher, FakeProcess
from .pair import Pair, Script

__all__ = ["FakeLauncher", "FakeProcess", "ManualClock", "Pair", "Script", "assert_conforms"]
