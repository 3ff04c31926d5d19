"""Every shape of the contract is read strictly and written as the contract says."""

import base64
import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from plughost.contracts.duplex import keys, messages, screen
from plughost.contracts.duplex.messages import HOST_METHODS, PLUGIN_METHODS, decode
from plughost.errors import RemoteProtocolError

COLOUR = {"r": 255, "g": 215, "b": 0}
BUFFER = {
    "width": 2,
    "height": 1,
    "cells": [
        [{"x": 0, "y": 0}, {"symbol": "H", "modifier": 1}],
        [{"x": 1, "y": 0}, {"symbol": "i", "fg": COLOUR, "bg": None, "modifier": 0}],
    ],
}
KEY = {"code": {"type": "char", "ch": "z"}, "mods": 3, "kind": "release"}
# Of every type: the least that is one.
LEAST = {
    messages.InitParams: {"manifest_path": "/m", "granted_capabilities": ["network"], "abi_version": 2},
    messages.InitResult: {},
    messages.ShutdownParams: {},
    messages.ShutdownResult: {},
    messages.RenderParams: {"viewport": {"width": 80, "height": 24}},
    messages.RenderResult: {"buffer": BUFFER},
    messages.HandleEventParams: {"topic": "t", "payload": "AAE="},
    messages.HandleKeyParams: {"screen_id": "s", "key": KEY, "generation": 1},
    messages.CliDispatchParams: {"namespace": "usage", "argv": ["--help"]},
    messages.CliDispatchResult: {"stdout": "", "stderr": "AAE=", "exit_code": -1},
    messages.Topic: {"topic": "t"},
    messages.SnapshotGetResult: {},
    messages.SnapshotPublishParams: {"topic": "t", "payload": ""},
    messages.SnapshotSubscribeResult: {},
    messages.ActionInvokeParams: {"action": "a", "payload": "AAE="},
    messages.ActionInvokeResult: {"payload": "AAE="},
    messages.LogParams: {"level": "warn", "message": "low disk"},
    messages.FsPath: {"path": "/p"},
    messages.FsReadDirResult: {"entries": [{"name": "a", "is_dir": True}]},
    messages.FsReadFileResult: {"bytes": "AAE="},
    messages.NetworkFetchParams: {"url": "https://example.com"},
    messages.NetworkFetchResult: {"status": 200, "headers": [["a", "b"]], "body": ""},
}
each_kind = pytest.mark.parametrize("kind", LEAST, ids=lambda kind: kind.__name__)


def read(kind, value):
    return decode(kind, Raw(json.dumps(value).encode()))


def refused(kind, value):
    with pytest.raises(RemoteProtocolError):
        read(kind, value)


def test_every_type_of_every_method_is_tried_here():
    methods = [*PLUGIN_METHODS.values(), *HOST_METHODS.values()]
    assert {kind for each in methods for kind in (each.params, each.result) if kind} == set(LEAST)


@each_kind
def test_the_least_is_enough_and_unknown_members_are_ignored(kind):
    least = read(kind, LEAST[kind])
    assert least == read(kind, {**LEAST[kind], "unknown": [{"deep": None}]})


@each_kind
def test_what_is_written_is_read_the_same(kind):
    least = read(kind, LEAST[kind])
    assert decode(kind, Raw(msgspec.json.encode(least))) == least


@each_kind
@pytest.mark.parametrize("value", [None, [], "text", 5, True], ids=repr)
def test_what_is_no_object_is_refused(kind, value):
    refused(kind, value)


@each_kind
def test_every_member_that_has_no_default_has_to_be_there(kind):
    for name in LEAST[kind]:
        refused(kind, {key: value for key, value in LEAST[kind].items() if key != name})


@pytest.mark.requirement("duplex:wire:strict")
@each_kind
def test_no_member_is_bent_into_shape(kind):
    for name in LEAST[kind]:
        for wrong in (None, 5.5, "5.5!", {"a": 1}, [None], True, -1, 2**64):
            if type(wrong) is not type(LEAST[kind][name]):
                refused(kind, {**LEAST[kind], name: wrong})


@pytest.mark.requirement("duplex:wire:strict")
@pytest.mark.parametrize(
    ("kind", "name", "smallest", "largest"),
    [
        (messages.InitParams, "abi_version", 0, 2**32 - 1),
        (messages.RenderParams, "generation", 0, 2**64 - 1),
        (messages.HandleKeyParams, "generation", 0, 2**64 - 1),
        (messages.CliDispatchResult, "exit_code", -(2**31), 2**31 - 1),
        (messages.SnapshotGetResult, "version", 0, 2**64 - 1),
        (messages.ActionInvokeParams, "timeout_ms", 0, 2**64 - 1),
        (messages.NetworkFetchResult, "status", 0, 2**16 - 1),
    ],
)
def test_a_number_has_a_width(kind, name, smallest, largest):
    for value in (smallest, largest):
        assert getattr(read(kind, {**LEAST[kind], name: value}), name) == value
    for value in (smallest - 1, largest + 1, 1.0, "1", True, None):
        refused(kind, {**LEAST[kind], name: value})


@pytest.mark.parametrize(
    ("kind", "value", "name", "largest"),
    [
        (screen.Viewport, {"width": 1, "height": 1}, "height", 2**16 - 1),
        (screen.Coord, {"x": 0, "y": 0}, "x", 2**16 - 1),
        (screen.Color, COLOUR, "g", 255),
        (screen.Cell, {"symbol": "H"}, "modifier", 2**16 - 1),
        (keys.KeyEvent, KEY, "mods", 255),
        (messages.DirEntry, {"name": "a", "is_dir": False}, "size", 2**64 - 1),
    ],
)
def test_a_number_within_has_a_width_too(kind, value, name, largest):
    assert getattr(read(kind, {**value, name: largest}), name) == largest
    for wrong in (-1, largest + 1, False, 0.0):
        refused(kind, {**value, name: wrong})


@pytest.mark.requirement("duplex:wire:bytes-read")
@settings(max_examples=25)
@given(data=st.binary(max_size=20))
def test_bytes_are_read_as_base64_and_as_integers_and_written_as_base64(data):
    text = base64.b64encode(data).decode()
    for written in (text, list(data)):
        event = read(messages.HandleEventParams, {"topic": "t", "payload": written})
        assert type(event.payload) is bytes
        assert event.payload == data
        assert json.loads(msgspec.json.encode(event))["payload"] == text


@pytest.mark.parametrize(
    "payload",
    [
        "QQ",
        "QQ=",
        "QQ==\n",
        " QQ==",
        "Q_==",
        "Q-==",
        "====",
        "QQ==QQ==",
        "ä",
        [256],
        [-1],
        [1.0],
        [True],
        ["1"],
        [None],
    ],
    ids=repr,
)
def test_bytes_that_are_neither_are_refused(payload):
    refused(messages.ActionInvokeResult, {"payload": payload})


def test_bytes_that_may_be_missing_are_written_as_null():
    for said in ({}, {"payload": None}, {"payload": None, "version": 0}):
        assert read(messages.SnapshotGetResult, said).payload is None
    written = json.loads(msgspec.json.encode(messages.SnapshotGetResult()))
    assert written == {"payload": None, "version": 0}


def test_a_buffer_is_painted_in_the_order_in_which_it_was_written():
    first, second = read(messages.RenderResult, {"buffer": BUFFER}).buffer.cells
    assert (first[0].x, first[1].symbol, first[1].fg, first[1].modifier) == (0, "H", None, 1)
    assert second[1].fg == screen.Color(255, 215, 0)


@pytest.mark.parametrize(
    "cell",
    [
        [],
        [{"x": 0, "y": 0}],
        [{"x": 0, "y": 0}, {"symbol": "H"}, {}],
        [{"symbol": "H"}, {"x": 0, "y": 0}],
        {"x": 0, "y": 0, "symbol": "H"},
        [{"x": 0, "y": 0}, {"symbol": None}],
        [{"x": 0, "y": 0}, {"symbol": "H", "fg": "red"}],
    ],
)
def test_a_cell_is_a_pair_of_a_place_and_what_stands_there(cell):
    refused(messages.RenderResult, {"buffer": {**BUFFER, "cells": [cell]}})


@pytest.mark.parametrize(
    "code",
    [
        {"type": "char", "ch": "ä"},
        {"type": "char", "ch": "🎈"},
        *(
            {"type": name}
            for name in ("enter", "tab", "back_tab", "esc", "backspace", "delete", "up", "down")
        ),
        *({"type": name} for name in ("left", "right", "home", "end", "page_up", "page_down")),
        {"type": "f", "n": 12},
    ],
    ids=lambda code: code["type"] + code.get("ch", ""),
)
def test_a_key_is_written_as_it_was_read(code):
    event = read(keys.KeyEvent, {"code": code})
    assert json.loads(msgspec.json.encode(event)) == {"code": code, "mods": 0, "kind": "press"}


@pytest.mark.parametrize(
    "code",
    [
        {},
        {"type": "char"},
        {"type": "char", "ch": ""},
        {"type": "char", "ch": "ab"},
        {"type": "char", "ch": 5},
        {"type": "f"},
        {"type": "f", "n": 256},
        {"type": "Esc"},
        {"type": "insert"},
        "esc",
    ],
    ids=json.dumps,
)
def test_a_key_that_is_none_is_refused(code):
    refused(keys.KeyEvent, {"code": code})


@pytest.mark.parametrize(("kind", "value"), [("kind", "Press"), ("kind", None), ("mods", None)])
def test_what_was_done_to_a_key_is_one_of_three(kind, value):
    refused(keys.KeyEvent, {**KEY, kind: value})


@pytest.mark.parametrize("level", ["WARN", "fatal", "", None, 3])
def test_a_level_is_one_of_five(level):
    refused(messages.LogParams, {"level": level, "message": "m"})


def test_init_has_no_configuration_and_no_host_unless_there_is_one():
    bare = messages.InitParams("/m", (), 2)
    assert json.loads(msgspec.json.encode(bare)) == {
        "manifest_path": "/m",
        "granted_capabilities": [],
        "abi_version": 2,
    }
    full = messages.InitParams("/m", (), 2, {"a": 1}, messages.HostInfo("tui", 7))
    assert json.loads(msgspec.json.encode(full))["host"] == {"kind": "tui", "pid": 7}
    assert json.loads(msgspec.json.encode(full))["config"] == {"a": 1}
