"""Who asks a plugin much waits for room in its queue; the others, and the application, do not wait for that."""

from __future__ import annotations

from typing import Any

import pytest

from plughost.host.duplex.fair_queues import AT_ONCE, AT_ONCE_BYTES, UNANSWERED, FairQueues, Start
from tests.host.duplex.fleet_lab import EVERY, Lab, b64

MANY = 4_000
DEPTH = 20  # of each of two plugins


class Owner:
    """An owner that notes what is started, and reads nothing until it is told to."""

    def __init__(self) -> None:
        self.queues = FairQueues()
        self.started = list[str]()
        self.unwritten = set[str]()

    def start(self, name: str) -> Start:
        def start() -> Any:
            self.started.append(name)
            self.unwritten.add(name)
            return lambda: name in self.unwritten

        return start


def test_of_each_asker_only_so_many_wait_to_be_written_and_the_rest_follow_in_order() -> None:
    owner = Owner()
    for number in range(AT_ONCE + 2):
        for asker in "ab":
            owner.queues.add(asker, owner.start(f"{asker}{number}"))
            owner.queues.go_on()
    assert len(owner.started) == 2 * AT_ONCE
    owner.unwritten.discard("b0")
    owner.queues.go_on()
    assert owner.started[-1] == f"b{AT_ONCE}"
    owner.queues.forget("a")
    owner.unwritten.clear()
    owner.queues.go_on()
    assert owner.started[2 * AT_ONCE :] == [f"b{AT_ONCE}", f"b{AT_ONCE + 1}"]
    assert not owner.queues


def test_of_each_asker_only_one_that_is_large_waits_to_be_written() -> None:
    owner = Owner()
    for name in ("first", "second", "third"):
        owner.queues.add("asker", owner.start(name), AT_ONCE_BYTES)
    owner.queues.go_on()
    assert owner.started == ["first"]
    owner.unwritten.discard("first")
    owner.queues.go_on()
    assert owner.started == ["first", "second"]


def test_of_each_asker_only_so_many_are_unanswered_while_the_owner_answers() -> None:
    owner = Owner()
    for number in range(2 * UNANSWERED):
        owner.queues.add("asker", owner.start(str(number)))
    while owner.queues.go_on() or owner.unwritten:
        owner.unwritten.clear()
    assert len(owner.started) == UNANSWERED
    assert owner.queues.is_held_back
    owner.queues.over("asker")
    owner.queues.relent()
    owner.queues.go_on()
    assert len(owner.started) == UNANSWERED + 1


def test_while_the_owner_answers_nothing_a_few_more_are_started_each_time() -> None:
    owner = Owner()
    for number in range(2 * UNANSWERED):
        owner.queues.add("asker", owner.start(str(number)))
    for times in (0, 1, 2):
        while owner.queues.go_on() or owner.unwritten:
            owner.unwritten.clear()
        assert len(owner.started) == UNANSWERED + times * AT_ONCE
        owner.queues.relent()
    assert not owner.queues.is_held_back


def test_at_each_turn_a_few_of_every_asker_are_started() -> None:
    queues, started = FairQueues(), list[str]()
    for asker in "ab":
        for _ in range(2 * AT_ONCE):
            queues.add(asker, lambda asker=asker: started.append(asker))  # type: ignore[misc]
    assert queues.go_on()
    assert started == ["a"] * AT_ONCE + ["b"] * AT_ONCE
    assert not queues.go_on()
    assert not queues


def test_what_is_over_at_once_lets_any_number_follow_without_recursion() -> None:
    queues, started = FairQueues(), list[int]()

    def start() -> None:
        started.append(1)
        queues.go_on()

    for _ in range(MANY):
        queues.add("asker", start)
    while queues.go_on():
        pass
    assert len(started) == MANY


@pytest.mark.thin(EVERY, "duplex fleets")
@pytest.mark.requirement("duplex:action:fair")
def test_a_call_of_the_application_waits_behind_few_actions_however_many_a_plugin_invokes(both: Lab) -> None:
    both.plugin("owner", commands=("act",), timeout_s=150.0)
    both.plugin("asker", timeout_s=150.0)
    fleet = both.fleet()._fleet
    pipe = both.pipe("reading")
    both.call("block", {"pipe": str(pipe)}, of="owner")
    ask = {"count": MANY, "method": "host/action/invoke", "params": {"action": "act", "payload": ""}}
    asking = both.begin(both.calling("ask-many", ask, of="asker"))
    both.until(lambda: (link := fleet.members["asker"].link) and link.conversation.unanswered == MANY)
    before = both.status("owner").pending
    assert UNANSWERED <= before < MANY // 4  # of a plugin that answers nothing, more as time passes
    mine = both.begin(both.calling("echo", of="owner"))
    both.until(lambda: both.status("owner").pending > before)
    assert len(fleet.members["owner"].link.conversation.lanes.calls) <= AT_ONCE + 1
    both.meet(pipe)
    assert both.wait_for(mine) == [{"echo": {}}]
    (answers,) = both.wait_for(asking)
    assert answers["answers"] == {"result": MANY}


@pytest.mark.thin(EVERY, "duplex fleets")
@pytest.mark.requirement("duplex:action:fair")
def test_an_action_is_sent_however_many_of_the_same_asker_are_unanswered(both: Lab) -> None:
    both.plugin("owner", commands=("act",))
    both.plugin("asker")
    both.fleet()
    polls = 2 * AT_ONCE
    hold = {"action": "act", "payload": b64(b"hold"), "timeout_ms": 0}
    ask = {"count": polls, "method": "host/action/invoke", "params": hold}
    polling = both.begin(both.calling("ask-many", ask, of="asker"))
    both.until(lambda: both.status("owner").pending == polls)
    answer = both.asks("host/action/invoke", {"action": "act", "payload": b64(b"release")}, of="asker")
    assert answer == {"result": {"payload": b64(b"owner:release")}}
    assert both.wait_for(polling) == [{"answers": {"result": polls}}]


@pytest.mark.thin(EVERY, "duplex fleets")
@pytest.mark.requirement("duplex:action:fair")
def test_two_plugins_may_invoke_each_other_to_any_depth(both: Lab) -> None:
    both.plugin("ping", commands=("to-ping",))
    both.plugin("pong", commands=("to-pong",))
    both.fleet()
    payload = b"via to-ping via to-pong " * DEPTH + b"end"
    answer = both.asks("host/action/invoke", {"action": "to-pong", "payload": b64(payload)}, of="ping")
    assert answer == {"result": {"payload": b64(b"pong>ping>" * DEPTH + b"pong:end")}}
