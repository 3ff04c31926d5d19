"""What happens to one plugin of a fleet -> events for whoever listens. Decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...supervision.states import State
from ..engine import Engine
from ..events import Event, Logged, PluginState, What

if TYPE_CHECKING:
    from .member import Member


class Herald:
    """Tells of *member*."""

    __slots__ = ("_engine", "_member", "_shown")

    def __init__(self, member: Member, engine: Engine) -> None:
        self._member = member
        self._engine = engine
        self._shown = member.lifecycle.state

    def tell(self, what: What) -> None:
        """Tell everybody what happened to the plugin."""
        if not self._engine.bus.quiet:
            self._publish(what)

    def log(self, line: Logged) -> None:
        """Pass on what the plugin has logged; Python's logging hears it too."""
        self._publish(line)

    def note_state(self) -> None:
        """Tell of the state it is in, if that is news."""
        state = self._member.lifecycle.state
        if state is not self._shown:
            before, self._shown = self._shown, state
            self.tell(PluginState(before.value, state.value, self._why(state)))

    def _why(self, state: State) -> str:
        """Return how it failed, if that is what led to *state*."""
        if state not in (State.BACKOFF, State.QUARANTINED):
            return ""
        link = self._member.link
        fault = link.conversation.fault if link is not None else None
        known = fault or self._member.last_failure
        return known.message if known is not None else ""

    def _publish(self, what: What) -> None:
        link = self._member.link
        pid = link.process.pid if link is not None else None
        self._engine.bus.publish(Event(self._member.name, pid, self._engine.clock(), what))
