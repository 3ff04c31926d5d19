"""A worker that says anything at any time, and a host that does: all has an outcome, and every request an end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel, EndWanted
from plughost.contracts.sideband.news import Completed, Gone
from plughost.contracts.sideband.output import counted_token, sequence
from plughost.contracts.sideband.session import SidebandSession
from plughost.contracts.sideband.states import FINAL
from plughost.contracts.sideband.terms import Terms
from plughost.errors import LocalProtocolError
from tests.contracts.sideband.wire import FOREIGN, MARK, TOKEN, hello, image, line

requirement = pytest.mark.requirement

IDS = st.sampled_from([{}, {"request_id": 1}, {"request_id": 2}, {"request_id": 3}])
LINES = st.one_of(
    st.sampled_from([hello(), hello(marks=False), FOREIGN, b"?\n", b"\n", b"[]\n", line("backend_info")]),
    st.builds(lambda about: line("readline_start", prompt="> ", **about), IDS),
    st.builds(lambda about: line("readline_result", prompt="> ", line="x\n", **about), IDS),
    st.builds(lambda about: line("request_end", marked=True, **about), IDS),
    st.builds(lambda about: line("request_end", **about), IDS),
    st.builds(lambda about: line("interrupted", outcome="delivered", **about), IDS),
    st.builds(lambda about: image(**about), IDS),
    st.builds(
        lambda about, number: image(mark=counted_token(TOKEN, number), **about), IDS, st.integers(0, 3)
    ),
    st.just(line("session_end", status=1)),
    st.binary(max_size=5),
    st.just(b"x" * 300),
)
OUTPUT = st.sampled_from(
    [
        b"a",
        MARK,
        *(sequence(counted_token(TOKEN, number)) for number in (1, 2)),
        MARK[:10],
        MARK[10:],
        b"\xe2",
        b"\x82\xac",
        b"\x1e",
    ]
)
CHANNELS = st.sampled_from([Channel.STDOUT, Channel.STDERR, Channel.CONTROL_IN])
STEPS = st.one_of(
    st.tuples(st.just("tell"), LINES),
    st.tuples(st.just("tell"), LINES),
    st.tuples(st.just("show"), OUTPUT),
    st.tuples(st.just("complain"), OUTPUT),
    st.tuples(st.sampled_from(["run", "run", "answer", "interrupt", "sent", "hand", "take"]), st.none()),
    st.tuples(st.just("tick"), st.sampled_from([0.0, 0.005, 0.02, 0.5, 2.0])),
    st.tuples(st.just("close"), CHANNELS),
    st.tuples(st.sampled_from(["end", "broken"]), st.none()),
)
FIRST = st.sampled_from(
    [hello(), hello(image_marks=True), hello(marks=False), FOREIGN + line("readline_start", prompt="> "), b""]
)


class Chaos:
    """A session, and what it has told."""

    def __init__(self):
        self.session = SidebandSession(Terms(line_bytes=250), 0.0, token=lambda: TOKEN)
        self.now = 0.0
        self.made = 0

    def do(self, what, value):
        session = self.session
        match what:
            case "tell":
                session.receive_data(value, Channel.CONTROL_IN)
            case "show":
                session.receive_data(value, Channel.STDOUT)
            case "complain":
                session.receive_data(value, Channel.STDERR)
            case "close":
                session.receive_eof(value)
            case "tick":
                self.now += value
                session.receive_tick(self.now)
                due = session.next_deadline()
                assert due is None or due > self.now
            case "broken":
                session.receive_broken_pipe()
            case "sent":
                session.receive_sent()
            case "hand":
                session.data_to_send()
            case "take":
                session.take()
            case "end":
                session.end()
            case _:
                self.ask(what)

    def ask(self, verb):
        before = self.session.state
        try:
            match verb:
                case "run":
                    self.session.run("x")
                    self.made += 1
                case "answer":
                    self.session.answer("y")
                case "interrupt":
                    self.session.interrupt()
        except LocalProtocolError:
            assert self.session.state is before


@requirement("sideband:request:once", "sideband:end:lost")
@given(FIRST, st.lists(STEPS, max_size=40), st.integers(0, 1))
def test_every_request_is_over_once_and_the_session_once_whatever_is_said(first, steps, code):
    chaos = Chaos()
    chaos.do("tell", first)
    for what, value in steps:
        chaos.do(what, value)
    session = chaos.session
    session.receive_exit(ExitStatus(code))
    assert session.state in FINAL
    assert session.settled
    assert session.next_deadline() is None
    assert session.data_to_send() == []
    assert (session.fault is None) == (session.state.value == "ended")
    news = list(iter(session.next_news, None))
    over = [each.request_id for each in news if isinstance(each, Completed)]
    assert over == list(range(1, chaos.made + 1))
    assert [type(each) for each in news].count(Gone) == 1
    rungs = [event.rung for event in iter(session.next_event, None) if isinstance(event, EndWanted)]
    assert 1 <= len(rungs) <= 2
