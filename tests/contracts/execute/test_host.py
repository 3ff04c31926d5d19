"""What a binding demands of a conversation, and what its outcome means to the caller."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk.execute import Plugin

from plughost.autopsy import ExitStatus, Survivor, WireFrame
from plughost.contracts.base import Channel, Evidence, Fault
from plughost.contracts.execute import host
from plughost.contracts.execute.session import ExecuteSession, Terms
from plughost.errors import LocalProtocolError, RemoteError
from plughost.failures import EXPLANATIONS, FailureCode, PluginCrashed, PluginFailure, Stage
from plughost.manifest.binding import Binding, ExecuteOptions, Limits
from tests.contracts.execute.wire import ERROR, OK, SHAKE, respond, shake

HERE = Path("/plugins/greeter")
NAMED = Binding("greeter", "execute", ("greeter",), HERE, HERE)
UNNAMED = Binding("", "execute", ("greeter",), HERE, HERE)


def outcome(conversation, binding=NAMED, **evidence):
    return host.conclude(binding, conversation.session, Evidence(**evidence))


def failure_of(conversation, binding=NAMED, **evidence):
    with pytest.raises(PluginFailure) as caught:
        outcome(conversation, binding, **evidence)
    return caught.value


def test_the_terms_are_those_of_the_binding():
    limits = Limits(timeout_s=9, handshake_s=8, teardown_s=7, line_bytes=6)
    binding = Binding(
        "greeter",
        "execute",
        ("x",),
        HERE,
        HERE,
        allow=("a",),
        limits=limits,
        execute=ExecuteOptions(strict=True),
    )
    assert host.terms(binding) == Terms(
        name="greeter", allow=("a",), timeout_s=9, handshake_s=8, teardown_s=7, line_bytes=6, strict=True
    )


def test_the_defaults_of_a_binding_and_of_the_terms_are_the_same():
    assert host.terms(UNNAMED) == Terms()


@pytest.mark.parametrize("contract", ["envelope", "hook", "duplex", "sideband"])
def test_a_binding_of_another_contract_is_our_own_fault(contract):
    with pytest.raises(LocalProtocolError):
        host.terms(Binding("p", contract, ("x",), HERE, HERE))


def test_every_call_has_an_id_of_its_own_in_the_form_of_the_contract():
    calls = [host.call(NAMED, "echo", None, None) for _ in range(100)]
    assert all(re.fullmatch(r"plugin_req_[0-9a-f]{16}", call.request_id) for call in calls)
    assert len({call.request_id for call in calls}) == 100
    assert json.loads(calls[0].line)["request_id"] == calls[0].request_id


@pytest.mark.parametrize(
    ("input", "sent"), [(None, {}), ({}, {}), (0, 0), (False, False), ("", ""), ([], [])]
)
def test_only_an_input_that_is_not_given_becomes_an_empty_object(input, sent):
    received = json.loads(host.call(NAMED, "echo", input, None).line)["input"]
    assert (type(received), received) == (type(sent), sent)


def test_the_context_is_always_an_object():
    assert json.loads(host.call(NAMED, "echo", None, None).line)["context"] == {}
    assert json.loads(host.call(NAMED, "echo", None, {"role_id": "r", "mode_id": ""}).line)["context"] == {
        "role_id": "r"
    }


def test_a_call_over_the_limit_of_the_binding_is_our_own_fault():
    small = Binding("greeter", "execute", ("x",), HERE, HERE, limits=Limits(line_bytes=200))
    host.call(small, "echo", "x", None)
    with pytest.raises(LocalProtocolError):
        host.call(small, "echo", "x" * 200, None)


def test_an_answer_becomes_a_result(talk):
    conversation = talk().begin().hear(SHAKE + respond(output=[1], metadata={"m": 1})).exit()
    result = outcome(conversation)
    assert (result.output, result.metadata, result.warnings) == ([1], {"m": 1}, ())
    assert result.manifest.plugin_id == "greeter"


def test_an_answer_without_output_or_metadata_has_none(talk):
    result = outcome(talk().begin().hear(SHAKE + respond(output=None)).exit())
    assert (result.output, result.metadata) == (None, {})


def test_a_plugins_own_error_becomes_a_remote_error_and_no_failure(talk):
    with pytest.raises(RemoteError) as caught:
        outcome(talk().begin().hear(SHAKE + ERROR).exit(signal=15))
    assert (caught.value.plugin, caught.value.code, caught.value.message) == ("greeter", "no", "No.")
    assert not isinstance(caught.value, PluginFailure)


def test_bytes_after_the_answer_and_survivors_become_warnings(talk):
    conversation = talk().begin().hear(SHAKE + OK + b"12345").exit()
    survivors = (Survivor(10, "sleep", ended=True), Survivor(11, "daemon", ended=False))
    about_bytes, about_sleep, about_daemon = outcome(conversation, survivors=survivors).warnings
    assert "5" in about_bytes
    assert "10" in about_sleep
    assert "11" in about_daemon


@pytest.mark.parametrize(
    ("wire", "code"),
    [
        (b"", FailureCode.CRASHED),
        (b"x\n", FailureCode.MALFORMED_RESPONSE),
        (shake(type="x"), FailureCode.HANDSHAKE_FAILED),
        (shake(protocol_version="x"), FailureCode.PROTOCOL_VERSION_MISMATCH),
        (shake(exposed_tools=["x"]), FailureCode.TOOL_NOT_EXPOSED),
        (shake(capabilities=["x"]), FailureCode.CAPABILITY_NOT_ALLOWED),
        (shake(capabilities=[" "]), FailureCode.CAPABILITY_NOT_DECLARED),
    ],
)
def test_a_fault_becomes_the_failure_of_its_code(talk, wire, code):
    failure = failure_of(talk().begin().hear(wire).exit())
    assert type(failure) is EXPLANATIONS[code].failure
    assert (failure.code, failure.stage) == (code, Stage.HANDSHAKE)


def test_before_a_valid_manifest_a_failure_names_the_bound_plugin_and_after_it_the_manifests_id(talk):
    assert (
        failure_of(talk().begin().hear(shake(plugin_id="impostor", plugin_version="")).exit()).plugin
        == "greeter"
    )
    assert failure_of(talk().begin().hear(shake(plugin_id="itself")).exit(), UNNAMED).plugin == "itself"


def test_a_failure_of_a_nameless_plugin_before_its_manifest_is_named_all_the_same(talk):
    assert failure_of(talk().begin().exit(), UNNAMED).plugin.strip()


def test_a_failure_after_an_answer_keeps_the_answer(talk):
    assert failure_of(talk().begin().hear(SHAKE + OK).exit(1)).answer == {"a": 1}
    assert failure_of(talk().begin().hear(SHAKE).exit(1)).answer is None


def test_the_autopsy_holds_everything_that_is_known(talk):
    conversation = talk().begin().hear(SHAKE).tick(5.0)
    evidence = {
        "exit": ExitStatus(signal=15),
        "rung": "terminate",
        "stderr_tail": "last words",
        "frames": (WireFrame("in", 2, "{}"),),
        "survivors": (Survivor(10, "sleep", ended=True),),
        "command": ("greeter", "--now"),
    }
    autopsy = failure_of(conversation, **evidence).autopsy
    assert (autopsy.stage, autopsy.limit, autopsy.delivered) == (Stage.EXECUTE, "limits.timeout_s", True)
    assert {name: getattr(autopsy, name) for name in evidence} == evidence
    assert autopsy.hint


def test_a_request_that_was_written_but_not_read_was_not_delivered(talk):
    assert failure_of(talk().begin().hear(SHAKE).exit(1)).autopsy.delivered
    assert not failure_of(talk().begin().hear(SHAKE).exit(1), unread=1).autopsy.delivered
    assert not failure_of(talk().begin().exit(1)).autopsy.delivered


def test_a_crash_tells_its_exit_also_when_the_end_of_output_was_noticed_first(talk):
    conversation = talk().begin().end_output().exit(signal=11)
    assert "SIGSEGV" in failure_of(conversation, exit=ExitStatus(signal=11)).message


def test_a_crash_does_not_tell_an_exit_that_we_caused(talk):
    conversation = talk().begin().end_output().exit(signal=9)
    message = failure_of(conversation, exit=ExitStatus(signal=9), rung="kill").message
    assert "SIGKILL" not in message


@pytest.mark.parametrize("wire", [b"x\n", SHAKE + b"x\n", SHAKE + OK])
def test_any_other_failure_tells_what_the_session_saw(talk, wire):
    conversation = talk().begin().hear(wire).exit(1)
    assert failure_of(conversation, exit=ExitStatus(1)).message == conversation.session.fault.message


def test_better_advice_of_the_session_is_taken_before_that_of_the_table(talk):
    fault = Fault(FailureCode.CRASHED, Stage.EXECUTE, "it crashed", hint="Do this.")
    failure = host.failure(NAMED, fault, talk().begin().session, Evidence())
    assert isinstance(failure, PluginCrashed)
    assert failure.hint == "Do this."


def test_a_failure_without_a_session_is_one_before_anything_was_said():
    fault = Fault(FailureCode.LAUNCH_FAILED, Stage.LAUNCH, "it could not be started")
    failure = host.failure(NAMED, fault, None, Evidence(command=("greeter",)))
    assert (failure.code, failure.autopsy.delivered, failure.autopsy.timings_ms) == (
        FailureCode.LAUNCH_FAILED,
        False,
        {},
    )


def test_a_fresh_call_is_timed_stage_by_stage_in_milliseconds(talk):
    conversation = talk().begin("echo")
    session = conversation.session
    session.note_time(0.001)
    session.marks["spawned"] = 0.001
    for at, wire in ((0.003, SHAKE), (0.007, OK)):
        session.note_time(at)
        conversation.hear(wire)
    session.note_time(0.015)
    conversation.exit()
    assert host.timings(session) == {"launch": 1, "handshake": 2, "execute": 4, "teardown": 8, "total": 15}
    assert outcome(conversation).timings_ms == host.timings(session)


def test_the_time_a_spare_has_waited_is_not_counted_as_execution(talk):
    conversation = talk().begin(None).hear(SHAKE)
    conversation.call(now=100.0)
    conversation.session.note_time(100.25)
    conversation.hear(OK)
    conversation.session.note_time(100.5)
    conversation.exit()
    timings = host.timings(conversation.session)
    assert (timings["execute"], timings["teardown"], timings["total"]) == (250, 250, 500)


def test_a_stage_that_was_not_reached_has_no_time(talk):
    assert set(host.timings(talk().begin().exit().session)) == {"total"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text('aä\u2028\0\\"\n😀', max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(value=JSON, context=st.dictionaries(st.text("abc", min_size=1, max_size=2), JSON, max_size=2))
def test_what_a_caller_gives_reaches_the_tool_and_what_the_tool_returns_reaches_the_caller(value, context):
    plugin, seen = Plugin("greeter", version="1"), []

    @plugin.tool
    def echo(input, context):
        seen.append(context.values)
        return input

    session = ExecuteSession(host.terms(NAMED), 0.0)
    session.begin()
    session.execute(host.call(NAMED, "echo", value, context), 0.0)
    session.data_to_send()
    reply = {"type": "handshake", "manifest": plugin.manifest()}
    session.receive_data(json.dumps(reply).encode() + b"\n", Channel.STDOUT)
    ((_, request),) = session.data_to_send()
    response = plugin.handle(json.loads(request))
    session.receive_data(json.dumps(response).encode() + b"\n", Channel.STDOUT)
    session.receive_exit(ExitStatus(0))
    assert host.conclude(NAMED, session, Evidence()).output == ({} if value is None else value)
    assert seen == [context]
