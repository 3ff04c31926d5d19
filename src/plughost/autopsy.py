"""What is known about a failure, as one value that prints well and is JSON. It finds out nothing by itself."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

# What a signal usually means to the person who reads about it.
SIGNAL_MEANINGS = {
    "SIGSEGV": "segmentation fault: a bug in native code",
    "SIGBUS": "bus error: a bug in native code, or a truncated file",
    "SIGABRT": "it aborted itself",
    "SIGFPE": "arithmetic error in native code",
    "SIGILL": "illegal instruction: built for another processor",
    "SIGKILL": "killed from outside; often the kernel, out of memory",
    "SIGXCPU": "used up its CPU time",
    "SIGXFSZ": "wrote a file larger than allowed (limits.file_mb)",
    "SIGSYS": "made a forbidden system call",
    "SIGPIPE": "wrote to a pipe that nobody reads",
    "SIGTERM": "asked to terminate",
}

CALLERS_LIMIT = "timeout"  # in place of a limit of the binding: the caller said how long it waits


class Stage(StrEnum):
    """How far a conversation had come."""

    LAUNCH = "launch"
    HANDSHAKE = "handshake"
    IDLE = "idle"
    EXECUTE = "execute"
    TEARDOWN = "teardown"


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How a process ended: by exit *code*, or by *signal* number; neither if nobody could tell."""

    code: int | None = None
    signal: int | None = None
    peak_memory_kib: int | None = None
    cpu_s: float | None = None

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def signal_name(self) -> str | None:
        if self.signal is None:
            return None
        try:
            return signal.Signals(self.signal).name
        except ValueError:
            return f"signal {self.signal}"

    @property
    def meaning(self) -> str:
        """Say it in words."""
        if self.signal_name is not None:
            meaning = SIGNAL_MEANINGS.get(self.signal_name)
            return f"{self.signal_name} ({meaning})" if meaning else self.signal_name
        if self.code is None:
            return "an unknown status (it could not be reaped, or somebody else reaped it)"
        return f"exit status {self.code}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "signal": self.signal_name,
            "meaning": self.meaning,
            "peak_memory_kib": self.peak_memory_kib,
            "cpu_s": self.cpu_s,
        }


@dataclass(frozen=True, slots=True)
class WireFrame:
    """One frame as it passed, cut to what an autopsy shows."""

    direction: str  # "out" to the plugin, "in" from it
    size: int  # bytes of the whole frame
    head: str  # its beginning, made printable

    def to_dict(self) -> dict[str, Any]:
        return {"direction": self.direction, "size": self.size, "head": self.head}


@dataclass(frozen=True, slots=True)
class Survivor:
    """A process that outlived its plugin."""

    pid: int
    command: str
    ended: bool  # by us

    def to_dict(self) -> dict[str, Any]:
        return {"pid": self.pid, "command": self.command, "ended": self.ended}


@dataclass(frozen=True, slots=True)
class Autopsy:
    """Everything that is known about how a conversation ended."""

    stage: Stage
    hint: str
    delivered: bool = False  # the plugin had read the whole request
    exit: ExitStatus | None = None  # None when no process ever ran, or it could not be reaped
    rung: str | None = None  # the rung of the ladder on which we ended it; None if it ended by itself
    limit: str | None = None  # the limit that was hit, by its name in the binding, or CALLERS_LIMIT
    stderr_tail: str = ""
    frames: tuple[WireFrame, ...] = ()
    timings_ms: dict[str, float] = field(default_factory=dict)
    survivors: tuple[Survivor, ...] = ()
    command: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "stage": str(self.stage),
            "hint": self.hint,
            "delivered": self.delivered,
            "exit": self.exit.to_dict() if self.exit else None,
            "rung": self.rung,
            "limit": self.limit,
            "stderr_tail": self.stderr_tail,
            "frames": [frame.to_dict() for frame in self.frames],
            "timings_ms": self.timings_ms,
            "survivors": [survivor.to_dict() for survivor in self.survivors],
            "command": list(self.command),
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the autopsy as lines for a person."""
        rows = [
            ("stage", str(self.stage)),
            ("request", "delivered" if self.delivered else "not delivered"),
        ]
        if self.command:
            rows.append(("command", " ".join(self.command)))
        if self.exit is not None:
            by_us = f", ended by us: {self.rung}" if self.rung else ""
            rows.append(("exit", self.exit.meaning + by_us))
        if self.limit is not None:
            rows.append(("limit", self.limit))
        if self.timings_ms:
            rows.append(
                (
                    "timings",
                    ", ".join(f"{name} {ms:.1f} ms" for name, ms in self.timings_ms.items()),
                )
            )
        rows += [
            ("survivor", f"{s.pid} {s.command}" + (" (ended)" if s.ended else "")) for s in self.survivors
        ]
        rows += [(f"frame {frame.direction}", frame.head) for frame in self.frames]
        rows += [("stderr", line) for line in self.stderr_tail.splitlines()[-10:]]
        rows.append(("next step", self.hint))
        width = max(len(name) for name, _ in rows)
        return [f"  {name:<{width}}  {value}" for name, value in rows]
