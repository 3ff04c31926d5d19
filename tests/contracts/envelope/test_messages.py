"""The wire types say what the contract says, and no more is demanded of a worker than that."""

import msgspec
import pytest

from plughost.contracts.envelope.messages import (
    FRAME_LIMIT,
    Context,
    Field,
    FileChange,
    InputRequired,
    PerFile,
    Reply,
    Request,
    ValidationReply,
)


def sent(message):
    return msgspec.json.decode(msgspec.json.encode(message))


def test_an_envelope_may_have_a_mebibyte():
    assert FRAME_LIMIT == 1024 * 1024


def test_a_request_has_the_fields_of_the_contract():
    context = Context({"a": 1}, "/tree", "/tree/.exlab-answers.yml")
    assert sent(Request("stamp", context, ("/tree/a.txt",))) == {
        "plugin_module": "stamp",
        "context": {
            "variables": {"a": 1},
            "dst_root": "/tree",
            "answers_file": "/tree/.exlab-answers.yml",
            "template_name": "",
            "template_version": "",
            "run_kind": "",
            "equipment_id": "",
            "project": "",
            "dry_run": False,
            "log": "stderr",
        },
        "files": ["/tree/a.txt"],
        "dry_run": False,
        "extra_inputs": None,
    }


@pytest.mark.parametrize(
    ("least", "type", "means"),
    [
        (b'{"result":"success"}', Reply, Reply("success")),
        (b'{"path":"a","status":"skipped"}', PerFile, PerFile("a", "skipped")),
        (b'{"path":"a","kind":"create"}', FileChange, FileChange("a", "create")),
        (b'{"id":"x"}', Field, Field("x")),
        (b"{}", InputRequired, InputRequired()),
        (b'{"errors":[]}', ValidationReply, ValidationReply(())),
    ],
)
def test_the_least_that_a_worker_may_say_is_enough(least, type, means):
    assert msgspec.json.decode(least, type=type) == means
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b"[]", type=type)


def test_a_field_is_by_default_a_line_of_text_that_nobody_has_to_give():
    field = Field("x")
    assert (field.type, field.required, field.default, field.options) == ("string", False, None, None)
