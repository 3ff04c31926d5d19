"""Claims descriptors 0 and 1 for the wire, and gives the plugin's own code harmless ones instead.

After `claim`, whatever prints (Python, a C extension, a child process) prints to stderr, and whatever
reads standard input finds its end. Neither can see or spoil a frame.
"""

import os
import sys


def claim() -> tuple[int, int]:
    """Move the wire to two private descriptors and return them as (read, write).

    They are closed on exec, so children of the plugin do not hold the wire either.
    """
    read, write = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if hasattr(sys.stdout, "reconfigure"):  # not if it was closed, or replaced by something of the plugin's
        # What was printed before now is still in Python's buffer: it goes to stderr with the rest.
        sys.stdout.reconfigure(line_buffering=True)
        sys.stdout.flush()
    return read, write


def write_all(fd: int, data: bytes) -> None:
    """Write all of *data*. Raises OSError when the other end is gone."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def is_terminal() -> bool:
    """Tell whether a person has started this program by hand."""
    return os.isatty(0)
