"""`narrow.toml`, what the host says about a `duplex` plugin, to one frozen value. It takes away and never gives.

The plugin's own manifest says what it wants; whoever runs the host puts this beside it, or gives it in code:

    command = ["python", "plugin.py"]       # instead of the program of the plugin's name
    [capabilities]
    event_bus = false                       # nothing of it
    network = ["api.example.org"]           # of what the manifest asks for, only this
    [limits]
    render_s = 1.0
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr

from ..capabilities.grants import Capability, Grant, covers_path, covers_topic
from ..capabilities.web_address import covers_host, spelled
from ..errors import ManifestError
from ..messages.quoting import listed, quote
from . import document
from .binding import Environment
from .duplex_limits import DuplexLimits
from .duplex_manifest import CAPABILITIES, TABLES, Capabilities

FILE_NAME = "narrow.toml"
IN_CODE = "(given in code)"


class Narrowing(Struct, frozen=True):
    """What is left of a plugin's wishes. A capability that is not named stays as the manifest has it."""

    command: tuple[str, ...] = ()  # paths relative to the plugin's directory; empty: the plugin's program
    capabilities: dict[str, Grant] = {}
    limits: DuplexLimits = DuplexLimits()
    environment: Environment = Environment()
    source: str = IN_CODE

    def __post_init__(self) -> None:
        _check(self)
        force_setattr(self, "command", tuple(self.command))  # in code it may be a list


class _Document(Struct, frozen=True, forbid_unknown_fields=True):
    command: tuple[str, ...] = ()
    capabilities: dict[str, Any] = {}
    limits: DuplexLimits = DuplexLimits()
    environment: Environment = Environment()


def read(path: Path) -> Narrowing:
    """Return the narrowing in the file at *path*. Raises ManifestError."""
    return _narrowing(document.read(path, _Document), str(path))


def parse(text: str, source: str = FILE_NAME) -> Narrowing:
    """Return the narrowing in *text*. Raises ManifestError."""
    return _narrowing(document.parse(text, source, _Document), source)


def apply(narrowing: Narrowing, capabilities: Capabilities) -> Capabilities:
    """Return what is left of *capabilities*. Raises ManifestError for one that would be widened."""
    if not narrowing.capabilities:
        return capabilities
    left: dict[str, Grant] = {name: getattr(capabilities, name) for name in CAPABILITIES}
    for name, grant in narrowing.capabilities.items():
        beyond = _beyond(name, grant, left[name])
        if beyond is not None:
            remedy = "The host may only take away: name what the manifest asks for, or write false"
            raise ManifestError(narrowing.source, f"capabilities.{name}", f"{name}: {beyond}", remedy)
        left[name] = grant
    return Capabilities(**left)


def _narrowing(found: _Document, source: str) -> Narrowing:
    grants = {name: _frozen(value) for name, value in found.capabilities.items()}
    return Narrowing(found.command, grants, found.limits, found.environment, source)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _check(narrowing: Narrowing) -> None:
    def wrong(key: str, problem: str, remedy: str) -> ManifestError:
        return ManifestError(narrowing.source, key, problem, remedy)

    such = 'Give a list such as ["python", "plugin.py"]'
    # A text too can be looked through word by word, but its words are letters.
    if not isinstance(narrowing.command, tuple | list):
        raise wrong("command", f"it is of type {type(narrowing.command).__name__}", such)
    for index, word in enumerate(narrowing.command):
        if not isinstance(word, str):
            raise wrong(f"command[{index}]", f"it is of type {type(word).__name__}", such)
    if narrowing.command and not narrowing.command[0].strip():
        raise wrong("command", "its program is empty", such)
    if any("\0" in word for word in narrowing.command):
        raise wrong("command", "holds a NUL character", "Take it out")
    document.hold(narrowing.limits, DuplexLimits, narrowing.source, "limits")
    document.hold(narrowing.environment, Environment, narrowing.source, "environment")
    for variable, value in narrowing.environment.set.items():
        if not variable or "=" in variable or "\0" in variable + value:
            raise wrong("environment.set", f"{quote(variable)} is not a variable", 'Use NAME = "value"')
    for name, grant in narrowing.capabilities.items():
        rule = TABLES["capabilities"].get(name)
        if rule is None:  # unlike in a manifest: what was to be taken away would silently stay
            known = f"Those there are: {', '.join(CAPABILITIES)}"
            raise wrong(f"capabilities.{name}", f"no capability is named {quote(name)}", known)
        flaw = rule(list(grant) if isinstance(grant, tuple) else grant)
        if flaw is not None:
            raise wrong(f"capabilities.{name}", *flaw)


def _beyond(name: str, wanted: Grant, given: Grant) -> str | None:
    """Return what of *wanted* the manifest's grant *given* does not cover, in words; None if nothing."""
    if not wanted or given is True:
        return None
    if isinstance(given, bool) or not given:
        return "the manifest does not ask for it"
    if isinstance(wanted, bool):
        return f"the manifest asks only for {listed(given)}"
    beyond = [entry for entry in wanted if not _covers(name, given, entry)]
    return f"the manifest does not ask for {listed(beyond)}" if beyond else None


def _covers(name: str, given: tuple[str, ...], entry: str) -> bool:
    """Tell whether *entry* reaches no further than *given*, by what the gate of the capability makes of both."""
    match name:
        case Capability.EVENT_BUS:
            return covers_topic(given, entry)
        case Capability.NETWORK:
            return covers_host(given, spelled(entry) or "")
        case Capability.READ_SESSIONS | Capability.READ_CLAUDE_LOGS | Capability.READ_CODEX_LOGS:
            return covers_path(given, tuple(entry.rstrip("/").split("/")))
        case _:
            return entry in given
