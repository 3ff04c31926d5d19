"""The hook contract's messages: the schema is the sheet's, the wire is the oracle's, and the files match the .proto."""

from __future__ import annotations

import ast
import copy
import importlib.util
import keyword
import pickle
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from plughost_sdk import hook_messages as m

from tests.sdk import wire_oracle as oracle
from tools import hook_schema

MESSAGES = sorted(oracle.MESSAGES)
FOLDER = Path(m.__file__).parent
UNKNOWN = 999  # a field number that no message of the contract has

every_message = pytest.mark.parametrize("name", MESSAGES)


# The same message as the oracle's dict and as protobuf's object


def built(name, fields):
    """Return the message that the oracle writes as *fields*."""
    given = {row.name: _given(row, fields[row.name]) for row in oracle.MESSAGES[name] if row.name in fields}
    return getattr(m, name)(**given)


def _given(row, value):
    if row.is_plain:
        return value
    if row.label == "repeated":
        return [built(row.type, each) for each in value]
    if row.label == "map":
        return {key: built(row.type, each) for key, each in value.items()}
    return built(row.type, value)


def seen(name, message):
    """Return what is set in a message, as the oracle would write it."""
    fields = {}
    for row in oracle.MESSAGES[name]:
        value = getattr(message, row.name)
        if row.label == "map":
            found = {key: value[key] if row.is_plain else seen(row.type, value[key]) for key in value}
        elif row.label == "repeated":
            found = [each if row.is_plain else seen(row.type, each) for each in value]
        elif row.is_plain:
            if repr(value) != repr(oracle.DEFAULTS.get(row.type, 0)):
                fields[row.name] = value
            continue
        else:
            if message.HasField(row.name):
                fields[row.name] = seen(row.type, value)
            continue
        if found:
            fields[row.name] = found
    return fields


PLAIN = {
    "bool": st.booleans(),
    "bytes": st.binary(max_size=6),
    "float": st.floats(width=32, allow_nan=False),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "string": st.text(st.characters(codec="utf-8"), max_size=6),
    "uint32": st.integers(0, 2**32 - 1),
}
ENUM = st.integers(0, 4) | PLAIN["int32"]  # named values, and those that nobody has named


@cache
def messages(name):
    """Return a strategy for the dicts of one type of message: nothing that is set holds its default."""
    rows = oracle.MESSAGES[name]
    each = {row.name: _values(row) for row in rows}
    if rows[0].label == "oneof":
        members = [st.fixed_dictionaries({field: values}) for field, values in each.items()]
        return st.just({}) | st.one_of(members)
    return st.fixed_dictionaries({}, optional=each)


def _values(row):
    one = PLAIN.get(row.type, ENUM) if row.is_plain else st.deferred(lambda: messages(row.type))
    if row.label == "repeated":
        return st.lists(one, min_size=1, max_size=2)
    if row.label == "map":
        return st.dictionaries(PLAIN["string"], one, min_size=1, max_size=2)
    if not row.is_plain:
        return one
    return one.filter(lambda value: repr(value) != repr(oracle.DEFAULTS.get(row.type, 0)))


# The schema is the sheet's

PACKAGE = "cigen.plugin.v1"


@cache
def schema():
    """Return the loaded schema as a value: descriptors themselves look different in each release of protobuf."""
    file = FileDescriptorProto()
    m.DESCRIPTOR.CopyToProto(file)
    return file


def described(message):
    """Return a message of the loaded schema as rows of the sheet."""
    entries = {nested.name: nested for nested in message.nested_type}
    rows = []
    for field in message.field:
        kind, label = type_name(field), "once"
        if field.HasField("oneof_index"):
            label = message.oneof_decl[field.oneof_index].name.replace("step_type", "oneof")
        if field.label == field.LABEL_REPEATED:
            label = "repeated"
        entry = entries.get(kind.rpartition(".")[2])
        if entry is not None:
            key, value = entry.field
            assert entry.options.map_entry
            assert (key.number, value.number, type_name(key)) == (1, 2, "string")
            kind, label = type_name(value), "map"
        rows.append(oracle.Row(field.number, field.name, label, kind))
    return rows


def type_name(field):
    if field.type_name:
        return field.type_name.removeprefix(f".{PACKAGE}.")
    return field.Type.Name(field.type).removeprefix("TYPE_").lower()


def test_there_are_42_messages_164_fields_and_6_enums():
    file = schema()
    nested = [enum for message in file.message_type for enum in message.enum_type]
    assert len(file.message_type) == 42
    assert sum(len(message.field) for message in file.message_type) == 164
    assert len(file.enum_type) + len(nested) == 6


@every_message
def test_every_field_has_the_number_name_and_type_of_the_sheet(name):
    (message,) = [each for each in schema().message_type if each.name == name]
    assert described(message) == oracle.MESSAGES[name]


def test_no_message_is_missing_from_the_sheet():
    assert sorted(message.name for message in schema().message_type) == MESSAGES


def test_every_enum_has_the_names_and_numbers_of_the_sheet():
    file = schema()
    enums = {enum.name: enum for enum in file.enum_type}
    enums |= {f"{each.name}.{enum.name}": enum for each in file.message_type for enum in each.enum_type}
    assert {
        name: [(value.name, value.number) for value in enum.value] for name, enum in enums.items()
    } == oracle.ENUMS


def test_the_service_names_the_six_phases_with_their_messages():
    (service,) = schema().service
    assert service.name == "Plugin"
    assert [
        (each.name, each.input_type.rpartition(".")[2], each.output_type.rpartition(".")[2])
        for each in service.method
    ] == [
        ("Handshake", "Hello", "PluginInfo"),
        ("Detect", "DetectRequest", "DetectResult"),
        ("Plan", "PlanRequest", "PlanResult"),
        ("Generate", "GenerateRequest", "GenerateResult"),
        ("Validate", "ValidateRequest", "ValidateResult"),
        ("Preflight", "PreflightRequest", "PreflightResult"),
    ]


def test_the_schema_is_proto3_in_the_contracts_package_and_carries_no_source():
    file = schema()
    assert (file.syntax, file.package) == ("proto3", PACKAGE)
    assert (
        not FileDescriptorSet.FromString((FOLDER / "plugin.binpb").read_bytes())
        .file[0]
        .source_code_info.location
    )


# The wire is the oracle's


@every_message
@settings(max_examples=settings().max_examples // 8)
@given(data=st.data())
def test_the_oracle_reads_what_protobuf_writes(name, data):
    fields = data.draw(messages(name))
    assert oracle.decode(name, built(name, fields).SerializeToString()) == fields


@every_message
@settings(max_examples=settings().max_examples // 8)
@given(data=st.data())
def test_protobuf_reads_what_the_oracle_writes(name, data):
    fields = data.draw(messages(name))
    assert seen(name, getattr(m, name).FromString(oracle.encode(name, fields))) == fields


@settings(max_examples=settings().max_examples * 3)
@given(data=st.data())
def test_of_damaged_bytes_both_make_the_same_or_nothing(data):
    name = data.draw(st.sampled_from(MESSAGES))
    wire = bytearray(oracle.encode(name, data.draw(messages(name))))
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, 63), st.integers(0, 255)), max_size=3)):
        wire[at : at + 1] = bytes([byte])
    wire = bytes(wire[: data.draw(st.integers(0, 80))])
    try:
        expected = oracle.decode(name, wire)
    except oracle.Disputed:
        reject()
    except ValueError:
        with pytest.raises(DecodeError):
            getattr(m, name).FromString(wire)
    else:
        assert seen(name, getattr(m, name).FromString(wire)) == expected


def test_the_contracts_example_of_a_hello_is_nine_bytes():
    hello = m.Hello(core_protocol=m.PROTOCOL, core_version="0.2.0")
    assert hello.SerializeToString() == bytes.fromhex("08 01 12 05 30 2e 32 2e 30")


@every_message
def test_a_message_of_which_nothing_is_set_is_no_bytes_at_all(name):
    message = getattr(m, name)
    assert message().SerializeToString() == b""
    assert message.FromString(b"") == message()


def test_a_default_that_is_written_out_is_read_as_not_set():
    assert m.Hello.FromString(b"\x08\x00\x12\x00") == m.Hello()


def test_a_field_that_is_set_twice_holds_what_came_last_and_a_message_is_merged():
    twice = oracle.encode("Hello", {"core_protocol": 7}) + oracle.encode("Hello", {"core_protocol": 1})
    assert m.Hello.FromString(twice).core_protocol == 1
    halves = [{"project": {"name": "a"}}, {"project": {"default_runner": "b"}}]
    merged = m.CigenSchema.FromString(b"".join(oracle.encode("CigenSchema", half) for half in halves))
    assert seen("CigenSchema", merged) == {"project": {"name": "a", "default_runner": "b"}}


def test_of_two_kinds_of_one_step_the_last_counts():
    both = oracle.encode("Step", {"run": {"command": "make"}}) + oracle.encode("Step", {"custom": {}})
    step = m.Step.FromString(both)
    assert step.WhichOneof("step_type") == "custom"
    assert not step.HasField("run")


@every_message
@given(
    tail=st.one_of(
        st.integers(0, 2**64 - 1).map(lambda number: bytes([oracle.VARINT]) + oracle.varint(number)),
        st.binary(min_size=8, max_size=8).map(lambda raw: bytes([oracle.FIXED64]) + raw),
        st.binary(max_size=20).map(lambda raw: bytes([oracle.BYTES]) + oracle.varint(len(raw)) + raw),
        st.binary(min_size=4, max_size=4).map(lambda raw: bytes([oracle.FIXED32]) + raw),
    )
)
@settings(max_examples=settings().max_examples // 10)
def test_a_field_that_nobody_knows_survives_a_round_trip(name, tail):
    field = oracle.varint(UNKNOWN << 3 | tail[0]) + tail[1:]
    assert getattr(m, name).FromString(field).SerializeToString() == field


def test_an_unknown_field_deep_inside_survives_a_copy_and_a_round_trip():
    unknown = oracle.run(UNKNOWN, b"new")
    wire = oracle.run(4, oracle.run(4, unknown))  # GenerateRequest.schema, CigenSchema.jobs
    request = m.GenerateRequest.FromString(wire)
    other = m.GenerateRequest()
    other.CopyFrom(request)
    assert len(other.schema.jobs) == 1
    assert other.SerializeToString() == wire


def texts(name):
    """Return one message per string field of a type, each with bytes in it that are not UTF-8."""
    for row in oracle.MESSAGES[name]:
        bad = oracle.run(row.number, b"\xff")
        if row.label == "map":
            yield oracle.run(row.number, oracle.run(1, b"\xff"))
            bad = oracle.run(row.number, oracle.run(2, b"\xff"))
        if row.type == "string":
            yield bad


@pytest.mark.parametrize("name", [name for name in MESSAGES if any(texts(name))])
def test_text_that_is_not_utf_8_is_refused_in_every_field(name):
    for wire in texts(name):
        with pytest.raises(DecodeError):
            getattr(m, name).FromString(wire)


@pytest.mark.parametrize("raw", [b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe2\x82"])
def test_surrogates_overlong_forms_and_cut_characters_are_no_utf_8(raw):
    with pytest.raises(DecodeError):
        m.Fragment.FromString(oracle.run(2, raw))


def test_bytes_need_not_be_utf_8():
    assert m.PreflightResult.FromString(oracle.run(3, b"\xff")).new_signature == b"\xff"


@pytest.mark.parametrize("number", [4, 127, 2**31 - 1, -1, -(2**31)])
def test_a_value_that_an_enum_has_no_name_for_is_kept(number):
    wire = oracle.encode("Fragment", {"strategy": number})
    fragment = m.Fragment.FromString(wire)
    assert fragment.strategy == number
    assert fragment.SerializeToString() == wire


@pytest.mark.parametrize(
    ("name", "field", "fits", "too_much"),
    [
        ("Hello", "core_protocol", (0, 2**32 - 1), (-1, 2**32)),
        ("Fragment", "order", (-(2**31), 2**31 - 1), (-(2**31) - 1, 2**31)),
    ],
)
def test_a_number_that_does_not_fit_cannot_be_set(name, field, fits, too_much):
    for number in fits:
        assert getattr(getattr(m, name)(**{field: number}), field) == number
    for number in too_much:
        with pytest.raises(ValueError):
            getattr(m, name)(**{field: number})


# The module


@every_message
def test_a_message_can_be_pickled_and_copied(name):
    kind = getattr(m, name)
    message = kind.FromString(oracle.run(UNKNOWN, b"kept"))
    assert kind.__module__ == "plughost_sdk.hook_messages"
    assert pickle.loads(pickle.dumps(message)) == message
    assert copy.deepcopy(message) == message


def test_enum_values_are_reached_as_in_generated_code():
    assert m.MERGE_STRATEGY_APPEND == m.MergeStrategy.Value("MERGE_STRATEGY_APPEND") == 3
    assert m.Diagnostic.LEVEL_ERROR == m.Diagnostic.Level.Value("LEVEL_ERROR") == 1
    assert m.FileChange.ChangeType.Name(m.FileChange.CHANGE_TYPE_DELETED) == "CHANGE_TYPE_DELETED"


def test_fields_that_are_keywords_of_python_are_reached_by_name():
    step = m.UsesStep(**{"if": "always()", "with": {"key": "a"}})
    getattr(step, "with")["path"] = "b"
    setattr(step, "if", "never()")
    assert seen("UsesStep", step) == {"if": "never()", "with": {"key": "a", "path": "b"}}


def test_the_default_pool_is_left_alone():
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName(f"{PACKAGE}.Hello")


def test_without_protobuf_the_error_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    spec = importlib.util.spec_from_file_location("hook_messages_alone", FOLDER / "__init__.py")
    with pytest.raises(ImportError, match=r'pip install "plughost-sdk\[hook\]"'):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_the_messages_load_from_a_zip(tmp_path, monkeypatch):
    archive = tmp_path / "plugin.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        for name in ("__init__.py", "plugin.binpb"):
            bundle.write(FOLDER / name, f"zipped_hook_messages/{name}")
    monkeypatch.syspath_prepend(archive)
    zipped = importlib.import_module("zipped_hook_messages")
    monkeypatch.delitem(sys.modules, "zipped_hook_messages")
    assert zipped.__file__.startswith(str(archive))
    assert zipped.Hello(core_protocol=1).SerializeToString() == b"\x08\x01"


def test_the_import_brings_in_no_descriptor_classes_and_no_resources():
    code = "import sys; from plughost_sdk import hook_messages; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=250, check=True
    )
    heavy = {
        "google.protobuf.descriptor_pb2",
        "google.protobuf.json_format",
        "importlib.resources",
        "pathlib",
    }
    assert set(done.stdout.split()) & heavy == set()


# The stub


@cache
def stub_classes():
    tree = ast.parse((FOLDER / "__init__.pyi").read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


@every_message
def test_the_stub_declares_every_field_and_takes_it_in_the_constructor(name):
    node = stub_classes()[name]
    fields = [row.name for row in oracle.MESSAGES[name]]
    written = [field for field in fields if not keyword.iskeyword(field)]
    values = {each[0] for enum in oracle.ENUMS if enum.startswith(f"{name}.") for each in oracle.ENUMS[enum]}
    values |= {enum.partition(".")[2] for enum in oracle.ENUMS if enum.startswith(f"{name}.")}
    attributes = [each.target.id for each in node.body if isinstance(each, ast.AnnAssign)]
    functions = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    properties = [each for each, function in functions.items() if function.decorator_list]
    assert sorted(attributes + properties) == sorted([*written, *values])
    assert [argument.arg for argument in functions["__init__"].args.kwonlyargs] == written
    for hidden in set(fields) - set(written):
        assert f"`{hidden}`" in ast.get_docstring(node)


@every_message
def test_the_stub_lets_only_fields_be_asked_for_that_can_be_absent(name):
    methods = {each.name: each for each in stub_classes()[name].body if isinstance(each, ast.FunctionDef)}
    asked = (
        ast.literal_eval(methods["HasField"].args.args[1].annotation.slice) if "HasField" in methods else ()
    )
    message = getattr(m, name)()
    for field in [asked] if isinstance(asked, str) else asked:
        assert message.HasField(field) is False
    for row in oracle.MESSAGES[name]:
        if row.name not in asked:
            with pytest.raises(ValueError):
                message.HasField(row.name)


# The tool that keeps the files together


@pytest.fixture
def folder(tmp_path):
    """A copy of the three files."""
    for name in (hook_schema.SCHEMA, hook_schema.DESCRIPTORS, hook_schema.STUB):
        shutil.copy(FOLDER / name, tmp_path)
    return tmp_path


def test_descriptor_set_and_stub_match_the_schema():
    assert hook_schema.stale() == []


def test_a_field_that_is_new_in_the_schema_makes_both_stale_until_they_are_written(folder):
    proto = folder / hook_schema.SCHEMA
    changed = proto.read_text(encoding="utf-8").replace(
        "message GitInfo {", "message GitInfo {\n  string x = 9;"
    )
    proto.write_text(changed, encoding="utf-8")
    assert hook_schema.stale(folder) == [folder / hook_schema.DESCRIPTORS, folder / hook_schema.STUB]
    hook_schema.write(folder)
    assert hook_schema.stale(folder) == []
    assert "    x: str\n" in (folder / hook_schema.STUB).read_text(encoding="utf-8")


@pytest.mark.parametrize("damage", [b"", b"\xff", None], ids=["empty", "garbage", "missing"])
def test_a_descriptor_set_that_is_no_good_is_stale_and_written_anew(folder, damage):
    path = folder / hook_schema.DESCRIPTORS
    path.unlink() if damage is None else path.write_bytes(damage)
    assert hook_schema.stale(folder) == [path]
    hook_schema.write(folder)
    assert hook_schema.stale(folder) == []


def test_a_stub_edited_by_hand_or_missing_is_stale(folder):
    path = folder / hook_schema.STUB
    path.write_text(path.read_text(encoding="utf-8") + "\nextra: int\n", encoding="utf-8")
    assert hook_schema.stale(folder) == [path]
    path.unlink()
    assert hook_schema.stale(folder) == [path]


def test_other_bytes_of_the_same_meaning_are_not_stale_and_are_left_alone(folder):
    path = folder / hook_schema.DESCRIPTORS
    (file,) = FileDescriptorSet.FromString(path.read_bytes()).file
    other = oracle.run(1, oracle.run(2, b"overwritten.later") + file.SerializeToString())
    assert other != path.read_bytes()
    path.write_bytes(other)
    assert hook_schema.stale(folder) == []
    hook_schema.write(folder)
    assert path.read_bytes() == other


def test_a_schema_that_does_not_compile_ends_the_tool(folder):
    (folder / hook_schema.SCHEMA).write_text("message {", encoding="utf-8")
    with pytest.raises(SystemExit):
        hook_schema.stale(folder)


def test_the_check_names_each_stale_file_and_writes_nothing(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["hook_schema", "--check"])
    monkeypatch.setattr(hook_schema, "write", lambda: pytest.fail("it wrote"))
    assert hook_schema.main() == 0
    monkeypatch.setattr(hook_schema, "stale", lambda: [hook_schema.FOLDER / hook_schema.STUB])
    assert hook_schema.main() == 1
    said = capsys.readouterr().err
    assert "sdk/python/plughost_sdk/hook_messages/__init__.pyi" in said
    assert "./dev docs" in said
