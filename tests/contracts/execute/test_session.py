"""The `execute` conversation in memory: every row of the table of codes, however the bytes are cut."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from plughost.autopsy import CALLERS_LIMIT, ExitStatus
from plughost.contracts.base import Channel, EndWanted, FramePassed, HandshakeDone, Rung, StateChanged
from plughost.contracts.execute.session import TRAILING_LIMIT, ExecuteSession, Terms, prepare
from plughost.contracts.execute.states import FINAL, INITIAL, TRANSITIONS, State
from plughost.errors import LocalProtocolError
from plughost.failures import FailureCode, Stage
from tests.contracts.execute.wire import ERROR, OK, REQUEST_ID, SHAKE, respond, shake

MIB = 1_048_576

CRASHED = FailureCode.CRASHED
MALFORMED = FailureCode.MALFORMED_RESPONSE
TIMEOUT = FailureCode.TIMEOUT
HANDSHAKE_FAILED = FailureCode.HANDSHAKE_FAILED


@dataclass(frozen=True)
class Row:
    """What a plugin writes, how it ends, and what comes of it."""

    what: str
    wire: bytes
    code: Any  # a failure code, or "answered"
    stage: Any = None
    end: str = (
        "exit"  # exit: output ends and it exits 0; fail: exits 1; hang: nothing more until the deadlines
    )
    terms: dict[str, Any] = field(default_factory=dict)


def handshake_rows():
    def row(what, wire, code, **more):
        return Row(f"handshake: {what}", wire, code, Stage.HANDSHAKE, **more)

    yield row("nothing, exit 0", b"", CRASHED)
    yield row("nothing, exit 1", b"", CRASHED, end="fail")
    yield row("nothing, hangs", b"", TIMEOUT, end="hang")
    yield row("half a line", SHAKE[:20], CRASHED)
    yield row("half a line, hangs", SHAKE[:20], TIMEOUT, end="hang")
    yield row("half a text line", b"Starting", CRASHED)
    for what, wire in {
        "text": b"Starting up...\n",
        "an empty line": b"\n",
        "a blank line": b"  \r\n",
        "an empty line first": b"\n" + SHAKE,
        "an array": b"[]\n",
        "null": b"null\n",
        "two objects": SHAKE.strip() + SHAKE,
        "pretty-printed": b"{\n" + SHAKE[1:],
        "NaN": SHAKE.replace(b'"1.0"', b"NaN"),
        "invalid UTF-8": SHAKE.replace(b"1.0", b"\xff"),
        "invalid UTF-8 in an unknown field": SHAKE.replace(b'{"type"', b'{"x":"\xff","type"'),
        "UTF-16": '{"type":"handshake"}'.encode("utf-16") + b"\n",
        "a byte order mark": b"\xef\xbb\xbf" + SHAKE,
        "too deep": b'{"type":"handshake","x":' + b"[" * 300 + b"]" * 300 + b"}\n",
        "type of the wrong kind": b'{"type":5}\n',
        "manifest of the wrong kind": b'{"type":"handshake","manifest":[]}\n',
        "tools of the wrong kind": shake(exposed_tools="echo"),
        "a tool of the wrong kind": shake(exposed_tools=[5]),
        "capabilities of the wrong kind": shake(capabilities="read"),
        "Content-Length frames": b'Content-Length: 2\r\n\r\n{"type":"handshake"}',
    }.items():
        yield row(what, wire, MALFORMED)
    yield row("over the limit", shake(pad="x" * 300), MALFORMED, terms={"line_bytes": 200})
    yield row("endless", b"x" * 300, MALFORMED, terms={"line_bytes": 200}, end="hang")
    for what, wire in {
        "no type": b"{}\n",
        "another type": shake(type="response"),
        "type in capitals": shake(type="HANDSHAKE"),
        "no plugin_id": shake(plugin_id=None),
        "an empty plugin_id": shake(plugin_id=""),
        "a blank plugin_id": shake(plugin_id=" "),
        "no manifest": b'{"type":"handshake"}\n',
        "manifest null": b'{"type":"handshake","manifest":null}\n',
        "no plugin_version": shake(plugin_version=None),
        "an empty plugin_version": shake(plugin_version=""),
        "no exposed_tools": shake(exposed_tools=None),
        "empty exposed_tools": shake(exposed_tools=[]),
        "exposed_tools null": SHAKE.replace(b'["echo", "other"]', b"null"),
    }.items():
        yield row(what, wire, HANDSHAKE_FAILED)
    yield row("another name", SHAKE, HANDSHAKE_FAILED, terms={"name": "other"})
    for what, wire in {
        "no version": shake(protocol_version=None),
        "another version": shake(protocol_version="rterm.plugin.v2"),
        "a padded version": shake(protocol_version="rterm.plugin.v1 "),
    }.items():
        yield row(what, wire, FailureCode.PROTOCOL_VERSION_MISMATCH)
    yield row("without the tool", shake(exposed_tools=["other"]), FailureCode.TOOL_NOT_EXPOSED)
    yield row("tool in capitals", shake(exposed_tools=["Echo"]), FailureCode.TOOL_NOT_EXPOSED)
    for what, names in {
        "missing": None,
        "empty": [],
        "blank": [" "],
        "padded": ["a "],
        "twice": ["a", "a"],
    }.items():
        wire = shake(capabilities=names)
        yield row(f"capabilities {what}", wire, FailureCode.CAPABILITY_NOT_DECLARED, terms={"allow": ("a",)})
    for names, allow in ((["b"], ("a",)), (["a", "b"], ("a",)), (["A"], ("a",)), (["a"], ())):
        wire = shake(capabilities=names)
        yield row(f"{names} of {allow}", wire, FailureCode.CAPABILITY_NOT_ALLOWED, terms={"allow": allow})


def execute_rows():
    def row(what, wire, code, **more):
        return Row(f"execute: {what}", SHAKE + wire, code, Stage.EXECUTE, **more)

    yield row("nothing, exit 0", b"", CRASHED)
    yield row("nothing, exit 1", b"", CRASHED, end="fail")
    yield row("nothing, hangs", b"", TIMEOUT, end="hang")
    yield row("half a line", OK[:30], CRASHED)
    yield row("half a line, hangs", OK[:30], TIMEOUT, end="hang")
    for what, wire in {
        "an empty line": b"\n",
        "text": b"done\n",
        "an array": b"[" + OK.strip() + b"]\n",
        "two objects": OK.strip() + b" " + OK,
        "no type": respond(type=None),
        "another type": respond(type="handshake"),
        "a second handshake": SHAKE,
        "no request_id": respond(request_id=None),
        "another request_id": respond(request_id="plugin_req_ffffffffffffffff"),
        "request_id as number": respond(request_id=5),
        "no status": respond(status=None),
        "another status": respond(status="OK"),
        "status true": respond(status=True),
        "ok with an error": respond(error={"code": "x", "message": "y"}),
        "ok with an empty error": respond(error={}),
        "error without an error": respond(status="error"),
        "error with null": ERROR.replace(b'{"code": "no", "message": "No."}', b"null"),
        "error without a message": respond(status="error", error={"code": "x"}),
        "error with an empty message": respond(status="error", error={"code": "x", "message": ""}),
        "error with a blank message": respond(status="error", error={"code": "x", "message": " \t"}),
        "error of the wrong kind": respond(status="error", error="No."),
        "metadata of the wrong kind": respond(metadata=[1]),
        "NaN": OK.replace(b'{"a": 1}', b"NaN"),
        "1e999": OK.replace(b'{"a": 1}', b"1e999"),
        "5000 digits": OK.replace(b'{"a": 1}', b"1" * 5000),
        "a lone surrogate": OK.replace(b'{"a": 1}', b'"\\ud800 and more"'),
        "invalid UTF-8": OK.replace(b'"a"', b'"\xff"'),
        "too deep": OK.replace(b'{"a": 1}', b"[" * 300 + b"]" * 300),
    }.items():
        yield row(what, wire, MALFORMED)
    yield row("another request_id and no line feed", respond(request_id="x").rstrip(), MALFORMED)
    yield row("over the limit", respond(output="x" * 300), MALFORMED, terms={"line_bytes": 250})
    yield row("endless", b"x" * 300, MALFORMED, terms={"line_bytes": 250}, end="hang")


def answered_rows():
    def row(what, wire, code="answered", stage=None, **more):
        return Row(f"teardown: {what}", SHAKE + wire, code, stage, **more)

    yield row("ok", OK)
    yield row("ok with CR LF", OK.replace(b"\n", b"\r\n"))
    yield row("ok without a line feed", OK.rstrip())
    yield row("ok without output", respond(output=None))
    yield row("ok with error null", OK.replace(b'"status"', b'"error": null, "status"'))
    yield row("ok with unknown fields", respond(later={"x": [1]}))
    yield row("ok by the last of two keys", OK.replace(b'"status"', b'"status": "error", "status"'))
    yield row("ok, then more", OK + b"more\n" * 3)
    yield row(
        "ok, then more, and that is strict", OK + b"m", MALFORMED, Stage.TEARDOWN, terms={"strict": True}
    )
    yield row("ok, and that is strict", OK, terms={"strict": True})
    yield row("ok, exit 1", OK, CRASHED, Stage.TEARDOWN, end="fail")
    yield row("ok, hangs", OK, CRASHED, Stage.TEARDOWN, end="hang")
    yield row("ok, hangs beyond the call", OK, TIMEOUT, Stage.TEARDOWN, end="hang", terms={"timeout_s": 0.4})
    yield row("error", ERROR)
    yield row("error, exit 1", ERROR, end="fail")


ROWS = [
    *handshake_rows(),
    *execute_rows(),
    *answered_rows(),
    Row("capabilities", shake(capabilities=["a"]) + OK, "answered", terms={"allow": ("a", "b")}),
    Row("the bound name", SHAKE + OK, "answered", terms={"name": "greeter"}),
]


def run(row, talk, pieces):
    """Hold the conversation of *row*, its bytes in *pieces*, and return the talk."""
    conversation = talk(**row.terms).begin()
    for piece in pieces:
        conversation.hear(piece)
    if row.end == "hang":
        while (deadline := conversation.session.next_deadline()) is not None:
            conversation.tick(deadline)
        return conversation
    return conversation.end_output().exit(0 if row.end == "exit" else 1)


def expected(row):
    return "answered" if row.code == "answered" else (row.code, row.stage)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_every_row_gets_its_code_at_its_stage_however_its_bytes_are_cut(row, talk):
    wire = row.wire
    assert run(row, talk, [wire]).outcome == expected(row)
    assert run(row, talk, [wire[at : at + 1] for at in range(len(wire))]).outcome == expected(row)
    for at in range(1, len(wire), 1 + len(wire) // 1000):
        assert run(row, talk, [wire[:at], wire[at:]]).outcome == expected(row)


@given(row=st.sampled_from(ROWS), data=st.data())
def test_no_row_depends_on_any_cuts(row, talk, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(row.wire)), max_size=8)))
    pieces = [row.wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(row.wire)], strict=True)]
    assert run(row, talk, pieces).outcome == expected(row)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_a_settled_conversation_has_one_outcome_no_deadline_and_a_way_down(row, talk):
    conversation = run(row, talk, [row.wire])
    session = conversation.session
    assert session.settled
    assert session.next_deadline() is None
    assert session.data_to_send() == []
    assert any(isinstance(event, EndWanted) for event in conversation.events)
    assert (session.fault is None) == (row.code == "answered")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_every_row_walks_along_the_table(row, talk):
    events = run(row, talk, [row.wire]).events
    state = INITIAL
    for event in events:
        if isinstance(event, StateChanged):
            assert event.before == state.value
            followers = {after for (before, _, _), after in TRANSITIONS.items() if before is state}
            state = State(event.after)
            assert state in followers
    assert state in FINAL


def test_a_code_of_the_nine_that_a_session_can_give_is_given_by_some_row():
    assert {row.code for row in ROWS} >= set(FailureCode) - {FailureCode.LAUNCH_FAILED}


def test_the_checks_of_a_handshake_stand_in_the_order_of_the_contract(talk):
    """Everything is wrong; then one thing after the other is put right, and each time the next one is named."""
    everything = {
        "protocol_version": "v0",
        "plugin_id": "",
        "plugin_version": "",
        "exposed_tools": [],
        "capabilities": ["b", "b"],
    }
    steps = [
        ({}, HANDSHAKE_FAILED, "type"),
        ({"type": "handshake"}, FailureCode.PROTOCOL_VERSION_MISMATCH, "v0"),
        ({"protocol_version": "rterm.plugin.v1"}, HANDSHAKE_FAILED, "plugin_id"),
        ({"plugin_id": "impostor"}, HANDSHAKE_FAILED, "plugin_version"),
        ({"plugin_version": "1"}, HANDSHAKE_FAILED, "tools"),
        ({"exposed_tools": ["other"]}, HANDSHAKE_FAILED, "impostor"),
        ({"plugin_id": "greeter"}, FailureCode.TOOL_NOT_EXPOSED, "echo"),
        ({"exposed_tools": ["echo"]}, FailureCode.CAPABILITY_NOT_DECLARED, "b"),
        ({"capabilities": ["b"]}, FailureCode.CAPABILITY_NOT_ALLOWED, "b"),
    ]
    fields = {"type": "response", **everything}
    for change, code, named in steps:
        fields |= change
        session = talk(name="greeter", allow=("a",)).begin().hear(shake(**fields)).session
        assert session.fault.code is code
        assert named in session.fault.message
        assert session.manifest is None
    session = (
        talk(name="greeter", allow=("a",)).begin().hear(shake(**fields | {"capabilities": ["a"]})).session
    )
    assert (session.fault, session.state) == (None, State.EXECUTING)


# What is sent


def test_the_first_thing_said_is_the_handshake_and_the_request_waits_for_the_reply(talk):
    conversation = talk().begin("echo", input={"name": "Ada"})
    assert json.loads(conversation.sent) == {"type": "handshake", "protocol_version": "rterm.plugin.v1"}
    conversation.hear(SHAKE)
    assert json.loads(conversation.sent.splitlines()[1]) == {
        "type": "request",
        "request_id": REQUEST_ID,
        "tool_name": "echo",
        "context": {},
        "input": {"name": "Ada"},
    }
    assert conversation.sent.count(b"\n") == 2


def test_a_refused_plugin_is_never_sent_a_request(talk):
    for row in handshake_rows():
        assert run(row, talk, [row.wire]).sent.count(b"\n") == 1


def test_the_handshake_is_sent_whatever_the_limit_for_lines(talk):
    conversation = talk(line_bytes=1).begin(None)
    assert json.loads(conversation.sent)["type"] == "handshake"


def test_every_frame_that_passes_is_an_event(talk):
    conversation = talk().begin().hear(SHAKE).hear(OK)
    frames = [event for event in conversation.events if isinstance(event, FramePassed)]
    assert [frame.direction for frame in frames] == ["out", "in", "out", "in"]
    assert [frame.frame for frame in frames[1::2]] == [SHAKE[:-1], OK[:-1]]
    assert b"\n".join(frame.frame for frame in frames[0::2]) + b"\n" == conversation.sent


def test_a_handshake_that_is_done_is_an_event_and_a_refused_one_is_not(talk):
    done = [event for event in talk().begin().hear(SHAKE).events if isinstance(event, HandshakeDone)]
    assert done == [HandshakeDone("greeter", "1.0")]
    for row in handshake_rows():
        assert not any(isinstance(event, HandshakeDone) for event in run(row, talk, [row.wire]).events)


def test_an_empty_context_value_is_left_out_and_any_other_is_sent():
    context = {"workspace_id": "w", "widget_id": "", "repo_root": None, "own": 0, "flag": False, "list": []}
    call = prepare("echo", None, context, "r1", MIB)
    assert json.loads(call.line) == {
        "type": "request",
        "request_id": "r1",
        "tool_name": "echo",
        "context": {"workspace_id": "w", "own": 0, "flag": False, "list": []},
        "input": None,
    }


@pytest.mark.parametrize("tool", ["", " ", "\t\n"])
def test_a_call_without_a_tool_is_our_own_fault(tool):
    with pytest.raises(LocalProtocolError):
        prepare(tool, {}, {}, "r1", MIB)


@pytest.mark.parametrize("value", [object(), "\ud800", {(1, 2): 3}])
def test_an_input_that_json_cannot_say_is_our_own_fault(value):
    with pytest.raises(LocalProtocolError):
        prepare("echo", value, {}, "r1", MIB)
    with pytest.raises(LocalProtocolError):
        prepare("echo", {}, {"own": value}, "r1", MIB)


def test_a_request_is_sent_up_to_the_limit_to_the_byte():
    empty = len(prepare("echo", "", {}, "r1", MIB).line) - 1
    for over in (-1, 0):
        call = prepare("echo", "x" * (1000 - empty + over), {}, "r1", 1000)
        assert len(call.line) == 1001 + over
    with pytest.raises(LocalProtocolError):
        prepare("echo", "x" * (1000 - empty + 1), {}, "r1", 1000)


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_response_is_accepted_up_to_a_mebibyte_to_the_byte(talk, over):
    empty = len(respond(output="")) - 1
    response = respond(output="x" * (MIB - empty + over))
    assert len(response) - 1 == MIB + over
    conversation = talk().begin().hear(SHAKE)
    for at in range(0, len(response), 65_536):
        conversation.hear(response[at : at + 65_536])
    conversation.exit()
    assert conversation.outcome == ((MALFORMED, Stage.EXECUTE) if over > 0 else "answered")
    if over > 0:
        assert conversation.session.fault.limit == "limits.line_bytes"


# The answer


def test_an_ok_is_answered_when_the_process_has_exited_and_not_before(talk):
    session = talk().begin().hear(SHAKE + respond(metadata={"m": 1})).session
    assert (session.answer.output, session.answer.metadata, session.answer.error) == (
        {"a": 1},
        {"m": 1},
        None,
    )
    assert not session.settled
    session.receive_exit(ExitStatus(0))
    assert session.settled
    assert session.fault is None


def test_an_error_of_the_plugin_is_an_answer_and_ends_the_process_at_once(talk):
    conversation = talk().begin().hear(SHAKE + ERROR)
    session = conversation.session
    assert (session.answer.error.code, session.answer.error.message) == ("no", "No.")
    assert conversation.events[-1] == EndWanted(Rung.TERMINATE)
    assert session.next_deadline() is None
    conversation.tick(1000.0).exit(signal=15)
    assert conversation.outcome == "answered"


def test_an_ok_lets_the_process_exit_by_itself(talk):
    conversation = talk().begin().hear(SHAKE + OK)
    assert conversation.events[-1] == EndWanted(Rung.CLOSE_STDIN)


@pytest.mark.parametrize("how", [{"code": 1}, {"code": 255}, {"signal": 11}])
def test_a_bad_end_after_an_ok_is_crashed_and_keeps_the_answer(talk, how):
    conversation = talk().begin().hear(SHAKE + OK).exit(**how)
    assert conversation.outcome == (CRASHED, Stage.TEARDOWN)
    assert conversation.session.answer.output == {"a": 1}


def test_an_exit_that_nobody_could_tell_is_not_taken_for_a_good_one(talk):
    conversation = talk().begin().hear(SHAKE + OK)
    conversation.session.receive_exit(ExitStatus())
    assert conversation.outcome == (CRASHED, Stage.TEARDOWN)


def test_a_response_before_the_request_was_written_is_judged_like_any_other(talk):
    session = talk().begin().hear(SHAKE + respond(request_id="guessed")).session
    assert session.fault.code is MALFORMED


def test_the_end_of_output_after_the_answer_changes_nothing(talk):
    conversation = talk().begin().hear(SHAKE + OK).end_output()
    assert conversation.outcome == ("unsettled", Stage.TEARDOWN)
    assert conversation.exit().outcome == "answered"


def test_stderr_and_the_end_of_other_channels_mean_nothing_to_the_conversation(talk):
    conversation = talk().begin()
    conversation.hear(b"garbage\n", Channel.STDERR)
    for channel in (Channel.STDERR, Channel.STDIN):
        conversation.session.receive_eof(channel)
    assert conversation.outcome == ("unsettled", Stage.HANDSHAKE)
    assert conversation.hear(SHAKE + OK).exit().outcome == "answered"


# Bytes after the answer


@pytest.mark.parametrize(
    "pieces", [[OK + b"12345"], [OK, b"12345"], [OK + b"1", b"23", b"45"], [OK + b"\n\n\n\n\n"]]
)
@pytest.mark.parametrize("strict", [False, True])
def test_bytes_after_the_answer_are_counted_and_fail_the_call_only_under_strict(talk, pieces, strict):
    conversation = talk(strict=strict).begin().hear(SHAKE)
    for piece in pieces:
        conversation.hear(piece)
    conversation.exit()
    assert conversation.session.trailing == 5
    assert conversation.outcome == ((MALFORMED, Stage.TEARDOWN) if strict else "answered")
    assert conversation.session.answer.output == {"a": 1}


def test_a_flood_after_the_answer_is_counted_only_so_far(talk):
    conversation = talk().begin().hear(SHAKE + OK)
    for _ in range(10):
        conversation.hear(b"x" * 60_000)
    assert conversation.session.trailing == TRAILING_LIMIT


def test_a_bad_exit_counts_more_than_bytes_after_the_answer(talk):
    conversation = talk(strict=True).begin().hear(SHAKE + OK + b"more").exit(3)
    assert conversation.outcome == (CRASHED, Stage.TEARDOWN)


# Deadlines


def test_the_deadlines_are_those_of_the_terms(talk):
    conversation = talk(handshake_s=2, timeout_s=5, teardown_s=0.5)
    assert conversation.session.next_deadline() is None
    session = conversation.begin().session
    assert session.next_deadline() == 2
    session.note_time(1)
    conversation.hear(SHAKE)
    assert session.next_deadline() == 5
    session.note_time(3)
    conversation.hear(OK)
    assert session.next_deadline() == 3.5


def test_a_call_may_bring_a_timeout_of_its_own(talk):
    session = talk(timeout_s=5).begin("echo", timeout_s=1.0).session
    assert session.next_deadline() == 1.0


@pytest.mark.parametrize(("own", "limit"), [(None, "limits.timeout_s"), (1.0, CALLERS_LIMIT)])
@pytest.mark.parametrize("heard", [b"", SHAKE, SHAKE + OK], ids=["nothing", "handshake", "answer"])
def test_a_call_that_takes_too_long_names_the_limit_that_was_set_for_it(talk, own, limit, heard):
    conversation = talk(timeout_s=1.0, teardown_s=9.0).begin("echo", timeout_s=own).hear(heard).tick(1.0)
    assert conversation.session.fault.code is TIMEOUT
    assert conversation.session.fault.limit == limit


@pytest.mark.parametrize(
    ("heard", "terms", "deadline", "code", "stage", "limit"),
    [
        (b"", {"handshake_s": 2}, 2, TIMEOUT, Stage.HANDSHAKE, "limits.handshake_s"),
        (b"", {"timeout_s": 1}, 1, TIMEOUT, Stage.HANDSHAKE, "limits.timeout_s"),
        (SHAKE, {"timeout_s": 5}, 5, TIMEOUT, Stage.EXECUTE, "limits.timeout_s"),
        (SHAKE + OK, {"teardown_s": 0.5}, 0.5, CRASHED, Stage.TEARDOWN, "limits.teardown_s"),
        (SHAKE + OK, {"timeout_s": 0.25}, 0.25, TIMEOUT, Stage.TEARDOWN, "limits.timeout_s"),
    ],
)
@pytest.mark.parametrize("late", [0, 100])
def test_the_first_deadline_that_passes_names_the_failure_however_late_it_is_noticed(
    talk, heard, terms, deadline, code, stage, limit, late
):
    conversation = talk(**terms).begin().hear(heard)
    assert conversation.session.next_deadline() == deadline
    conversation.tick(deadline - 0.001)
    assert conversation.session.fault is None
    conversation.tick(deadline + late)
    assert conversation.outcome == (code, stage)
    assert conversation.session.fault.limit == limit
    assert conversation.events[-1] == EndWanted(Rung.TERMINATE)


def test_what_was_heard_is_judged_before_the_time_at_which_it_was_heard(talk):
    conversation = talk(handshake_s=2).begin()
    conversation.session.note_time(3)
    conversation.hear(SHAKE)
    conversation.tick(3)
    assert conversation.outcome == ("unsettled", Stage.EXECUTE)


def test_time_never_runs_backwards(talk):
    conversation = talk(handshake_s=2).begin()
    conversation.session.note_time(1.5)
    conversation.session.note_time(0.5)
    conversation.hear(SHAKE)
    assert conversation.session.marks["shaken"] == 1.5


def test_an_answer_after_the_deadline_is_dropped_and_the_timeout_stays_the_only_outcome(talk):
    conversation = talk(timeout_s=5).begin().hear(SHAKE).tick(5)
    before = list(conversation.events)
    conversation.hear(OK).end_output().exit()
    session = conversation.session
    assert conversation.outcome == (TIMEOUT, Stage.EXECUTE)
    assert (session.answer, session.trailing) == (None, 0)
    assert conversation.events == before


# Exit, end of output, broken pipe


@pytest.mark.parametrize("how", [{"code": 0}, {"code": 1}, {"signal": 9}])
@pytest.mark.parametrize(
    ("heard", "stage"), [(b"", Stage.HANDSHAKE), (SHAKE, Stage.EXECUTE), (SHAKE + OK[:9], Stage.EXECUTE)]
)
def test_an_exit_before_the_answer_is_crashed_whatever_its_status(talk, heard, stage, how):
    assert talk().begin().hear(heard).exit(**how).outcome == (CRASHED, stage)


def test_a_process_that_ends_before_hello_was_said_has_crashed_at_its_launch(talk):
    assert talk().exit().outcome == (CRASHED, Stage.LAUNCH)


def test_the_stage_of_a_conversation_that_is_over_is_where_it_ended(talk):
    assert talk().begin().exit().session.stage is Stage.HANDSHAKE
    assert talk().begin().hear(SHAKE).exit().session.stage is Stage.EXECUTE
    assert talk().begin().hear(SHAKE + OK).exit().session.stage is Stage.TEARDOWN


def test_a_plugin_that_ends_its_output_gets_the_time_to_exit(talk):
    conversation = talk().begin().end_output()
    assert conversation.outcome == (CRASHED, Stage.HANDSHAKE)
    assert conversation.events[-1] == EndWanted(Rung.CLOSE_STDIN)


@pytest.mark.parametrize(("heard", "stage"), [(b"", Stage.HANDSHAKE), (SHAKE, Stage.EXECUTE)])
def test_a_plugin_that_no_longer_reads_has_crashed(talk, heard, stage):
    conversation = talk().begin().hear(heard)
    conversation.session.receive_broken_pipe()
    assert conversation.outcome == (CRASHED, stage)


def test_a_plugin_that_no_longer_reads_after_its_answer_has_not_failed(talk):
    conversation = talk().begin().hear(SHAKE + OK)
    conversation.session.receive_broken_pipe()
    assert conversation.exit().outcome == "answered"


def test_a_process_that_failed_before_its_call_fails_the_call(talk):
    conversation = talk().begin(None)
    conversation.session.receive_broken_pipe()
    conversation.call()
    assert conversation.outcome == (CRASHED, Stage.HANDSHAKE)
    assert conversation.session.next_deadline() is None
    assert conversation.sent.count(b"\n") == 1


# Delivery


def test_a_request_is_delivered_when_it_was_written_and_not_when_it_was_said():
    session = ExecuteSession(Terms(), 0.0)
    session.begin()
    session.execute(prepare("echo", {}, {}, REQUEST_ID, MIB), 0.0)
    assert len(session.data_to_send()) == 1
    session.receive_sent()
    assert not session.delivered
    session.receive_data(SHAKE, Channel.STDOUT)
    session.receive_tick(0.5)
    assert not session.delivered
    assert len(session.data_to_send()) == 1
    session.receive_sent()
    assert session.delivered
    assert session.marks["delivered"] == 0.5


# Spares


def test_a_spare_shakes_hands_and_waits_without_a_deadline(talk):
    conversation = talk().begin(None).hear(SHAKE)
    assert conversation.outcome == ("unsettled", Stage.IDLE)
    assert conversation.session.next_deadline() is None
    assert conversation.session.manifest.exposed_tools == ("echo", "other")
    conversation.tick(1e6)
    assert conversation.session.state is State.READY


def test_a_spare_is_sent_its_request_the_moment_it_is_given_one(talk):
    conversation = talk(timeout_s=5).begin(None).hear(SHAKE)
    conversation.call(now=100.0)
    assert conversation.sent.count(b"\n") == 2
    assert conversation.session.next_deadline() == 105.0
    assert conversation.hear(OK).session.next_deadline() == 100.5
    assert conversation.exit().outcome == "answered"


def test_a_spare_may_be_given_its_request_while_it_still_shakes_hands(talk):
    conversation = talk(handshake_s=2, timeout_s=5).begin(None)
    conversation.call(now=1.0)
    assert conversation.session.next_deadline() == 2.0
    assert conversation.hear(SHAKE).hear(OK).exit().outcome == "answered"


def test_a_tool_that_a_spare_does_not_expose_is_refused_as_in_the_handshake(talk):
    conversation = talk().begin(None).hear(SHAKE)
    conversation.call("missing")
    assert conversation.outcome == (FailureCode.TOOL_NOT_EXPOSED, Stage.HANDSHAKE)
    assert conversation.sent.count(b"\n") == 1
    assert conversation.session.manifest is not None


def test_a_spare_is_refused_for_its_capabilities_before_it_has_a_call(talk):
    conversation = talk().begin(None).hear(shake(capabilities=["net"]))
    assert conversation.outcome == (FailureCode.CAPABILITY_NOT_ALLOWED, Stage.HANDSHAKE)


@pytest.mark.parametrize("line", [OK, SHAKE, b"log line\n", b"\n"])
def test_a_spare_that_speaks_unasked_is_malformed(talk, line):
    assert talk().begin(None).hear(SHAKE).hear(line).outcome == (MALFORMED, Stage.IDLE)
    assert talk().begin(None).hear(SHAKE + line).outcome == (MALFORMED, Stage.IDLE)


def test_a_spare_that_ends_has_crashed(talk):
    assert talk().begin(None).hear(SHAKE).end_output().outcome == (CRASHED, Stage.IDLE)
    assert talk().begin(None).hear(SHAKE).exit().outcome == (CRASHED, Stage.IDLE)


@pytest.mark.parametrize("heard", [b"", SHAKE])
@pytest.mark.parametrize("how", [{"code": 0}, {"code": 1}, {"signal": 15}])
def test_a_spare_that_is_let_go_has_not_failed_whatever_it_does(talk, heard, how):
    conversation = talk().begin(None).hear(heard)
    conversation.session.retire()
    conversation.collect()
    assert conversation.events[-1] == EndWanted(Rung.CLOSE_STDIN)
    assert conversation.session.next_deadline() is None
    conversation.hear(b"garbage\n").end_output().tick(1e6)
    assert not conversation.session.settled
    assert conversation.exit(**how).outcome == "let go"


def test_letting_go_of_what_is_over_changes_nothing(talk):
    for row in ROWS[:3]:
        conversation = run(row, talk, [row.wire])
        before = conversation.outcome
        conversation.session.retire()
        assert conversation.outcome == before
        assert conversation.session.next_event() is None


# What the host may not do


@pytest.mark.parametrize("heard", [b"", SHAKE, SHAKE + OK])
def test_a_second_call_is_our_own_fault_and_is_not_sent(talk, heard):
    conversation = talk().begin().hear(heard)
    before = conversation.sent
    with pytest.raises(LocalProtocolError):
        conversation.call()
    assert conversation.sent == before


def test_a_call_to_a_process_that_was_let_go_is_our_own_fault(talk):
    conversation = talk().begin(None)
    conversation.session.retire()
    with pytest.raises(LocalProtocolError):
        conversation.call()
    conversation.exit()
    with pytest.raises(LocalProtocolError):
        conversation.call()


def test_letting_go_of_a_process_that_has_a_call_is_our_own_fault_and_the_call_goes_on(talk):
    conversation = talk().begin()
    with pytest.raises(LocalProtocolError):
        conversation.session.retire()
    assert conversation.hear(SHAKE + OK).exit().outcome == "answered"


def test_saying_hello_twice_is_our_own_fault(talk):
    conversation = talk().begin(None)
    with pytest.raises(LocalProtocolError):
        conversation.session.begin()


LINES = [
    SHAKE,
    OK,
    ERROR,
    shake(type="response"),
    shake(exposed_tools=["other"]),
    shake(protocol_version="v0"),
    respond(request_id="x"),
    b"\n",
    b"noise\n",
]


class AnyConversation(RuleBasedStateMachine):
    """Whatever happens in whatever order: no surprise but LocalProtocolError, and one outcome that stays."""

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.session = ExecuteSession(Terms(name="greeter", line_bytes=2000), self.now)
        self.called = False
        self.sent = b""
        self.verdict = None

    def host(self, verb, *arguments):
        try:
            verb(*arguments)
        except LocalProtocolError:
            return False
        return True

    @rule()
    def say_hello(self):
        self.host(self.session.begin)

    @rule(tool=st.sampled_from(["echo", "missing"]), timeout=st.sampled_from([None, 0.5, 3.0]))
    def call(self, tool, timeout):
        call = prepare(tool, {}, {}, REQUEST_ID, 2000)
        accepted = self.host(self.session.execute, call, self.now, timeout)
        assert not (accepted and self.called)
        self.called = self.called or accepted

    @rule()
    def let_go(self):
        self.host(self.session.retire)

    @rule(said=st.sampled_from(LINES), channel=st.sampled_from([Channel.STDOUT] * 4 + [Channel.STDERR]))
    def say(self, said, channel):
        self.session.receive_data(said, channel)

    @rule(said=st.lists(st.sampled_from(LINES), min_size=1, max_size=3), cut=st.integers(0, 400))
    def say_part(self, said, cut):
        self.session.receive_data(b"".join(said)[:cut], Channel.STDOUT)

    @rule(junk=st.binary(max_size=20))
    def say_junk(self, junk):
        self.session.receive_data(junk, Channel.STDOUT)

    @rule()
    def say_far_too_much(self):
        self.session.receive_data(b"x" * 2500, Channel.STDOUT)

    @rule(channel=st.sampled_from(list(Channel)))
    def end_output(self, channel):
        self.session.receive_eof(channel)

    @rule(status=st.sampled_from([ExitStatus(0), ExitStatus(1), ExitStatus(None, 9), ExitStatus()]))
    def exit(self, status):
        self.session.receive_exit(status)
        assert self.session.settled or self.session.state is State.STARTED

    @rule(seconds=st.sampled_from([0.0, 0.1, 0.6, 3.0, 10.0]))
    def pass_time(self, seconds):
        self.now += seconds
        self.session.receive_tick(self.now)
        deadline = self.session.next_deadline()
        assert deadline is None or deadline > self.now

    @rule(seconds=st.sampled_from([0.0, 0.1, 3.0]))
    def note_time(self, seconds):
        self.now += seconds
        self.session.note_time(self.now)

    @rule()
    def break_pipe(self):
        self.session.receive_broken_pipe()

    @rule()
    def write(self):
        self.sent += b"".join(data for _, data in self.session.data_to_send())
        self.session.receive_sent()

    @precondition(lambda self: not self.session.settled)
    @rule()
    def go_well(self):
        """Without this, few random walks would come past the handshake."""
        self.host(self.session.begin)
        self.session.receive_data(SHAKE, Channel.STDOUT)

    @invariant()
    def what_was_sent_is_a_handshake_and_at_most_one_request(self):
        kinds = [json.loads(line)["type"] for line in self.sent.splitlines()]
        assert kinds in ([], ["handshake"], ["handshake", "request"])
        assert not self.session.delivered or kinds[-1] == "request"

    @invariant()
    def failed_means_a_fault_and_closed_means_none(self):
        assert (self.session.fault is not None) == (self.session.state is State.FAILED)
        if self.session.state is State.CLOSED and self.called:
            assert self.session.answer is not None

    @invariant()
    def a_settled_outcome_is_final_and_nothing_is_waited_for(self):
        if self.verdict is not None:
            assert (self.session.state, self.session.fault, self.session.answer) == self.verdict
        if self.session.settled:
            assert self.session.next_deadline() is None
            self.verdict = (self.session.state, self.session.fault, self.session.answer)

    def teardown(self):
        wanted = [event for event in iter(self.session.next_event, None) if isinstance(event, EndWanted)]
        if self.session.settled:
            assert wanted


AnyConversation.TestCase.settings = settings(
    max_examples=settings().max_examples * 3 // 2, stateful_step_count=25
)
TestAnyConversation = AnyConversation.TestCase
