"""What an application says about a fleet -> checked, in one value. Finds the plugins; starts none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from ...capabilities.gates import ROOTS, Gates, Root
from ...capabilities.grants import Capability
from ...contracts.duplex.messages import LogLevel
from ...errors import LocalProtocolError
from ...manifest import duplex_registry
from ...manifest.duplex_binding import DuplexBinding
from ...manifest.duplex_manifest import FILE_NAME
from ...manifest.duplex_narrowing import Narrowing
from ...manifest.duplex_registry import Rejection
from ...messages.quoting import listed
from . import files

Place = str | os.PathLike[str] | DuplexBinding
Action = Callable[[bytes], bytes]


class FleetKeywords(TypedDict, total=False):
    """The keywords of `Host.fleet`."""

    narrowings: (
        Mapping[str, Narrowing] | None
    )  # by the plugin's name, instead of the files beside the manifests
    config: Mapping[str, Mapping[str, Any]] | None  # the settings of each plugin, by its name
    roots: Mapping[str, Sequence[str | os.PathLike[str]]] | None  # where each capability may read
    log_level: str  # the least that is kept of what plugins log: trace, debug, info, warn or error
    spawn_for_events: bool  # start a lazy plugin because something is published for it
    actions: Mapping[str, Action] | None  # the host's own, which plugins may invoke; run on threads


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """Which plugins make up a fleet, and how they are kept."""

    bindings: tuple[DuplexBinding, ...]
    rejected: tuple[Rejection, ...] = ()
    bound: frozenset[str] = frozenset()  # the names of those that were given as bindings
    narrowings: Mapping[str, Narrowing] = field(default_factory=dict)
    config: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    roots: tuple[Root, ...] = ()
    log_level: LogLevel = LogLevel.INFO
    spawn_for_events: bool = True
    actions: Mapping[str, Action] = field(default_factory=dict)

    def gates(self, binding: DuplexBinding) -> Gates:
        """Return what the plugin of *binding* may do."""
        return Gates(binding.capabilities.grants(), self.roots, str(Path.home()))


def plan(places: Iterable[Place], options: FleetKeywords) -> FleetPlan:
    """Return the fleet that *places* and *options* mean. Raises LocalProtocolError for what cannot be meant.

    A place that holds a manifest is a plugin, any other directory a root of plugins. Plugins that cannot be used
    are not in it, but among those rejected.
    """
    given = tuple(places)
    narrowings = dict(options.get("narrowings") or {})
    bound = [place for place in given if isinstance(place, DuplexBinding)]
    paths = [Path(os.fspath(place)) for place in given if not isinstance(place, DuplexBinding)]
    found = duplex_registry.discover(
        *(path for path in paths if not is_plugin(path)),
        plugins=tuple(path for path in paths if is_plugin(path)),
        narrowings=narrowings,
    )
    bindings = (*bound, *found.loaded)
    names = [binding.name for binding in bindings]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise LocalProtocolError(f"two plugins are named {listed(twice)}: a fleet has one of each name")
    config = dict(options.get("config") or {})
    strays = sorted(set(config) - set(names))
    if strays:
        raise LocalProtocolError(f"settings for {listed(strays)}, which the fleet does not have")
    return FleetPlan(
        bindings=bindings,
        rejected=found.rejected,
        bound=frozenset(binding.name for binding in bound),
        narrowings=narrowings,
        config=config,
        roots=_roots(options.get("roots")),
        log_level=_log_level(options.get("log_level", LogLevel.INFO.value)),
        spawn_for_events=options.get("spawn_for_events", True),
        actions=dict(options.get("actions") or {}),
    )


def is_plugin(path: Path) -> bool:
    """Tell whether *path* is a plugin's own directory, not one that holds plugins."""
    return os.path.lexists(path / FILE_NAME)


def _roots(said: Mapping[str, Sequence[str | os.PathLike[str]]] | None) -> tuple[Root, ...]:
    places = dict(ROOTS)
    for name, directories in (said or {}).items():
        if name not in places:
            raise LocalProtocolError(f"{name!r} reads no files: those that do are {listed(list(places))}")
        if isinstance(directories, str | os.PathLike):
            raise LocalProtocolError(f"roots[{name!r}] is a list of directories")
        places[Capability(name)] = tuple(_whole(os.fspath(path)) for path in directories)
    return files.roots(places)


def _whole(path: str) -> str:
    return path if path.startswith("~") else os.path.abspath(path)


def _log_level(said: str) -> LogLevel:
    try:
        return LogLevel(said)
    except ValueError:
        raise LocalProtocolError(f"{said!r} is no log level: {listed(list(LogLevel))}") from None
