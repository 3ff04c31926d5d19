"""Refuse to run under gevent or eventlet, whose patches replace what hosts wait with.

A patched `select`, thread or sleep gives control to other greenlets, or is not there at all: a host would hang, or fail
somewhere in the middle of a call. Looks only at what the standard library holds now; imports neither package.
"""

from __future__ import annotations

import _thread
import select
import sys
import time

from ..errors import Unsupported

PATCHERS = ("gevent", "eventlet")


def check() -> None:
    """Raise Unsupported if gevent or eventlet has replaced what a host waits with."""
    if not any(name in sys.modules for name in PATCHERS):
        return
    waits = {
        "select": select.select,
        "time.sleep": time.sleep,
        "threads": _thread.start_new_thread,
    }
    for what, function in waits.items():
        patcher = (getattr(function, "__module__", None) or "").partition(".")[0]
        if patcher in PATCHERS:
            raise Unsupported(
                f"{patcher} has replaced {what} in this process, and a host cannot wait with that. Run the host in a "
                f"process that {patcher} has not patched, such as a worker process, or patch neither select, time nor "
                f"threads"
            )
