"""What `duplex` plugins provide to who is asked for it: actions, command-line words and screens.

What two plugins claim goes to neither and is reported: which one was meant is for people to say, not for the
order in which directories were read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from .duplex_manifest import DuplexManifest, Provides

Kind = Literal["action", "namespace", "screen"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A word that several plugins provide, so that nobody is asked for it."""

    kind: Kind
    word: str
    plugins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Routes:
    """The plugin's name for each word; an action's is matched whole, as a topic's would be."""

    actions: Mapping[str, str]
    namespaces: Mapping[str, str]
    screens: Mapping[str, str]
    conflicts: tuple[Conflict, ...]


# A command and a namespace are both names of actions; the namespace is also the first word of a command line.
_CLAIMS: dict[Kind, Callable[[Provides], Iterable[str]]] = {
    "action": lambda provides: (*provides.commands, *provides.cli_namespaces),
    "namespace": lambda provides: provides.cli_namespaces,
    "screen": lambda provides: provides.screens,
}


def route(manifests: Iterable[DuplexManifest]) -> Routes:
    """Return who is asked for what, of *manifests* whose names differ."""
    known = sorted(manifests, key=lambda each: each.name)
    tables: dict[Kind, Mapping[str, str]] = {}
    conflicts: list[Conflict] = []
    for kind, claims in _CLAIMS.items():
        owners: dict[str, list[str]] = {}
        for manifest in known:
            for word in dict.fromkeys(claims(manifest.provides)):
                owners.setdefault(word, []).append(manifest.name)
        tables[kind] = MappingProxyType({word: names[0] for word, names in owners.items() if len(names) == 1})
        conflicts += [Conflict(kind, word, tuple(names)) for word, names in owners.items() if len(names) > 1]
    return Routes(tables["action"], tables["namespace"], tables["screen"], tuple(conflicts))
