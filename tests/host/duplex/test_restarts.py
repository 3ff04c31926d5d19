"""A binding and its manifest say when the next process of a plugin is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plughost import DuplexLimits, Narrowing
from plughost.host.duplex import restarts
from plughost.manifest.duplex_binding import DuplexBinding, bind
from plughost.manifest.duplex_manifest import DuplexManifest, Lifecycle
from plughost.supervision.restart import RestartPolicy, SpawnMode


def bound(name: str, backoff_s: Any = (1.0, 2.0), **lifecycle: Any) -> DuplexBinding:
    manifest = DuplexManifest(name, "1.0.0", 2, Path("/plugins") / name, lifecycle=Lifecycle(**lifecycle))
    return bind(manifest, Narrowing(limits=DuplexLimits(backoff_s=backoff_s, stable_s=5.0)))


@pytest.mark.parametrize("backoff_s", [(1.0, 2.0), [1.0, 2.0]], ids=["tuple", "made in code"])
def test_the_limits_are_the_hosts_and_the_rest_is_the_manifests(backoff_s: Any) -> None:
    said = bound("one", backoff_s, spawn="eager", idle_reap_secs=7, exit_zero_is_crash=False)
    assert restarts.policy(said) == RestartPolicy(
        spawn=SpawnMode.EAGER,
        backoff_s=(1.0, 2.0),
        stable_s=5.0,
        exit_zero_is_crash=False,
        idle_reap_s=7,
    )


def test_plugins_that_are_started_alike_share_one_policy() -> None:
    assert restarts.policy(bound("one")) is restarts.policy(bound("other"))
    assert restarts.policy(bound("one")) != restarts.policy(bound("other", spawn="eager"))
