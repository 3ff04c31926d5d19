"""A manifest to its text and back: what is written reads as it was."""

import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plughost.manifest import duplex_manifest
from plughost.manifest.duplex_manifest import (
    CAPABILITIES,
    Capabilities,
    ConfigEntry,
    DuplexManifest,
    Lifecycle,
    Provides,
    Subscribes,
)
from plughost.manifest.duplex_text import serialise

HERE = Path("/plugins/p")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
words = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=12)
phrases = st.lists(words, min_size=1, max_size=2).map(" ".join)
lists = st.lists(phrases, max_size=3).map(tuple)
namespaces = words.map("n".__add__)
hosts = st.lists(st.sampled_from(["a.example", "127.0.0.1", "::1", "B.example"]), max_size=2).map(tuple)
capabilities = st.fixed_dictionaries(
    {name: st.booleans() | (hosts if name == "network" else lists) for name in CAPABILITIES}
).map(lambda grants: Capabilities(**grants))
subscribes = lists.flatmap(
    lambda topics: st.builds(
        Subscribes,
        st.just(topics),
        (st.lists(st.sampled_from(topics), max_size=2) if topics else st.just([])).map(tuple),
    )
)
entries = st.lists(
    st.builds(ConfigEntry, words, st.sampled_from(["path", "string"]), texts, texts, lists),
    max_size=2,
    unique_by=lambda entry: entry.key,
).map(tuple)
manifests = st.builds(
    DuplexManifest,
    name=st.just("p"),
    version=st.sampled_from(["1.0.0", "0.0.1-rc.1+b"]),
    abi_version=st.just(2),
    directory=st.just(HERE),
    description=texts,
    capabilities=capabilities,
    provides=st.builds(Provides, lists, lists, st.lists(namespaces, max_size=2).map(tuple), lists),
    subscribes=subscribes,
    lifecycle=st.builds(
        Lifecycle, st.sampled_from(["lazy", "eager"]), st.integers(0, 2**32 - 1), st.booleans()
    ),
    config=entries,
)


@pytest.mark.requirement("duplex:manifest:schema")
@settings(max_examples=25)
@given(manifests)
def test_a_manifest_that_is_written_and_read_is_the_same(manifest):
    text = serialise(manifest)
    read = duplex_manifest.parse(text, HERE)
    assert read == manifest
    assert read.unknown == ()
    assert serialise(read) == text


@settings(max_examples=25)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_spelled_so_that_it_reads_as_it_was(text):
    whole = serialise(DuplexManifest("p", "1.0.0", 2, HERE, description=text))
    assert tomllib.loads(whole)["plugin"]["description"] == text


def test_every_control_character_and_quote_is_spelled_so_that_it_reads_as_it_was():
    text = "".join(map(chr, range(0x100))) + '"""' + "'''" + "\\u0041\\"
    whole = serialise(DuplexManifest("p", "1.0.0", 2, HERE, description=text))
    assert tomllib.loads(whole)["plugin"]["description"] == text


def test_what_is_unknown_is_not_written():
    text = '[plugin]\nname = "p"\nversion = "1.0.0"\nabi_version = 2\nlogo = "x"\n[more]\n'
    manifest = duplex_manifest.parse(text, HERE)
    assert manifest.unknown == ("plugin.logo", "more")
    read = duplex_manifest.parse(serialise(manifest), HERE)
    assert (read, read.unknown) == (manifest, ())


def test_every_key_that_there_is_is_written():
    entry = ConfigEntry("k", "string", "K")
    document = tomllib.loads(serialise(DuplexManifest("p", "1.0.0", 2, HERE, config=(entry,))))
    for table, keys in duplex_manifest.TABLES.items():
        assert list(document[table]) == list(keys)
    assert list(document["config"][0]) == [each.name for each in fields(ConfigEntry)]
