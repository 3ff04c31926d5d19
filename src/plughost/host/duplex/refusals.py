"""Why a call found no process, or no use for its answer -> the failure that its caller gets. Decides nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...contracts import outcome
from ...contracts.base import Evidence, Fault
from ...contracts.duplex.host import Ask
from ...errors import HostClosed, PlughostError
from ...failures import FailureCode, PluginFailure, Stage
from ...manifest.binding import Binding
from ...supervision.states import RefuseReason, State

if TYPE_CHECKING:
    from .member import Member


def refused(member: Member, reason: RefuseReason) -> PlughostError:
    """Return what those are told who wait for *member*, which is not started for this *reason*."""
    if reason is RefuseReason.CLOSED:
        return HostClosed(f"{member.name} is closed")
    failures = len(member.lifecycle.failures) or member.lifecycle.policy.failures_to_quarantine
    return quarantined(member.process, failures, member.last_failure)


def quarantined(process: Binding, failures: int, last: PluginFailure | None) -> PluginFailure:
    """Return the failure of a call to a plugin that is not started any more; *last* is how it failed.

    It shows what is known of that end, because its hint is to read it.
    """
    problem = f"it is quarantined after {failures} failures"
    hint, evidence = "Mend the plugin, then reload it.", Evidence(command=process.command)
    if last is not None:
        problem, hint = f"{problem}; the last time: {last.message}", f"{hint} {last.hint}"
        known = last.autopsy
        evidence = replace(
            evidence,
            exit=known.exit,
            rung=known.rung,
            stderr_tail=known.stderr_tail,
            frames=known.frames,
        )
    fault = Fault(FailureCode.LAUNCH_FAILED, Stage.LAUNCH, problem, "limits.failures_to_quarantine", hint)
    return outcome.failure(process, fault, evidence)


def not_started(process: Binding, ask: Ask | None, state: State) -> PluginFailure:
    """Return the failure of a call whose time was over before there was a process to ask."""
    what, limit = ("it", None) if ask is None else (ask.method, ask.broken)
    message = f"{what} waited too long for the plugin, which is {state}"
    if state is State.RUNNING:
        message = f"{what} waited too long for the plugin to read what was published before"
    fault = Fault(FailureCode.TIMEOUT, Stage.LAUNCH, message, limit)
    return outcome.failure(process, fault, Evidence(command=process.command))


def malformed(ask: Ask | None, problem: Exception) -> Fault:
    """Return what is wrong with an answer that is not what the method returns."""
    method = "" if ask is None else ask.method
    return Fault(FailureCode.MALFORMED_RESPONSE, Stage.EXECUTE, f"its answer to {method}: {problem}")


def of_one_gone(process: Binding, fault: Fault) -> PluginFailure:
    """Return the failure of a call that was answered by a process that is gone."""
    return outcome.failure(process, fault, Evidence(command=process.command), delivered=True)
