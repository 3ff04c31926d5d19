"""The machine that a run was on, and how busy others keep it. Reads /proc; changes nothing."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path

LOOK_S = 0.1
QUIET_SHARE = 0.1  # of all cores busy with others: below that the machine counts as ours


@dataclass(frozen=True, slots=True)
class Machine:
    """What has to be known to compare two runs."""

    cores: int
    processor: str
    system: str
    python: str
    optimized: bool  # a Python built with PGO starts up to a quarter faster

    def __str__(self) -> str:
        build = "PGO build" if self.optimized else "no PGO"
        return f"{self.cores} cores ({self.processor}), {self.system}, {self.python}, {build}"


def describe() -> Machine:
    """Return what this machine is."""
    flags = sysconfig.get_config_var("CONFIG_ARGS") or ""
    return Machine(
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        processor=_processor(),
        system=f"{platform.system()} {platform.release()}",
        python=f"{sys.implementation.name} {platform.python_version()}",
        optimized="--enable-optimizations" in flags,
    )


def busy_share() -> float:
    """Return which share of all cores is busy right now, looking for a tenth of a second."""
    busy, total = _ticks()
    time.sleep(LOOK_S)
    busy_later, total_later = _ticks()
    return (busy_later - busy) / max(1, total_later - total)


def wait_until_quiet(patience_s: float) -> float:
    """Wait until others leave the machine alone, but no longer than *patience_s*; return how busy it is then."""
    until = time.monotonic() + patience_s
    while (share := busy_share()) > QUIET_SHARE and time.monotonic() < until:
        pass
    return share


def _ticks() -> tuple[int, int]:
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return sum(fields) - idle, sum(fields)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
