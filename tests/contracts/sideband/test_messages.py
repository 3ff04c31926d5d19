"""Lines become messages or a reason why not; messages become lines."""

import base64
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from plughost.contracts.sideband import messages
from plughost.contracts.sideband.messages import (
    BackendInfo,
    HostSessionEnd,
    Interrupt,
    Interrupted,
    PlotImage,
    Plughost,
    ReadlineResult,
    ReadlineStart,
    Reason,
    Refused,
    RequestEnd,
    SessionEnd,
    StdinWrite,
    decode,
    decode_host,
    encode,
)
from plughost.errors import LocalProtocolError

requirement = pytest.mark.requirement

IMAGE = {"id": "p", "mime_type": "image/png", "data": "aGk=", "is_new": True}
LEAST = {  # each message with as little as it may have
    "backend_info": ({"language": "R"}, BackendInfo("R", False, Plughost())),
    "readline_start": ({"prompt": ""}, ReadlineStart("")),
    "readline_result": ({"prompt": "> ", "line": "x\n"}, ReadlineResult("> ", "x\n")),
    "plot_image": (IMAGE, PlotImage("p", "image/png", b"hi", True)),
    "request_end": ({}, RequestEnd()),
    "interrupted": ({"outcome": "idle"}, Interrupted("idle")),
    "session_end": ({}, SessionEnd()),
}
MORE = {
    "backend_info": {
        "supports_images": True,
        "plughost": {
            "worker": "w",
            "version": "1",
            "request_ids": True,
            "marks": True,
            "pid": 3,
            "image_marks": True,
        },
    },
    "readline_start": {"request_id": 1, "secret": True},
    "readline_result": {"request_id": 2**53},
    "plot_image": {"request_id": 1, "mark": "0" * 32},
    "request_end": {"request_id": 1, "marked": True, "error": True},
    "interrupted": {"request_id": 1},
    "session_end": {"reason": "exit()", "status": -9},
}
WRONG = {
    "language": [None, 1, ["R"], {}],
    "supports_images": [None, 1, "true"],
    "plughost": [None, 1, "yes", [], {"request_ids": 1}, {"marks": "true"}, {"pid": "7"}, {"worker": None}],
    "prompt": [None, 1, ["> "]],
    "line": [None, 1],
    "id": [None, 1],
    "mime_type": [None, 1],
    "data": [None, 1, "a", "aGk", "a Gk=", "aGk=\n", "====", [1, 2]],
    "is_new": [None, 0, "false"],
    "request_id": [None, 0, -1, 1.0, 1.5, "1", True, [1]],
    "marked": [None, 1, "true"],
    "mark": [None, 1, ["0"]],
    "secret": [None, 1, "true"],
    "error": [None, 0, {}],
    "outcome": [None, "", "sent", "Delivered", 1],
    "reason": [None, 1],
    "status": [None, "0", 0.5, True],
}


def said(type, **members):
    return json.dumps({"type": type, **members}).encode()


@pytest.mark.parametrize("type", LEAST)
def test_a_message_needs_no_more_than_its_own_members(type):
    members, message = LEAST[type]
    assert decode(said(type, **members)) == message


@requirement("sideband:line:skipped")
@pytest.mark.parametrize("type", LEAST)
def test_a_message_may_have_more_members_in_any_order(type):
    members = {**LEAST[type][0], **MORE[type], "extra": {"deep": [1]}}
    backwards = {key: members[key] for key in reversed(members)}
    message = decode(json.dumps({**backwards, "type": type}).encode())
    assert not isinstance(message, Refused)
    assert message == decode(said(type, **members))
    assert message != LEAST[type][1]


WRONG_MEMBERS = [
    (name, key, index)
    for name in LEAST
    for key in (*LEAST[name][0], *MORE[name])
    for index in range(len(WRONG[key]))
]


@requirement("sideband:line:strict")
@pytest.mark.parametrize(("type", "key", "index"), WRONG_MEMBERS)
def test_a_message_with_a_member_of_another_type_is_malformed(type, key, index):
    refused = decode(said(type, **{**LEAST[type][0], **MORE[type], key: WRONG[key][index]}))
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.type) == (Reason.MALFORMED, type)


@pytest.mark.parametrize(
    ("type", "key"), [(name, key) for name, (least, _) in LEAST.items() for key in least]
)
def test_a_message_without_a_member_that_it_needs_is_malformed(type, key):
    refused = decode(said(type, **{name: value for name, value in LEAST[type][0].items() if name != key}))
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.type) == (Reason.MALFORMED, type)


REFUSED = {
    "nothing": (b"", Reason.NOT_JSON),
    "text": (b"Hello", Reason.NOT_JSON),
    "half": (b'{"type": "request_end"', Reason.NOT_JSON),
    "two": (b'{"type": "request_end"}{"type": "request_end"}', Reason.NOT_JSON),
    "trailing comma": (b'{"type": "request_end",}', Reason.NOT_JSON),
    "not UTF-8": (b'{"type": "request_end", "x": "\xff"}', Reason.NOT_JSON),
    "not UTF-8 in a member": (b'{"type": "readline_start", "prompt": "\xc3"}', Reason.NOT_JSON),
    "half a surrogate": (b'{"type": "readline_start", "prompt": "\\ud800"}', Reason.NOT_JSON),
    "NUL": (b"\x00", Reason.NOT_JSON),
    "NUL behind": (b'{"type": "request_end"}\x00', Reason.NOT_JSON),
    "control character": (b'{"type": "readline_start", "prompt": "\x01"}', Reason.NOT_JSON),
    "too deep": (b'{"type": "request_end", "x": ' + b"[" * 300 + b"]" * 300 + b"}", Reason.NOT_JSON),
    "array": (b"[1]", Reason.NOT_OBJECT),
    "number": (b"1", Reason.NOT_OBJECT),
    "null": (b"null", Reason.NOT_OBJECT),
    "string": (b'"request_end"', Reason.NOT_OBJECT),
    "empty object": (b"{}", Reason.NO_TYPE),
    "type of a number": (b'{"type": 1}', Reason.NO_TYPE),
    "type of null": (b'{"type": null}', Reason.NO_TYPE),
    "unknown": (b'{"type": "output_text"}', Reason.UNKNOWN_TYPE),
    "of the host": (b'{"type": "stdin_write", "text": ""}', Reason.UNKNOWN_TYPE),
    "in capitals": (b'{"type": "REQUEST_END"}', Reason.UNKNOWN_TYPE),
    "empty type": (b'{"type": ""}', Reason.UNKNOWN_TYPE),
}


@requirement("sideband:line:skipped")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_message_is_refused_with_its_reason(name):
    line, reason = REFUSED[name]
    refused = decode(line)
    assert isinstance(refused, Refused)
    assert refused.reason is reason


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_reason(line):
    assert isinstance(decode(line), Refused)
    assert isinstance(decode_host(line), Refused)


@given(st.text(), st.text(), st.binary())
def test_text_and_bytes_arrive_as_they_were(prompt, line, data):
    prompt, line = (each.encode(errors="replace").decode() for each in (prompt, line))
    assert decode(said("readline_result", prompt=prompt, line=line)) == ReadlineResult(prompt, line)
    text = base64.b64encode(data).decode()
    image = decode(said("plot_image", id=prompt, mime_type=line, data=text, is_new=False))
    assert image == PlotImage(prompt, line, data, False)


HOST = {
    "a request": (
        StdinWrite("x\n", 1, "m"),
        {"type": "stdin_write", "text": "x\n", "request_id": 1, "mark": "m"},
    ),
    "a request without ids": (StdinWrite("x\n"), {"type": "stdin_write", "text": "x\n"}),
    "an interrupt": (Interrupt(3), {"type": "interrupt", "request_id": 3}),
    "an interrupt of nothing": (Interrupt(), {"type": "interrupt"}),
    "the end": (HostSessionEnd(), {"type": "session_end"}),
}


@pytest.mark.parametrize("name", HOST)
def test_what_the_host_says_is_one_line_that_can_be_read_back(name):
    message, members = HOST[name]
    line = encode(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == members
    assert decode_host(line[:-1]) == message


@requirement("sideband:line:sending")
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_line_may_be_as_long_as_the_limit(over):
    message = StdinWrite("x" * 100)
    limit = len(encode(message)) - 1 - over
    if over > 0:
        with pytest.raises(LocalProtocolError):
            encode(message, limit)
    else:
        assert len(encode(message, limit)) == limit + over + 1


@requirement("sideband:line:sending")
def test_text_that_is_not_unicode_cannot_be_said():
    with pytest.raises(LocalProtocolError):
        encode(StdinWrite("\ud800"))


def test_an_absent_id_is_not_the_same_as_any_id():
    assert decode(said("request_end")).request_id is UNSET
    assert messages.LINE_BYTES == 32 * 1024 * 1024


@pytest.mark.requirement("sideband:line:values")
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"type":"x","a":[' + b"[]," * 4_000_000 + b"[]]}", Reason.MALFORMED),
        (b'{"type":"x"' + b',"a":0' * 2_000_000 + b"}", Reason.MALFORMED),
        (b"[" + b"0," * 6_000_000 + b"0]", Reason.MALFORMED),
        (b'"' + b"x" * 12_000_000 + b'"', Reason.NOT_OBJECT),
        (b'{"type":"x","a":"' + "\U0001f600".encode() * 3_000_000 + b'"}', Reason.UNKNOWN_TYPE),
        (b"x" * 12_000_000, Reason.NOT_JSON),
        (b'{"type":"' + b"x" * 12_000_000 + b'"}', Reason.UNKNOWN_TYPE),
        (b'{"type":"readline_start","prompt":"' + b"x" * 12_000_000 + b'"}', Reason.MALFORMED),
        (
            b'{"type":"readline_result","prompt":"","line":"'
            + "\U0001f600".encode()
            + b"x" * 12_000_000
            + b'"}',
            Reason.MALFORMED,
        ),
    ],
    ids=[
        "lists",
        "members",
        "numbers",
        "text",
        "beyond ascii",
        "no json",
        "long type",
        "long prompt",
        "wide text",
    ],
)
def test_a_large_line_that_is_no_message_is_refused_at_a_fraction_of_its_bytes(line, reason):
    tracemalloc.start()
    try:
        refused = decode(line)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert refused.reason is reason
    assert peak < len(line) / 2
