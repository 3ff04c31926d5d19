"""A plugin is at work while something is under way to it or from it, and while it reads on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from plughost.host.duplex.activity import Activity, is_at_work
from plughost.supervision.lifecycle import Lifecycle
from plughost.supervision.restart import RestartPolicy


def linked(unread: int = 0, **said: Any) -> Any:
    """Return a link, as far as it matters here."""
    usual: dict[str, Any] = {"calls": (), "unanswered": 0, "unsent": False}
    link = SimpleNamespace(conversation=SimpleNamespace(**{**usual, **said}), unread=unread)
    link.process = SimpleNamespace(unread=lambda: link.unread)
    return link


def test_one_that_owes_nothing_and_is_owed_nothing_is_not() -> None:
    assert not is_at_work(linked(), has_events=False)


@pytest.mark.parametrize("said", [{"calls": (1,)}, {"unanswered": 1}, {"unsent": True}])
def test_one_is_that_owes_or_is_owed_an_answer_or_is_being_written_to(said: dict[str, Any]) -> None:
    assert is_at_work(linked(**said), has_events=False)


def test_one_is_for_which_events_wait() -> None:
    assert is_at_work(linked(), has_events=True)


def test_one_is_that_reads_on_and_not_one_that_leaves_its_input_as_it_is() -> None:
    activity, link = Activity(), linked(unread=100)
    assert activity.reads_on(link)
    link.unread = 60
    assert activity.reads_on(link)
    assert not activity.reads_on(link)
    link.unread = 0
    assert not activity.reads_on(link)


def test_one_that_leaves_its_input_unread_is_let_go_after_twice_its_time() -> None:
    lifecycle, activity, link = Lifecycle(RestartPolicy(idle_reap_s=600)), Activity(), linked(unread=100)
    lifecycle.wanted(0.0)
    lifecycle.spawned(0.0)
    lifecycle.init_done(0.0)
    member: Any = SimpleNamespace(touched=300.0, has_events=False, lifecycle=lifecycle)
    let_go = []
    for now in (600.0, 899.0, 900.0, 1499.0, 1500.0):
        activity.note(member, link, now)
        let_go.append(bool(lifecycle.tick(now)))
    assert let_go == [False, False, False, False, True]
