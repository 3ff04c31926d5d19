"""The binding's limits as kernel limits, set before the plugin's first instruction. No `preexec_fn`.

Theory of operation. A limit set from outside on a running child comes too late for what the child did
first, and `preexec_fn` makes every start a full fork. So the limits travel in the command: our loader sets
them in the Python plugin's own process before it runs the plugin's file, and for every other program
prlimit(1), or the loader where that is missing, sets them and then becomes the program. A limit that
cannot be set, or that the kernel would ignore, is refused before anything starts, as far as that can be known; the
rest is `contracts.refused_limit`.
"""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress

from ..errors import Unsupported
from ..manifest.binding import Limits

MIB = 1_048_576

# What each key of the binding is to the kernel. On Linux memory is RLIMIT_DATA: RLIMIT_AS also counts what
# is only reserved, and Node, Java and WebAssembly runtimes reserve gigabytes that they never touch.
_MEMORY = "DATA" if sys.platform == "linux" else "AS"


def kernel_limits(limits: Limits, *, narrowed: bool = False) -> dict[str, int]:
    """Return the kernel limits that *limits* asks for, by their name after `RLIMIT_`.

    *narrowed* says that nobody asked for so much in particular: then a host that may have less gives what it may.
    Raises Unsupported for one that could not be set or would not be enforced.
    """
    asked = {
        _MEMORY: (limits.memory_mb, MIB, "memory_mb"),
        "CPU": (limits.cpu_s, 1, "cpu_s"),
        "NOFILE": (limits.open_files, 1, "open_files"),
        "NPROC": (limits.processes, 1, "processes"),
        "FSIZE": (limits.file_mb, MIB, "file_mb"),
    }
    wanted = {}
    for name, (value, unit, key) in asked.items():
        if value is not None:
            highest = _highest(name)
            wanted[name] = min(value * unit, highest) if narrowed and highest is not None else value * unit
            _check(name, wanted[name], highest, key)
    return wanted


def _highest(name: str) -> int | None:
    """Return the most that this host may give of *name*, or None if there is no such bound."""
    _, highest = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
    return None if highest == resource.RLIM_INFINITY else highest - _respite(name)


def _respite(name: str) -> int:
    """Return how much the hard limit is above the one that is asked for."""
    return 1 if name == "CPU" else 0  # a second between SIGXCPU and SIGKILL


def _check(name: str, value: int, highest: int | None, key: str) -> None:
    if name == "NPROC" and os.geteuid() == 0:
        raise Unsupported(f"limits.{key} has no effect for root: run the host as an ordinary user")
    if highest is not None and value > highest and os.geteuid() != 0:
        raise Unsupported(f"limits.{key} asks for {value}, and this host may give at most {highest}")


def spell(wanted: dict[str, int]) -> str:
    """Return *wanted* as the loader reads it: NAME=VALUE, joined by commas; "-" for none."""
    return ",".join(f"{name}={value}" for name, value in wanted.items()) or "-"


def prlimit_words(program: str, wanted: dict[str, int]) -> list[str]:
    """Return the command prefix that sets *wanted* by way of prlimit(1) at *program*."""
    soft_and_hard = {name: (value, value + _respite(name)) for name, value in wanted.items()}
    words = [f"--{name.lower()}={soft}:{hard}" for name, (soft, hard) in soft_and_hard.items()]
    return [program, *words, "--"]


def forbid_core_dumps(pid: int) -> None:
    """Keep a crash from leaving a core file. Set from outside: too late only for a crash in the first moment."""
    if hasattr(resource, "prlimit"):
        with suppress(OSError, ValueError):  # gone already, or become somebody else: not ours to forbid
            resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
