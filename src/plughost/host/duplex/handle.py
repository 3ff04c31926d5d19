"""What a fleet and its plugins tell without asking anybody: who they are, and how they are. The same of both hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from ...manifest.duplex_binding import DuplexBinding
from ...manifest.duplex_manifest import DuplexManifest
from ...manifest.duplex_registry import Rejection
from ...manifest.duplex_routes import Routes
from ...supervision.states import State
from .deliveries import Snapshot
from .fleet import Fleet
from .member import Member

P = TypeVar("P")


class PluginHandle:
    """A plugin of a fleet. Its processes come and go; this stays."""

    def __init__(self, member: Member) -> None:
        self._member = member

    @property
    def name(self) -> str:
        return self._member.name

    @property
    def binding(self) -> DuplexBinding:
        return self._member.binding

    @property
    def manifest(self) -> DuplexManifest:
        return self._member.binding.manifest

    @property
    def state(self) -> State:
        return self._member.lifecycle.state


class FleetHandle(Generic[P]):
    """A fleet as a collection of its plugins, by their names."""

    plugins: dict[str, P]
    _fleet: Fleet

    def __getitem__(self, name: str) -> P:
        self._fleet.member(name)
        return self.plugins[name]

    def __iter__(self) -> Iterator[P]:
        return iter(self.plugins.values())

    def __len__(self) -> int:
        return len(self.plugins)

    @property
    def rejected(self) -> tuple[Rejection, ...]:
        """The directories that hold no usable plugin, each with the reason."""
        return tuple(self._fleet.rejected)

    @property
    def routes(self) -> Routes:
        """Who is asked for which action, namespace and screen."""
        return self._fleet.routes

    def snapshot(self, topic: str) -> Snapshot | None:
        """Return the latest publish of *topic*, or None."""
        return self._fleet.snapshots.get(topic)
