"""Why a call found no process of its plugin -> the failure that its caller gets. Decides nothing."""

from __future__ import annotations

from ...contracts import outcome
from ...contracts.base import Evidence, Fault
from ...contracts.duplex.host import Ask
from ...failures import FailureCode, PluginFailure, Stage
from ...manifest.binding import Binding
from ...supervision.states import State


def quarantined(process: Binding, failures: int, last: PluginFailure | None) -> PluginFailure:
    """Return the failure of a call to a plugin that is not started any more; *last* is how it failed."""
    problem = f"it is quarantined after {failures} failures"
    hint = "Mend the plugin, then reload it."
    if last is not None:
        problem, hint = f"{problem}; the last time: {last.message}", f"{hint} {last.hint}"
    return outcome.launch_failure(process, problem, limit="limits.failures_to_quarantine", hint=hint)


def not_started(process: Binding, ask: Ask | None, state: State) -> PluginFailure:
    """Return the failure of a call whose time was over before there was a process to ask."""
    what, limit = ("it", None) if ask is None else (ask.method, ask.broken)
    message = f"{what} waited too long for the plugin, which is {state}"
    fault = Fault(FailureCode.TIMEOUT, Stage.LAUNCH, message, limit)
    return outcome.failure(process, fault, Evidence(command=process.command))
