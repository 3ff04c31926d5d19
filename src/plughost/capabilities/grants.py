"""What a duplex plugin's manifest asks for -> what is granted, by capability. Grants nothing that is not named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Grant = bool | tuple[str, ...]  # everything, nothing, or what is listed; an empty list is nothing


class Capability(StrEnum):
    """The capabilities of the contract, in the order in which a plugin is told of them."""

    READ_SESSIONS = "read_sessions"
    WRITE_PLUGIN_DATA = "write_plugin_data"
    EVENT_BUS = "event_bus"
    NETWORK = "network"
    SPAWN_SUBPROCESS = "spawn_subprocess"
    READ_CLAUDE_LOGS = "read_claude_logs"
    READ_CODEX_LOGS = "read_codex_logs"


@dataclass(frozen=True, slots=True)
class Grants:
    """What one plugin may do. A capability that is not among *given* is denied."""

    given: Mapping[Capability, Grant] = field(default_factory=dict)

    def of(self, capability: Capability) -> Grant:
        """Return what is granted of *capability*: False if nothing is."""
        return self.given.get(capability, False) or False

    def has(self, capability: Capability) -> bool:
        """Tell whether *capability* is granted, wholly or in part."""
        return bool(self.of(capability))

    def names(self) -> list[str]:
        """Return the capabilities that are granted, as `plugin/init` lists them."""
        return [each.value for each in Capability if self.has(each)]


def covers_topic(grant: Grant, topic: str) -> bool:
    """Tell whether *grant* covers *topic*: an entry is a topic, or the beginning of topics if it ends in `*`."""
    if isinstance(grant, bool):
        return grant
    return any(topic.startswith(each[:-1]) if each.endswith("*") else topic == each for each in grant)


def covers_path(grant: Grant, names: tuple[str, ...]) -> bool:
    """Tell whether *grant* covers a path beneath its root: an entry is a path beneath that root, and covers all below.

    An entry that is absolute, or that climbs, covers nothing.
    """
    if isinstance(grant, bool):
        return grant
    listed = [tuple(each.rstrip("/").split("/")) for each in grant]
    return any(names[: len(each)] == each for each in listed if not {"", ".", ".."} & set(each))
