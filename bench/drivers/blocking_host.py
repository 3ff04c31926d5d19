"""Calls by the blocking host, each to a process of its own, on a host that is already there."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from plughost import blocking

from .. import greeting
from ..loop import serve
from ..stopwatch import Marks, Stopwatch
from .stages import stages


def call(plugin: blocking.Plugin) -> Marks:
    """Start the plugin, call it, and wait for it to be gone: the call returns only then."""
    watch = Stopwatch()
    result = plugin.invoke("greet", greeting.INPUT)
    watch.mark("gone")
    greeting.check(result.output)
    return watch.marks | stages(result.timings_ms)


def main() -> None:
    with blocking.Host() as host:
        plugins = {Path(path).name: host.add(path) for path in sys.argv[1:]}
        serve({name: partial(call, plugin) for name, plugin in plugins.items()})


if __name__ == "__main__":
    main()
