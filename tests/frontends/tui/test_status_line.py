"""What stands under a plugin's screen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plughost.autopsy import Autopsy, Stage
from plughost.errors import LocalProtocolError, RemoteError
from plughost.failures import PluginCrashed
from plughost.frontends.tui import notice, status_line
from plughost.supervision.states import State
from tests.frontends.fake_plugin import CRASH, RUNNING


def test_what_is_as_it_should_be_is_not_mentioned() -> None:
    assert status_line.summary("fake", RUNNING) == "fake · running"
    assert status_line.trouble(None, RUNNING) == ("", "")


@pytest.mark.parametrize("state", State, ids=lambda state: state.name)
def test_every_state_is_shown(state: State) -> None:
    assert state.value in status_line.summary("fake", replace(RUNNING, state=state))


def test_a_wedged_plugin_is_called_so() -> None:
    assert "wedged" in status_line.summary("fake", replace(RUNNING, wedged=True))
    assert "wedged" not in status_line.summary("fake", replace(RUNNING, wedged=True, state=State.BACKOFF))


@pytest.mark.parametrize(
    ("counted", "shown"),
    [
        ({"starts": 2}, "1 restart"),
        ({"starts": 3}, "2 restarts"),
        ({"failures": 1}, "1 failure"),
        ({"dropped_keys": 5}, "5 keys dropped"),
        ({"dropped_events": 1}, "1 events dropped"),
        ({"denied": 4}, "4 denied"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_as_it_should_be_is_counted(counted: dict[str, int], shown: str) -> None:
    assert status_line.summary("fake", replace(RUNNING, **counted)).split(" · ")[2:] == [shown]


def test_a_failure_is_shown_with_its_code_and_its_hint_and_no_escapes() -> None:
    what, remedy = status_line.trouble(CRASH, RUNNING)
    assert "[crashed]" in what
    assert "\x1b" not in what
    assert remedy == "pick it up"


def test_the_last_failure_is_shown_until_it_runs_again() -> None:
    failed = replace(RUNNING, last_failure=CRASH)
    assert status_line.trouble(None, failed) == ("", "")
    assert "[crashed]" in status_line.trouble(None, replace(failed, state=State.BACKOFF))[0]


def test_an_error_that_it_answered_with_is_shown() -> None:
    what, _ = status_line.trouble(
        RemoteError("fake", "-32000", "no \x1b[2J"), replace(RUNNING, last_failure=CRASH)
    )
    assert "-32000" in what
    assert "crashed" not in what
    assert "\x1b" not in what


def test_any_other_problem_is_shown() -> None:
    assert status_line.trouble(LocalProtocolError("too large"), RUNNING)[0] == "too large"


@pytest.mark.parametrize(("width", "height"), [(1, 1), (20, 3), (80, 24), (0, 0), (5, 0)])
def test_a_notice_fits_its_place(width: int, height: int) -> None:
    rows = notice.rows(CRASH, width, height)
    assert [len(row) for row in rows] == [width] * height


def test_a_notice_says_what_happened_and_what_to_do() -> None:
    text = "\n".join("".join(cell.symbol for cell in row if cell) for row in notice.rows(CRASH, 60, 20))
    assert "it fell" in text
    assert "pick it up" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [8, 9, 60])
def test_a_notice_in_a_language_with_wide_characters_is_whole(width: int) -> None:
    said = "エラー: とても悪いことe\u0301"
    failure = PluginCrashed("fake", said, Autopsy(stage=Stage.EXECUTE, hint=""))
    rows = notice.rows(failure, width, 20)
    text = "".join("".join(cell.symbol for cell in row if cell).strip() for row in rows)
    assert said.replace(" ", "") in text.replace(" ", "")
    assert all(len(row) == width for row in rows)
