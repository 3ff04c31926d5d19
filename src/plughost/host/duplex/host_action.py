"""What an application offers to its plugins -> a function, and the capability that invoking it takes. Runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...capabilities.grants import Capability
from ...errors import LocalProtocolError
from ...messages.quoting import listed, quote

Function = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class HostAction:
    """An action of the host's own: *function* runs on a thread. Without a *capability* any plugin may invoke it.

    One that starts a child takes `spawn_subprocess`, one that writes `write_plugin_data`: nobody else could tell.
    """

    function: Function
    capability: str | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise LocalProtocolError(f"an action is a function, not {type(self.function).__name__}")
        if self.capability is not None and self.capability not in list(Capability):
            known = listed([each.value for each in Capability])
            raise LocalProtocolError(
                f"there is no capability {quote(str(self.capability))}: there are {known}"
            )


def checked(said: object) -> dict[str, HostAction]:
    """Return the actions that an application named. Raises LocalProtocolError for what is none."""
    if not isinstance(said, Mapping):
        raise LocalProtocolError(f"actions are functions by their names, not {type(said).__name__}")
    found = {}
    for name, action in said.items():
        if not isinstance(name, str):
            raise LocalProtocolError(f"an action has a text for a name, not {type(name).__name__}")
        found[name] = action if isinstance(action, HostAction) else HostAction(action)
    return found


def needs(actions: Mapping[str, HostAction]) -> dict[str, Capability]:
    """Return what invoking takes, of those *actions* that not everybody may invoke."""
    return {
        name: Capability(action.capability)
        for name, action in actions.items()
        if action.capability is not None
    }
