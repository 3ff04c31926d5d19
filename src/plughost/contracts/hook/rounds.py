"""Whose turn it is: the phases of a round, in order, and the place in it. Turns one place into the next; asks nobody.

A frame carries no name, so both sides must know which phase comes next. A plugin that says nothing expects Plan and
Generate in turns. One that declares its phases is asked for exactly those, in the order of `IN_A_ROUND`, unless the
binding, or whoever connects, chooses some of them; a process for Preflight is asked for nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plughost_sdk import hook_messages as wire

from ...errors import LocalProtocolError, RemoteProtocolError
from ...messages.quoting import quote
from .messages import IN_A_ROUND, PHASES_KEY, USUAL_ROUND, Phase

PHASE_NAMES = tuple(phase.value for phase in Phase)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its round a process is."""

    phases: tuple[Phase, ...]
    index: int = 0

    @property
    def due(self) -> Phase:
        """The phase that must be asked for next."""
        return self.phases[self.index]

    def check(self, phase: Phase) -> None:
        """Raise LocalProtocolError if *phase* is not due."""
        if phase is not self.phases[self.index]:
            turns = ", ".join(self.phases)
            raise LocalProtocolError(f"{phase} is not due, {self.due} is: it is asked for {turns}, in turns")

    def after(self, phase: Phase) -> Place:
        """Return the place after *phase* was asked for. Raises LocalProtocolError if it is not due."""
        self.check(phase)
        return Place(self.phases, (self.index + 1) % len(self.phases))


def declared(info: wire.PluginInfo) -> tuple[Phase, ...] | None:
    """Return the phases that *info* declares, in the order of a round; None if it declares none.

    Raises RemoteProtocolError for a declaration that makes no sense.
    """
    text = info.metadata.get(PHASES_KEY)
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in PHASE_NAMES]
    if unknown:
        raise RemoteProtocolError(
            f"it declares a phase {quote(unknown[0])}; there are {', '.join(PHASE_NAMES)}"
        )
    found = {Phase(name) for name in names}
    return tuple(phase for phase in (*IN_A_ROUND, Phase.PREFLIGHT) if phase in found)


def begin(chosen: Sequence[Phase], info: wire.PluginInfo) -> Place:
    """Return where a process begins that has introduced itself with *info*, for which *chosen* were chosen, if any.

    Raises RemoteProtocolError if it does not answer what was chosen, or declares what makes no sense.
    """
    known = declared(info)
    if chosen:
        missing = [phase for phase in chosen if known is not None and phase not in known]
        if missing:
            raise RemoteProtocolError(f"it does not answer {missing[0]}; it answers {', '.join(known or ())}")
        return Place(tuple(chosen))
    if known is None:
        return Place(USUAL_ROUND)
    usual = tuple(phase for phase in known if phase is not Phase.PREFLIGHT)
    if not usual:
        return Place(known)
    return Place(usual)
