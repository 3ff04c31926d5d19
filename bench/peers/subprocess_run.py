"""A process per call with `subprocess.run` and json: what one writes before looking for a library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from .. import greeting
from ..loop import serve
from ..stopwatch import Marks, Stopwatch

CHILD = str(Path(__file__).with_name("naive_child.py"))


def call() -> Marks:
    """Start, ask, answer, end: `run` returns when all of it is over."""
    watch = Stopwatch()
    asked = json.dumps(greeting.INPUT).encode()
    answered = subprocess.run([sys.executable, CHILD], input=asked, capture_output=True, check=True)
    output = json.loads(answered.stdout)
    watch.mark("gone")
    greeting.check(output)
    return watch.marks


if __name__ == "__main__":
    serve({"call": call})
