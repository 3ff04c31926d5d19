"""What can be told about a process, beside what its session tells."""

from __future__ import annotations

from dataclasses import dataclass

from ..autopsy import ExitStatus, Survivor


@dataclass(frozen=True, slots=True)
class Spawned:
    """A process was started."""

    pid: int
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StderrLine:
    """The plugin wrote a line to stderr; control characters are spelled out."""

    text: str


@dataclass(frozen=True, slots=True)
class Exited:
    """The process is gone. *rung* is the one we ended it on, None if it ended by itself."""

    pid: int
    status: ExitStatus
    rung: str | None


@dataclass(frozen=True, slots=True)
class SurvivorFound:
    """Something outlived the plugin."""

    survivor: Survivor


ProcessNews = Spawned | StderrLine | Exited | SurvivorFound
