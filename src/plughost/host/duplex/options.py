"""What an application says about a fleet -> checked, in one value. Finds the plugins; starts none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from ...capabilities.gates import ROOTS, Gates, Root
from ...capabilities.grants import Capability
from ...contracts.duplex.messages import LogLevel
from ...errors import LocalProtocolError
from ...manifest import duplex_registry
from ...manifest.duplex_binding import DuplexBinding
from ...manifest.duplex_manifest import FILE_NAME
from ...manifest.duplex_narrowing import Narrowing
from ...manifest.duplex_registry import Rejection
from ...messages.quoting import listed, one_line
from . import files, host_action
from .host_action import Function, HostAction

T = TypeVar("T")
Place = str | os.PathLike[str] | DuplexBinding


class FleetKeywords(TypedDict, total=False):
    """The keywords of `Host.fleet`."""

    narrowings: (
        Mapping[str, Narrowing] | None
    )  # by the plugin's name, instead of the files beside the manifests
    config: Mapping[str, Mapping[str, Any]] | None  # the settings of each plugin, by its name
    roots: Mapping[str, Sequence[str | os.PathLike[str]]] | None  # where each capability may read
    log_level: str  # the least that is kept of what plugins log: trace, debug, info, warn or error
    spawn_for_events: bool  # start a lazy plugin because something is published for it
    # The host's own, which plugins may invoke; run on threads. A `HostAction` names the capability that it takes.
    actions: Mapping[str, Function | HostAction] | None


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
    actions: Mapping[str, HostAction] = field(default_factory=dict)
    home: str = field(default_factory=lambda: str(Path.home()))
    needs: Mapping[str, Capability] = field(
        init=False
    )  # what it takes to invoke those of *actions* that are not free

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", host_action.needs(self.actions))

    def gates(self, binding: DuplexBinding) -> Gates:
        """Return what the plugin of *binding* may do."""
        return Gates(binding.capabilities.grants(), self.roots, self.home, self.needs)


def plan(places: Iterable[Place], options: FleetKeywords) -> FleetPlan:
    """Return the fleet that *places* and *options* mean. Raises LocalProtocolError for what cannot be meant.

    A place that holds a manifest is a plugin, any other directory a root of plugins. Plugins that cannot be used
    are not in it, but among those rejected.
    """
    given = tuple(places)
    narrowings = _by_name(options.get("narrowings"), "narrowings", Narrowing)
    config: dict[str, Mapping[str, Any]] = _by_name(options.get("config"), "config", Mapping)  # type: ignore[type-abstract]
    bound = [place for place in given if isinstance(place, DuplexBinding)]
    paths = [_path(place) for place in given if not isinstance(place, DuplexBinding)]
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
    unusable = {each.name for each in found.rejected}  # what is said of them is not mistyped
    strays = sorted(set(config) - set(names) - unusable)
    if strays:
        raise LocalProtocolError(f"settings for {listed(strays)}, which the fleet does not have")
    strays = sorted(set(narrowings) - set(names) - unusable)
    if strays:
        raise LocalProtocolError(f"a narrowing of {listed(strays)}, which the fleet does not have")
    strays = sorted(set(narrowings) & {binding.name for binding in bound})
    if strays:
        raise LocalProtocolError(f"{listed(strays)} came as a binding: narrow that")
    return FleetPlan(
        bindings=bindings,
        rejected=found.rejected,
        bound=frozenset(binding.name for binding in bound),
        narrowings=narrowings,
        config=config,
        roots=_roots(options.get("roots")),
        log_level=_log_level(options.get("log_level", LogLevel.INFO.value)),
        spawn_for_events=options.get("spawn_for_events", True),
        actions=host_action.checked(options.get("actions") or {}),
    )


def is_plugin(path: Path) -> bool:
    """Tell whether *path* is a plugin's own directory, not one that holds plugins."""
    return os.path.lexists(path / FILE_NAME)


def _path(place: object) -> Path:
    """Return *place* as a path. Raises LocalProtocolError if it is none, or if nothing is there."""
    if not isinstance(place, str | os.PathLike):
        raise LocalProtocolError(
            f"a place of plugins is a directory or a DuplexBinding, not {type(place).__name__}"
        )
    path = Path(os.fsdecode(place))
    if "\0" not in str(path) and not os.path.lexists(path):
        raise LocalProtocolError(
            f"there is no {one_line(str(path))}: give a directory of plugins, or a plugin's"
        )
    return path


def _by_name(said: object, keyword: str, kind: type[T]) -> dict[str, T]:
    """Return *said*, which is of the *kind* by plugins' names. Raises LocalProtocolError if it is not."""
    if said is None:
        return {}
    if not isinstance(said, Mapping):
        raise LocalProtocolError(f"{keyword} is by plugins' names, not {type(said).__name__}")
    for name, value in said.items():
        if not isinstance(name, str) or not isinstance(value, kind):
            wanted = kind.__name__
            raise LocalProtocolError(f"{keyword}[{name!r}] is a {wanted}, not {type(value).__name__}")
    return dict(said)


def _roots(said: Mapping[str, Sequence[str | os.PathLike[str]]] | None) -> tuple[Root, ...]:
    places = dict(ROOTS)
    if said is not None and not isinstance(said, Mapping):
        raise LocalProtocolError(f"roots are lists of directories by capabilities, not {type(said).__name__}")
    for name, directories in (said or {}).items():
        if name not in places:
            raise LocalProtocolError(f"{name!r} reads no files: those that do are {listed(list(places))}")
        if isinstance(directories, str | bytes | os.PathLike) or not isinstance(directories, Sequence):
            raise LocalProtocolError(f"roots[{name!r}] is a list of directories")
        places[Capability(name)] = tuple(_whole(path) for path in directories)
    return files.roots(places)


def _whole(path: object) -> str:
    """Return *path* from the top, or from the home. Raises LocalProtocolError if it is no such path."""
    if not isinstance(path, str | os.PathLike):
        raise LocalProtocolError(f"a root is a directory, not {type(path).__name__}")
    text = os.fsdecode(path)
    if "\0" in text:
        raise LocalProtocolError(f"{text!r} is no directory: there is a NUL in it")
    if text == "~" or text.startswith("~/"):
        return text
    if text.startswith("~"):
        raise LocalProtocolError(f"{text!r} may be somebody else's home: write it in full, or ./ before it")
    return os.path.abspath(text)


def _log_level(said: object) -> LogLevel:
    try:
        return LogLevel(str(said))
    except ValueError:
        raise LocalProtocolError(f"{said!r} is no log level: {listed(list(LogLevel))}") from None
