"""A fault and the evidence to the exception that explains both, the same in every contract.

It decides nothing but this: a process that never became the plugin is no crash of the plugin's.
"""

from __future__ import annotations

from typing import Any

from .. import diagnosis
from ..autopsy import Autopsy
from ..failures import EXPLANATIONS, FailureCode, PluginFailure, Stage
from ..manifest.binding import Binding
from ..messages.quoting import listed
from . import refused_limit
from .base import Evidence, Fault

_LIMIT_SIGNALS = {"SIGXCPU": "limits.cpu_s", "SIGXFSZ": "limits.file_mb"}


def failure(
    binding: Binding,
    fault: Fault,
    evidence: Evidence,
    *,
    plugin: str = "",
    delivered: bool = False,
    timings_ms: dict[str, float] | None = None,
    answer: Any = None,
) -> PluginFailure:
    """Return the exception for *fault*, with everything that is known about it.

    *plugin* is what it calls itself, where it has said so; *answer* what it had answered before it failed.
    """
    if fault.code is FailureCode.CRASHED:
        fault = refused_limit.fault_of(evidence) or fault
    found = diagnosis.Findings(
        code=fault.code,
        stage=fault.stage,
        plugin=binding.reference,
        command=evidence.command,
        exit=evidence.exit,
        rung=evidence.rung,
        stderr=evidence.stderr_tail,
        last_in=diagnosis.last_received(evidence.frames),
        limit=fault.limit,
        contract=binding.contract,
        when=fault.when,
    )
    autopsy = Autopsy(
        stage=fault.stage,
        hint=fault.hint or diagnosis.advise(found),
        delivered=delivered and not evidence.unread,
        exit=evidence.exit,
        rung=evidence.rung,
        limit=fault.limit or _limit_of(evidence),
        stderr_tail=evidence.stderr_tail,
        frames=evidence.frames,
        timings_ms=timings_ms or {},
        survivors=evidence.survivors,
        command=evidence.command,
    )
    message = fault.message
    unanswered = fault.code is FailureCode.CRASHED and fault.stage is not Stage.TEARDOWN and fault.when
    if unanswered and evidence.exit is not None and evidence.rung is None:
        # The end of its output is often noticed a moment before its exit. The exit tells more.
        message = f"it ended with {evidence.exit.meaning} {fault.when}"
    return EXPLANATIONS[fault.code].failure(
        listed([plugin or binding.name or "plugin"]), message, autopsy, answer
    )


def launch_failure(
    binding: Binding, problem: str, *, limit: str | None = None, hint: str | None = None
) -> PluginFailure:
    """Return the exception for a plugin that could not be started."""
    fault = Fault(FailureCode.LAUNCH_FAILED, Stage.LAUNCH, problem, limit, hint)
    return failure(binding, fault, Evidence(command=binding.command))


def _limit_of(evidence: Evidence) -> str | None:
    """Return the limit whose signal ended the process, or None."""
    return _LIMIT_SIGNALS.get(evidence.exit.signal_name or "") if evidence.exit is not None else None
