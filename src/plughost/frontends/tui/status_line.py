"""A plugin's status to the words under its screen: how it is, what went wrong, what to do about it."""

from __future__ import annotations

from ...errors import PlughostError, RemoteError
from ...failures import PluginFailure
from ...host.duplex.status import Status
from ...supervision.states import State
from ..cli.terminal import one_line


def summary(name: str, status: Status) -> str:
    """Return who it is and how it is; what is as it should be is not mentioned."""
    state = "wedged" if status.wedged and status.state is State.RUNNING else status.state.value
    counts = {
        "restarts": max(0, status.starts - 1),
        "failures": status.failures,
        "keys dropped": status.dropped_keys,
        "events dropped": status.dropped_events,
        "denied": status.denied,
    }
    told = [
        f"{count} {what if count != 1 else what.removesuffix('s')}" for what, count in counts.items() if count
    ]
    return " · ".join([one_line(name), state, *told])


def trouble(problem: PlughostError | None, status: Status) -> tuple[str, str]:
    """Return what went wrong, and what to do about it; both empty if nothing did, or it is over."""
    if isinstance(problem, RemoteError):
        return one_line(f"it answered with an error: {problem.message} [{problem.code}]"), ""
    failure = problem if isinstance(problem, PluginFailure) else status.last_failure
    if failure is not None and (problem is not None or status.state is not State.RUNNING):
        return one_line(f"{failure.message} [{failure.code}]"), one_line(failure.hint)
    return one_line(str(problem)) if problem is not None else "", ""
