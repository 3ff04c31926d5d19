"""What a binding and its manifest say -> when the next process of the plugin is started. Starts none."""

from __future__ import annotations

from functools import lru_cache

from ...manifest.duplex_binding import DuplexBinding
from ...supervision.restart import RestartPolicy, SpawnMode

_policy = lru_cache(maxsize=64)(RestartPolicy)  # most plugins of a fleet have the same, and share it


def policy(binding: DuplexBinding) -> RestartPolicy:
    """Return how the processes of *binding* follow one another."""
    limits, lifecycle = binding.limits, binding.manifest.lifecycle
    return _policy(
        spawn=SpawnMode(lifecycle.spawn),
        backoff_s=tuple(limits.backoff_s),
        failure_window_s=limits.failure_window_s,
        failures_to_quarantine=limits.failures_to_quarantine,
        stable_s=limits.stable_s,
        exit_zero_is_crash=lifecycle.exit_zero_is_crash,
        idle_reap_s=binding.idle_reap_s,
    )
