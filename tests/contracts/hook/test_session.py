"""Every state and everything that can happen in it: one outcome each, and the host's own mistakes are raised."""

import pytest

from plughost.autopsy import CALLERS_LIMIT, ExitStatus
from plughost.contracts.base import Channel, EndWanted, FramePassed, HandshakeDone, Rung, StateChanged
from plughost.contracts.hook.messages import Phase
from plughost.contracts.hook.session import prepare
from plughost.contracts.hook.states import State
from plughost.errors import LocalProtocolError
from plughost.failures import FailureCode, Stage
from tests.contracts.hook.wire import EMPTY, INFO, NAME, REQUESTS, RESULTS, STRAY, declaring, frame, info

CRASHED, MALFORMED, TIMEOUT = FailureCode.CRASHED, FailureCode.MALFORMED_RESPONSE, FailureCode.TIMEOUT
PLAN = prepare(Phase.PLAN, REQUESTS[Phase.PLAN])
GENERATE = prepare(Phase.GENERATE, REQUESTS[Phase.GENERATE])

ROADS = {
    State.STARTED: lambda talk: talk,
    State.HANDSHAKING: lambda talk: talk.begin(),
    State.READY: lambda talk: talk.shake(),
    State.ASKED: lambda talk: talk.shake().ask("plan"),
    State.RETIRING: lambda talk: talk.shake().retire(),
    State.CLOSED: lambda talk: talk.shake().retire().exit(),
    State.FAILED: lambda talk: talk.shake().exit(7),
}
INPUTS = {
    "a whole frame": lambda talk: talk.hear(INFO if talk.session.state is State.HANDSHAKING else EMPTY),
    "one byte": lambda talk: talk.hear(b"\0"),
    "a header over the limit": lambda talk: talk.hear(b"\xff\xff\xff\xff"),
    "garbage": lambda talk: talk.hear(frame(b"\xff" * 9)),
    "text on stderr": lambda talk: talk.hear(STRAY, Channel.STDERR),
    "the end of stdout": lambda talk: talk.end_output(),
    "the end of stderr": lambda talk: talk.end_output(Channel.STDERR),
    "an exit": lambda talk: talk.exit(0),
    "an exit of unknown status": lambda talk: talk.session.receive_exit(ExitStatus()),
    "a deadline": lambda talk: talk.tick(1e6),
    "a moment": lambda talk: talk.tick(0.001),
    "a broken pipe": lambda talk: talk.session.receive_broken_pipe(),
    "a written request": lambda talk: talk.session.receive_sent(),
    "a request that is due": lambda talk: talk.session.ask(PLAN, 0.0),
    "a request that is not due": lambda talk: talk.session.ask(GENERATE, 0.0),
    "goodbye": lambda talk: talk.retire(),
    "hello": lambda talk: talk.begin(),
}
OURS = "our fault"  # raised as LocalProtocolError, and nothing has changed
# What is not in here leaves the state as it is.
OUTCOMES = {
    (State.STARTED, "a whole frame"): (MALFORMED, Stage.LAUNCH),
    (State.STARTED, "a header over the limit"): (MALFORMED, Stage.LAUNCH),
    (State.STARTED, "garbage"): (MALFORMED, Stage.LAUNCH),
    (State.STARTED, "an exit"): (CRASHED, Stage.LAUNCH),
    (State.STARTED, "an exit of unknown status"): (CRASHED, Stage.LAUNCH),
    (State.STARTED, "a request that is due"): OURS,
    (State.STARTED, "a request that is not due"): OURS,
    (State.STARTED, "hello"): State.HANDSHAKING,
    (State.HANDSHAKING, "a whole frame"): State.READY,
    (State.HANDSHAKING, "a header over the limit"): (MALFORMED, Stage.HANDSHAKE),
    (State.HANDSHAKING, "garbage"): (MALFORMED, Stage.HANDSHAKE),
    (State.HANDSHAKING, "the end of stdout"): (CRASHED, Stage.HANDSHAKE),
    (State.HANDSHAKING, "an exit"): (CRASHED, Stage.HANDSHAKE),
    (State.HANDSHAKING, "an exit of unknown status"): (CRASHED, Stage.HANDSHAKE),
    (State.HANDSHAKING, "a deadline"): (TIMEOUT, Stage.HANDSHAKE),
    (State.HANDSHAKING, "a broken pipe"): (CRASHED, Stage.HANDSHAKE),
    (State.HANDSHAKING, "a request that is due"): OURS,
    (State.HANDSHAKING, "a request that is not due"): OURS,
    (State.HANDSHAKING, "hello"): OURS,
    (State.READY, "a whole frame"): (MALFORMED, Stage.IDLE),
    (State.READY, "one byte"): (MALFORMED, Stage.IDLE),
    (State.READY, "a header over the limit"): (MALFORMED, Stage.IDLE),
    (State.READY, "garbage"): (MALFORMED, Stage.IDLE),
    (State.READY, "the end of stdout"): (CRASHED, Stage.IDLE),
    (State.READY, "an exit"): (CRASHED, Stage.IDLE),
    (State.READY, "an exit of unknown status"): (CRASHED, Stage.IDLE),
    (State.READY, "a broken pipe"): (CRASHED, Stage.IDLE),
    (State.READY, "a request that is due"): State.ASKED,
    (State.READY, "a request that is not due"): OURS,
    (State.READY, "goodbye"): State.RETIRING,
    (State.READY, "hello"): OURS,
    (State.ASKED, "a whole frame"): State.READY,
    (State.ASKED, "a header over the limit"): (MALFORMED, Stage.EXECUTE),
    (State.ASKED, "garbage"): (MALFORMED, Stage.EXECUTE),
    (State.ASKED, "the end of stdout"): (CRASHED, Stage.EXECUTE),
    (State.ASKED, "an exit"): (CRASHED, Stage.EXECUTE),
    (State.ASKED, "an exit of unknown status"): (CRASHED, Stage.EXECUTE),
    (State.ASKED, "a deadline"): (TIMEOUT, Stage.EXECUTE),
    (State.ASKED, "a broken pipe"): (CRASHED, Stage.EXECUTE),
    (State.ASKED, "a request that is due"): OURS,
    (State.ASKED, "a request that is not due"): OURS,
    (State.ASKED, "hello"): OURS,
    (State.RETIRING, "a whole frame"): (MALFORMED, Stage.TEARDOWN),
    (State.RETIRING, "one byte"): (MALFORMED, Stage.TEARDOWN),
    (State.RETIRING, "a header over the limit"): (MALFORMED, Stage.TEARDOWN),
    (State.RETIRING, "garbage"): (MALFORMED, Stage.TEARDOWN),
    (State.RETIRING, "an exit"): State.CLOSED,
    (State.RETIRING, "an exit of unknown status"): State.CLOSED,
    (State.RETIRING, "a request that is due"): OURS,
    (State.RETIRING, "a request that is not due"): OURS,
    (State.RETIRING, "hello"): OURS,
    (State.CLOSED, "a request that is due"): OURS,
    (State.CLOSED, "a request that is not due"): OURS,
    (State.CLOSED, "hello"): OURS,
    (State.FAILED, "hello"): OURS,
}


@pytest.mark.requirement(
    "hook:frame:unasked", "hook:round:one-at-a-time", "hook:failure:exit-before-answer", "hook:failure:codes"
)
@pytest.mark.parametrize("what", INPUTS)
@pytest.mark.parametrize("state", State, ids=lambda state: state.value)
def test_in_every_state_everything_has_one_outcome(state, what, talk):
    conversation = ROADS[state](talk())
    assert conversation.session.state is state
    before = conversation.outcome
    expected = OUTCOMES.get((state, what), before)
    if expected is OURS:
        with pytest.raises(LocalProtocolError):
            INPUTS[what](conversation)
        expected = before
    else:
        INPUTS[what](conversation)
    assert conversation.collect().outcome == expected


def test_the_table_of_outcomes_names_states_and_inputs_that_exist():
    assert {what for _, what in OUTCOMES} <= INPUTS.keys()


@pytest.mark.parametrize("state", [State.STARTED, State.HANDSHAKING, State.READY, State.ASKED])
def test_only_what_waits_for_the_plugin_has_a_deadline(state, talk):
    waits = state in (State.HANDSHAKING, State.ASKED)
    assert (ROADS[state](talk()).session.next_deadline() is not None) == waits


# The good road


def test_a_whole_conversation(talk):
    conversation = talk(version="9.9").shake()
    for _ in range(3):
        for phase in (Phase.PLAN, Phase.GENERATE):
            conversation.ask(phase)
            assert conversation.session.place.due is not phase
            conversation.hear(frame(RESULTS[phase]))
            assert conversation.session.result == RESULTS[phase]
    conversation.retire().end_output().exit(0)
    assert conversation.outcome is State.CLOSED
    assert conversation.session.settled
    states = [event.after for event in conversation.events if isinstance(event, StateChanged)]
    assert states == ["handshaking", "ready", *["asked", "ready"] * 6, "retiring", "closed"]
    assert HandshakeDone(NAME, "1.0") in conversation.events
    assert conversation.events.count(EndWanted(Rung.CLOSE_STDIN)) == 1


def test_what_passed_is_told_frame_by_frame_without_its_length(talk):
    conversation = talk().shake().ask("plan").hear(frame(RESULTS[Phase.PLAN]))
    passed = [
        (event.direction, event.frame) for event in conversation.events if isinstance(event, FramePassed)
    ]
    assert passed == [
        ("out", b"\x08\x01"),
        ("in", info().SerializeToString(deterministic=True)),
        ("out", REQUESTS[Phase.PLAN].SerializeToString(deterministic=True)),
        ("in", RESULTS[Phase.PLAN].SerializeToString(deterministic=True)),
    ]


def test_the_greeting_is_the_worked_example_of_the_contract(talk):
    assert talk(version="0.2.0").begin().sent == bytes.fromhex("00000009 08 01 12 05 302e322e30")


@pytest.mark.requirement("hook:round:one-at-a-time")
def test_the_result_of_an_earlier_request_is_not_shown_for_the_next(talk):
    conversation = talk().shake().ask("plan").hear(frame(RESULTS[Phase.PLAN])).ask("generate")
    assert conversation.session.result is None


def test_a_request_of_another_phase_or_kind_is_never_sent():
    with pytest.raises(LocalProtocolError):
        prepare(Phase.PLAN, REQUESTS[Phase.GENERATE])


# Whose turn it is


@pytest.mark.requirement("hook:round:one-at-a-time")
@pytest.mark.parametrize(
    ("introduction", "chosen", "turns"),
    [
        (info(), (), "plan,generate"),
        (info(), ("generate",), "generate"),
        (info(), ("detect", "validate"), "detect,validate"),
        (declaring("generate"), (), "generate"),
        (declaring("validate, generate ,plan,detect"), (), "detect,plan,generate,validate"),
        (declaring("preflight"), (), "preflight"),
        (declaring("preflight,generate"), (), "generate"),
        (declaring("preflight,generate"), ("preflight",), "preflight"),
        (declaring("detect,plan,generate"), ("plan", "generate"), "plan,generate"),
        (declaring("generate,generate"), (), "generate"),
    ],
)
def test_a_round_is_what_was_chosen_or_declared_or_usual(introduction, chosen, turns, talk):
    conversation = talk(phases=tuple(map(Phase, chosen))).shake(introduction)
    for _ in range(2):
        for phase in map(Phase, turns.split(",")):
            assert conversation.session.place.due is phase
            for other in set(Phase) - {phase}:
                with pytest.raises(LocalProtocolError):
                    conversation.ask(other)
            conversation.ask(phase).hear(frame(RESULTS[phase]))
            assert conversation.outcome is State.READY


@pytest.mark.requirement("hook:handshake:order")
@pytest.mark.parametrize(
    "phases", ["", ",", "generate,", "paint", "Generate", "plan;generate", "x" * 100_000]
)
def test_a_declaration_of_phases_that_makes_no_sense_fails_the_handshake(phases, talk):
    conversation = talk().shake(declaring(phases))
    assert conversation.outcome == (FailureCode.HANDSHAKE_FAILED, Stage.HANDSHAKE)
    assert len(conversation.session.fault.message) < 400


def test_one_that_does_not_answer_what_was_chosen_fails_the_handshake(talk):
    conversation = talk(phases=(Phase.DETECT,)).shake(declaring("plan,generate"))
    assert conversation.outcome == (FailureCode.HANDSHAKE_FAILED, Stage.HANDSHAKE)


# The handshake

LONG_WAY = {
    "protocol": {
        "protocol": 2,
        "name": "",
        "capabilities": ["x:y"],
        "metadata": {"plughost.phases": "paint"},
    },
    "name": {"name": " ", "capabilities": ["x:y"], "metadata": {"plughost.phases": "paint"}},
    "bound name": {"name": "other", "capabilities": ["x:y"], "metadata": {"plughost.phases": "paint"}},
    "capabilities": {"capabilities": ["x:y"], "metadata": {"plughost.phases": "paint"}},
    "phases": {"capabilities": ["a:b"], "metadata": {"plughost.phases": "paint"}},
    "nothing": {"capabilities": ["a:b"]},
}


@pytest.mark.requirement("hook:handshake:order")
@pytest.mark.parametrize(
    ("flaw", "code", "says"),
    [
        ("protocol", FailureCode.PROTOCOL_VERSION_MISMATCH, "protocol 2"),
        ("name", FailureCode.HANDSHAKE_FAILED, "name"),
        ("bound name", FailureCode.HANDSHAKE_FAILED, "'other'"),
        ("capabilities", FailureCode.CAPABILITY_NOT_ALLOWED, "'x:y'"),
        ("phases", FailureCode.HANDSHAKE_FAILED, "'paint'"),
    ],
)
def test_the_first_failed_check_names_the_failure(flaw, code, says, talk):
    conversation = talk(name=NAME, allow=("a:b",)).shake(info(**LONG_WAY[flaw]))
    assert conversation.outcome == (code, Stage.HANDSHAKE)
    assert says in conversation.session.fault.message
    assert conversation.session.info is None


def test_with_no_flaw_it_is_ready(talk):
    conversation = talk(name=NAME, allow=("a:b",)).shake(info(**LONG_WAY["nothing"]))
    assert conversation.outcome is State.READY


@pytest.mark.parametrize(
    ("allow", "declared", "code"),
    [
        (("a:b",), [], FailureCode.CAPABILITY_NOT_DECLARED),
        (("a:b",), [""], FailureCode.CAPABILITY_NOT_DECLARED),
        (("a:b",), [" a:b"], FailureCode.CAPABILITY_NOT_DECLARED),
        (("a:b",), ["a:b", "a:b"], FailureCode.CAPABILITY_NOT_DECLARED),
        ((), ["a:b"], FailureCode.CAPABILITY_NOT_ALLOWED),
        (("a:b",), ["a:b", "a:*"], FailureCode.CAPABILITY_NOT_ALLOWED),
        (None, ["a:b", "a:b"], FailureCode.CAPABILITY_NOT_DECLARED),
        (None, ["a:b", "c:d"], None),
        (None, [], None),
        ((), [], None),
        (("a:b", "c:d"), ["c:d"], None),
    ],
)
def test_capabilities_are_held_to_the_allow_list(allow, declared, code, talk):
    conversation = talk(allow=allow).shake(info(capabilities=declared))
    assert conversation.outcome == (State.READY if code is None else (code, Stage.HANDSHAKE))


@pytest.mark.parametrize("protocol", [0, 2, 2**32 - 1])
def test_another_protocol_is_a_mismatch(protocol, talk):
    conversation = talk().shake(info(protocol=protocol))
    assert conversation.outcome == (FailureCode.PROTOCOL_VERSION_MISMATCH, Stage.HANDSHAKE)


def test_an_empty_introduction_is_one_of_protocol_zero(talk):
    assert talk().shake(EMPTY).outcome == (FailureCode.PROTOCOL_VERSION_MISMATCH, Stage.HANDSHAKE)


def test_a_name_that_could_be_many_lines_is_quoted(talk):
    conversation = talk(name=NAME).shake(info(name="x\n\x1b[31m" + "y" * 5000))
    assert conversation.outcome == (FailureCode.HANDSHAKE_FAILED, Stage.HANDSHAKE)
    assert conversation.session.fault.message.isprintable()
    assert len(conversation.session.fault.message) < 400


# Deadlines


@pytest.mark.requirement("hook:deadline:owner")
def test_the_handshake_has_its_time_and_not_a_moment_more(talk):
    conversation = talk(handshake_s=5.0).begin()
    assert conversation.session.next_deadline() == 5.0
    assert conversation.tick(4.999).outcome is State.HANDSHAKING
    assert conversation.tick(5.0).outcome == (TIMEOUT, Stage.HANDSHAKE)
    assert conversation.session.fault.limit == "limits.handshake_s"


@pytest.mark.requirement("hook:deadline:owner")
@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("own", [None, 2.0], ids=["of the binding", "of the call"])
def test_each_hook_has_its_time_from_its_request_on(phase, own, talk):
    conversation = talk(timeout_s=30.0, phases=(phase,)).shake()
    allowed = own or 30.0
    for asked in (100.0, 500.0):
        conversation.ask(phase, now=asked, timeout_s=own)
        assert conversation.session.next_deadline() == asked + allowed
        conversation.tick(asked + allowed - 0.001).hear(frame(RESULTS[phase]))
        assert conversation.outcome is State.READY
        assert conversation.session.next_deadline() is None
    conversation.ask(phase, now=1000.0, timeout_s=own).tick(1000.0 + allowed)
    assert conversation.outcome == (TIMEOUT, Stage.EXECUTE)
    assert conversation.session.fault.limit == (CALLERS_LIMIT if own else "limits.timeout_s")


@pytest.mark.parametrize(("own", "limit"), [(None, "limits.timeout_s"), (30.0, CALLERS_LIMIT)])
def test_half_a_result_names_the_limit_that_was_set_for_it(own, limit, talk):
    conversation = talk(timeout_s=30.0).shake().ask("plan", timeout_s=own)
    conversation.hear(frame(RESULTS[Phase.PLAN])[:3]).tick(30.0)
    assert conversation.outcome == (TIMEOUT, Stage.EXECUTE)
    assert conversation.session.fault.limit == limit


def test_the_time_of_one_call_is_not_that_of_the_next(talk):
    conversation = talk(timeout_s=30.0, phases=(Phase.PLAN,)).shake().ask("plan", timeout_s=1.0)
    conversation.hear(frame(RESULTS[Phase.PLAN])).ask("plan").tick(30.0)
    assert conversation.session.fault.limit == "limits.timeout_s"


@pytest.mark.requirement("hook:deadline:owner")
def test_bytes_of_a_result_do_not_prolong_its_time(talk):
    conversation = talk(timeout_s=30.0).shake().ask("plan", now=0.0)
    for second in range(29):
        conversation.hear(frame(RESULTS[Phase.PLAN])[second : second + 1]).tick(float(second))
    assert conversation.tick(30.0).outcome == (TIMEOUT, Stage.EXECUTE)
    assert "29 bytes" in conversation.session.fault.message


@pytest.mark.requirement("hook:deadline:owner")
def test_a_result_that_was_heard_in_time_counts_however_late_the_clock_is_looked_at(talk):
    conversation = talk(timeout_s=30.0).shake().ask("plan", now=0.0)
    conversation.session.note_time(31.0)
    assert conversation.hear(EMPTY).tick(31.0).outcome is State.READY


def test_an_idle_process_never_times_out(talk):
    assert talk().shake().tick(1e9).outcome is State.READY


def test_a_clock_that_goes_back_is_not_believed(talk):
    conversation = talk(timeout_s=30.0).shake().ask("plan", now=10.0).tick(39.0).tick(5.0)
    assert conversation.hear(EMPTY).session.marks["answered"] == 39.0


# What was delivered


def test_a_request_is_delivered_when_it_is_written_and_not_before(talk):
    conversation = talk().shake()
    assert not conversation.session.delivered
    conversation.session.ask(PLAN, 0.0)
    assert not conversation.collect(written=False).session.delivered
    conversation.session.receive_sent()
    assert conversation.session.delivered
    conversation.hear(EMPTY).session.ask(GENERATE, 0.0)
    assert not conversation.session.delivered


# How it is ended


@pytest.mark.requirement("hook:exit:gone")
def test_one_that_is_let_go_has_its_input_closed_and_nothing_else_is_done_to_it(talk):
    conversation = talk().shake()
    conversation.events.clear()
    conversation.retire()
    assert conversation.events == [StateChanged("ready", "retiring"), EndWanted(Rung.CLOSE_STDIN)]
    assert conversation.end_output().outcome is State.RETIRING
    assert conversation.exit(code=3).outcome is State.CLOSED


@pytest.mark.parametrize(
    ("fate", "rung"),
    [
        (
            lambda talk: talk.end_output(),
            Rung.CLOSE_STDIN,
        ),  # it may be about to exit, and its status tells why
        (lambda talk: talk.exit(1), Rung.CLOSE_STDIN),
        (lambda talk: talk.tick(1e6), Rung.TERMINATE),
        (lambda talk: talk.hear(STRAY), Rung.TERMINATE),
    ],
    ids=["end of output", "exit", "timeout", "stray text"],
)
def test_one_that_fails_is_brought_down_once(fate, rung, talk):
    conversation = talk().shake().ask("plan")
    fate(conversation)
    conversation.hear(STRAY).end_output().exit(9)
    wanted = [event for event in conversation.events if isinstance(event, EndWanted)]
    assert wanted == [EndWanted(rung)]


def test_the_first_fault_is_kept(talk):
    conversation = talk().shake().ask("plan").hear(STRAY)
    fault = conversation.session.fault
    conversation.tick(1e6).end_output().exit(9)
    assert conversation.session.fault is fault


def test_a_failed_process_fails_the_next_request_too(talk):
    conversation = talk().shake().exit(7)
    conversation.session.ask(PLAN, 0.0)
    assert conversation.collect().outcome == (CRASHED, Stage.IDLE)
    assert conversation.session.result is None
