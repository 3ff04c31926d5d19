"""What is said of a worker that is gone."""

from __future__ import annotations

import pytest

from plughost.autopsy import ExitStatus
from plughost.contracts.sideband.host import LOST
from plughost.contracts.sideband.news import Gone
from plughost.host.sideband.farewell import farewell
from plughost.messages.quoting import LONGEST
from tests.host.sideband.lab import EVERY, Lab


def gone(reason: str, status: int | None = 76) -> Gone:
    return Gone(None, ExitStatus(code=status), reason, status)


@pytest.mark.parametrize("reason", ["", "exit", "asked", " ", "_"])
def test_an_ordinary_end_has_no_reason(reason: str) -> None:
    assert farewell(gone(reason, 3), 2, asked=False) == f"worker 2 ended with exit status 3: {LOST}"


def test_the_reason_that_a_worker_gives_is_told() -> None:
    told = farewell(gone("protocol_error"), 1, asked=False)
    assert told == f"worker 1 ended with exit status 76: protocol error; {LOST}"


def test_whoever_was_asked_to_end_needs_no_reason() -> None:
    assert "protocol" not in farewell(gone("protocol_error"), 1, asked=True)


def test_a_reason_is_hostile_until_it_is_printable_and_short() -> None:
    told = farewell(gone("\x1b[2J\n" + "x" * 100_000), 1, asked=False)
    assert told.isprintable()
    assert len(told) < 3 * LONGEST
    assert told.endswith(LOST)


@pytest.mark.thin(EVERY, "sideband-host")
def test_a_worker_that_says_why_it_ends_is_quoted_in_the_reply(both: Lab) -> None:
    desk = both.foreign()
    said = '{"type": "session_end", "reason": "protocol_error", "status": 76}\n'
    reply = desk.run(f"bytes {said.encode()!r}\nexit 76")
    assert (reply.state, reply.error) == ("ended", True)
    assert reply.notices == (f"worker 1 ended with exit status 76: protocol error; {LOST}",)
    assert desk.console.exit_status == 76


@pytest.mark.thin(EVERY, "sideband-host")
def test_a_console_knows_the_exit_status_of_its_last_worker(both: Lab) -> None:
    desk = both.console()
    assert desk.console.exit_status is None
    desk.run("import sys; sys.exit(5)")
    assert desk.console.exit_status == 5
    desk.run("import os; os.kill(os.getpid(), 9)")
    assert desk.console.exit_status is None
