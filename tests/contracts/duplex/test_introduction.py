"""A plugin is who it says it is, in either dialect, unless it contradicts itself or its manifest."""

import json

import pytest
from msgspec import Raw

from plughost.contracts.duplex.introduction import Introduction, accept, flaw, read
from plughost.contracts.duplex.terms import Terms
from plughost.errors import RemoteProtocolError
from plughost.messages.jsonrpc import Response
from tests.contracts.duplex.wire import NAME, NEW, OLD, VERSION


def said(value):
    return read(Raw(json.dumps(value).encode()))


def manifest(**plugin):
    return {"manifest": {"plugin": plugin, "capabilities": {}}, "abi_version": 2}


@pytest.mark.parametrize(
    ("answer", "abi_version"),
    [
        (OLD, None),
        (NEW, 2),
        ({**OLD, **NEW}, 2),
        ({**OLD, "manifest": None, "abi_version": None}, None),
        ({**OLD, "abi_version": 2, "more": []}, 2),
        (manifest(name=NAME, version=VERSION), 2),
        ({"manifest": NEW["manifest"]}, 2),
        ({"name": NAME, **manifest(version=VERSION)}, 2),
    ],
)
def test_either_dialect_says_who_it_is(answer, abi_version):
    found = said(answer)
    assert (found.name, found.version, found.abi_version) == (NAME, VERSION, abi_version)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"name": NAME},
        {"version": VERSION},
        {"name": 5, "version": VERSION},
        {**OLD, "abi_version": "2"},
        {**OLD, "abi_version": True},
        {**OLD, "abi_version": -1},
        {**OLD, "manifest": "[plugin]"},
        {**OLD, "manifest": {}},
        {"abi_version": 2},
        manifest(name=NAME),
        {**OLD, **manifest(name="other", version=VERSION)},
        {**OLD, **manifest(name=NAME, version="1")},
        {**OLD, **manifest(abi_version=3)},
    ],
    ids=json.dumps,
)
def test_one_that_does_not_say_or_says_two_things_is_refused(answer):
    with pytest.raises(RemoteProtocolError):
        said(answer)


@pytest.mark.parametrize("abi_version", [None, 2])
def test_one_that_is_what_its_manifest_says_has_no_flaw(abi_version):
    assert flaw(Introduction(NAME, VERSION, abi_version), Terms(NAME, VERSION)) is None
    assert flaw(Introduction("any", "1", abi_version), Terms()) is None


@pytest.mark.parametrize(
    "found",
    [
        Introduction("other", VERSION, 2),
        Introduction(NAME, "2.0.1", 2),
        Introduction(NAME, VERSION, 3),
        Introduction(NAME, VERSION, 0),
        Introduction("", VERSION, 2),
    ],
    ids=["name", "version", "newer abi", "no abi", "no name"],
)
def test_one_that_is_something_else_has_a_flaw(found):
    assert flaw(found, Terms(NAME, VERSION))


def test_what_is_as_the_manifest_says_is_kept_once():
    answer = Response(1, Raw(json.dumps(OLD).encode()))
    terms = Terms(NAME, VERSION)
    found = accept(answer, terms)
    assert found == Introduction(NAME, VERSION, None)
    assert found.name is terms.name
    assert found.version is terms.version
    assert accept(answer, Terms()) == found
