"""A plugin is at work while something is under way to it or from it, and while it reads on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from plughost.host.duplex.activity import Activity


class Linked:
    """A link, as far as it matters here."""

    def __init__(self, unread: int = 0, **said: Any) -> None:
        usual: dict[str, Any] = {"calls": (), "unanswered": 0, "unsent": False}
        self.conversation = SimpleNamespace(**{**usual, **said})
        self.process = SimpleNamespace(unread=lambda: self.unread)
        self.unread = unread


def at_work(activity: Activity, link: Any, *, has_events: bool = False) -> bool:
    return activity.is_at_work(link, has_events=has_events)


def test_one_that_has_read_everything_and_owes_nothing_is_not() -> None:
    assert not at_work(Activity(), Linked())


@pytest.mark.parametrize("said", [{"calls": (1,)}, {"unanswered": 1}, {"unsent": True}])
def test_one_is_that_owes_or_is_owed_an_answer_or_is_being_written_to(said: dict[str, Any]) -> None:
    assert at_work(Activity(), Linked(**said))


def test_one_is_for_which_events_wait() -> None:
    assert at_work(Activity(), Linked(), has_events=True)


def test_one_is_that_reads_on_and_not_one_that_leaves_its_input_as_it_is() -> None:
    activity, link = Activity(), Linked(unread=100)
    assert at_work(activity, link)
    link.unread = 60
    assert at_work(activity, link)
    assert not at_work(activity, link)
    link.unread = 0
    assert not at_work(activity, link)
