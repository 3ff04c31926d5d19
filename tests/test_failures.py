"""The nine codes: one class, one exit status and one explanation each."""

import json
import string

import pytest

from plughost.autopsy import Autopsy, Stage
from plughost.errors import PlughostError
from plughost.failures import EXPLANATIONS, FailureCode, PluginFailure

AUTOPSY = Autopsy(Stage.EXECUTE, "Do this.", command=("greeter",))


def subclasses():
    return PluginFailure.__subclasses__()


def test_there_are_nine_codes_as_the_contract_names_them():
    assert {str(code) for code in FailureCode} == {
        "launch_failed",
        "handshake_failed",
        "timeout",
        "crashed",
        "malformed_response",
        "tool_not_exposed",
        "protocol_version_mismatch",
        "capability_not_declared",
        "capability_not_allowed",
    }


def test_every_code_is_explained():
    assert set(EXPLANATIONS) == set(FailureCode)


def test_every_code_has_a_class_of_its_own_and_every_class_a_code():
    assert {code: row.failure for code, row in EXPLANATIONS.items()} == {
        each.code: each for each in subclasses()
    }
    assert len(subclasses()) == len(FailureCode)


def test_every_code_has_an_exit_status_of_its_own_that_nothing_else_uses():
    statuses = [row.exit_status for row in EXPLANATIONS.values()]
    assert statuses == list(range(10, 19))


@pytest.mark.parametrize("code", FailureCode)
def test_every_explanation_says_what_why_and_what_next(code):
    row = EXPLANATIONS[code]
    assert row.meaning.strip()
    assert row.causes
    assert all(cause.strip() for cause in row.causes)
    fields = {field for _, field, _, _ in string.Formatter().parse(row.hint) if field is not None}
    assert fields <= {"plugin", "command"}
    assert row.hint.strip()


@pytest.mark.parametrize("failure", subclasses())
def test_a_failure_carries_its_code_plugin_message_autopsy_and_answer(failure):
    raised = failure("greeter", "it broke", AUTOPSY, {"kept": 1})
    assert isinstance(raised, PlughostError)
    assert (raised.code, raised.plugin, raised.message) == (failure.code, "greeter", "it broke")
    assert (raised.autopsy, raised.stage, raised.hint) == (AUTOPSY, Stage.EXECUTE, "Do this.")
    assert raised.answer == {"kept": 1}
    for part in ("greeter", "it broke", str(failure.code)):
        assert part in str(raised)


@pytest.mark.parametrize("failure", subclasses())
def test_a_failure_is_json(failure):
    found = json.loads(json.dumps(failure("greeter", "it broke", AUTOPSY).to_dict()))
    assert (found["code"], found["plugin"], found["message"]) == (failure.code, "greeter", "it broke")
    assert (found["stage"], found["hint"], found["command"]) == ("execute", "Do this.", ["greeter"])
