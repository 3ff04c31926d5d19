"""What a handle of a fleet's plugin knows without asking it: who it is, and where it is in its life."""

from __future__ import annotations

from ...manifest.duplex_binding import DuplexBinding
from ...manifest.duplex_manifest import DuplexManifest
from ...supervision.states import State
from .member import Member


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
