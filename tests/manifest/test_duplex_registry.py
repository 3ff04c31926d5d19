"""Directories of plugins to those that can be used: good and bad together, duplicates, links, and every reason."""

import os
from pathlib import Path

import pytest

from plughost.manifest import duplex_narrowing
from plughost.manifest.duplex_manifest import Capabilities
from plughost.manifest.duplex_narrowing import Narrowing
from plughost.manifest.duplex_registry import discover

MANIFEST = '[plugin]\nname = "{name}"\nversion = "1.0.0"\nabi_version = 2\n{rest}'


@pytest.fixture
def put(tmp_path):
    """Return a function that writes a plugin into a directory of its own, and returns the directory."""

    def write(where, name=None, rest="", *, text=None, program=True):
        directory = tmp_path / where
        directory.mkdir(parents=True)
        whole = MANIFEST.format(name=name or directory.name, rest=rest)
        (directory / "manifest.toml").write_bytes(whole.encode() if text is None else text)
        if program:
            (directory / directory.name).touch(mode=0o755)
        return directory

    return write


def names(registry):
    return [binding.name for binding in registry.loaded]


def keys(registry):
    return {rejection.name: rejection.error.key for rejection in registry.rejected}


def test_the_direct_child_directories_are_found_by_name(tmp_path, put):
    put("lab/b")
    put("root/c")
    put("root/a")
    put("root/deep/inner/d")
    registry = discover(tmp_path / "root", tmp_path / "lab")
    assert names(registry) == ["a", "b", "c"]
    assert registry.rejected == ()
    assert registry.find("a").manifest.directory == tmp_path / "root/a"
    assert registry.find("d") is None


def test_a_missing_or_empty_root_holds_nothing(tmp_path, put):
    put("lab/a")
    (tmp_path / "empty").mkdir()
    registry = discover(tmp_path / "missing", tmp_path / "empty", tmp_path / "lab")
    assert names(registry) == ["a"]
    assert registry.rejected == discover().rejected == discover().loaded == ()


def test_a_root_that_cannot_be_listed_is_a_rejection_and_hides_no_other(tmp_path, put):
    put("lab/a")
    (tmp_path / "file").write_text("")
    registry = discover(tmp_path / "file", tmp_path / "nul\0", tmp_path / "lab")
    assert names(registry) == ["a"]
    assert [rejection.path.name for rejection in registry.rejected] == ["file", "nul\0"]


@pytest.mark.requirement("duplex:manifest:apart")
def test_a_bad_manifest_hides_no_other_and_each_has_its_reason(tmp_path, put):
    put("root/a")
    put("root/z")
    put("root/broken", text=b"[plugin")
    put("root/bytes", text=b"\xff\xfe")
    put("root/empty", text=b"")
    put("root/other", "another")
    put("root/host")
    put("root/old", text=MANIFEST.format(name="old", rest="").replace("= 2", "= 1").encode())
    put("root/grants", rest="[capabilities]\nnetwork = 1\n")
    put("root/word", rest='[lifecycle]\nspawn = "later"\n')
    put("root/deep", text=b"a = " + b"[" * 50_000)
    put("root/vast", text=b"#" * 1_048_577)
    registry = discover(tmp_path / "root")
    assert names(registry) == ["a", "z"]
    assert keys(registry) == {
        "broken": "",
        "bytes": "",
        "deep": "",
        "empty": "plugin.name",
        "grants": "capabilities.network",
        "host": "plugin.name",
        "old": "plugin.abi_version",
        "other": "plugin.name",
        "vast": "",
        "word": "lifecycle.spawn",
    }
    for rejection in registry.rejected:
        assert rejection.error.source == str(rejection.path / "manifest.toml")
        assert rejection.error.remedy in rejection.reason
        assert str(tmp_path) not in rejection.reason


def test_a_manifest_that_is_no_file_is_a_reason_and_nothing_blocks(tmp_path, put):
    put("root/a")
    for name in ("pipe", "directory", "dangling", "loop"):
        (tmp_path / "root" / name).mkdir()
    os.mkfifo(tmp_path / "root/pipe/manifest.toml")
    (tmp_path / "root/directory/manifest.toml").mkdir()
    (tmp_path / "root/dangling/manifest.toml").symlink_to("nowhere")
    (tmp_path / "root/loop/manifest.toml").symlink_to("manifest.toml")
    registry = discover(tmp_path / "root")
    assert names(registry) == ["a"]
    assert set(keys(registry)) == {"pipe", "directory", "dangling", "loop"}


def test_files_hidden_and_other_directories_are_ignored(tmp_path, put):
    put("root/a")
    put("root/.hidden")
    (tmp_path / "root/notes").mkdir()
    (tmp_path / "root/manifest.toml").write_text("[plugin]")
    assert names(discover(tmp_path / "root")) == ["a"]
    assert discover(tmp_path / "root").rejected == ()


def test_a_program_without_a_manifest_was_meant_as_a_plugin(tmp_path, put):
    (put("root/a") / "manifest.toml").unlink()
    assert [rejection.name for rejection in discover(tmp_path / "root").rejected] == ["a"]


def test_a_plugin_whose_program_is_missing_or_cannot_be_executed_is_refused(tmp_path, put):
    put("root/a")
    put("root/none", program=False)
    (put("root/plain") / "plain").chmod(0o644)
    (put("root/folder", program=False) / "folder").mkdir()
    registry = discover(tmp_path / "root")
    assert names(registry) == ["a"]
    sources = {rejection.name: rejection.error.source for rejection in registry.rejected}
    assert sources == {name: str(tmp_path / "root" / name / name) for name in ("none", "plain", "folder")}


@pytest.mark.requirement("duplex:manifest:apart")
def test_two_plugins_of_one_name_are_both_refused_and_each_names_the_other(tmp_path, put):
    places = [put("one/twin"), put("two/twin"), put("three/twin")]
    put("two/a")
    registry = discover(*(tmp_path / root for root in ("one", "two", "three")))
    assert names(registry) == ["a"]
    assert registry.find("twin") is None
    assert {rejection.path for rejection in registry.rejected} == set(places)
    for rejection in registry.rejected:
        assert rejection.error.key == "plugin.name"
        others = [place for place in places if place != rejection.path]
        assert all(str(place) in rejection.error.problem for place in others)


def test_a_plugin_that_cannot_be_used_is_no_duplicate_of_one_that_can(tmp_path, put):
    good = put("one/twin")
    put("two/twin", text=b"")
    registry = discover(tmp_path / "one", tmp_path / "two")
    assert registry.find("twin").manifest.directory == good
    assert keys(registry) == {"twin": "plugin.name"}


def test_a_root_that_is_named_twice_or_reached_by_a_link_counts_once(tmp_path, put, monkeypatch):
    put("root/a")
    (tmp_path / "link").symlink_to("root")
    monkeypatch.chdir(tmp_path)
    registry = discover(
        tmp_path / "root", tmp_path / "root", tmp_path / "link", Path("root"), Path("link/../root")
    )
    assert names(registry) == ["a"]
    assert registry.rejected == ()
    assert names(discover(Path("link"))) == ["a"]


def test_a_link_may_lead_to_another_place_of_its_root(tmp_path, put):
    put("root/.versions/2.0/a")
    (tmp_path / "root/a").symlink_to(".versions/2.0/a")
    registry = discover(tmp_path / "root")
    assert names(registry) == ["a"]
    assert registry.find("a").manifest.directory == tmp_path / "root/a"


@pytest.mark.requirement("duplex:manifest:apart")
def test_a_link_that_leads_out_of_its_root_or_nowhere_is_refused(tmp_path, put):
    put("root/a")
    put("rooted/b")  # whose path begins with the root's, as text
    put("elsewhere/c")
    secret = put("elsewhere/d") / "manifest.toml"
    for name, target in (("b", "../rooted/b"), ("c", tmp_path / "elsewhere/c"), ("gone", "no"), ("me", "me")):
        (tmp_path / "root" / name).symlink_to(target)
    (tmp_path / "root/d").mkdir()
    (tmp_path / "root/d/d").touch(mode=0o755)
    (tmp_path / "root/d/manifest.toml").symlink_to(secret)
    registry = discover(tmp_path / "root")
    assert names(registry) == ["a"]
    assert set(keys(registry)) == {"b", "c", "d", "gone", "me"}


def test_a_link_of_another_name_is_not_the_plugin(tmp_path, put):
    put("root/a")
    (tmp_path / "root/alias").symlink_to("a")
    registry = discover(tmp_path / "root")
    assert names(registry) == ["a"]
    assert keys(registry) == {"alias": "plugin.name"}


def test_a_directory_whose_name_is_no_text_is_a_reason(tmp_path, put):
    put("root/a")
    odd = os.path.join(os.fsencode(tmp_path / "root"), b"odd\xff")
    os.mkdir(odd)
    Path(os.fsdecode(odd), "manifest.toml").write_text(MANIFEST.format(name="odd", rest=""))
    registry = discover(tmp_path / "root")
    assert names(registry) == ["a"]
    assert list(keys(registry).values()) == ["plugin.name"]


WISHES = '[capabilities]\nnetwork = ["a.example", "b.example"]\nevent_bus = true\n'


def test_the_file_beside_a_manifest_narrows_it_and_may_name_another_command(tmp_path, put):
    narrow = put("root/a", rest=WISHES, program=False) / "narrow.toml"
    narrow.write_text('command = ["python", "plugin.py"]\n[capabilities]\nnetwork = ["a.example"]\n')
    found = discover(tmp_path / "root").find("a")
    assert found.command == ("python", "plugin.py")
    assert found.capabilities == Capabilities(network=("a.example",), event_bus=True)


def test_a_narrowing_given_in_code_takes_the_place_of_the_file(tmp_path, put):
    (put("root/a", rest=WISHES) / "narrow.toml").write_text("[capabilities]\nevent_bus = false\n")
    put("root/b", rest=WISHES)
    registry = discover(tmp_path / "root", narrowings={"a": Narrowing(capabilities={"network": False})})
    assert registry.find("a").capabilities == Capabilities(event_bus=True)
    assert registry.find("b").capabilities.granted() == ("event_bus", "network")


def test_a_narrowing_given_in_code_is_blamed_by_the_name_under_which_it_was_given(tmp_path, put):
    for name in ("wide", "missing"):
        (put(f"root/{name}", program=name == "wide") / "narrow.toml").write_text("command = ['x']\n")
    said = {"wide": Narrowing(capabilities={"network": True}), "missing": Narrowing()}
    registry = discover(tmp_path / "root", narrowings=said)
    errors = {rejection.name: rejection.error for rejection in registry.rejected}
    assert (errors["wide"].source, errors["wide"].key) == ("narrowings['wide']", "capabilities.network")
    assert "narrowings['missing']" in errors["missing"].remedy  # the file is not read
    assert "narrow.toml" not in errors["missing"].remedy


def test_a_narrowing_that_was_read_from_a_file_elsewhere_keeps_its_name(tmp_path, put):
    put("root/a")
    said = duplex_narrowing.parse("[capabilities]\nnetwork = true\n", "elsewhere.toml")
    (rejected,) = discover(tmp_path / "root", narrowings={"a": said}).rejected
    assert rejected.error.source == "elsewhere.toml"


@pytest.mark.requirement("duplex:manifest:narrowed")
def test_a_narrowing_that_is_wrong_or_would_widen_refuses_its_plugin_only(tmp_path, put):
    put("root/a")
    (put("root/wide") / "narrow.toml").write_text("[capabilities]\nnetwork = true\n")
    (put("root/typo") / "narrow.toml").write_text("[capabilities]\nnetwrok = false\n")
    (tmp_path / "outside.toml").write_text("")
    (put("root/out") / "narrow.toml").symlink_to(tmp_path / "outside.toml")
    (put("root/gone") / "narrow.toml").symlink_to("nowhere")
    registry = discover(tmp_path / "root")
    assert names(registry) == ["a"]
    assert keys(registry) == {
        "gone": "",
        "out": "",
        "typo": "capabilities.netwrok",
        "wide": "capabilities.network",
    }
    assert all(rejection.error.source.endswith("narrow.toml") for rejection in registry.rejected)
