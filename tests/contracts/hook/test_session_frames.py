"""Frames however they arrive, whatever they hold: whole, cut, too long, empty, of another kind, not at all."""

import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plughost_sdk import hook_messages as wire

from plughost.contracts.base import Channel, FramePassed
from plughost.contracts.hook.messages import EXCHANGES, FRAME_BYTES, Phase
from plughost.contracts.hook.session import HookSession, Terms, encode, prepare
from plughost.contracts.hook.states import State
from plughost.errors import LocalProtocolError
from plughost.failures import FailureCode, Stage
from tests.contracts.hook.wire import (
    EMPTY,
    INFO,
    REQUESTS,
    RESULTS,
    STRAY,
    block,
    declaring,
    frame,
    info,
)

CRASHED, MALFORMED = FailureCode.CRASHED, FailureCode.MALFORMED_RESPONSE
LIMIT = 500  # bytes of a frame, in a small world: everything in `wire` fits
PHASES = tuple(Phase)
FRAMES = {"introduction": INFO, **{phase.value: frame(RESULTS[phase]) for phase in Phase}}


def expecting(talk, name, **terms):
    """Return a conversation in which the frame called *name* is due."""
    if name == "introduction":
        return talk(**terms).begin()
    return talk(phases=(Phase(name),), **terms).shake().ask(name)


def stage_of(name):
    return Stage.HANDSHAKE if name == "introduction" else Stage.EXECUTE


# Pieces


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_in_two_pieces_is_one_frame(name, talk):
    for at in range(len(FRAMES[name])):
        conversation = expecting(talk, name)
        state = conversation.outcome
        assert conversation.hear(FRAMES[name][:at]).outcome is state, at
        assert conversation.hear(FRAMES[name][at:]).outcome is State.READY, at


@pytest.mark.requirement("hook:failure:exit-before-answer")
@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("end", ["output", "process"])
def test_an_end_at_any_byte_of_a_frame_is_a_crash(name, end, talk):
    for at in range(len(FRAMES[name])):
        conversation = expecting(talk, name).hear(FRAMES[name][:at])
        conversation.end_output() if end == "output" else conversation.exit(0)
        assert conversation.outcome == (CRASHED, stage_of(name)), at
        assert conversation.session.result is None, at


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_byte_by_byte_is_one_frame(name, talk):
    conversation = expecting(talk, name)
    for byte in FRAMES[name]:
        conversation.hear(bytes([byte]))
    assert conversation.outcome is State.READY
    passed = [event for event in conversation.events if isinstance(event, FramePassed)]
    assert passed[-1] == FramePassed("in", FRAMES[name][4:])


@given(data=st.data())
@settings(max_examples=15)
def test_a_conversation_in_pieces_of_any_size_is_the_same_conversation(data, talk):
    conversation = talk(phases=PHASES[:4]).begin()
    for name in ("introduction", "detect", "plan", "generate", "validate"):
        whole = FRAMES[name]
        if name != "introduction":
            conversation.ask(name)
        while whole:
            size = data.draw(st.integers(1, len(whole)))
            conversation.hear(whole[:size])
            whole = whole[size:]
        assert conversation.outcome is State.READY


@pytest.mark.parametrize(
    "where", ["before the header", "in the header", "in the body", "between frames", "idle"]
)
@pytest.mark.requirement("hook:failure:exit-before-answer")
def test_the_end_of_output_at_each_of_the_five_positions_is_a_crash(where, talk):
    conversation = talk().begin()
    if where == "in the header":
        conversation.hear(INFO[:2])
    elif where == "in the body":
        conversation.hear(INFO[:-1])
    elif where != "before the header":
        conversation.hear(INFO)
        if where == "between frames":
            conversation.ask("plan")
    stage = {"between frames": Stage.EXECUTE, "idle": Stage.IDLE}.get(where, Stage.HANDSHAKE)
    assert conversation.end_output().outcome == (CRASHED, stage)


# Limits


@pytest.mark.requirement("hook:frame:bounded", "hook:frame:malformed")
@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize(("more", "fits"), [(-1, True), (0, True), (1, False)])
def test_a_frame_may_be_as_long_as_the_limit_and_no_longer(name, more, fits, talk):
    conversation = expecting(talk, name, frame_bytes=LIMIT)
    body = FRAMES[name][4:]
    padding = LIMIT + more - len(body)
    padded = frame(body + block(99, b"x" * (padding - 4)))  # two bytes of tag, two of length
    assert len(padded) == LIMIT + more + 4
    expected = State.READY if fits else (MALFORMED, stage_of(name))
    assert conversation.hear(padded).outcome == expected


@pytest.mark.requirement("hook:frame:bounded")
@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("promised", [LIMIT + 1, 2**31, 2**32 - 1])
def test_a_length_over_the_limit_is_refused_from_the_header_alone(name, promised, talk):
    conversation = expecting(talk, name, frame_bytes=LIMIT).hear(promised.to_bytes(4, "big"))
    assert conversation.outcome == (MALFORMED, stage_of(name))
    assert conversation.session.fault.limit == "limits.frame_bytes"


@pytest.mark.requirement("hook:frame:bounded")
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_request_over_the_limit_is_refused_before_anything_is_sent(more, talk):
    conversation = talk(frame_bytes=LIMIT).shake()
    sent = conversation.sent
    request = wire.PlanRequest(capabilities=["x" * (LIMIT - 3 + more)])
    assert request.ByteSize() == LIMIT + more
    if more > 0:
        with pytest.raises(LocalProtocolError):
            conversation.ask("plan", request)
        assert conversation.outcome is State.READY
        assert conversation.sent == sent
    else:
        assert conversation.ask("plan", request).outcome is State.ASKED
        assert conversation.sent == sent + frame(request)


@pytest.mark.requirement("hook:frame:bounded")
@pytest.mark.parametrize(("more", "fits"), [(-1, True), (0, True), (1, False)])
def test_the_real_limit_is_ten_mebibytes_both_ways(more, fits, talk):
    size = FRAME_BYTES + more
    assert FRAME_BYTES == 10 * 1024 * 1024
    request = wire.PlanRequest(capabilities=["x" * (size - 5)])
    assert request.ByteSize() == size
    result = frame(wire.DetectResult(signals=["x" * (size - 5)]))
    conversation = talk(phases=(Phase.DETECT,)).shake().ask("detect").hear(result)
    assert conversation.outcome == (State.READY if fits else (MALFORMED, Stage.EXECUTE))
    if fits:
        assert prepare(Phase.PLAN, request).frame == frame(request)
    else:
        with pytest.raises(LocalProtocolError):
            prepare(Phase.PLAN, request)


@pytest.mark.parametrize("phase", Phase)
def test_a_result_with_nothing_set_is_legal(phase, talk):
    conversation = expecting(talk, phase.value).hear(EMPTY)
    assert conversation.outcome is State.READY
    assert conversation.session.result == EXCHANGES[phase].result()


# Bytes that nobody asked for


@pytest.mark.requirement("hook:frame:unasked")
@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("tail", [b"\0", EMPTY, INFO, STRAY], ids=["a byte", "empty", "introduction", "text"])
def test_what_comes_together_with_an_answer_is_not_the_next_one(name, tail, talk):
    conversation = expecting(talk, name).hear(FRAMES[name] + tail)
    assert conversation.outcome == (MALFORMED, Stage.IDLE)
    if conversation.session.info is not None:
        conversation.ask(conversation.session.place.due)
        assert conversation.outcome == (MALFORMED, Stage.IDLE)
        assert conversation.session.result is None


@pytest.mark.requirement("hook:frame:unasked")
@pytest.mark.parametrize(
    "data", [b"\0", EMPTY, FRAMES["plan"], STRAY], ids=["a byte", "empty", "plan", "text"]
)
@pytest.mark.parametrize("while_", ["ready", "retiring"])
def test_what_comes_while_nothing_was_asked_ends_the_conversation(data, while_, talk):
    conversation = talk().shake()
    stage = Stage.IDLE
    if while_ == "retiring":
        conversation.retire()
        stage = Stage.TEARDOWN
    assert conversation.hear(data).outcome == (MALFORMED, stage)
    assert f"{len(data)} bytes" in conversation.session.fault.message


# What is not a frame


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("text", [STRAY, b"{}\r\n{}", b"Content-Length: 12\r\n\r\n", b"Traceback (most\n"])
def test_text_on_stdout_is_shown_and_explained(name, text, talk):
    conversation = expecting(talk, name).hear(text)
    assert conversation.outcome == (MALFORMED, stage_of(name))
    assert repr(text[:4].decode())[1:-1] in conversation.session.fault.message
    assert "stderr" in conversation.session.fault.hint
    assert FramePassed("in", text) in conversation.events


@pytest.mark.parametrize("head", [b"\xff\xff\xff\xff\x00\x01", b"\x7f\x00\x00\x00", b"\xe2\x82\xac\xe2"])
def test_bytes_that_are_no_text_get_no_advice_about_prints(head, talk):
    conversation = talk().begin().hear(head)
    assert conversation.outcome == (MALFORMED, Stage.HANDSHAKE)
    assert "print" not in conversation.session.fault.hint.lower()


@pytest.mark.requirement("hook:frame:malformed")
@pytest.mark.parametrize(
    "body",
    [
        b"\xff" * 9,
        b"\x0a",
        b"\x0a\x05abc",
        b"\x07",
        b"\x00\x00",
        b"\x0c",
        block(1, b"\xff\xfe"),
        block(1, b"\xed\xa0\x80"),
        block(1, b"caf\xe9"),
        block(7, block(1, b"\xff")),
        b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01x",
        b"\x7b" * 200 + b"\x7c" * 200,
    ],
    ids=[
        "no varint",
        "no length",
        "too short",
        "no wire type",
        "field 0",
        "end of no group",
        "not utf-8",
        "a surrogate",
        "latin-1",
        "a key that is not utf-8",
        "an endless length",
        "deep groups",
    ],
)
def test_an_introduction_that_does_not_decode_is_malformed(body, talk):
    assert talk().shake(frame(body)).outcome == (MALFORMED, Stage.HANDSHAKE)


@pytest.mark.requirement("hook:frame:malformed")
@pytest.mark.parametrize("body", [b"\x08\x01", b"\x15\x00\x00\x00\x00", b"\x1a\x01x", b"\x3a\x01x"])
def test_an_introduction_with_a_known_field_of_another_kind_is_malformed(body, talk):
    whole = frame(info().SerializeToString() + body)
    assert talk().shake(whole).outcome == (MALFORMED, Stage.HANDSHAKE)


# The parts of a validate result are bytes that may be read as the texts of a detect result; nothing else is in it.
ALIKE = (Phase.DETECT, Phase.VALIDATE)
PAIRS = [
    (asked, given) for asked in Phase for given in Phase if asked is not given and (asked, given) != ALIKE
]


@pytest.mark.requirement("hook:frame:malformed")
@pytest.mark.parametrize(("asked", "given"), PAIRS)
def test_the_result_of_another_phase_is_malformed_and_named(asked, given, talk):
    conversation = expecting(talk, asked.value).hear(frame(RESULTS[given]))
    assert conversation.outcome == (MALFORMED, Stage.EXECUTE)
    message = conversation.session.fault.message
    assert EXCHANGES[asked].result.DESCRIPTOR.name in message
    assert EXCHANGES[given].result.DESCRIPTOR.name in message
    assert conversation.session.result is None


@pytest.mark.requirement("hook:frame:malformed")
@pytest.mark.parametrize("asked", Phase)
def test_an_introduction_in_the_place_of_a_result_is_malformed(asked, talk):
    assert expecting(talk, asked.value).hear(INFO).outcome == (MALFORMED, Stage.EXECUTE)


def test_the_one_pair_of_results_that_cannot_be_told_apart_brings_signals_alone(talk):
    asked, given = ALIKE
    result = expecting(talk, asked.value).hear(frame(RESULTS[given])).session.result
    assert [descriptor.name for descriptor, _ in result.ListFields()] == ["signals"]


@given(body=st.binary(max_size=60))
@example(body=b"")
def test_whatever_a_body_holds_it_is_an_answer_or_malformed(body, talk):
    for name in FRAMES:
        conversation = expecting(talk, name).hear(frame(body))
        accepted = conversation.outcome is State.READY
        assert accepted or conversation.outcome[0] in (
            MALFORMED,
            FailureCode.PROTOCOL_VERSION_MISMATCH,
            FailureCode.HANDSHAKE_FAILED,
            FailureCode.CAPABILITY_NOT_DECLARED,
        )
        assert conversation.exit(0).session.state in (State.CLOSED, State.FAILED)


@given(chunks=st.lists(st.binary(max_size=40), max_size=6))
def test_whatever_is_written_the_session_never_raises(chunks, talk):
    conversation = talk().shake().ask("plan")
    for chunk in chunks:
        conversation.hear(chunk)
    conversation.end_output().exit(0)
    assert conversation.session.settled


# Detect


@pytest.mark.requirement("hook:round:detect")
@pytest.mark.parametrize(
    "confidence", [-0.0001, 1.0001, -1.0, 2.0, float("nan"), float("inf"), float("-inf")]
)
def test_a_confidence_that_is_none_is_malformed(confidence, talk):
    conversation = expecting(talk, "detect").hear(frame(wire.DetectResult(confidence=confidence)))
    assert conversation.outcome == (MALFORMED, Stage.EXECUTE)


@pytest.mark.requirement("hook:round:detect")
@pytest.mark.parametrize("confidence", [0.0, 0.5, 1.0])
def test_a_confidence_from_nothing_to_certainty_is_taken(confidence, talk):
    conversation = expecting(talk, "detect").hear(frame(wire.DetectResult(confidence=confidence)))
    assert conversation.session.result.confidence == confidence


# What grows


@pytest.mark.requirement("hook:frame:lenient")
@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize(
    "extra",
    [
        b"\x98\x06\x01",
        block(99, b"\xff\xfe"),
        b"\x9d\x06" + b"\0" * 4,
        b"\x99\x06" + b"\0" * 8,
        b"\x9b\x06\x08\x01\x9c\x06",
    ],
    ids=["number", "bytes", "four bytes", "eight bytes", "group"],
)
def test_unknown_fields_survive(phase, extra, talk):
    body = RESULTS[phase].SerializeToString(deterministic=True) + extra
    result = expecting(talk, phase.value).hear(frame(body)).session.result
    assert result.SerializeToString(deterministic=True) == body


@pytest.mark.requirement("hook:frame:lenient")
def test_unknown_fields_in_an_introduction_are_no_flaw(talk):
    assert talk().shake(frame(info().SerializeToString() + b"\x98\x06\x01")).outcome is State.READY


@pytest.mark.requirement("hook:frame:lenient")
@pytest.mark.parametrize("value", [4, 99, 2**31 - 1, -1])
def test_unknown_values_of_an_enum_survive(value, talk):
    sent = wire.GenerateResult(fragments=[wire.Fragment(path="a", strategy=value)])
    result = expecting(talk, "generate").hear(frame(sent)).session.result
    assert result.fragments[0].strategy == value


# Many parts


HOSTILE = """
import resource, sys
from plughost.contracts.base import Channel
from plughost.contracts.hook.messages import Phase
from plughost.contracts.hook.session import HookSession, Terms, prepare
from plughost_sdk import hook_messages as wire
from tests.contracts.hook.wire import INFO, REQUESTS, block, frame

phase, kind = Phase(sys.argv[1]), sys.argv[2]
many = {
    "empty parts": b"\\x0a\\0" * 5_000_000,
    "unknown parts": b"\\xf8\\x07\\0" * 3_400_000,
    "unknown parts of a part": block(1, b"\\x78\\0" * 5_000_000),
    "entries of a part": block(1, b"\\x1a\\x02\\x0a\\0" * 2_600_000),
    "groups": b"\\x7b" * 5_000_000 + b"\\x7c" * 5_000_000,
    "groups in a part": block(1, b"\\x7b" * 5_000_000 + b"\\x7c" * 5_000_000),
}[kind]
session = HookSession(Terms(allow=None, phases=(phase,)), 0.0)
session.begin()
session.receive_data(INFO, Channel.STDOUT)
session.ask(prepare(phase, REQUESTS[phase]), 0.0)
data = frame(many)
del many
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), used + (64 << 20)))
session.receive_data(data, Channel.STDOUT)
print(session.fault.code.value, session.fault.stage.value)
"""


@pytest.mark.requirement("hook:frame:malformed", "hook:frame:bounded")
@pytest.mark.parametrize(
    ("phase", "kind"),
    [
        ("generate", "empty parts"),
        ("detect", "empty parts"),
        ("validate", "unknown parts"),
        ("generate", "unknown parts of a part"),
        ("plan", "entries of a part"),
        ("generate", "groups"),
        ("plan", "groups in a part"),
    ],
)
@pytest.mark.thin(3)
def test_millions_of_parts_are_refused_without_the_memory_for_them(phase, kind):
    command = [sys.executable, "-c", HOSTILE, phase, kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert done.stdout == "malformed_response execute\n", done.stderr


def test_as_many_parts_as_a_person_could_want_are_taken(talk):
    fragments = [wire.Fragment(path=f"{number}.yml", content="x" * 20) for number in range(10_000)]
    conversation = expecting(talk, "generate").hear(frame(wire.GenerateResult(fragments=fragments)))
    assert len(conversation.session.result.fragments) == 10_000


# The greeting


@pytest.mark.requirement("hook:handshake:env")
def test_the_greeting_tells_the_variables_of_the_terms():
    session = HookSession(Terms(env={"B": "2", "A": "1"}, version="1.2"), 0.0)
    session.begin()
    ((channel, data),) = session.data_to_send()
    assert channel is Channel.STDIN
    hello = wire.Hello.FromString(data[4:])
    assert (hello.core_protocol, hello.core_version, dict(hello.env)) == (1, "1.2", {"A": "1", "B": "2"})


def test_a_greeting_that_cannot_be_sent_is_our_own_fault():
    with pytest.raises(LocalProtocolError):
        HookSession(Terms(env={"A": "x" * FRAME_BYTES}), 0.0)


def test_equal_messages_are_equal_bytes():
    one = wire.PlanRequest(facts={"a": "1", "b": "2"})
    other = wire.PlanRequest(facts={"b": "2", "a": "1"})
    assert encode(one, "plan") == encode(other, "plan")


def test_a_declaration_may_be_padded(talk):
    assert talk().shake(declaring(" plan , generate ")).outcome is State.READY


def test_every_request_of_these_tests_has_a_result():
    assert REQUESTS.keys() == RESULTS.keys() == set(Phase)
