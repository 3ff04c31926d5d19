"""Talking to a plugin: in this process through two files, or as a child over pipes."""

import gc
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import plughost_sdk
import pytest
from plughost_sdk import stdio

HANDSHAKE = b'{"type":"handshake","protocol_version":"rterm.plugin.v1"}\n'
SDK = str(Path(plughost_sdk.__file__).parent.parent)


@pytest.fixture(autouse=True)
def _garbage_collector():
    """A plugin that has served its call turns the collector off: in this process, turn it on again."""
    yield
    gc.unfreeze()
    gc.enable()


@pytest.fixture(scope="session")
def handshake():
    """The line that a host begins with."""
    return HANDSHAKE


@pytest.fixture(scope="session")
def request_line():
    """Return a function that makes a request line."""

    def line(tool="echo", input=None, **more):
        message = {"type": "request", "request_id": "r1", "tool_name": tool, "context": {}, **more}
        return json.dumps({**message, "input": {} if input is None else input}).encode() + b"\n"

    return line


@pytest.fixture(scope="session")
def converse():
    """Return a function that runs a plugin here, over files, and returns its exit status and its lines."""

    def run(plugin, wire):
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as taken,
            pytest.MonkeyPatch.context() as patch,
        ):
            given.write(wire)
            given.seek(0)
            patch.setattr(stdio, "claim", lambda: (given.fileno(), taken.fileno()))
            patch.setattr(stdio, "is_terminal", lambda: False)
            with pytest.raises(SystemExit) as ended:
                plugin.run()
            taken.seek(0)
            return ended.value.code, taken.read().splitlines(keepends=True)

    return run


@pytest.fixture(scope="session")
def run_child():
    """Return a function that runs a plugin's source as a child, isolated, and returns how it ended."""

    def run(source, wire, **how):
        program = f"import sys\nsys.path.insert(0, {SDK!r})\n{source}"
        environment = {"PATH": os.defpath}
        command = [sys.executable, "-I", "-S", "-c", program]
        stdin = {} if "stdin" in how else {"input": wire}
        return subprocess.run(
            command, capture_output=True, env=environment, timeout=250, check=False, **stdin, **how
        )

    return run
