"""Directories of plugins to those that can be used: two roots, every rejection with its reason, and the order."""

import os
from pathlib import Path

import pytest

from plughost.errors import LocalProtocolError
from plughost.manifest.envelope_manifest import EnvelopeManifest
from plughost.manifest.envelope_registry import Shadowed, discover, order

MANIFEST = 'name: {name}\nversion: "1.0"\nsupported_extensions: [.txt]\napi_version: "1"\n'


@pytest.fixture
def put(tmp_path):
    """Return a function that writes a plugin into a directory of its own, and returns the directory."""

    def write(where, name=None, extra="", text=None):
        directory = tmp_path / where
        directory.mkdir(parents=True)
        whole = MANIFEST.format(name=name or directory.name) + extra
        (directory / "manifest.yml").write_bytes(whole.encode() if text is None else text)
        return directory

    return write


def names(registry):
    return [manifest.name for manifest in registry.loaded]


def reasons(registry):
    return {rejection.name: rejection.reason for rejection in registry.rejected}


def test_the_direct_child_directories_are_found_by_name(tmp_path, put):
    put("root/b", "zebra")
    put("root/a", "yak")
    put("root/deep/inner/c")
    registry = discover(tmp_path / "root")
    assert names(registry) == ["yak", "zebra"]
    assert registry.rejected == registry.shadowed == ()
    assert registry.find("yak").directory == tmp_path / "root/a"
    assert registry.find("c") is None


def test_a_missing_or_empty_root_holds_nothing(tmp_path, put):
    put("lab/a")
    (tmp_path / "empty").mkdir()
    assert names(discover(tmp_path / "missing", tmp_path / "empty", tmp_path / "lab")) == ["a"]
    assert discover().loaded == ()


def test_a_root_that_cannot_be_listed_is_a_rejection_and_hides_no_other(tmp_path, put):
    put("lab/a")
    (tmp_path / "file").write_text("")
    registry = discover(tmp_path / "file", tmp_path / "nul\0", tmp_path / "lab")
    assert names(registry) == ["a"]
    assert [rejection.path.name for rejection in registry.rejected] == ["file", "nul\0"]


def test_files_hidden_directories_caches_and_other_directories_are_ignored(tmp_path, put):
    put("root/a")
    put("root/.hidden")
    put("root/__pycache__")
    (tmp_path / "root/notes").mkdir()
    (tmp_path / "root/notes/text.txt").write_text("")
    (tmp_path / "root/manifest.yml").write_text("not: a plugin")
    (tmp_path / "root/dangling").symlink_to("nowhere")
    registry = discover(tmp_path / "root")
    assert names(registry) == ["a"]
    assert registry.rejected == ()


def test_a_link_to_a_plugin_is_a_plugin(tmp_path, put):
    (tmp_path / "root").mkdir()
    (tmp_path / "root/a").symlink_to(put("elsewhere/a"))
    assert names(discover(tmp_path / "root")) == ["a"]


@pytest.mark.parametrize("mark", ["plugin.py", "__init__.py", "manifest.yaml"])
def test_what_looks_like_a_plugin_is_missing_its_manifest(tmp_path, mark):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / mark).write_text("")
    assert reasons(discover(tmp_path)) == {"a": "missing manifest.yml"}


def test_the_later_root_wins_and_what_it_hides_is_noted(tmp_path, put):
    old, new = put("bundled/one", "same"), put("lab/two", "same")
    put("bundled/only")
    registry = discover(tmp_path / "bundled", tmp_path / "lab")
    assert names(registry) == ["only", "same"]
    assert registry.find("same").directory == new
    assert registry.shadowed == (Shadowed("same", by=new, path=old),)


def test_a_root_given_twice_hides_nothing_of_itself(tmp_path, put):
    put("root/a")
    assert discover(tmp_path / "root", tmp_path / "root").shadowed == ()


def test_a_rejected_plugin_takes_nobodys_place(tmp_path, put):
    kept = put("bundled/same")
    put("lab/same", extra="isolation: {network: true}\n")
    registry = discover(tmp_path / "bundled", tmp_path / "lab")
    assert [manifest.directory for manifest in registry.loaded] == [kept]
    assert registry.shadowed == ()


def test_two_of_one_name_in_one_root_are_both_rejected(tmp_path, put):
    put("root/a", "same")
    put("root/b", "same")
    put("root/c")
    registry = discover(tmp_path / "root")
    assert names(registry) == ["c"]
    assert [(each.name, each.path.name) for each in registry.rejected] == [("same", "a"), ("same", "b")]
    assert all("same" in each.reason for each in registry.rejected)


def test_a_declared_network_has_to_be_allowed(tmp_path, put):
    put("a", extra="isolation: {network: true}\n")
    put("b", extra="isolation: {network: false}\n")
    assert reasons(discover(tmp_path)) == {"a": "network declared but not allowed"}
    assert names(discover(tmp_path, allow_network=True)) == ["a", "b"]


def test_a_name_need_not_be_its_directorys(tmp_path, put):
    put("directory", "other")
    assert names(discover(tmp_path)) == ["other"]


def test_a_removed_plugin_is_gone_at_the_next_look(tmp_path, put):
    directory = put("a")
    assert names(discover(tmp_path)) == ["a"]
    (directory / "manifest.yml").unlink()
    assert names(discover(tmp_path)) == []


BROKEN = {
    "empty": b"",
    "list": b"- a",
    "syntax": b"name: [",
    "latin": "name: ä".encode("latin-1"),
    "nul": b"name: \0",
    "huge": b"#" * 2_000_000,
    "deep": b"[" * 50_000,
    "laughs": b"a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]",
    "nothing": b"unrelated: 1",
    "timeout-text": b"isolation: {timeout_seconds: abc}",
    "timeout-null": b"isolation: {timeout_seconds: null}",
    "timeout-inf": b"isolation: {timeout_seconds: .inf}",
    "block": b"isolation: 7",
    "surrogate": b'name: "\\ud800"',
    "digits": b"version: " + b"9" * 10_000,
    "tag": b"name: !!python/object/apply:os.abort []",
}


def test_no_broken_manifest_hides_the_others_whatever_is_in_it(tmp_path, put):
    for name, text in BROKEN.items():
        whole = text if not text.startswith(b"isolation") else MANIFEST.format(name=name).encode() + text
        put(f"root/{name}", text=whole)
    put("root/zz-good")
    registry = discover(tmp_path / "root")
    assert names(registry) == ["zz-good"]
    assert [rejection.name for rejection in registry.rejected] == sorted(BROKEN)
    assert all(rejection.reason for rejection in registry.rejected)
    assert "isolation.timeout_seconds" in reasons(registry)["timeout-inf"]
    assert str(tmp_path) not in "".join(reasons(registry).values())


def test_a_manifest_that_is_no_readable_file_is_rejected(tmp_path, put):
    for name in ("loop", "pipe", "directory", "dangling", "locked"):
        (tmp_path / name).mkdir()
    (tmp_path / "loop/manifest.yml").symlink_to("manifest.yml")
    (tmp_path / "dangling/manifest.yml").symlink_to("nowhere")
    (tmp_path / "directory/manifest.yml").mkdir()
    os.mkfifo(tmp_path / "pipe/manifest.yml")
    locked = tmp_path / "locked/manifest.yml"
    locked.write_text("name: [")
    locked.chmod(0)
    put("good")
    registry = discover(tmp_path)
    assert names(registry) == ["good"]
    assert sorted(reasons(registry)) == ["dangling", "directory", "locked", "loop", "pipe"]


def some(*given):
    return [EnvelopeManifest(name, "1", (), "1", Path()) for name in given]


@pytest.mark.parametrize(
    ("first", "expected"),
    [([], "abcd"), (["c"], "cabd"), (["d", "b"], "dbac"), (["a", "b", "c", "d"], "abcd")],
)
def test_those_that_are_named_run_first_and_the_rest_by_name(first, expected):
    assert [manifest.name for manifest in order(some("d", "b", "a", "c"), first)] == list(expected)


@pytest.mark.parametrize("first", [["x"], ["a", "x"], ["a", "a"], ["b", "a", "b"]])
def test_a_name_that_nobody_has_or_that_comes_twice_is_our_mistake(first):
    with pytest.raises(LocalProtocolError, match="a, b"):
        order(some("b", "a"), first)
