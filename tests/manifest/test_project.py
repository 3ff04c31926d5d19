"""The plugins a project knows: by name, by path, and one broken binding never hides the others."""

from pathlib import Path

import pytest

from plughost.conformance.lint import lint
from plughost.errors import ManifestError
from plughost.manifest import envelope_registry, project


@pytest.fixture
def put_project(tmp_path):
    """Return a function that writes the project file."""

    def put(text):
        file = tmp_path / "plughost.toml"
        file.write_text(text)
        return file

    return put


def names(found):
    return [entry.name for entry in found.entries]


def test_the_nearest_project_is_the_one_of_the_closest_directory_above(tmp_path, put_project):
    outer = put_project("")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert project.nearest(inner) == outer
    (tmp_path / "a" / "plughost.toml").touch()
    assert project.nearest(inner) == tmp_path / "a" / "plughost.toml"
    assert project.nearest(tmp_path) == outer


def test_a_directory_of_that_name_is_no_project(tmp_path):
    (tmp_path / "a" / "plughost.toml").mkdir(parents=True)
    (tmp_path / "plughost.toml").touch()
    assert project.nearest(tmp_path / "a") == tmp_path / "plughost.toml"


def test_without_a_project_file_there_are_no_plugins(tmp_path, monkeypatch):
    monkeypatch.setattr(project, "nearest", lambda start: None)
    found = project.load(tmp_path)
    assert (found.file, found.entries) == (None, ())


def test_a_working_directory_that_is_gone_belongs_to_no_project(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ManifestError):
        project.load(Path())
    with pytest.raises(ManifestError):
        project.resolve_envelope("one", Path())
    for read in (lambda: project.resolve(".", Path()), lambda: lint(Path())):
        with pytest.raises(ManifestError) as caught:
            read()
        assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_an_empty_word_is_no_plugin_even_where_one_is(tmp_path, put_plugin):
    put_plugin("greeter")
    assert project.resolve(".", tmp_path / "greeter").name == "greeter"
    with pytest.raises(ManifestError):
        project.resolve("", tmp_path / "greeter")


def test_an_empty_project_knows_no_plugins(tmp_path, put_project):
    file = put_project("")
    found = project.load(tmp_path)
    assert (found.file, found.entries) == (file, ())
    assert found.find("greeter") is None


def test_plugins_are_named_one_by_one_relative_to_the_project_file(tmp_path, put_project, put_plugin):
    put_plugin("there/greeter")
    put_plugin("adder")
    put_project('[plugins]\nhello = "there/greeter"\nadd = "adder/plugin.toml"\n')
    (tmp_path / "below").mkdir()
    found = project.load(tmp_path / "below")
    assert names(found) == ["hello", "add"]
    assert [entry.binding.name for entry in found.entries] == ["greeter", "adder"]


def test_directories_of_plugins_are_scanned_after_the_named_ones(tmp_path, put_project, put_plugin):
    for where in ("more/b", "more/a", "one"):
        put_plugin(where)
    put_project('directories = ["more", "missing"]\n[plugins]\none = "one"\n')
    assert names(project.load(tmp_path)) == ["one", "a", "b"]


def test_a_scan_returns_what_holds_a_binding_in_the_order_of_names(tmp_path, put_plugin):
    for where in ("b", "c", "a", "deep/er"):
        put_plugin(where)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    entries = project.scan(tmp_path)
    assert [entry.name for entry in entries] == ["a", "b", "c"]
    assert all(entry.binding is not None and entry.problem is None for entry in entries)


@pytest.mark.parametrize(
    "text", ["", "[plugin", "[plugin]\nname = 5", "\0", '[plugin]\nname="b"\ncontract="x"\ncommand=["x"]']
)
def test_one_broken_binding_is_reported_and_does_not_hide_the_others(tmp_path, put_plugin, text):
    put_plugin("a")
    put_plugin("b", text=text)
    put_plugin("c")
    first, broken, last = project.scan(tmp_path)
    assert (first.binding.name, last.binding.name) == ("a", "c")
    assert broken.binding is None
    assert str(tmp_path / "b" / "plugin.toml") in broken.problem


@pytest.mark.parametrize(
    "where", ["nowhere", "a/b", "nowhere\\u0000", "x" * 5000], ids=["gone", "below", "NUL", "long"]
)
def test_a_named_plugin_that_is_not_there_is_reported_and_does_not_hide_the_others(
    tmp_path, put_project, put_plugin, where
):
    put_plugin("a")
    put_project(f'[plugins]\ngone = "{where}"\na = "a"\n')
    gone, there = project.load(tmp_path).entries
    assert (gone.binding, there.problem) == (None, None)
    assert gone.problem


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("plugins = 5", "plugins"),
        ("[plugins]\na = 5", "plugins[...]"),
        ("directories = 'a'", "directories"),
        ("directories = [5]", "directories[0]"),
        ("[plugin]\na = 'a'", "plugin"),
        ("[plugins", ""),
    ],
)
def test_a_wrong_project_file_is_named_with_its_key(tmp_path, put_project, text, key):
    file = put_project(text)
    with pytest.raises(ManifestError) as caught:
        project.load(tmp_path)
    assert (caught.value.source, caught.value.key) == (str(file), key)


def test_a_plugin_is_meant_by_its_directory_its_file_or_its_name(tmp_path, put_project, put_plugin):
    put_plugin("there/greeter")
    put_project('[plugins]\nhello = "there/greeter"\n')
    by_name = project.resolve("hello", tmp_path)
    assert by_name.name == "greeter"
    assert project.resolve("there/greeter", tmp_path).directory == by_name.directory
    assert project.resolve("there/greeter/plugin.toml", tmp_path).directory == by_name.directory
    assert project.resolve(str(tmp_path / "there" / "greeter"), tmp_path / "there") == by_name


def test_a_directory_is_meant_before_a_name(tmp_path, put_project, put_plugin):
    put_plugin("greeter", name="of-directory")
    put_plugin("other", name="of-name")
    put_project('[plugins]\ngreeter = "other"\n')
    assert project.resolve("greeter", tmp_path).name == "of-directory"


def test_a_name_is_found_in_a_scanned_directory(tmp_path, put_project, put_plugin):
    put_plugin("more/adder")
    put_project('directories = ["more"]\n')
    assert project.resolve("adder", tmp_path).name == "adder"


@pytest.mark.parametrize(
    "name", ["nobody", "no/body", "a\0b", "x" * 5000], ids=["name", "path", "NUL", "long"]
)
def test_an_unknown_plugin_is_named_and_so_are_the_known_ones(tmp_path, put_project, put_plugin, name):
    put_plugin("greeter")
    put_project('[plugins]\nhello = "greeter"\n')
    with pytest.raises(ManifestError) as caught:
        project.resolve(name, tmp_path)
    assert caught.value.source == name
    assert "hello" in caught.value.remedy


def test_a_name_whose_binding_is_broken_is_refused_with_the_whole_reason(tmp_path, put_project, put_plugin):
    put_plugin("broken", text="[plugin]\nname = 5\n")
    put_project('[plugins]\nalias = "broken"\n')
    with pytest.raises(ManifestError) as caught:
        project.resolve("alias", tmp_path)
    assert caught.value.source == str(tmp_path / "broken" / "plugin.toml")
    assert caught.value.key == "plugin.name"


def test_a_directory_without_a_binding_is_refused_by_the_file_that_is_missing(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ManifestError) as caught:
        project.resolve("empty", tmp_path)
    assert caught.value.source == str(tmp_path / "empty")


ENVELOPE = 'name: stamper\nversion: "1.0"\nsupported_extensions: [".txt"]\napi_version: "1"\n'


def test_of_two_plugins_with_one_name_the_later_directory_s_is_used(tmp_path: Path) -> None:
    for root in ("bundled", "lab"):
        (tmp_path / root / "here").mkdir(parents=True)
        (tmp_path / root / "here/manifest.yml").write_text(ENVELOPE)
    (tmp_path / "lab/broken").mkdir()
    (tmp_path / "lab/broken/manifest.yml").write_text("name: [")
    (tmp_path / "plughost.toml").write_text('directories = ["bundled", "lab"]')
    found = project.load(tmp_path)
    used = found.find("stamper")
    assert used is not None
    assert used.path == tmp_path / "lab/here"
    assert [entry.shadowed_by for entry in found.entries] == [tmp_path / "lab/here", None, None]
    assert [entry.problem is None for entry in found.entries] == [True, False, True]


def test_a_broken_plugin_takes_nobody_s_place(tmp_path: Path) -> None:
    for root, text in (("bundled", ENVELOPE), ("lab", ENVELOPE.replace("api_version", "no"))):
        (tmp_path / root / "stamper").mkdir(parents=True)
        (tmp_path / root / "stamper/manifest.yml").write_text(text)
    (tmp_path / "plughost.toml").write_text('directories = ["bundled", "lab"]')
    used = project.load(tmp_path).find("stamper")
    assert used is not None
    assert used.path == tmp_path / "bundled/stamper"


DUPLEX = '[plugin]\nname = "{name}"\nversion = "1.0.0"\nabi_version = 2\n'


@pytest.fixture
def put_duplex(tmp_path):
    """Return a function that writes a `duplex` plugin, and returns its directory."""

    def put(where, text=None, *, program=True):
        directory = tmp_path / where
        directory.mkdir(parents=True)
        (directory / "manifest.toml").write_text(DUPLEX.format(name=directory.name) if text is None else text)
        if program:
            (directory / directory.name).touch(mode=0o755)
        return directory

    return put


def test_a_duplex_plugin_is_found_by_its_manifest(tmp_path, put_project, put_duplex):
    directory = put_duplex("there/board")
    put_project('[plugins]\nboard = "there/board"\n')
    (entry,) = project.load(tmp_path).entries
    assert (entry.name, entry.path, entry.problem) == ("board", directory, None)
    assert (entry.binding.contract, entry.binding.command) == ("duplex", ("./board",))
    assert entry.duplex.manifest.version == "1.0.0"


@pytest.mark.parametrize("word", ["board", "there/board", "there/board/manifest.toml"])
def test_a_duplex_plugin_is_meant_by_its_name_its_directory_or_its_manifest(
    word, tmp_path, put_project, put_duplex
):
    put_duplex("there/board")
    put_project('[plugins]\nboard = "there/board/manifest.toml"\n')
    assert project.resolve(word, tmp_path).contract == "duplex"
    assert project.resolve_duplex(word, tmp_path).name == "board"


def test_a_project_calls_a_duplex_plugin_by_its_own_name_only(tmp_path, put_project, put_duplex):
    put_duplex("there/board")
    put_project('[plugins]\nplank = "there/board"\n')
    (entry,) = project.load(tmp_path).entries
    assert (entry.name, entry.binding, entry.error.key) == ("plank", None, "plugin.name")
    with pytest.raises(ManifestError) as raised:
        project.resolve("plank", tmp_path)
    assert "board" in raised.value.remedy


def test_a_scan_returns_duplex_plugins_among_the_others_and_those_that_were_meant_as_such(
    tmp_path, put_plugin, put_duplex
):
    put_plugin("b")
    put_duplex("a")
    put_duplex("c", "nonsense")
    put_duplex("d", program=False)
    (tmp_path / "e").mkdir()
    (tmp_path / "e/e").touch(mode=0o755)
    found = {entry.name: entry for entry in project.scan(tmp_path)}
    assert list(found) == ["a", "b", "c", "d", "e"]
    assert [name for name, entry in found.items() if entry.problem] == ["c", "d", "e"]
    assert found["a"].path == tmp_path / "a"


def test_where_no_duplex_plugin_is_a_program_in_a_directory_of_its_name_is_none(tmp_path, put_plugin):
    put_plugin("b")
    (tmp_path / "e").mkdir()
    (tmp_path / "e/e").touch(mode=0o755)
    assert [entry.name for entry in project.scan(tmp_path)] == ["b"]


@pytest.mark.parametrize("other", ["plugin.toml", "manifest.yml"])
def test_the_binding_of_another_contract_goes_first(other, tmp_path, put_duplex):
    directory = put_duplex("a")
    (directory / other).write_text("nonsense")
    (entry,) = project.scan(tmp_path)
    assert entry.duplex is None
    assert other in entry.error.source


def test_two_duplex_plugins_of_one_name_are_both_refused(tmp_path, put_project, put_duplex):
    for where in ("one/same", "two/same", "two/other"):
        put_duplex(where)
    put_project('directories = ["one", "two"]')
    found = project.load(tmp_path)
    problems = [entry for entry in found.entries if entry.problem]
    assert [entry.name for entry in problems] == ["same", "same"]
    assert all(entry.binding is None and entry.duplex is None for entry in problems)
    assert found.find("other").problem is None
    with pytest.raises(ManifestError) as raised:
        project.resolve("same", tmp_path)
    assert raised.value.key == "plugin.name"


def test_the_same_duplex_plugin_named_twice_is_one(tmp_path, put_project, put_duplex):
    put_duplex("one/same")
    put_project('directories = ["one"]\n[plugins]\nsame = "one/same"\n')
    found = project.load(tmp_path)
    assert [entry.problem for entry in found.entries] == [None, None]
    assert found.find("same").duplex is not None


# Envelope plugins

YML = 'name: {name}\nversion: "1.0"\nsupported_extensions: [.txt]\napi_version: "1"\n'


@pytest.fixture
def put_envelope(tmp_path):
    """Return a function that writes an `envelope` plugin into a directory of its own, and returns that."""

    def write(where, name=None, extra=""):
        directory = tmp_path / where
        directory.mkdir(parents=True)
        (directory / "manifest.yml").write_text(YML.format(name=name or directory.name) + extra)
        return directory

    return write


def usable(entries):
    return {each.path for each in entries if each.error is None and each.shadowed_by is None}


def test_of_roots_those_envelope_plugins_are_usable_that_a_pass_would_take(tmp_path, put_envelope):
    put_envelope("a/one", "same")
    put_envelope("a/two", "same")
    put_envelope("a/old")
    put_envelope("a/net", extra="isolation: {network: true}\n")
    put_envelope("a/.hidden")
    (tmp_path / "a/bare").mkdir()
    (tmp_path / "a/bare/plugin.py").write_text("")
    put_envelope("b/old")
    put_envelope("b/wrong", extra="isolation: 5\n")
    roots = [tmp_path / "a", tmp_path / "b"]
    for allow_network in (False, True):
        found = project.scan_roots(roots, allow_network=allow_network)
        taken = envelope_registry.discover(*roots, allow_network=allow_network)
        assert usable(found) == {each.directory for each in taken.loaded}
        assert {each.path for each in found if each.error} == {each.path for each in taken.rejected}
        assert [each.path for each in found if each.shadowed_by] == [each.path for each in taken.shadowed]


def test_a_plugin_of_another_contract_is_not_missing_an_envelope_manifest(
    tmp_path, put_envelope, put_plugin, put_duplex
):
    put_envelope("root/a")
    for directory in (put_duplex("root/b"), put_plugin("root/c")):
        (directory / "plugin.py").write_text("")
    assert [(each.name, each.contract) for each in project.scan_roots([tmp_path / "root"])] == [
        ("a", "envelope"),
        ("b", "duplex"),
        ("c", "execute"),
    ]


def test_where_no_envelope_plugin_is_a_package_is_none(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").write_text("")
    assert project.scan_roots([tmp_path]) == []


def test_a_later_root_takes_the_place_of_plugins_of_the_same_contract_only(
    tmp_path, put_envelope, put_plugin
):
    put_envelope("a/same")
    put_plugin("b/same")
    assert [each.shadowed_by for each in project.scan_roots([tmp_path / "a", tmp_path / "b"])] == [None, None]


def test_an_envelope_plugin_is_meant_by_its_name_unless_two_of_a_directory_have_it(
    tmp_path, put_project, put_envelope
):
    put_project('directories = ["plugins"]')
    one = put_envelope("plugins/one", extra="isolation: {network: true}\n")
    put_envelope("plugins/two", "same")
    put_envelope("plugins/three", "same")
    assert project.resolve_envelope("one", tmp_path).directory == one
    for meant in (project.resolve, project.resolve_envelope):
        with pytest.raises(ManifestError):
            meant("same", tmp_path)
