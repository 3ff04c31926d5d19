"""Where the program begins: loads the command line and runs it. Imports nothing before it can be interrupted."""

from __future__ import annotations

import sys

INTERRUPTED = 130  # as a shell has it: 128 and the number of SIGINT


def run() -> None:
    """Run the command. One that is interrupted while it is still being loaded ends as quietly as later on."""
    try:
        from .main import run as run_command

        run_command()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
