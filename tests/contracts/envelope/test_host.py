"""What is asked of a worker, and what its end means to the one who asked."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path

import msgspec
import pytest

from plughost.autopsy import ExitStatus, Survivor
from plughost.contracts.base import Evidence
from plughost.contracts.envelope import host
from plughost.contracts.envelope.messages import FRAME_LIMIT, Context, PerFile, ValidationReply
from plughost.contracts.envelope.session import EnvelopeSession, Mode, Terms
from plughost.errors import LocalProtocolError
from plughost.failures import FailureCode, Stage
from plughost.manifest.binding import Binding, Limits
from plughost.manifest.envelope_manifest import EnvelopeManifest
from tests.contracts.envelope.wire import FAILED, QUESTION, SUCCESS, VALIDATED, message

HERE = Path("/plugins/stamp")
STAMP = EnvelopeManifest("stamp", "1.0", (".txt", ".csv"), "1", HERE)
BINDING = Binding("stamp", "envelope", ("worker", HERE.name), HERE, HERE)
ENDLESS = []
ENDLESS.append(ENDLESS)


class Colour(Enum):
    RED = "red"


def context(**changes):
    return Context(**{"variables": {}, "dst_root": "/tree", "answers_file": "/tree/a.yml", **changes})


# What is asked


def test_the_terms_are_those_of_the_binding():
    limits = Limits(timeout_s=9, line_bytes=6)
    assert host.terms(Binding("stamp", "envelope", ("x",), HERE, HERE, limits=limits)) == Terms(9, 6)


def test_a_validation_has_a_budget_of_its_own_and_says_so_behind_the_command():
    limits = Limits(timeout_s=300, cpu_s=600, memory_mb=2048, open_files=256, line_bytes=77)
    bound = host.validation_binding(Binding("stamp", "envelope", ("x", "y"), HERE, HERE, limits=limits))
    assert bound.command == ("x", "y", "--mode", "validate")
    assert (bound.limits.timeout_s, bound.limits.cpu_s, bound.limits.memory_mb) == (10.0, 5, 256)
    assert (bound.limits.open_files, bound.limits.line_bytes) == (256, 77)


def test_a_request_names_the_package_the_files_and_the_answers():
    line = host.transform_line(STAMP, context(), ["/tree/b", "/tree/a"], {"x": 1}, FRAME_LIMIT)
    request = json.loads(line)
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert (request["plugin_module"], request["files"]) == ("stamp", ["/tree/b", "/tree/a"])
    assert request["extra_inputs"] == {"x": 1}


@pytest.mark.parametrize("none", [None, {}])
def test_no_answers_are_null(none):
    assert json.loads(host.transform_line(STAMP, context(), [], none, FRAME_LIMIT))["extra_inputs"] is None


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_dry_run_is_one_in_the_request_and_in_its_context(dry_run):
    line = host.transform_line(STAMP, context(dry_run=dry_run), [], None, FRAME_LIMIT)
    request = json.loads(line)
    assert request["dry_run"] is request["context"]["dry_run"] is dry_run


@pytest.mark.requirement("envelope:request:whole")
def test_a_validation_is_a_whole_request_for_a_dry_run_over_no_file():
    about = context(variables={"a": 1}, template_name="t")
    asked = json.loads(host.validation_line(STAMP, about, FRAME_LIMIT))
    told = json.loads(host.transform_line(STAMP, about, [], None, FRAME_LIMIT))
    assert asked.keys() == told.keys()
    assert asked["context"] == {**told["context"], "dry_run": True}
    assert (asked["files"], asked["dry_run"], asked["extra_inputs"]) == ([], True, None)


def transformation(variables, limit):
    return host.transform_line(STAMP, context(variables=variables), ["/tree/a"], None, limit)


def validation(variables, limit):
    return host.validation_line(STAMP, context(variables=variables), limit)


@pytest.mark.requirement("envelope:frame:bounded")
@pytest.mark.parametrize("limit", [1000, FRAME_LIMIT])
@pytest.mark.parametrize("ask", [transformation, validation])
def test_a_request_is_sent_up_to_the_limit_to_the_byte(ask, limit):
    empty = len(ask({"pad": ""}, FRAME_LIMIT)) - 1
    for over in (-1, 0):
        assert len(ask({"pad": "x" * (limit - empty + over)}, limit)) == limit + 1 + over
    with pytest.raises(LocalProtocolError):
        ask({"pad": "x" * (limit - empty + 1)}, limit)


def test_the_limit_counts_bytes_and_not_characters():
    with pytest.raises(LocalProtocolError):
        transformation({"pad": "ä" * 400}, 900)
    transformation({"pad": "a" * 400}, 900)


@pytest.mark.requirement("envelope:frame:bounded")
@pytest.mark.parametrize("ask", [transformation, validation])
@pytest.mark.parametrize(
    "value",
    [float("nan"), [float("inf")], object(), "\ud800", ENDLESS],
    ids=["nan", "infinity", "object", "surrogate", "endless"],
)
def test_a_request_that_json_cannot_say_is_our_own_fault(ask, value):
    with pytest.raises(LocalProtocolError):
        ask({"a": value}, FRAME_LIMIT)


# Variables

PLAIN = [
    None,
    True,
    0,
    -(2**70),
    0.5,
    -0.0,
    "",
    "ä😀\n\0",
    [],
    {},
    [1, [2, (3, None)], {"a": {"b": []}}],
    {"": ""},
]
NOT_PLAIN = [
    datetime(2026, 1, 31, tzinfo=UTC),
    date(2026, 1, 31),
    float("nan"),
    float("inf"),
    float("-inf"),
    b"bytes",
    bytearray(b"bytes"),
    {1, 2},
    frozenset(),
    Path("/tree"),
    Decimal("1.5"),
    1j,
    object(),
    Colour.RED,
    range(3),
    {1: "a"},
    {None: "a"},
    {("a",): "b"},
    10**5000,
    "\ud800",
    {"\udcff": 1},
    ENDLESS,
]


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.requirement("envelope:frame:bounded")
@pytest.mark.parametrize("value", PLAIN, ids=ascii)
def test_a_variable_that_json_can_say_is_taken_and_arrives(value):
    host.check_variables({"a": value})
    told = json.loads(transformation({"a": value}, FRAME_LIMIT))["context"]["variables"]
    assert told == json.loads(json.dumps({"a": value}))


@pytest.mark.requirement("envelope:frame:bounded")
@pytest.mark.parametrize("value", [pytest.param(each, id=type(each).__name__) for each in NOT_PLAIN])
@pytest.mark.parametrize(
    "wrap", [lambda each: each, lambda each: [1, each], lambda each: {"k": (each,)}], ids=["it", "in", "deep"]
)
def test_a_variable_that_json_cannot_say_exactly_is_our_own_fault(value, wrap):
    with pytest.raises(LocalProtocolError, match="culprit"):
        host.check_variables({"good": 1, "culprit": wrap(value)})


@pytest.mark.parametrize("name", [1, None, b"a", ("a",), "\ud800"])
def test_a_variable_has_a_name_that_is_text(name):
    with pytest.raises(LocalProtocolError):
        host.check_variables({name: "a"})


def test_variables_may_be_nested_up_to_a_hundred_deep():
    host.check_variables({"a": nested(100)})
    with pytest.raises(LocalProtocolError):
        host.check_variables({"a": nested(101)})


def test_no_variables_are_fine():
    host.check_variables({})


# What is left

FILES = ["a", "b", "c", "d"]


def told(**statuses):
    return [PerFile(path, status) for path, status in statuses.items()]


@pytest.mark.requirement("envelope:input:resume")
@pytest.mark.parametrize(
    ("reports", "left"),
    [
        ([], FILES),
        (told(a="input_required"), FILES),
        (told(a="modified", b="input_required"), ["b", "c", "d"]),
        (told(a="skipped", b="modified", c="failed", d="input_required"), ["d"]),
        (told(a="modified", b="modified"), ["c", "d"]),
        (told(a="modified", b="modified", c="skipped", d="modified"), []),
        (told(a="modified", z="input_required"), ["b", "c", "d"]),
        (told(z="modified"), FILES),
        (told(c="modified", b="input_required"), ["b", "d"]),
        (told(c="input_required"), ["c", "d"]),
        (told(d="input_required", b="input_required", a="modified"), ["b", "c", "d"]),
        ([PerFile("b", "modified"), PerFile("b", "input_required")], ["b", "c", "d"]),
    ],
    ids=[
        "nothing was told",
        "the first asked",
        "the second asked",
        "the last asked",
        "a hook asked in between",
        "a hook asked at the end",
        "an unknown file asked",
        "an unknown file was done",
        "one behind it was done already",
        "those before it were not reported",
        "two asked",
        "done and asked again",
    ],
)
def test_a_resumed_worker_gets_the_file_that_asked_and_those_behind_it_that_were_not_done(reports, left):
    assert host.remaining(FILES, reports, "") == left


def test_no_files_leave_none():
    assert host.remaining([], told(a="input_required"), "/tree") == []


@pytest.mark.parametrize("spelled", ["b/c", "./b/c", "b//c", "b/c/", "b/../b/c", "/tree/./b/c", "/tree/b/c"])
def test_a_file_is_known_by_any_spelling_of_its_path_from_the_root(spelled):
    files = ["/tree/a", "/tree/b/c"]
    reports = [PerFile("a", "modified"), PerFile(spelled, "input_required")]
    assert [each.path for each in host.located(reports, files, "/tree")] == files
    assert host.remaining(files, reports, "/tree") == ["/tree/b/c"]


@pytest.mark.parametrize("stranger", ["", ".", "..", "../a", "/a", "b/a", "/tree", "/tree/../a", "A"])
def test_any_other_path_stays_what_it_is(stranger):
    reports = [PerFile(stranger, "modified")]
    assert host.located(reports, ["/tree/a"], "/tree") == reports


# What its end means


def conclude(conversation, **evidence):
    return host.conclude(BINDING, conversation.session, Evidence(**evidence))


@pytest.mark.requirement("envelope:reply:judged")
@pytest.mark.parametrize(("heard", "code"), [(SUCCESS, 0), (FAILED, 1), (QUESTION, 2)])
def test_a_good_pair_is_an_attempt_with_a_reply(talk, heard, code):
    conversation = talk().tell().hear(heard).exit(code)
    attempt = conclude(conversation, exit=ExitStatus(code))
    assert attempt == host.Attempt(reply=conversation.session.reply, exit_code=code)
    assert not attempt.crashed


@pytest.mark.requirement("envelope:exit:deadline")
@pytest.mark.parametrize("heard", [b"", SUCCESS])
@pytest.mark.parametrize("end", [None, ExitStatus(0), ExitStatus(None, 15), ExitStatus(None, 9)])
def test_a_timeout_has_the_exit_code_124_however_the_worker_was_ended(talk, heard, end):
    attempt = conclude(talk().tell().hear(heard).tick(30.0), exit=end, rung="terminate")
    assert (attempt.reply, attempt.exit_code) == (None, 124)
    assert attempt.failure.code is FailureCode.TIMEOUT
    assert not attempt.crashed


@pytest.mark.requirement("envelope:reply:judged")
@pytest.mark.parametrize("heard", [b"", SUCCESS, FAILED, QUESTION])
def test_a_worker_that_exits_with_124_by_itself_has_crashed_and_not_timed_out(talk, heard):
    attempt = conclude(talk().tell().hear(heard).exit(124), exit=ExitStatus(124))
    assert attempt.crashed
    assert attempt.reply is None


@pytest.mark.parametrize("signal", [6, 9, 11])
def test_a_signal_is_a_negative_exit_code(talk, signal):
    attempt = conclude(talk().tell().exit(signal=signal), exit=ExitStatus(None, signal))
    assert (attempt.exit_code, attempt.crashed) == (-signal, True)


@pytest.mark.parametrize("code", [0, 1, 2, 3, 139, 255])
def test_a_crash_keeps_its_exit_code(talk, code):
    attempt = conclude(talk().tell().exit(code), exit=ExitStatus(code))
    assert (attempt.exit_code, attempt.crashed) == (code, True)


@pytest.mark.parametrize("end", [None, ExitStatus()])
def test_an_end_that_nobody_saw_has_no_exit_code(talk, end):
    attempt = conclude(talk().tell().hear(b"garbage\n"), exit=end)
    assert attempt.exit_code is None
    assert attempt.failure.code is FailureCode.MALFORMED_RESPONSE


def test_a_failure_tells_what_was_answered_delivered_and_measured(talk):
    attempt = conclude(talk().tell(1.0).tick(2.0).hear(SUCCESS).exit(3), exit=ExitStatus(3))
    failure = attempt.failure
    assert (failure.plugin, failure.answer, failure.stage) == ("stamp", "success", Stage.TEARDOWN)
    assert failure.autopsy.delivered
    assert failure.autopsy.timings_ms == {"work": 1000.0, "total": 1000.0}
    assert failure.hint


def test_a_request_that_was_not_read_was_not_delivered(talk):
    attempt = conclude(talk().tell().exit(1), exit=ExitStatus(1), unread=5)
    assert not attempt.failure.autopsy.delivered
    assert attempt.failure.answer is None


def test_survivors_become_warnings_of_a_success_and_of_a_failure(talk):
    survivors = (Survivor(10, "sleep", ended=True), Survivor(11, "daemon", ended=False))
    for conversation in (talk().tell().hear(SUCCESS).exit(), talk().tell().exit(3)):
        about_sleep, about_daemon = conclude(conversation, survivors=survivors).warnings
        assert "10" in about_sleep
        assert "11" in about_daemon


def test_a_worker_that_was_let_go_brings_nothing_and_has_not_failed(talk):
    attempt = conclude(talk().retire().exit(signal=9), exit=ExitStatus(None, 9))
    assert (attempt.reply, attempt.failure, attempt.exit_code) == (None, None, -9)


# Objections


def objections(talk, heard, code=0):
    conversation = talk(Mode.VALIDATE).tell().hear(heard).end_output().exit(code)
    attempt = conclude(conversation, exit=ExitStatus(code))
    return host.objections(STAMP, conversation.session, attempt)


@pytest.mark.requirement("envelope:validate:first")
def test_each_error_is_an_objection_that_names_the_plugin(talk):
    assert objections(talk, VALIDATED) == ()
    assert objections(talk, message(errors=["a", "b"])) == ("stamp: a", "stamp: b")


@pytest.mark.requirement("envelope:validate:first")
@pytest.mark.parametrize(
    ("heard", "code"), [(b"", 0), (b"", 3), (b"done\n", 0), (VALIDATED, 1), (VALIDATED, 124)]
)
def test_a_validation_that_fails_is_one_objection(talk, heard, code):
    (objection,) = objections(talk, heard, code)
    assert objection.startswith("stamp: ")


SAME = {
    "name": "stamp",
    "version": "1.0",
    "api_version": "1",
    "supported_extensions": [".csv", ".txt"],
}


@pytest.mark.requirement("envelope:validate:first")
@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 0),
        ({"name": "other"}, 1),
        ({"name": "Stamp"}, 1),
        ({"version": "1.0.0"}, 1),
        ({"api_version": "2"}, 1),
        ({"supported_extensions": [".txt"]}, 1),
        ({"supported_extensions": [".txt", ".csv", ".md"]}, 1),
        ({"supported_extensions": []}, 1),
        ({"supported_extensions": [".txt", ".csv", ".txt"]}, 0),
        ({"name": "", "version": "", "api_version": "", "supported_extensions": [""]}, 4),
        (dict.fromkeys(SAME), 0),
        ({"later": 1}, 0),
    ],
    ids=str,
)
def test_each_point_on_which_class_and_manifest_differ_is_an_objection(talk, changes, count):
    found = objections(talk, message(errors=[], plugin={**SAME, **changes}))
    assert len(found) == count
    assert all(each.startswith("stamp: ") for each in found)


def test_drift_is_told_beside_the_errors(talk):
    first, second = objections(talk, message(errors=["a"], plugin={"version": "2"}))
    assert first == "stamp: a"
    assert "2" in second


def test_for_a_worker_that_knows_no_modes_the_host_looks_for_required_variables():
    needing = msgspec.structs.replace(STAMP, required_variables=("operator", "count"))
    session = EnvelopeSession(Mode.VALIDATE, Terms(), 0.0)
    session.validation = ValidationReply(result="success")
    told = host.objections(needing, session, host.Attempt(), {"operator": " ", "count": 0})
    assert len(told) == 1
    assert "operator" in told[0]
    session.validation = ValidationReply(result="failed", error_message="no licence")
    assert "no licence" in host.objections(STAMP, session, host.Attempt(), {})[0]
