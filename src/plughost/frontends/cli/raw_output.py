"""Bytes to standard output or standard error, as they are. Makes nothing printable: what it is given was meant so."""

from __future__ import annotations

import os
import select
import sys
from typing import TextIO

from .terminal import EXIT_NOBODY_READS


def write(stream: TextIO | None, data: bytes) -> None:
    """Write all of *data*. Exits if whoever read the stream has gone."""
    if stream is None or not data:  # None: it was closed before we were started
        return
    try:
        stream.flush()
        _write(stream.fileno(), memoryview(data))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # or Python complains at its exit
        sys.exit(EXIT_NOBODY_READS)


def _write(descriptor: int, left: memoryview) -> None:
    """Write all of *left*, without Python's buffer: under PYTHONUNBUFFERED that writes a part and says nothing."""
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:  # somebody who shares it has made it so
            select.select([], [descriptor], [])
