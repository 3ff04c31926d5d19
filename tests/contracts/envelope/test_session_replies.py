"""Every reply a worker could write gets its code, however its bytes are cut; the pair with its exit decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.contracts.base import StateChanged
from plughost.contracts.envelope.messages import FRAME_LIMIT
from plughost.contracts.envelope.states import FINAL, INITIAL, TRANSITIONS, State
from plughost.failures import FailureCode, Stage
from tests.contracts.envelope.wire import (
    BARE_QUESTION,
    FAILED,
    QUESTION,
    SUCCESS,
    field,
    message,
    per_file,
    preview,
    question,
)

CRASHED = FailureCode.CRASHED
MALFORMED = FailureCode.MALFORMED_RESPONSE

GOOD = {
    "plain": SUCCESS,
    "CR LF": SUCCESS.replace(b"\n", b"\r\n"),
    "no line feed": SUCCESS.rstrip(),
    "CR and no line feed": SUCCESS.rstrip() + b"\r",
    "blank lines before": b"\n \r\n\t\n" + SUCCESS,
    "blank lines behind": SUCCESS + b"\n \r\n\n  ",
    "padded": b"  " + SUCCESS.rstrip() + b" \n",
    "the least": b'{"result":"success","per_file":[]}\n',
    "all that is optional null": b'{"result":"success","per_file":[],"log_records":null,"input_required":null}\n',
    "error_message null": b'{"result":"success","per_file":[],"error_message":null}\n',
    "log records": message(result="success", per_file=[], log_records=[1, {"a": None}]),
    "unknown fields": message(result="success", per_file=[], later={"x": [1]}, kind="y"),
    "unknown fields of a file": per_file(later=[1]),
    "the last of two keys": b'{"per_file":[],"result":"failed","result":"success"}\n',
    "a preview": preview(summary="s", detail={"a": [1]}),
    "no changes": per_file(changes=[]),
    "a status of its own": per_file(status="done"),
    "an error of one file": per_file(status="failed", error="No."),
    "deep, but not too deep": b'{"result":"success","per_file":[],"x":' + b"[" * 200 + b"]" * 200 + b"}\n",
    "not ASCII": per_file(path="/tree/ä😀"),
    "not ASCII and not escaped": '{"result":"success","per_file":[],"error_message":"ä😀"}\n'.encode(),
}
BAD = {
    "text": b"done\n",
    "text first": b"done\n" + SUCCESS,
    "text behind": SUCCESS + b"done\n",
    "text behind without a line feed": SUCCESS + b"done",
    "two replies": SUCCESS + SUCCESS,
    "two replies, the second without a line feed": SUCCESS + SUCCESS.rstrip(),
    "two replies with a blank line between": SUCCESS + b"\n" + FAILED,
    "two replies in a line": SUCCESS.rstrip() + b" " + SUCCESS,
    "an empty object": b"{}\n",
    "an array": b"[" + SUCCESS.rstrip() + b"]\n",
    "null": b"null\n",
    "a number": b"0\n",
    "pretty-printed": b"{\n" + SUCCESS[1:],
    "cut off by a line feed": SUCCESS[:20] + b"\n",
    "invalid UTF-8": b'{"result":"success","per_file":[],"error_message":"\xff"}\n',
    "invalid UTF-8 in an unknown field": b'{"result":"success","per_file":[],"x":"\xff"}\n',
    "UTF-16": '{"result":"success","per_file":[]}'.encode("utf-16") + b"\n",
    "a byte order mark": b"\xef\xbb\xbf" + SUCCESS,
    "a lone surrogate": b'{"result":"success","per_file":[],"error_message":"\\ud800"}\n',
    "NUL": b"\0" + SUCCESS,
    "too deep": b'{"result":"success","per_file":[],"x":' + b"[" * 300 + b"]" * 300 + b"}\n",
    "too deep and not closed": b'{"result":"success","per_file":[],"x":' + b"[" * 5000 + b"\n",
    "NaN": b'{"result":"success","per_file":[],"log_records":[NaN]}\n',
    "Content-Length frames": b'Content-Length: 34\r\n\r\n{"result":"success","per_file":[]}',
    "result missing": message(per_file=[]),
    "result null": b'{"result":null}\n',
    "result a number": message(result=0),
    "result unknown": message(result="done"),
    "result in capitals": message(result="SUCCESS"),
    "result padded": message(result="success "),
    "result timeout": message(result="timeout"),
    "result timeout without a line feed": message(result="timeout").rstrip(),
    "per_file null": b'{"result":"success","per_file":null}\n',
    "per_file an object": message(result="success", per_file={"a": 1}),
    "per_file of numbers": message(result="success", per_file=[5]),
    "per_file without path and status": message(result="success", per_file=[{}]),
    "path a number": per_file(path=5),
    "status null": per_file(status=None),
    "changes a text": per_file(changes="x"),
    "changes empty objects": per_file(changes=[{}]),
    "file error a number": per_file(error=5),
    "change path null": preview(path=None),
    "change kind unknown": preview(kind="touch"),
    "change summary a number": preview(summary=5),
    "change summary null": preview(summary=None),
    "change detail an array": preview(detail=[]),
    "log_records a number": message(result="success", per_file=[], log_records=5),
    "error_message a number": message(result="failed", error_message=5),
    "error_message an object": message(result="failed", error_message={}),
    "success with a question": QUESTION.replace(b'"result": "input_required"', b'"result": "success"'),
    "failed with a question": QUESTION.replace(b'"result": "input_required"', b'"result": "failed"'),
    "a question without one": BARE_QUESTION,
    "a question without one and without a line feed": BARE_QUESTION.rstrip(),
    "question an array": message(result="input_required", input_required=[]),
    "question a text": message(result="input_required", input_required="x"),
    "question empty": message(result="input_required", input_required={}),
    "fields an object": question(fields={"a": 1}),
    "fields of texts": question("colour"),
    "fields empty": question(fields=[]),
    "fields null": question(fields=None),
    "reason a number": question(reason=5),
    "reason null": question(reason=None),
    "id missing": question({"label": "x"}),
    "id a number": field(id=5),
    "id empty": field(id=""),
    "id twice": question({"id": "x"}, {"id": "x"}),
    "label a number": field(label=5),
    "type unknown": field(type="password"),
    "type null": field(type=None),
    "required a text": field(required="yes"),
    "required a number": field(required=1),
    "options a text": field(options="ab"),
    "hint a number": field(hint=5),
    "a choice without options": field(type="choice"),
}
CUT_OFF = {
    "half a reply": SUCCESS[:20],
    "half a text": b"don",
    "half a character": b'{"result":"success","per_file":[],"error_message":"\xc3',
    "one brace": b"{",
}


def whole(wire):
    return [wire]


def bytewise(wire):
    return [wire[at : at + 1] for at in range(len(wire))]


def run(talk, pieces, code=0, **terms):
    """Hold a conversation in which the worker writes *pieces* and exits."""
    conversation = talk(**terms).tell()
    for piece in pieces:
        conversation.hear(piece)
    return conversation.end_output().exit(code)


def assert_always(talk, wire, expected):
    """Assert that *wire* comes to *expected*: whole, byte by byte and at every cut."""
    for pieces in (whole(wire), bytewise(wire)):
        assert run(talk, pieces).outcome == expected
    for at in range(1, len(wire), 1 + len(wire) // 400):
        assert run(talk, [wire[:at], wire[at:]]).outcome == expected


@pytest.mark.requirement("envelope:frame:strict")
@pytest.mark.parametrize("what", GOOD)
def test_a_good_reply_is_understood_however_it_is_cut(what, talk):
    assert_always(talk, GOOD[what], "success")


@pytest.mark.requirement("envelope:frame:strict")
@pytest.mark.parametrize("what", BAD)
def test_a_bad_reply_is_malformed_however_it_is_cut(what, talk):
    stage = Stage.TEARDOWN if BAD[what].startswith(SUCCESS) else Stage.EXECUTE
    assert_always(talk, BAD[what], (MALFORMED, stage))


@pytest.mark.parametrize("what", CUT_OFF)
def test_a_worker_that_ends_in_the_middle_of_its_reply_has_crashed(what, talk):
    assert_always(talk, CUT_OFF[what], (CRASHED, Stage.EXECUTE))


@pytest.mark.parametrize("at", range(len(SUCCESS) - 1))
def test_the_end_of_output_at_any_byte_is_never_a_success(at, talk):
    assert run(talk, [SUCCESS[:at]]).outcome == (CRASHED, Stage.EXECUTE)


# Replies without `per_file`, their exit codes, and what they come to unless the host is lenient.
BARE = [
    ("success", 0, message(result="success"), (MALFORMED, Stage.EXECUTE)),
    (
        "input_required",
        2,
        message(result="input_required", input_required={"fields": [{"id": "colour"}]}),
        (MALFORMED, Stage.EXECUTE),
    ),
    ("failed", 1, message(result="failed"), "failed"),
]


@pytest.mark.requirement("envelope:reply:reports")
@pytest.mark.parametrize(("result", "code", "wire", "strict"), BARE)
def test_only_a_failure_may_do_without_reports_unless_the_host_is_lenient(result, code, wire, strict, talk):
    assert run(talk, [wire], code).outcome == strict
    lenient = run(talk, [wire], code, lenient=True)
    assert (lenient.outcome, lenient.session.reply.reports) == (result, ())


def test_reports_that_are_null_are_malformed_for_a_lenient_host_too(talk):
    wire = b'{"result":"success","per_file":null}\n'
    assert run(talk, [wire], lenient=True).outcome == (MALFORMED, Stage.EXECUTE)


def test_a_reply_without_reports_says_what_to_do(talk):
    fault = run(talk, [message(result="success")]).session.fault
    assert "`per_file`" in fault.message
    assert "lenient: true" in fault.hint


@given(wire=st.sampled_from([*GOOD.values(), *BAD.values()]), data=st.data())
def test_no_reply_depends_on_any_cuts(wire, talk, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    pieces = [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
    assert run(talk, pieces).outcome == run(talk, [wire]).outcome


@given(wire=st.binary(max_size=60))
def test_no_garbage_is_a_success(wire, talk):
    assert run(talk, [wire]).outcome[0] in (MALFORMED, CRASHED)


@pytest.mark.parametrize("wire", [*GOOD.values(), *BAD.values(), *CUT_OFF.values()])
def test_every_conversation_walks_along_the_table_to_its_end(wire, talk):
    conversation = run(talk, [wire])
    state = INITIAL
    for event in conversation.events:
        if isinstance(event, StateChanged):
            assert event.before == state.value
            followers = {after for (before, _, _), after in TRANSITIONS.items() if before is state}
            state = State(event.after)
            assert state in followers
    assert state in FINAL
    assert conversation.session.state is state
    assert conversation.session.next_deadline() is None


# The limit


def reply_of(size):
    """Return a reply of *size* bytes, its line feed not counted."""
    empty = len(message(result="success", per_file=[], error_message="")) - 1
    return message(result="success", per_file=[], error_message="x" * (size - empty))


@pytest.mark.requirement("envelope:frame:bounded")
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_reply_is_understood_up_to_a_mebibyte_to_the_byte(talk, over, ending):
    wire = reply_of(FRAME_LIMIT + over).rstrip() + ending
    conversation = run(talk, [wire[at : at + 65_536] for at in range(0, len(wire), 65_536)])
    assert conversation.outcome == ((MALFORMED, Stage.EXECUTE) if over > 0 else "success")
    assert (conversation.session.fault is not None) == (over > 0)
    if over > 0:
        assert conversation.session.fault.limit == "limits.line_bytes"


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_the_limit_is_that_of_the_terms(talk, over):
    outcome = run(talk, bytewise(reply_of(100 + over)), line_bytes=100).outcome
    assert outcome == ((MALFORMED, Stage.EXECUTE) if over > 0 else "success")


@pytest.mark.requirement("envelope:frame:bounded")
def test_a_reply_without_an_end_is_refused_while_it_is_being_read(talk):
    conversation = talk(line_bytes=100).tell().hear(b"x" * 100)
    assert conversation.outcome == ("unsettled", Stage.EXECUTE)
    assert conversation.hear(b"x").outcome == (MALFORMED, Stage.EXECUTE)


def test_blank_lines_are_not_added_up_against_the_limit(talk):
    assert run(talk, [b"\n" * 500, b" \n" * 500, SUCCESS], line_bytes=100).outcome == "success"


# The pair

ENVELOPES = {
    "none": b"",
    "success": SUCCESS,
    "failed": FAILED,
    "input_required": QUESTION,
    "input_required without a question": BARE_QUESTION,
    "malformed": b"done\n",
}
# C: crashed, M: malformed, +: an answer; by exit code, in the order of ENVELOPES. None is a signal.
PAIRS = {
    None: "C C C C M M",
    0: "C + M M M M",
    1: "C M + M M M",
    2: "C M M + M M",
    3: "C C C C M M",
    4: "C C C C M M",
    124: "C C C C M M",
    125: "C C C C M M",
    139: "C C C C M M",
}
CELLS = [
    pytest.param(code, envelope, letter, id=f"{code}-{envelope}")
    for code, row in PAIRS.items()
    for envelope, letter in zip(ENVELOPES, row.split(), strict=True)
]


@pytest.mark.requirement("envelope:reply:judged")
@pytest.mark.parametrize(("code", "envelope", "letter"), CELLS)
def test_only_three_pairs_of_exit_code_and_envelope_are_answers(code, envelope, letter, talk):
    conversation = talk().tell().hear(ENVELOPES[envelope]).end_output()
    conversation.exit(code, signal=11 if code is None else None)
    session = conversation.session
    if letter == "+":
        assert conversation.outcome == envelope
        return
    assert session.fault.code is {"C": CRASHED, "M": MALFORMED}[letter]
    understood = envelope in ("success", "failed", "input_required")
    assert session.fault.stage is (Stage.TEARDOWN if understood else Stage.EXECUTE)
    assert (session.reply is not None) == understood


@pytest.mark.requirement("envelope:reply:judged")
@pytest.mark.parametrize("envelope", ENVELOPES)
def test_an_exit_that_nobody_could_tell_is_not_taken_for_a_good_one(envelope, talk):
    conversation = talk().tell().hear(ENVELOPES[envelope]).exit(None)
    assert conversation.session.fault is not None


def test_an_exit_that_comes_before_the_end_of_output_is_judged_by_what_was_heard(talk):
    assert talk().tell().hear(SUCCESS).exit(0).end_output().outcome == "success"
    assert talk().tell().hear(SUCCESS.rstrip()).exit(0).end_output().outcome == (CRASHED, Stage.EXECUTE)


def test_what_is_written_after_a_good_end_is_not_read(talk):
    conversation = talk().tell().hear(SUCCESS).exit(0)
    before = list(conversation.events)
    assert conversation.hear(FAILED).end_output().outcome == "success"
    assert conversation.events == before
