"""A plugin's own start: the same command and environment as under plughost, driven by a bare pipe loop.

    python -m bench.drivers.raw_pipe DIRECTORY…

Each plugin directory is a job named after it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import msgspec

from plughost.contracts.execute.messages import HandshakeRequest
from plughost.manifest import binding
from plughost.process import command, environment

from ..loop import serve
from ..stopwatch import Marks, Stopwatch

HANDSHAKE = msgspec.json.encode(HandshakeRequest()) + b"\n"


def to_first_byte(words: tuple[str, ...], variables: dict[str, str], cwd: Path) -> Marks:
    """Start the plugin, write the handshake, and wait for the first byte of its reply."""
    watch = Stopwatch()
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=variables, cwd=cwd) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        os.write(process.stdin.fileno(), HANDSHAKE)
        if not os.read(process.stdout.fileno(), 65_536):
            raise EOFError(f"{words[0]} said nothing")
        watch.mark("byte")
        process.stdin.close()
    watch.mark("gone")
    return watch.marks


def main() -> None:
    jobs = {}
    for directory in map(Path, sys.argv[1:]):
        bound = binding.read(directory)
        variables = environment.build(bound.environment, os.environ, "bench.1")
        words = command.resolve(bound, variables["PATH"]).words
        jobs[directory.name] = partial(to_first_byte, words, variables, bound.cwd)
    serve(jobs)


if __name__ == "__main__":
    main()
