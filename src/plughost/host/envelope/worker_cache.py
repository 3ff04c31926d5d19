"""Has Python keep the SDK's modules compiled that every worker imports. It starts nothing.

Python keeps a module compiled when it is first imported. A confined worker can write nothing but its tree, and not
every installer compiles what it installs: each worker would then compile a dozen modules anew, which takes longer than
all the rest of a pass. So the host sees to it, once: for workers, whichever options it was itself started with. Where
it may not read or write, nothing happens.
"""

from __future__ import annotations

import os
import struct
import sys
from contextlib import suppress
from functools import cache
from importlib.util import MAGIC_NUMBER

from ...manifest.envelope_binding import WORKER

BESIDE = ("__init__.py", "small_json.py", "stdio.py")  # what workers import of the SDK, and others too


@cache
def keep(directory: str = os.path.dirname(WORKER)) -> None:
    """Compile what is not kept compiled, or no longer as it is, of a worker's modules in *directory*."""
    if sys.dont_write_bytecode:
        return
    try:
        names = os.listdir(directory)
    except OSError:
        return
    for name in names:
        if name in BESIDE or (name.startswith("envelope") and name.endswith(".py")):
            _keep(os.path.join(directory, name))


def _keep(source: str) -> None:
    compiled = compiled_of(source)
    with suppress(OSError):  # each worker will compile it then
        if not _is_of(compiled, source):
            import py_compile  # it is rarely needed

            with suppress(py_compile.PyCompileError):
                py_compile.compile(source, compiled, doraise=True, optimize=0)


def compiled_of(source: str) -> str:
    """Return where a worker looks for what is kept of *source*."""
    directory, name = os.path.split(source)
    stem = name.removesuffix(".py")
    return os.path.join(directory, "__pycache__", f"{stem}.{sys.implementation.cache_tag}.pyc")


def _is_of(compiled: str, source: str) -> bool:
    """Tell whether *compiled* says that it was made of *source* as it is now."""
    now = os.stat(source)
    times = struct.pack("<III", 0, int(now.st_mtime) & 0xFFFFFFFF, now.st_size & 0xFFFFFFFF)
    try:
        with open(compiled, "rb") as file:
            return file.read(16) == MAGIC_NUMBER + times
    except FileNotFoundError:
        return False
