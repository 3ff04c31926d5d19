"""What may follow a failure, as data, and its arithmetic. Turns failures into waits, or into the end of patience.

It knows no process and no clock: whoever counts says when.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

BACKOFF_S = (
    1.0,
    4.0,
    16.0,
)  # seconds: a slip is mended at once, a broken plugin costs little; the last repeats
FAILURE_WINDOW_S = 60.0  # seconds: failures further apart than this are no series
FAILURES_TO_QUARANTINE = 3  # in one window: the third time it is no accident
STABLE_S = (
    60.0  # seconds of running after which an earlier series is forgiven: the next wait is the first again
)
IDLE_REAP_S = 600.0  # seconds without use until a process is let go; 0 keeps it for ever


class SpawnMode(StrEnum):
    """When a plugin is started."""

    EAGER = "eager"  # with the host, and again after each backoff
    LAZY = "lazy"  # when somebody wants it


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """How a plugin's processes follow one another. Raises ValueError for what is no policy."""

    spawn: SpawnMode = SpawnMode.LAZY
    backoff_s: tuple[float, ...] = BACKOFF_S
    failure_window_s: float = FAILURE_WINDOW_S
    failures_to_quarantine: int = FAILURES_TO_QUARANTINE
    stable_s: float = STABLE_S
    exit_zero_is_crash: bool = True  # nobody asked a long-lived plugin to go
    idle_reap_s: float = IDLE_REAP_S

    def __post_init__(self) -> None:
        if not self.backoff_s:
            raise ValueError("backoff_s is empty: give at least one wait, in seconds")
        if self.failures_to_quarantine < 1:
            raise ValueError("failures_to_quarantine must be at least 1")
        times = {
            "backoff_s": self.backoff_s,
            "failure_window_s": (self.failure_window_s,),
            "stable_s": (self.stable_s,),
            "idle_reap_s": (self.idle_reap_s,),
        }
        for name, values in times.items():
            for value in values:
                if not (math.isfinite(value) and value >= 0):
                    raise ValueError(f"{name}: {value} is no number of seconds")

    def wait_s(self, attempt: int) -> float:
        """Return how long to wait after failure number *attempt* (from 1) of a series."""
        return self.backoff_s[min(attempt, len(self.backoff_s)) - 1]


class Failures:
    """The failures of one plugin: those inside the window, and the length of the series that is not yet forgiven."""

    __slots__ = ("_times", "attempt", "policy")

    def __init__(self, policy: RestartPolicy) -> None:
        self.policy = policy
        self.attempt = 0
        # More than the verdict needs are never kept, so that a plugin cannot make its history grow.
        self._times: tuple[float, ...] = ()

    def follow(self, policy: RestartPolicy) -> None:
        """Judge by another *policy* from now on."""
        self.policy = policy
        self._forget_old()

    def add(self, now: float) -> None:
        self.attempt += 1
        self._times = (*self._times, now)
        self._forget_old()

    def _forget_old(self) -> None:
        self._times = self._times[-self.policy.failures_to_quarantine :]

    def within(self, now: float) -> tuple[float, ...]:
        """Return when those failures were that still count: one exactly a window ago does not."""
        return tuple(at for at in self._times if at == now or now - at < self.policy.failure_window_s)

    def enough(self, now: float) -> bool:
        """Whether the plugin has failed too often to be started again by itself."""
        return len(self.within(now)) >= self.policy.failures_to_quarantine

    def wait_s(self) -> float:
        """Return how long to wait after the failure that was added last."""
        return self.policy.wait_s(self.attempt)

    def forgive(self) -> None:
        """Begin with the first wait again; the window keeps what it has seen."""
        self.attempt = 0

    def clear(self) -> None:
        """Forget everything: somebody has looked at the plugin."""
        self.attempt = 0
        self._times = ()
