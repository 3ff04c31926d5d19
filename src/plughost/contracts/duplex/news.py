"""What a `duplex` session tells its host: the values of `DuplexSession.next_news`, and nothing that decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

from msgspec import Raw

from ...messages.jsonrpc import ErrorResponse, Id, Reason, Response
from ..base import Fault
from .introduction import Introduction
from .lanes import Lane


@dataclass(frozen=True, slots=True)
class InitDone:
    """The plugin answered `plugin/init`, and is who it should be."""

    introduction: Introduction


@dataclass(frozen=True, slots=True)
class Called:
    """The plugin asks the host for something: `answer` or `refuse` it under *id*."""

    id: Id
    method: str
    params: Raw


@dataclass(frozen=True, slots=True)
class Told:
    """The plugin tells the host something."""

    method: str
    params: Raw


@final
class Answered(NamedTuple):
    """A call of the host is over: once for every call, with what became of it.

    *sent* tells whether the plugin may have seen it.
    """

    call_id: int
    method: str
    outcome: Response | ErrorResponse | Fault
    sent: bool


@dataclass(frozen=True, slots=True)
class Ignored:
    """A message was dropped, the *count*-th for this *reason*. Told for the first, second, fourth, eighth and so on."""

    reason: Reason
    detail: str
    count: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """A lane was full and lost its oldest notification, the *count*-th. Told as rarely as Ignored."""

    lane: Lane
    count: int


News = InitDone | Called | Told | Answered | Ignored | Dropped


def worth_telling(count: int) -> bool:
    """Tell whether *count* is a power of two: a flood of a million is told twenty times."""
    return count & (count - 1) == 0
