"""Evidence to advice: what fits what was seen, or the usual next step."""

import signal
from dataclasses import replace

import pytest

from plughost.autopsy import CALLERS_LIMIT, ExitStatus, Stage, WireFrame
from plughost.diagnosis import Findings, advise, last_received
from plughost.failures import EXPLANATIONS, FailureCode

NOTHING = Findings(
    code=FailureCode.CRASHED,
    stage=Stage.EXECUTE,
    plugin="greeter",
    command=("greeter", "--now"),
    exit=None,
    rung=None,
    stderr="",
    last_in="",
    limit=None,
)


def usual(code, plugin="greeter"):
    return EXPLANATIONS[code].hint.format(plugin=plugin, command="greeter --now")


@pytest.mark.parametrize("code", FailureCode)
def test_without_evidence_the_advice_is_that_of_the_table(code):
    assert advise(replace(NOTHING, code=code)) == usual(code)


@pytest.mark.parametrize("plugin", ["", "{command}", "{0.__class__}", "%s"])
def test_a_name_is_put_into_the_advice_as_it_is(plugin):
    advice = advise(replace(NOTHING, code=FailureCode.CAPABILITY_NOT_ALLOWED, plugin=plugin))
    assert (plugin or "PLUGIN") in advice


@pytest.mark.parametrize(
    ("module", "package"),
    [("requests", "requests"), ("yaml.loader", "yaml"), ("plughost_sdk", "plughost-sdk")],
)
def test_a_missing_module_is_named_with_the_package_to_install(module, package):
    stderr = (
        f"Traceback (most recent call last):\n  File ...\nModuleNotFoundError: No module named '{module}'\n"
    )
    advice = advise(replace(NOTHING, stderr=stderr))
    assert module in advice
    assert f"Install {package} " in advice


@pytest.mark.parametrize("head", ["Content-Length: 52\\x0d", "content-length:5"])
def test_a_plugin_that_frames_with_content_length_is_told_so(head):
    advice = advise(replace(NOTHING, code=FailureCode.MALFORMED_RESPONSE, last_in=head))
    assert "Content-Length" in advice


def test_nobody_is_told_to_write_lines_where_the_contract_wants_content_length():
    framed = replace(
        NOTHING, code=FailureCode.MALFORMED_RESPONSE, last_in="Content-Length: 5", contract="duplex"
    )
    assert "plain lines" not in advise(framed)


def test_a_plugin_that_prints_to_stdout_is_shown_what_it_printed():
    advice = advise(
        replace(NOTHING, code=FailureCode.MALFORMED_RESPONSE, last_in="Loading model" + "." * 500)
    )
    assert "Loading model" in advice
    assert len(advice) < 400


@pytest.mark.parametrize("head", ['{"type":"response"', "[1]"])
def test_json_that_is_wrong_is_not_taken_for_a_print(head):
    advice = advise(replace(NOTHING, code=FailureCode.MALFORMED_RESPONSE, last_in=head))
    assert "stdout" not in advice
    assert "plughost check greeter" in advice


@pytest.mark.parametrize("limit", ["limits.render_s", "limits.write_s", "limits.handshake_s"])
def test_a_limit_that_was_missed_is_the_one_to_raise(limit):
    advice = advise(replace(NOTHING, code=FailureCode.TIMEOUT, limit=limit))
    assert limit in advice
    assert "limits.timeout_s" not in advice


def test_a_call_that_was_given_too_little_time_is_to_be_given_more():
    advice = advise(replace(NOTHING, code=FailureCode.TIMEOUT, limit=CALLERS_LIMIT))
    assert "timeout=" in advice
    assert "limits." not in advice


def test_a_missed_timeout_gets_the_usual_advice():
    found = replace(NOTHING, code=FailureCode.TIMEOUT, limit="limits.timeout_s")
    assert advise(found) == usual(FailureCode.TIMEOUT)


def test_a_line_that_was_too_long_is_not_taken_for_a_print():
    found = replace(NOTHING, code=FailureCode.MALFORMED_RESPONSE, last_in="text", limit="limits.line_bytes")
    assert advise(found) == usual(FailureCode.MALFORMED_RESPONSE)


@pytest.mark.parametrize(
    "stderr", ["MemoryError", "FATAL ERROR: JavaScript heap out of memory", "Out of memory"]
)
def test_a_plugin_that_says_so_ran_out_of_memory(stderr):
    assert "limits.memory_mb" in advise(replace(NOTHING, stderr=stderr))


@pytest.mark.parametrize("exit", [None, ExitStatus(signal=signal.SIGXCPU)], ids=["memory", "CPU time"])
def test_a_limit_is_called_by_the_name_that_it_has_where_it_is_set(exit):
    found = replace(NOTHING, stderr="" if exit else "MemoryError", exit=exit)
    assert "`limits." in advise(found)
    assert "`isolation." in advise(replace(found, contract="envelope"))
    assert "limits." not in advise(replace(found, contract="envelope"))


def test_a_kill_from_outside_points_to_the_kernel_and_one_of_ours_does_not():
    killed = replace(NOTHING, exit=ExitStatus(signal=9))
    assert "dmesg" in advise(killed)
    assert advise(replace(killed, rung="kill")) == usual(FailureCode.CRASHED)
    assert advise(replace(killed, exit=ExitStatus(signal=15))) == usual(FailureCode.CRASHED)


def test_a_plugin_that_wrote_nothing_before_the_handshake_timed_out_may_not_flush():
    silent = replace(NOTHING, code=FailureCode.TIMEOUT, stage=Stage.HANDSHAKE)
    assert "flush" in advise(silent)
    assert "line" not in advise(replace(silent, contract="duplex"))
    assert advise(silent) != usual(FailureCode.TIMEOUT)
    assert advise(replace(silent, stage=Stage.EXECUTE)) == usual(FailureCode.TIMEOUT)
    assert advise(replace(silent, last_in="{}")) == usual(FailureCode.TIMEOUT)


def test_the_most_telling_evidence_comes_first():
    found = replace(
        NOTHING,
        code=FailureCode.MALFORMED_RESPONSE,
        last_in="Starting",
        stderr="ModuleNotFoundError: No module named 'yaml'",
    )
    assert "yaml" in advise(found)


def test_the_last_received_frame_is_the_last_that_came_in():
    one, two, out = WireFrame("in", 1, "1"), WireFrame("in", 1, "2"), WireFrame("out", 1, "x")
    assert last_received((one, out, two, out)) == "2"
    assert last_received((out,)) == ""
    assert last_received(()) == ""
