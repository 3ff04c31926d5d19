"""`manifest.toml`, what a `duplex` plugin says about itself, to one frozen value and back to its text.

It refuses what could not work or would lead out of the plugin's directory. Keys that nobody knows are only
noted, because the contract may grow: an unknown capability is one that is not granted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from ..capabilities.grants import Capability, Grant, Grants
from ..errors import ManifestError
from ..messages.quoting import listed, quote
from . import document as documents
from . import duplex_rules as rules
from .duplex_limits import IDLE_REAP_S
from .duplex_rules import Rule, Wrong

FILE_NAME = "manifest.toml"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a plugin asks for, in the order in which the host lists them at `plugin/init`."""

    read_sessions: Grant = False
    write_plugin_data: Grant = False
    event_bus: Grant = False
    network: Grant = False
    spawn_subprocess: Grant = False
    read_claude_logs: Grant = False
    read_codex_logs: Grant = False

    def grants(self) -> Grants:
        """Return every capability with its grant, in order, as the gates take them."""
        given = tuple(getattr(self, each) for each in Capability)
        return _grants(given) if all(type(grant) is bool for grant in given) else Grants(_by_name(given))

    def granted(self) -> tuple[str, ...]:
        """Return the names of those that are granted at least in part, in order."""
        return tuple(self.grants().names())


@cache  # whole or not at all, of a handful: the plugins of a fleet share what is the same
def _grants(given: tuple[bool, ...]) -> Grants:
    return Grants(MappingProxyType(_by_name(given)))


def _by_name(given: tuple[Grant, ...]) -> dict[Capability, Grant]:
    return dict(zip(Capability, given, strict=True))


CAPABILITIES = tuple(each.value for each in Capability)


@dataclass(frozen=True, slots=True)
class Provides:
    """What the host can route to the plugin, and the topics that it publishes."""

    screens: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    cli_namespaces: tuple[str, ...] = ()
    snapshots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subscribes:
    """The topics that the plugin is told of; of those in *latest_state*, only the newest matters."""

    snapshots: tuple[str, ...] = ()
    latest_state: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """When the plugin is started and ended. `idle_reap_secs` 0: never for being idle."""

    spawn: Literal["lazy", "eager"] = "lazy"
    idle_reap_secs: int = IDLE_REAP_S
    exit_zero_is_crash: bool = True  # false: it may end by itself when it has nothing more to do


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A setting that the plugin understands; *default* is spelled as a text whatever its *kind*."""

    key: str
    kind: Literal["path", "string", "bool", "enum", "int"]
    label: str
    default: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DuplexManifest:
    """A `duplex` plugin as it describes itself."""

    name: str
    version: str
    abi_version: int
    directory: Path
    description: str = ""
    capabilities: Capabilities = Capabilities()
    provides: Provides = Provides()
    subscribes: Subscribes = Subscribes()
    lifecycle: Lifecycle = Lifecycle()
    config: tuple[ConfigEntry, ...] = ()
    # Keys that this version does not know. Two manifests that differ only in these mean the same.
    unknown: tuple[str, ...] = field(default=(), compare=False)

    @property
    def file(self) -> Path:
        return self.directory / FILE_NAME


def read(directory: Path) -> DuplexManifest:
    """Return the manifest in *directory*, whose name must be the plugin's. Raises ManifestError."""
    file = directory / FILE_NAME
    return of_document(documents.read(file, dict[str, Any]), directory, str(file))


def parse(text: str, directory: Path, source: str = FILE_NAME) -> DuplexManifest:
    """Return the manifest in *text*, as if it were a file in *directory*. Raises ManifestError."""
    return of_document(documents.parse(text, source, dict[str, Any]), directory, source)


def of_document(document: Mapping[str, Any], directory: Path, source: str) -> DuplexManifest:
    """Return the manifest whose tables are *document*. Raises ManifestError, for the first flaw."""
    whole = Path(os.path.abspath(directory))  # not resolved: a link's own name counts
    for flaw in flaws(document, whole.name, source):
        raise flaw
    known = {
        table: {key: _frozen(value) for key, value in document.get(table, {}).items() if key in keys}
        for table, keys in TABLES.items()
    }
    return DuplexManifest(
        **known["plugin"],
        directory=whole,
        capabilities=Capabilities(**known["capabilities"]),
        provides=Provides(**known["provides"]),
        subscribes=Subscribes(**known["subscribes"]),
        lifecycle=Lifecycle(**known["lifecycle"]),
        config=tuple(
            ConfigEntry(**{key: _frozen(value) for key, value in entry.items() if key in CONFIG})
            for entry in document.get("config", ())
        ),
        unknown=tuple(_unknown(document)),
    )


def flaws(document: Mapping[str, Any], directory_name: str, source: str) -> list[ManifestError]:
    """Return everything that is wrong with the *document* of a manifest, in the order of the keys."""
    found: dict[str, Wrong] = {}
    for table, keys in TABLES.items():
        found.update(_table_flaws(table, document.get(table, {}), keys, REQUIRED.get(table, ())))
    found.update(_config_flaws(document.get("config", [])))
    if not any(key.startswith("plugin") for key in found):
        found.update(_name_flaws(document["plugin"]["name"], directory_name))
    if not any(key.startswith("subscribes") for key in found):
        found.update(_latest_flaws(**_lists_of(document.get("subscribes", {}))))
    return [ManifestError(source, key, *wrong) for key, wrong in found.items()]


def _table_flaws(
    place: str, table: Any, keys: Mapping[str, Rule], required: tuple[str, ...]
) -> Iterator[tuple[str, Wrong]]:
    header = "[[config]]" if place.startswith("config") else f"[{place}]"
    if not isinstance(table, dict):
        yield place, (f"expected a table, got {rules.kind(table)}", f"Begin it with a line {header}")
        return
    for key, rule in keys.items():
        if key in table:
            if (wrong := rule(table[key])) is not None:
                yield f"{place}.{key}", wrong
        elif key in required:
            yield f"{place}.{key}", ("missing", f"Add a line `{key} = …` to {header}")


def _config_flaws(entries: Any) -> Iterator[tuple[str, Wrong]]:
    if not isinstance(entries, list):
        yield "config", (f"expected a list, got {rules.kind(entries)}", "Begin each entry with [[config]]")
        return
    if len(entries) > rules.LIST_LENGTH:
        yield "config", (f"over {rules.LIST_LENGTH} entries", "Shorten it")
        return
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        place = f"config[{index}]"
        found = dict(_table_flaws(place, entry, CONFIG, ("key", "kind", "label")))
        yield from found.items()
        if found:
            continue
        if entry["key"] in seen:
            yield f"{place}.key", (f"{quote(entry['key'])} is there twice", "Give each setting its own key")
        seen.add(entry["key"])
        if entry["kind"] == "enum" and not entry.get("choices"):
            yield f"{place}.choices", ("missing", 'Give the choices, such as ["a", "b"]')
        elif (wrong := rules.config_default(entry)) is not None:
            yield f"{place}.default", wrong


def _name_flaws(name: str, directory_name: str) -> Iterator[tuple[str, Wrong]]:
    if name != directory_name:
        problem = f"{quote(name)} is in the directory {quote(directory_name)}"
        yield "plugin.name", (problem, "Give the directory, the plugin and its program the same name")


def _lists_of(table: Mapping[str, Any]) -> dict[str, list[str]]:
    return {key: table.get(key, []) for key in ("snapshots", "latest_state")}


def _latest_flaws(snapshots: list[str], latest_state: list[str]) -> Iterator[tuple[str, Wrong]]:
    known = set(snapshots)
    strays = [topic for topic in latest_state if topic not in known]
    if strays:
        problem = f"not among the subscribed snapshots: {listed(strays)}"
        yield "subscribes.latest_state", (problem, "Add them to subscribes.snapshots too")


def _unknown(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a flawless *document* that nobody knows."""
    for table, content in document.items():
        if table == "config":
            for index, entry in enumerate(content):
                yield from (f"config[{index}].{key}" for key in entry if key not in CONFIG)
        elif table in TABLES:
            yield from (f"{table}.{key}" for key in content if key not in TABLES[table])
        else:
            yield table


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_IDENTIFIERS = rules.list_of(rules.identifier)

TABLES: dict[str, dict[str, Rule]] = {
    "plugin": {
        "name": rules.name,
        "version": rules.version,
        "abi_version": rules.abi_version,
        "description": rules.text,
    },
    "capabilities": {name: rules.network if name == "network" else rules.grant for name in CAPABILITIES},
    "provides": {
        "screens": _IDENTIFIERS,
        "commands": _IDENTIFIERS,
        "cli_namespaces": rules.list_of(rules.namespace),
        "snapshots": _IDENTIFIERS,
    },
    "subscribes": {"snapshots": _IDENTIFIERS, "latest_state": _IDENTIFIERS},
    "lifecycle": {
        "spawn": rules.word_of(*rules.SPAWN_WORDS),
        "idle_reap_secs": rules.seconds,
        "exit_zero_is_crash": rules.boolean,
    },
}
CONFIG: dict[str, Rule] = {
    "key": rules.identifier,
    "kind": rules.word_of(*rules.CONFIG_KINDS),
    "label": rules.text,
    "default": rules.text,
    "choices": _IDENTIFIERS,
}
REQUIRED = {"plugin": ("name", "version", "abi_version")}
