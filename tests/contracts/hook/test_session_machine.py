"""Whatever happens to a session, in whatever order: it decides once, and never falls out of step.

The model is a provider that counts what it was asked: its results carry the number of their request, so an answer that
was taken for another one would be seen.
"""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from plughost_sdk import hook_messages as wire
from plughost_sdk.frames.length_prefix import LengthPrefixDecoder

from plughost.autopsy import ExitStatus
from plughost.contracts.base import Channel, EndWanted, StateChanged
from plughost.contracts.hook.messages import EXCHANGES, FRAME_BYTES, Phase
from plughost.contracts.hook.session import HookSession, Terms, prepare
from plughost.contracts.hook.states import INITIAL, TRANSITIONS, State
from plughost.errors import LocalProtocolError
from tests.contracts.hook.wire import EMPTY, INFO, REQUESTS, STRAY, declaring, frame

ROUNDS = [
    (),
    (Phase.GENERATE,),
    (Phase.DETECT, Phase.PLAN, Phase.GENERATE, Phase.VALIDATE),
    (Phase.PREFLIGHT,),
]
RUBBISH = st.one_of(
    st.sampled_from([b"\0", EMPTY, INFO, STRAY, b"\xff\xff\xff\xff", frame(b"\xff")]),
    st.binary(min_size=1, max_size=12),
)


def numbered(phase, number):
    """Return the result of *phase* that carries *number*."""
    match phase:
        case Phase.DETECT:
            return wire.DetectResult(facts={"number": str(number)})
        case Phase.PLAN:
            return wire.PlanResult(resources=[wire.Resource(id=str(number))])
        case Phase.GENERATE:
            return wire.GenerateResult(fragments=[wire.Fragment(path=str(number))])
        case Phase.VALIDATE:
            return wire.ValidateResult(diagnostics=[wire.Diagnostic(message=str(number))])
        case Phase.PREFLIGHT:
            return wire.PreflightResult(reason=str(number))


class Provider:
    """The other side, written from the contract: an introduction, then one result for each request, in turns."""

    def __init__(self, phases):
        self.turns = phases or (Phase.PLAN, Phase.GENERATE)
        self.declares = bool(phases)
        self.frames = LengthPrefixDecoder(FRAME_BYTES)
        self.heard = 0
        self.unsent = b""

    def receive(self, data):
        self.frames.receive_data(data)
        while (body := self.frames.next_frame()) is not None:
            if self.heard == 0:
                assert wire.Hello.FromString(body).core_protocol == 1
                named = ",".join(self.turns)
                self.unsent += frame(declaring(named)) if self.declares else INFO
            else:
                phase = self.turns[(self.heard - 1) % len(self.turns)]
                assert EXCHANGES[phase].request.FromString(body) == REQUESTS[phase]
                self.unsent += frame(numbered(phase, self.heard))
            self.heard += 1

    def take(self, size):
        data, self.unsent = self.unsent[:size], self.unsent[size:]
        return data


class HookMachine(RuleBasedStateMachine):
    """A host that does as it likes, and a provider that keeps to the contract until it does not."""

    @initialize(phases=st.sampled_from(ROUNDS), answers=st.integers(-1, 5))
    def start(self, phases, answers):
        """Begin anywhere on the good road: before the handshake, or after some answers."""
        self.session = HookSession(Terms(allow=None, timeout_s=10.0, handshake_s=5.0), 0.0)
        self.provider = Provider(phases)
        self.now = 0.0
        self.walked = INITIAL
        self.ends = []
        self.asked = 0
        self.pure = True  # the provider has kept to the contract so far
        self.decided = None
        self.session.begin()
        for step in range(answers + 1):
            if step:
                self.ask(due=True, timeout=None)
            self.write()
            self.read(1000)

    @rule(due=st.sampled_from([True, True, True, False]), timeout=st.sampled_from([None, 1.0]))
    def ask(self, due, timeout):
        place = self.session.place
        phase = place.due if place is not None and due else Phase.VALIDATE
        allowed = self.session.state is State.FAILED or (
            self.session.state is State.READY and phase is place.due
        )
        ready = prepare(phase, REQUESTS[phase])
        before = self.session.state
        if allowed:
            self.session.ask(ready, self.now, timeout)
            self.asked += before is State.READY
        else:
            with pytest.raises(LocalProtocolError):
                self.session.ask(ready, self.now, timeout)
            assert self.session.state is before

    @rule()
    def retire(self):
        self.session.retire()

    @rule()
    def write(self):
        sent = self.session.data_to_send()
        for channel, data in sent:
            assert channel is Channel.STDIN
            self.provider.receive(data)
        if sent:
            self.session.receive_sent()

    @rule(size=st.sampled_from([1, 3, 4, 5, 1000, 1000]))
    def read(self, size):
        data = self.provider.take(size)
        if data:
            self.session.receive_data(data, Channel.STDOUT)

    @rule(data=RUBBISH)
    def hear_rubbish(self, data):
        self.pure = False
        self.session.receive_data(data, Channel.STDOUT)

    @rule(data=st.binary(max_size=9))
    def hear_on_stderr(self, data):
        self.session.receive_data(data, Channel.STDERR)

    @rule(channel=st.sampled_from([Channel.STDOUT, Channel.STDERR]))
    def end(self, channel):
        self.pure = self.pure and (channel is Channel.STDERR or self.session.state is State.RETIRING)
        self.session.receive_eof(channel)

    @precondition(lambda self: "exited" not in self.session.marks)
    @rule(code=st.sampled_from([0, 1, None]))
    def exit(self, code):
        self.pure = self.pure and self.session.state is State.RETIRING
        self.session.receive_exit(ExitStatus(code))

    @rule(passed=st.sampled_from([0.0, 0.1, 1.0, 11.0]), heard=st.booleans())
    def wait(self, passed, heard):
        self.now += passed
        deadline = self.session.next_deadline()
        if not heard and deadline is not None and deadline <= self.now:
            self.pure = False
        (self.session.note_time if heard else self.session.receive_tick)(self.now)

    @rule()
    def break_pipe(self):
        self.pure = self.pure and self.session.state in (State.RETIRING, State.CLOSED)
        self.session.receive_broken_pipe()

    @invariant()
    def it_walks_along_the_table(self):
        for event in iter(self.session.next_event, None):
            if isinstance(event, EndWanted):
                self.ends.append(event)
            if isinstance(event, StateChanged):
                assert event.before == self.walked.value
                followers = {after for (before, _, _), after in TRANSITIONS.items() if before is self.walked}
                self.walked = State(event.after)
                assert self.walked in followers
        assert self.walked is self.session.state

    @invariant()
    def one_that_keeps_to_the_contract_does_not_fail(self):
        if self.pure:
            assert self.session.fault is None

    @invariant()
    def a_result_is_that_of_its_request(self):
        if self.pure and self.session.state is State.READY and self.asked:
            turn = self.provider.turns[(self.asked - 1) % len(self.provider.turns)]
            assert self.session.result == numbered(turn, self.asked)

    @invariant()
    def a_result_is_there_only_between_its_arrival_and_the_next_request(self):
        if self.session.result is not None:
            assert self.session.state is not State.ASKED

    @invariant()
    def it_decides_once(self):
        decided = (self.session.state, self.session.fault)
        if self.decided is not None:
            assert decided == self.decided
        elif self.session.settled:
            self.decided = decided

    @invariant()
    def it_has_a_fault_if_and_only_if_it_failed(self):
        assert (self.session.fault is not None) == (self.session.state is State.FAILED)

    @invariant()
    def it_has_a_deadline_only_while_it_waits_for_the_plugin(self):
        waits = self.session.state in (State.HANDSHAKING, State.ASKED)
        assert (self.session.next_deadline() is not None) == waits

    @invariant()
    def it_is_ended_at_most_once_by_each_rung(self):
        assert len(self.ends) == len(set(self.ends)) <= 2

    @invariant()
    def it_can_always_say_where_it_is(self):
        assert self.session.stage is not None


TestHookMachine = HookMachine.TestCase
TestHookMachine.settings = settings(stateful_step_count=30)
