"""What one plugin of a fleet needs of the others, and of the fleet itself. Promises only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ...contracts.duplex.news import Called, Told
from .pace import Turns

if TYPE_CHECKING:
    from .member import DuplexLink, Member


class Surroundings(Protocol):
    """What a member needs of its fleet."""

    turns: Turns

    def serve(self, member: Member, link: DuplexLink, news: Called | Told) -> None:
        """The plugin asks for something, or tells something."""

    def feed(self, member: Member) -> None:
        """The plugin may be told what was published, and asked what other plugins ask of it."""

    def left(self, member: Member) -> None:
        """A process of the plugin is gone."""

    def waiting(self, member: Member) -> int:
        """Return how many publishes wait to be told to the plugin, and were handed to no process yet."""

    def lost(self, member: Member) -> int:
        """Return how many publishes the plugin was not told of, because too much waited for it."""

    def awaits(self, member: Member) -> bool:
        """Tell whether the plugin is to be started for what was published."""
