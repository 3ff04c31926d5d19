"""Errors pass through process pools whole, and calls that could not mean anything are refused."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import pytest

import plughost
from plughost import blocking
from plughost.autopsy import Autopsy, Stage
from plughost.failures import EXPLANATIONS
from plughost.testkit import FakeLauncher


@pytest.mark.parametrize(
    "error",
    [
        plughost.RemoteError("p", "code", "message"),
        plughost.ManifestError("file", "key", "problem", "remedy"),
        *(
            row.failure("p", "it failed", Autopsy(Stage.EXECUTE, "hint"), [1])
            for row in EXPLANATIONS.values()
        ),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_can_be_pickled(error: Exception) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


@pytest.mark.parametrize("timeout", [0, -1, math.nan, math.inf, 1e9])
def test_a_timeout_that_is_no_time_is_refused_before_anything_is_started(
    timeout: float, greeter: Path
) -> None:
    launcher = FakeLauncher()
    with blocking.Host(launcher=launcher) as host, pytest.raises(plughost.LocalProtocolError):
        host.add(greeter).call("greet", timeout=timeout)
    assert launcher.launched == []


@pytest.mark.parametrize("value", [math.nan, [math.inf], {"a": {"b": -math.inf}}, (1, None, math.nan)])
def test_a_number_that_json_cannot_say_is_refused_not_changed(value: object, greeter: Path) -> None:
    launcher = FakeLauncher()
    with blocking.Host(launcher=launcher) as host, pytest.raises(plughost.LocalProtocolError):
        host.add(greeter).call("greet", value)
    assert launcher.launched == []
