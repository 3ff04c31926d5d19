"""The plugin that every way to call a `duplex` plugin calls: where it is, and what it is asked. Measures nothing."""

from __future__ import annotations

from ..driver import ROOT
from ..echo import PAYLOAD

DIRECTORY = ROOT / "bench/plugins/echo"
NAME = "echo"
ACTION = "echo"
NAMESPACE = "ask"
TOPIC = "bench.asked"  # what the plugin asks the host for
ASKS = 2000  # reverse calls of one command: the command itself does not count beside them
ARGV = (str(ASKS), TOPIC)


def check_asked(stdout: bytes) -> None:
    """Raise ValueError unless the command got all that it asked for."""
    if bytes(stdout) != str(ASKS * len(PAYLOAD)).encode():
        raise ValueError(f"the work was not done: {bytes(stdout)!r:.100}")
