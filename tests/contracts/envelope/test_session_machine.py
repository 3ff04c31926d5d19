"""Whatever happens to a session, in whatever order: it never raises, decides once, and wants the pair."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel, EndWanted, FramePassed, InputEnded, StateChanged
from plughost.contracts.envelope.session import EnvelopeSession, Mode, Terms
from plughost.contracts.envelope.states import INITIAL, TRANSITIONS, State
from plughost.errors import LocalProtocolError
from tests.contracts.envelope.wire import (
    BARE_QUESTION,
    FAILED,
    QUESTION,
    REQUEST,
    SUCCESS,
    VALIDATED,
    message,
)

LIMIT = 400  # bytes of a line: every good one fits, and a few pieces are over it
GOOD_PAIRS = {("success", 0), ("failed", 1), ("input_required", 2)}
WHOLE = st.sampled_from([SUCCESS, FAILED, QUESTION, VALIDATED])
PIECES = st.one_of(
    WHOLE,
    WHOLE.flatmap(lambda line: st.integers(0, len(line)).map(lambda at: line[:at])),
    WHOLE.flatmap(lambda line: st.integers(0, len(line)).map(lambda at: line[at:])),
    st.sampled_from(
        [b"\n", b"\r\n", b"", BARE_QUESTION, message(result="timeout"), b"[" * 300, b"x" * LIMIT]
    ),
    st.binary(max_size=20),
)
EXITS = st.one_of(
    st.sampled_from([0, 1, 2, 3, 124, 139]).map(ExitStatus),
    st.sampled_from([9, 11, 15]).map(lambda signal: ExitStatus(None, signal)),
    st.just(ExitStatus()),
)


class EnvelopeMachine(RuleBasedStateMachine):
    """A session between a host and a worker that do as they like."""

    @initialize(
        mode=st.sampled_from([Mode.TRANSFORM, Mode.TRANSFORM, Mode.VALIDATE]),
        told=st.sampled_from([True, True, True, False]),
        answer=st.sampled_from([b"", SUCCESS, FAILED, QUESTION]),
    )
    def start(self, mode, told, answer):
        """Begin anywhere on the good road: most of what can go wrong lies beside its end."""
        self.session = EnvelopeSession(mode, Terms(timeout_s=10.0, line_bytes=LIMIT), 0.0)
        self.now = 0.0
        self.walked = INITIAL
        self.events = []
        self.requests = 0
        self.decided = None
        if told:
            self.tell()
            self.hear(VALIDATED if answer and mode is Mode.VALIDATE else answer, Channel.STDOUT)

    @rule()
    def tell(self):
        allowed = self.session.state in (State.STARTED, State.FAILED)
        if allowed:
            self.session.tell(REQUEST, self.now)
        else:
            with pytest.raises(LocalProtocolError):
                self.session.tell(REQUEST, self.now)

    @rule()
    def retire(self):
        self.session.retire()

    @rule(data=PIECES, channel=st.sampled_from([Channel.STDOUT, Channel.STDOUT, Channel.STDERR]))
    def hear(self, data, channel):
        self.session.receive_data(data, channel)

    @rule(channel=st.sampled_from([Channel.STDOUT, Channel.STDERR]))
    def end(self, channel):
        self.session.receive_eof(channel)

    @precondition(lambda self: self.session.exit is None)
    @rule(status=EXITS)
    def exit(self, status):
        self.session.receive_exit(status)

    @precondition(lambda self: self.session.state is State.ANSWERED and self.session.exit is None)
    @rule()
    def exit_well(self):
        result = self.session.reply.result if self.session.reply is not None else "success"
        self.session.receive_exit(ExitStatus(dict(GOOD_PAIRS)[result]))

    @rule(passed=st.sampled_from([0.0, 0.1, 1.0, 11.0]), heard=st.booleans())
    def wait(self, passed, heard):
        self.now += passed
        (self.session.note_time if heard else self.session.receive_tick)(self.now)

    @rule()
    def write(self):
        sent = self.session.data_to_send()
        self.requests += len(sent)
        if sent:
            self.session.receive_sent()

    @rule()
    def break_pipe(self):
        self.session.receive_broken_pipe()

    @invariant()
    def it_walks_along_the_table(self):
        for event in iter(self.session.next_event, None):
            self.events.append(event)
            if isinstance(event, StateChanged):
                assert event.before == self.walked.value
                followers = {after for (before, _, _), after in TRANSITIONS.items() if before is self.walked}
                self.walked = State(event.after)
                assert self.walked in followers
        assert self.walked is self.session.state

    @invariant()
    def it_decides_once(self):
        session = self.session
        decided = (session.state, session.fault, session.reply, session.validation)
        if self.decided is not None:
            assert decided == self.decided
        elif session.settled:
            self.decided = decided

    @invariant()
    def it_has_a_fault_if_and_only_if_it_failed(self):
        assert (self.session.fault is not None) == (self.session.state is State.FAILED)

    @invariant()
    def an_answer_is_a_pair(self):
        session = self.session
        if session.state is not State.CLOSED:
            return
        if session.reply is not None:
            assert (session.reply.result, session.exit.code) in GOOD_PAIRS
        elif session.validation is not None:
            assert session.exit.code == 0
        else:
            assert "called" not in session.marks

    @invariant()
    def a_question_comes_with_its_fields_and_nothing_else_does(self):
        reply = self.session.reply
        if reply is not None:
            assert (reply.result == "input_required") == bool(reply.input_required)

    @invariant()
    def it_has_a_deadline_only_while_it_waits_for_an_answer_or_an_exit(self):
        waits = self.session.state in (State.WORKING, State.ANSWERED)
        assert (self.session.next_deadline() is not None) == waits

    @invariant()
    def it_is_told_at_most_once_and_ended_at_most_once(self):
        assert self.requests <= 1
        assert self.events.count(InputEnded()) <= 1
        assert sum(isinstance(event, EndWanted) for event in self.events) <= 1
        assert sum(isinstance(event, FramePassed) and event.direction == "out" for event in self.events) <= 1

    @invariant()
    def it_can_always_say_where_it_is_and_how_long_it_took(self):
        assert self.session.stage is not None
        assert all(span >= 0 for span in self.session.timings_ms.values())


TestEnvelopeMachine = EnvelopeMachine.TestCase
TestEnvelopeMachine.settings = settings(max_examples=settings().max_examples * 3 // 2, stateful_step_count=25)
