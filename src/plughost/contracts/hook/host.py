"""The host's verbs over a `hook` session: what a binding demands, and what an outcome means to a caller.

It neither starts nor waits for anything: drivers do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire

from ...capabilities import provider_set
from ...errors import LocalProtocolError, ManifestError
from ...failures import FailureCode, PluginFailure, Stage
from ...manifest import binding as bindings
from ...manifest.binding import COMMAND_LINE, Binding, Environment, HookOptions
from ...messages.quoting import is_utf8, listed
from .. import outcome
from ..base import Evidence, Fault
from .messages import DECLARED, MATRIX_KEY, ROUND_VARIABLE, Phase
from .session import Ask, HookSession, Terms, prepare
from .states import State

CONTRACT = "hook"
LONGEST_TIMEOUT_S = 86_400.0
MOST_PROBLEMS = 5  # of a set that are told beside the first
_MISMATCH = re.compile(r"protocol version mismatch", re.IGNORECASE)  # what providers say before they exit


def check_contract(binding: Binding) -> None:
    """Raise LocalProtocolError if *binding* is of another contract."""
    if binding.contract != CONTRACT:
        raise LocalProtocolError(f"{binding.name} is bound to the contract {binding.contract!r}, not hook")


def choose(binding: Binding, phases: Sequence[str]) -> Binding:
    """Return *binding* for a process that is asked for *phases* only, in turns. Raises ManifestError."""
    chosen: Binding = bindings.replace(binding, hook=HookOptions(phases=tuple(phases)))  # type: ignore[arg-type]
    return chosen


def bound(binding: Binding) -> Binding:
    """Return *binding* with the variable that tells the plugin which phases it will be asked for."""
    round_ = ",".join(binding.hook.phases) or DECLARED
    given = {**binding.environment.set, ROUND_VARIABLE: round_}
    environment = Environment(inherit=binding.environment.inherit, set=given)
    changed: Binding = bindings.replace(binding, environment=environment)
    return changed


def terms(binding: Binding, ours: Mapping[str, str], version: str) -> Terms:
    """Return what *binding* demands of a conversation. Of *ours*, the host's variables, those it lists are told."""
    check_contract(binding)
    limits = binding.limits
    listed_ones = binding.environment.inherited(ours)
    told = {**listed_ones, **binding.environment.set}
    return Terms(
        name=binding.name,
        # Who names a bare command has no list to hold it to. A capability of this contract says what a plugin
        # does, and gives it no power.
        allow=None if binding.source == COMMAND_LINE and not binding.allow else binding.allow,
        phases=tuple(Phase(phase) for phase in binding.hook.phases),
        version=version,
        env={name: value for name, value in told.items() if is_utf8(name + value)},
        handshake_s=limits.handshake_s,
        timeout_s=limits.timeout_s,
        frame_bytes=limits.frame_bytes,
        bare=binding.source == COMMAND_LINE,
    )


def ask(binding: Binding, phase: Phase, request: Message, timeout: float | None = None) -> Ask:
    """Return *request* ready to send. Raises LocalProtocolError if it cannot be sent."""
    number = (
        isinstance(timeout, int | float)
        and not isinstance(timeout, bool)
        and 0 < timeout <= LONGEST_TIMEOUT_S
    )
    if timeout is not None and not number:
        raise LocalProtocolError(f"a timeout of {timeout!r}: give seconds, more than 0 and at most a day")
    return prepare(phase, request, binding.limits.frame_bytes)


def check_turn(session: HookSession, ask: Ask) -> None:
    """Raise LocalProtocolError if *ask* may not be sent now: another is under way, or another phase is due.

    A process that has failed is not asked at all: its fault is the outcome, whatever would have been due.
    """
    if session.state is State.ASKED:
        raise LocalProtocolError("one request at a time, and the last one is not answered yet")
    if session.place is not None and session.state is not State.FAILED:
        session.place.check(ask.phase)


def failure(binding: Binding, session: HookSession, evidence: Evidence) -> PluginFailure:
    """Return the exception for the fault of *session*, with everything that is known about it."""
    assert session.fault is not None
    return outcome.failure(
        binding,
        _unmasked(session.fault, evidence),
        evidence,
        plugin=session.info.name if session.info is not None else "",
        delivered=session.delivered,
        timings_ms=timings(session),
    )


def _unmasked(fault: Fault, evidence: Evidence) -> Fault:
    """Return *fault* under its true name: a provider of another version says so on stderr only, and exits."""
    silent = fault.code is FailureCode.CRASHED and fault.stage in (Stage.HANDSHAKE, Stage.LAUNCH)
    exited = evidence.exit is not None and evidence.exit.code not in (None, 0)
    if silent and exited and (said := _MISMATCH.search(evidence.stderr_tail)):
        line = evidence.stderr_tail[said.start() :].splitlines()[0]
        return replace(
            fault,
            code=FailureCode.PROTOCOL_VERSION_MISMATCH,
            message=f"it refused our protocol version: {listed([line])}",
            when="",
        )
    return fault


_STAGES = {
    "launch": ("started", "spawned"),
    "handshake": ("spawned", "shaken"),
    "teardown": ("retired", "exited"),
}


def timings(session: HookSession) -> dict[str, float]:
    """Return how long the stages and the last hook took, in milliseconds."""
    marks = session.marks
    spans = {
        stage: marks[end] - marks[start]
        for stage, (start, end) in _STAGES.items()
        if start in marks and end in marks
    }
    if "asked" in marks:
        ended = max(marks.get("answered", 0.0), marks.get("failed", 0.0))
        if ended >= marks["asked"]:
            spans["execute"] = ended - marks["asked"]
    elif "failed" in marks and "spawned" in marks and "shaken" not in marks:
        spans["handshake"] = marks["failed"] - marks["spawned"]
    return {stage: round(seconds * 1000, 3) for stage, seconds in spans.items()}


def warnings(evidence: Evidence) -> tuple[str, ...]:
    """Return what is worth saying about a process that was let go and is gone."""
    found = []
    status = evidence.exit
    if evidence.rung is not None:
        found.append(f"it did not end when its input was closed, and was brought down ({evidence.rung})")
    elif status is not None and not status.ok:
        found.append(f"it ended with {status.meaning} after its last answer")
    for survivor in evidence.survivors:
        fate = "it was ended" if survivor.ended else "it was left running"
        found.append(f"process {survivor.pid} ({survivor.command}) outlived the plugin; {fate}")
    return tuple(found)


def remarks(session: HookSession) -> tuple[str, ...]:
    """Return what is worth saying about a conversation that went well."""
    if not session.generate_only:
        return ()
    advice = 'say `[hook] phases = ["generate"]` in its binding, or `--phases generate`'
    return (
        f"it took Plan for Generate, so it knows Generate alone; {advice}, and it is asked for that only",
    )


def wants_native_matrix(info: wire.PluginInfo) -> bool:
    """Tell whether the plugin is to be given matrices as they are written, instead of a job for each row."""
    return bool(info.metadata.get(MATRIX_KEY) == "native")


def target(info: wire.PluginInfo) -> str:
    """Return what the plugin generates for: the last part of its name."""
    name: str = info.name.rsplit("/", 1)[-1]
    return name


def check_set(loaded: Sequence[tuple[Binding, wire.PluginInfo]]) -> None:
    """Raise ManifestError if the plugins of a run cannot work together: what they require, whom they exclude."""
    members = [
        provider_set.Member(
            info.name, tuple(info.capabilities), tuple(info.requires), tuple(info.conflicts_with)
        )
        for _, info in loaded
    ]
    problems = provider_set.judge(members)
    if problems:
        first, *more = problems
        source = next(binding for binding, info in loaded if info.name == first.name).reference
        also = "".join(f"; {each.name}: {each.message}" for each in more[:MOST_PROBLEMS])
        if len(more) > MOST_PROBLEMS:
            also += f"; and {len(more) - MOST_PROBLEMS} more"
        remedy = {
            "name": "Take one of them out of the run",
            "requires": "Add a plugin that offers it",
            "conflicts_with": "Take one of the two out of the run",
        }[first.key]
        raise ManifestError(source, first.key, f"{first.message}{also}", remedy)
