"""Has Python keep the SDK's modules compiled that every worker imports. It starts nothing.

Python keeps a module compiled when it is first imported. A confined worker can write nothing but its tree, and not
every installer compiles what it installs: each worker would then compile a dozen modules anew, which takes longer than
all the rest of a pass. So the host sees to it, once, by Python's own rules: where it may not write, nothing happens.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import cache_from_source

from ...manifest.envelope_binding import WORKER

BESIDE = ("__init__.py", "small_json.py", "stdio.py")  # what workers import of the SDK, and others too


@cache
def keep(directory: str = os.path.dirname(WORKER)) -> None:
    """Compile what is not kept compiled of a worker's modules in *directory*."""
    if sys.dont_write_bytecode:
        return
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        is_ours = name in BESIDE or (name.startswith("envelope") and name.endswith(".py"))
        if is_ours and not os.path.exists(cache_from_source(path)):
            SourceFileLoader(name.removesuffix(".py"), path).get_code(name.removesuffix(".py"))
