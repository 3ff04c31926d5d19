"""What a pipeline file defines, by name, to whether a text that refers to it is right. Defines nothing itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .place import Place

GROUP = "@"  # before the name of a source file group, where file patterns are written


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a command may be given, and what it must be."""

    known: tuple[str, ...]
    required: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """Every name that another part of the file may use."""

    caches: frozenset[str] = frozenset()
    services: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    workflows: frozenset[str] = frozenset()  # none: a job may be in any
    commands: Mapping[str, Parameters] = field(default_factory=dict)

    def files(self, place: Place) -> list[str]:
        """Return file patterns and `@group` names, as a list. Raises ManifestError for a group that is not there."""
        found = []
        for each in place.one_or_more():
            text = each.filled()
            if text.startswith(GROUP):
                each.reference("source file group", self.groups, GROUP)
            found.append(text)
        return found
