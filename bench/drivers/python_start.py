"""What starting Python costs at all: to the first byte that a child writes, and to the end of `pass`, or of two."""

from __future__ import annotations

import os
import subprocess
import sys

from ..loop import serve
from ..stopwatch import Marks, Stopwatch


def to_first_byte() -> Marks:
    """Start Python, have it write one byte, and wait for that."""
    watch = Stopwatch()
    command = [sys.executable, "-c", "import os; os.write(1, b'x')"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        os.read(process.stdout.fileno(), 1)
        watch.mark("byte")
    return watch.marks


def to_exit() -> Marks:
    """Start Python for nothing, and wait for it to be gone."""
    watch = Stopwatch()
    subprocess.Popen([sys.executable, "-c", "pass"]).wait()
    watch.mark("gone")
    return watch.marks


def to_both_exits() -> Marks:
    """Start Python for nothing twice, at once, and wait for both to be gone."""
    watch = Stopwatch()
    both = [subprocess.Popen([sys.executable, "-c", "pass"]) for _ in range(2)]
    for process in both:
        process.wait()
    watch.mark("gone")
    return watch.marks


if __name__ == "__main__":
    serve({"byte": to_first_byte, "pass": to_exit, "two": to_both_exits})
