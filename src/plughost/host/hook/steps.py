"""What a run asks its host to do, one step at a time. The run decides; the host starts and waits.

A flow is a generator: it yields a step and is sent the step's result. If a step fails, the run is over: the host ends
the processes and raises. So the same flow serves the asyncio host and the blocking one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from ...contracts.hook.session import Ask, HookSession
from ...manifest.binding import Binding
from ..engine import BoundLink

HookLink = BoundLink[HookSession]


@dataclass(frozen=True, slots=True)
class Connect:
    """Start all of these and shake hands with them, at the same time. Sent back: their links, in order."""

    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class AskAll:
    """Ask each of these, at the same time. Sent back: the results, in order."""

    asks: tuple[tuple[HookLink, Ask], ...]
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Retire:
    """Let all of these go, at the same time, and wait until they are gone."""

    links: tuple[HookLink, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """Do something with files that may take a while. Sent back: what it returns."""

    what: Callable[[], Any]


Step = Connect | AskAll | Retire | Work

T = TypeVar("T")
Flow = Generator[Step, Any, T]
