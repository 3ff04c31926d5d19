"""Evidence that a kernel limit was refused, and so the plugin never began, to the fault that names the limit.

Whoever sets the limits then becomes the plugin: where it cannot, there is nothing but its exit status and one line. A
plugin may end with the same status by its own will, so that the line counts too.
"""

from __future__ import annotations

import re

from ..failures import FailureCode, Stage
from .base import Evidence, Fault

# By their name after `RLIMIT_`, what they are called in a binding.
KEYS = {
    "DATA": "memory_mb",
    "AS": "memory_mb",
    "CPU": "cpu_s",
    "NOFILE": "open_files",
    "NPROC": "processes",
    "FSIZE": "file_mb",
}
HINT = "Lower the limit in the binding, or let the host itself have more: `ulimit -H -a` tells what it may."

_LOADER_STATUS = 125  # `CANNOT_LIMIT` of the loader
_LOADER_LINE = re.compile(r"plughost: cannot set the limit (\w+) to \d+: [^\n]*\n?")
_PRLIMIT_STATUS = 1
_PRLIMIT_LINE = re.compile(
    r"prlimit: [^\n]*\b([A-Z]+)\b[^\n]*\n?"
)  # in the language of whoever runs the host


def fault_of(evidence: Evidence) -> Fault | None:
    """Return the fault of a process that could not be limited, or None if it began."""
    if evidence.exit is None or any(frame.direction == "in" for frame in evidence.frames):
        return None
    found = None
    if evidence.exit.code == _LOADER_STATUS:
        found = _LOADER_LINE.fullmatch(evidence.stderr_tail)
    elif evidence.exit.code == _PRLIMIT_STATUS and _is_prlimit(evidence.command):
        found = _PRLIMIT_LINE.fullmatch(evidence.stderr_tail)
    if found is None or found[1] not in KEYS:
        return None
    limit = f"limits.{KEYS[found[1]]}"
    problem = f"it could not be started: {limit} could not be set: {found[0].strip()}"
    return Fault(FailureCode.LAUNCH_FAILED, Stage.LAUNCH, problem, limit, HINT)


def _is_prlimit(command: tuple[str, ...]) -> bool:
    return bool(command) and command[0].rpartition("/")[2] == "prlimit"
