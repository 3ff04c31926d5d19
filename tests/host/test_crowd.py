"""The keeper of plugins that nobody calls: how long it stays away, seen from what it waits for."""

from __future__ import annotations

from typing import Any

import pytest

from plughost.host.crowd import IDLE_LOOK_S, REST_S, Crowd

NOW = 1000.0


class Pause:
    """Stands where the keeper waits: notes how long it means to, and sends it home."""

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.meant: list[float] = []

    def wait(self, seconds: float) -> None:
        self.meant.append(seconds)
        self.crowd._ended = True


@pytest.mark.parametrize(
    ("led_before_s", "leader", "meant"),
    [
        (0.0, 7, REST_S),
        (IDLE_LOOK_S / 2, 7, REST_S),
        (IDLE_LOOK_S, 7, IDLE_LOOK_S),
        (60.0, 7, IDLE_LOOK_S),
        (0.0, None, REST_S),
        (REST_S / 4, None, REST_S * 3 / 4),
    ],
    ids=["a call", "a call of middling length", "a long call", "a very long one", "just over", "over"],
)
def test_the_keeper_is_back_a_rest_after_the_last_call_unless_that_call_will_wake_it(
    led_before_s: float, leader: int | None, meant: float
) -> None:
    crowd: Any = Crowd(lambda: NOW, lambda: False)
    crowd.leader, crowd._last_led = leader, NOW - led_before_s
    crowd._keeper_may_look = pause = Pause(crowd)
    try:
        crowd._keep()
        assert pause.meant == [pytest.approx(meant)]
    finally:
        crowd._dispose()
