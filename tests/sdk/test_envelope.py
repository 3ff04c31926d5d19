"""The author's API of `envelope`: what a plugin class must have, what it gets for nothing, and how it speaks up."""

import pickle
from pathlib import Path

import pytest
from plughost_sdk import envelope
from plughost_sdk.envelope import FileChange, Plugin, PluginContext, PluginError, PluginInputRequired, field


class Stamp(Plugin):
    name, version, supported_extensions = "stamp", "1.0", [".txt"]
    required_variables = ("operator", "count")

    def can_handle(self, path, variables):
        return True

    def transform(self, path, ctx):
        pass


@pytest.mark.parametrize("left_out", ["can_handle", "transform"])
def test_a_class_without_one_of_the_two_hooks_cannot_be_used(left_out):
    hooks = {name: vars(Stamp)[name] for name in ("can_handle", "transform") if name != left_out}
    with pytest.raises(TypeError, match=left_out):
        type("Partial", (Plugin,), hooks)()


def test_the_other_hooks_do_nothing_unless_they_are_written():
    ctx = PluginContext(dst_root="/d")
    assert Stamp().pre_transform_all(ctx) is None
    assert Stamp().post_transform_all(ctx) is None
    assert Stamp().on_plugin_failure(ValueError(), ctx) is None


def test_a_class_says_only_what_it_must():
    assert (Stamp.api_version, list(Stamp.optional_variables), list(Plugin.required_variables)) == (
        "1",
        [],
        [],
    )


def test_a_plugin_describes_one_modification_unless_it_knows_better():
    path = Path("/d/data.txt")
    (change,) = Stamp().describe_changes(path, PluginContext(dst_root="/d"))
    assert change == FileChange(path, "modify", "stamp would modify data.txt")


# Variables


@pytest.mark.parametrize("value", [None, "", " ", "\t\n"])
def test_a_required_variable_that_is_missing_or_empty_is_named(value):
    missing = ["required variable 'operator' is missing or empty"]
    assert Stamp().validate_variables({"operator": value, "count": 1}) == missing
    assert Stamp().validate_variables({"count": 1}) == missing


@pytest.mark.parametrize("value", [0, False, 0.0, [], "0", " x "])
def test_zero_and_false_are_values(value):
    assert Stamp().validate_variables({"operator": "ann", "count": value}) == []


def test_every_missing_variable_is_named_in_the_order_of_the_class():
    operator, count = Stamp().validate_variables({})
    assert "'operator'" in operator
    assert "'count'" in count


# Errors


def test_a_plugin_error_carries_its_message():
    assert str(PluginError("no such column")) == "no such column"


def test_a_question_carries_its_fields_and_reason():
    question = PluginInputRequired([field("color", "Colour?")], "It matters")
    assert question.reason == str(question) == "It matters"
    assert question.fields == [{"id": "color", "label": "Colour?", "type": "string", "required": True}]


def test_a_question_is_no_error_and_an_error_no_question():
    assert not issubclass(PluginInputRequired, PluginError)
    assert not issubclass(PluginError, PluginInputRequired)


@pytest.mark.parametrize("reason", [None, 7, b"because"])
def test_a_reason_that_is_no_text_is_refused(reason):
    with pytest.raises(ValueError, match="reason"):
        PluginInputRequired([field("a", "A")], reason)


def test_a_question_survives_a_pool_of_processes():
    question = pickle.loads(pickle.dumps(PluginInputRequired([field("a", "A")], "why")))
    assert (question.fields[0]["id"], question.reason) == ("a", "why")


def test_every_public_name_is_there():
    assert all(hasattr(envelope, name) for name in envelope.__all__)
