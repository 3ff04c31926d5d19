"""Millions of brackets neither crash nor stall a host, whatever its thread, stack and recursion limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys, threading
from pathlib import Path
import plughost
from plughost import blocking
from plughost.manifest.binding import Binding, Limits

hostile, fault, recursion, stack = sys.argv[1:5]
sys.setrecursionlimit(int(recursion))
threading.stack_size(int(stack))
outcome = []

def work():
    here = Path()
    binding = Binding(name="hostile", contract="execute", command=(sys.executable, "-I", hostile, fault),
        directory=here, cwd=here, limits=Limits(line_bytes=8_000_000))
    with blocking.Host() as host:
        try:
            host.add(binding).call("echo")
        except plughost.PluginFailure as failure:
            outcome.append(failure.code)

if int(stack):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
else:
    work()
assert outcome == ["malformed_response"], outcome
"""


@pytest.mark.thin(3)
@pytest.mark.parametrize("fault", ["raw-deep", "raw-deep-raw", "deep-output", "four-million"])
@pytest.mark.parametrize(("recursion", "stack"), [(1000, 0), (10**6, 0), (1000, 262_144), (10**6, 1_048_576)])
def test_a_bottomless_frame_is_malformed_and_the_host_lives(fault: str, recursion: int, stack: int) -> None:
    hostile = Path(__file__).with_name("hostile.py")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(hostile), fault, str(recursion), str(stack)],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
