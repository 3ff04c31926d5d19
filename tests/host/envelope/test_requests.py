"""What a worker is given: files of the tree, a bare environment, limits, and no module but those that are meant."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from plughost import blocking
from plughost.errors import LocalProtocolError, TreeError
from tests.host.envelope.lab import Lab

REPORT = """
def transform(self, path, ctx):
    with (ctx.dst_root / "seen.out").open("ab") as file:
        file.write(os.fsencode(path.relative_to(ctx.dst_root)) + b"\\0")
"""


def seen(lab: Lab) -> list[str]:
    path = lab.root / "seen.out"
    return [os.fsdecode(name) for name in path.read_bytes().split(b"\0")[:-1]] if path.exists() else []


@pytest.mark.requirement("envelope:frame:bounded")
@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 1, 1),  # noqa: DTZ001  any datetime
        float("nan"),
        float("inf"),
        {1, 2},
        b"bytes",
        Decimal("1.5"),
        ...,
        Path("x"),
        {1: "a"},
        {"deep": [{"deeper": {1, 2}}]},
        "\ud800",
        {"\ud800": 1},
        [[[[[]]]]] * 3 + [float("-inf")],
    ],
    ids=repr,
)
def test_a_variable_that_json_cannot_say_is_refused_before_anything_runs(value: Any, lab: Lab) -> None:
    hello, before = lab.plugin("hello"), lab.portrait()
    with pytest.raises(LocalProtocolError):
        lab.run(hello, variables={"value": value})
    assert lab.portrait() == before
    assert not lab.events
    assert not (lab.root / ".exlab-wizard").exists()


def test_variables_nested_without_end_are_refused(lab: Lab) -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(LocalProtocolError):
        lab.run(lab.plugin("hello"), variables={"loop": loop})


def test_plain_variables_arrive_as_they_were(lab: Lab) -> None:
    lab.plugin("shows", "def transform(self, path, ctx):\n    path.write_text(json.dumps(ctx.variables))")
    plain = {"t": "ä\n\u2028\x00", "n": 2**70, "f": 1e300, "z": None, "b": [True, {"deep": [1, ()]}]}
    lab.run(lab.home / "plugins/shows", variables=plain)
    assert json.loads(lab.text("a.txt")) == {**plain, "b": [True, {"deep": [1, []]}]}


@pytest.mark.requirement("envelope:frame:bounded")
def test_a_request_over_a_megabyte_is_refused_and_no_worker_is_started(both: Lab) -> None:
    before = both.portrait()
    with pytest.raises(LocalProtocolError):
        both.run(both.plugin("hello"), variables={f"v{number}": "x" * 200_000 for number in range(6)})
    assert both.portrait() == before
    assert not any(event.name == "spawned" for event in both.events)


@pytest.mark.requirement("envelope:frame:bounded", "envelope:record:truth")
def test_a_request_that_only_its_files_make_too_large_fails_that_plugin_alone(lab: Lab) -> None:
    lab.write({f"{number}-{'x' * 200}.many": "" for number in range(100)})
    many, hello = lab.plugin("many", extensions=[".many"]), lab.plugin("zz-hello")
    before = {path: look for path, look in lab.portrait().items() if path != b"a.txt"}
    first, second = lab.run(many, hello, variables={"much": "x" * 1_030_000}).plugins_applied
    assert (first.status, first.isolation.attempts) == ("failed", 0)
    assert first.error
    assert second.status == "success"
    assert {path: look for path, look in lab.portrait().items() if path != b"a.txt"} == before
    told = [(event.plugin, type(event.what).__name__) for event in lab.events]
    assert ("many", "Logged") not in told
    last = len(told) - told[::-1].index(("many", "Exited"))  # nobody waits any longer for what will not come
    assert last < told.index(("zz-hello", "PluginBegun"))


def test_a_large_request_of_a_megabyte_is_delivered(both: Lab) -> None:
    counts = both.plugin(
        "counts", "def transform(self, path, ctx):\n    path.write_text(str(len(ctx.variables['much'])))"
    )
    assert both.one(counts, variables={"much": "x" * 1_000_000}).status == "success"
    assert both.text("a.txt") == "1000000"


# Files


@pytest.mark.requirement("envelope:request:inside")
def test_a_worker_is_given_the_regular_files_of_its_kind_that_it_may_touch(lab: Lab) -> None:
    lab.write(
        dict.fromkeys(("b.TXT", "c.csv", "sub/d.txt", "README.md", "x.md", "sub/README.md", ".txt"), "")
    )
    lab.write({".exlab-wizard/e.txt": "", ".exlab-answers.yml": ""})
    (lab.root / "link.txt").symlink_to("a.txt")
    (lab.root / "out.txt").symlink_to("/etc/passwd")
    (lab.root / "dir.txt").mkdir()
    os.mkfifo(lab.root / "pipe.txt")
    lab.one(lab.plugin("lists", REPORT, extensions=[".txt", ".md", ".yml"]))
    assert sorted(seen(lab)) == [".txt", "a.txt", "b.TXT", "sub/README.md", "sub/d.txt", "x.md"]


@pytest.mark.requirement("envelope:request:inside")
def test_a_worker_is_given_only_the_files_that_the_caller_names(lab: Lab) -> None:
    lab.write({"b.txt": "", "sub/c.txt": "", "d.csv": ""})
    lists = lab.plugin("lists", REPORT)
    lab.one(lists, files=["sub/c.txt", lab.root / "b.txt", "./sub/../b.txt", "d.csv"])
    assert sorted(seen(lab)) == ["b.txt", "sub/c.txt"]


@pytest.mark.requirement("envelope:request:inside")
def test_a_file_may_be_named_by_way_of_any_name_of_its_tree(lab: Lab) -> None:
    lab.write({"sub/c.txt": ""})
    (lab.home / "link").symlink_to(lab.root)
    (lab.home / "again").symlink_to("link")
    lists = lab.plugin("lists", REPORT)
    with blocking.Host() as host:
        host.run_pass(
            lab.home / "link", [lists], files=[lab.home / "link/a.txt", lab.home / "again/sub/c.txt"]
        )
    assert sorted(seen(lab)) == ["a.txt", "sub/c.txt"]
    (lab.root / "out").symlink_to(lab.home)
    with pytest.raises(LocalProtocolError):
        lab.run(lists, files=[lab.home / "link/out/tree/a.txt"])


@pytest.mark.parametrize("wrong", [5, "answer", {"word": "yes"}, False])
def test_what_is_no_function_cannot_be_asked_and_is_refused_before_anything_is_run(
    wrong: Any, both: Lab
) -> None:
    hello = both.plugin("hello")  # which asks for nothing
    before = both.portrait()
    with pytest.raises(LocalProtocolError):
        both.run(hello, ask=wrong)
    assert both.portrait() == before


@pytest.mark.requirement("envelope:request:inside")
@pytest.mark.parametrize(
    "path",
    ["../outside.txt", "/etc/passwd", "sub/../../outside.txt", ".", "", "missing.txt", "out/x.txt", "a\0b"],
)
def test_a_path_of_the_callers_that_leaves_the_tree_or_is_not_there_is_refused(path: str, lab: Lab) -> None:
    (lab.home / "outside.txt").write_text("")
    (lab.home / "elsewhere").mkdir()
    (lab.home / "elsewhere/x.txt").write_text("")
    (lab.root / "out").symlink_to(lab.home / "elsewhere")
    with pytest.raises(LocalProtocolError):
        lab.run(lab.plugin("hello"), files=[path])


@pytest.mark.parametrize("path", ["sub", "sub/", "link"])
def test_a_directory_that_the_caller_names_as_a_file_is_refused(path: str, lab: Lab) -> None:
    lab.write({"sub/c.txt": ""})
    (lab.root / "link").symlink_to("sub")
    with pytest.raises(LocalProtocolError) as caught:
        lab.run(lab.plugin("hello"), files=["a.txt", path])
    assert "directory" in str(caught.value)
    assert not (lab.root / ".exlab-wizard").exists()


def test_odd_names_are_given_and_recorded_and_those_that_are_not_utf8_are_left_out_with_a_word(
    both: Lab,
) -> None:
    odd = ["new\nline.txt", "tab\t.txt", "\x1b[2J.txt", " .txt", "-rf.txt", "ä€😀.txt", "'\"\\$(x).txt"]
    both.write(dict.fromkeys(odd, ""))
    (both.root / os.fsdecode(b"latin-\xe4.txt")).write_text("")
    hello = both.plugin("hello", "def transform(self, path, ctx):\n    path.write_text('changed')")
    entry = both.one(hello)
    assert entry.status == "success"
    assert set(entry.files_affected) == {"a.txt", *odd}
    assert any("UTF-8" in warning for warning in entry.warnings)


def test_a_file_whose_name_is_not_utf8_is_recorded_when_a_plugin_makes_changes_or_removes_one(
    both: Lab,
) -> None:
    both.write({os.fsdecode(b"old-\xe4.bin"): "old", os.fsdecode(b"gone-\xe4.bin"): "gone"})
    latin = both.plugin(
        "latin",
        """
        def transform(self, path, ctx):
            for name in os.listdir(b"."):
                if name.startswith(b"gone"):
                    os.remove(name)
                if name.startswith(b"old"):
                    os.rename(name, b"renamed-\\xe4.bin")
            open(b"new-\\xe4.bin", "w").close()
        """,
    )
    entry = both.one(latin)
    assert entry.status == "success"
    kinds = {change.kind for change in entry.changes}
    assert kinds == {"created", "deleted", "renamed"}
    assert all(path.isprintable() for path in both.entries[-1]["files_affected"])


def test_a_tree_whose_own_path_is_not_utf8_is_refused(lab: Lab) -> None:
    odd = lab.home / os.fsdecode(b"tree-\xe4")
    odd.mkdir()
    with pytest.raises(TreeError):
        blocking.Host().run_pass(odd, [lab.plugin("hello")])
    assert sorted(os.listdir(odd)) == []


def test_a_record_whose_path_is_not_utf8_is_refused_before_anything_runs(both: Lab) -> None:
    with pytest.raises(TreeError):
        both.run(both.plugin("hello"), record=both.home / os.fsdecode(b"record-\xe4.json"))
    assert sorted(os.listdir(both.root)) == ["a.txt"]
    assert not both.events


def test_a_directory_for_temporary_files_whose_path_is_not_utf8_is_refused(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = lab.home / os.fsdecode(b"tmp-\xe4")
    odd.mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "tempdir", str(odd))
        with pytest.raises(TreeError):
            lab.run(lab.plugin("hello"))
    assert sorted(os.listdir(odd)) == []


def test_a_tree_may_be_named_by_a_symbolic_link(lab: Lab) -> None:
    link = lab.home / "link"
    link.symlink_to(lab.root)
    hello = lab.plugin("hello")
    with blocking.Host() as host:
        result = host.run_pass(link, [hello], files=["a.txt"])
    assert result.directory == lab.root
    assert lab.entries[0]["status"] == "success"
    link.unlink()


# Isolation


@pytest.mark.requirement("envelope:request:isolated")
def test_a_worker_has_the_environment_limits_and_place_that_it_was_given(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EXLAB_SECRET", "PYTHONPATH", "LD_PRELOAD_X", "PYTHONSTARTUP", "AWS_SECRET", "HOME"):
        monkeypatch.setenv(name, "secret")
    dump = lab.plugin(
        "dump",
        """
        def transform(self, path, ctx):
            import resource
            limits = {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name))
                      for name in ("DATA", "AS", "CPU", "NOFILE", "CORE")}
            facts = {"env": dict(os.environ), "limits": limits, "path": sys.path, "cwd": os.getcwd(),
                     "group": os.getpgid(0) == os.getpid(), "fds": os.listdir("/proc/self/fd"),
                     "umask": os.umask(0), "argv": sys.argv, "file": str(path)}
            path.write_text(json.dumps(facts))
        """,
        isolation={"timeout_seconds": 7, "memory_mb": 300},
    )
    lab.one(dump)
    facts = json.loads(lab.text("a.txt"))
    usual = {"PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "PLUGHOST_RUN", "LC_CTYPE", "NO_COLOR", "TERM"}
    assert set(facts["env"]) <= usual | {"PYTHONSAFEPATH", "PYTHONDONTWRITEBYTECODE"}
    assert not Path(facts["env"]["TMPDIR"]).is_relative_to(lab.root)
    assert facts["limits"]["DATA"] == [300 << 20, 300 << 20]
    assert facts["limits"]["CPU"][0] == 14
    assert facts["limits"]["NOFILE"] == [256, 256]
    assert facts["limits"]["CORE"] == [0, 0]
    assert facts["group"]
    assert facts["cwd"] == str(lab.root)
    assert not any(Path(each).is_relative_to(lab.home) for each in facts["path"])
    assert len(facts["fds"]) <= 6


HIJACK = "import os\nopen(os.environ['TMPDIR'] + '/../../../hijacked', 'w').close()\nraise SystemExit(77)\n"
HIJACKERS = (
    "json.py",
    "pathlib.py",
    "os.py",
    "site.py",
    "sitecustomize.py",
    "usercustomize.py",
    "plughost_sdk/__init__.py",
    "plughost_sdk/envelope.py",
    "helper.py",
    "encodings/__init__.py",
    "select.py",
    "abc.py",
)


@pytest.mark.requirement("envelope:request:isolated")
@pytest.mark.parametrize("place", ["tree", "siblings"])
def test_nothing_in_the_tree_or_beside_the_plugin_takes_the_place_of_a_module(place: str, lab: Lab) -> None:
    hello = lab.plugin(
        "hello",
        """
        def transform(self, path, ctx):
            import json, traceback, resource, select, abc
            from plughost_sdk import envelope
            try:
                import helper
            except ImportError:
                path.write_text("clean")
        """,
    )
    where = lab.root if place == "tree" else hello.parent
    for name in HIJACKERS:
        (where / name).parent.mkdir(exist_ok=True)
        (where / name).write_text(HIJACK)
    (where / "evil.pth").write_text(f"import os; {HIJACK.splitlines()[1]}\n")
    (where / "pyvenv.cfg").write_text(f"home = {where}\n")
    entry = lab.one(hello, files=["a.txt"])
    assert entry.status == "success", entry
    assert lab.text("a.txt") == "clean"
    assert not (lab.home / "hijacked").exists()


@pytest.mark.requirement("envelope:request:isolated")
@pytest.mark.parametrize("own", [False, True], ids=["an SDK plugin", "a command of its own"])
def test_nor_does_it_for_a_python_that_the_plugin_starts_which_leaves_no_bytecode(
    own: bool, lab: Lab
) -> None:
    starts = "subprocess.run([sys.executable, '-c', 'import json'], check=True)"
    if own:
        plugin = lab.raw("starts", f"import subprocess\n{starts}\nanswer(result='success')")
    else:
        plugin = lab.plugin("starts", f"def transform(self, path, ctx):\n    {starts}")
    (lab.root / "json.py").write_text(HIJACK)
    entry = lab.one(plugin)
    assert (entry.status, entry.files_affected) == ("skipped", [])


def test_a_command_with_a_python_of_its_own_imports_what_is_beside_its_script(lab: Lab) -> None:
    plugin = lab.raw("parts", "import part\nanswer(result='success')", command=[sys.executable, "worker.py"])
    (plugin / "part.py").touch()
    assert lab.one(plugin).status == "skipped"


def test_a_plugin_named_like_a_module_of_the_library_harms_nobody(lab: Lab) -> None:
    entry = lab.one(
        lab.plugin("json", "def transform(self, path, ctx):\n    path.write_text(json.dumps({}))")
    )
    assert entry.status == "success"
    assert lab.text("a.txt") == "{}"


def test_a_plugin_imports_its_own_modules(lab: Lab) -> None:
    plugin = lab.plugin(
        "parts", "def transform(self, path, ctx):\n    path.write_text(word)", top="from .part import word\n"
    )
    (plugin / "part.py").write_text("word = 'own'\n")
    assert lab.one(plugin).status == "success"
    assert lab.text("a.txt") == "own"


def test_no_bytecode_is_left_in_the_tree(lab: Lab) -> None:
    entry = lab.one(lab.plugin("imports", "def transform(self, path, ctx):\n    path.write_text('done')"))
    assert entry.files_affected == ["a.txt"]


@pytest.mark.requirement("envelope:manifest:environment")
@pytest.mark.parametrize("own", [True, False])
def test_a_worker_sees_the_variables_that_its_manifest_names(
    own: bool, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "EXLAB_A", "EXLAB_B", "SECRET"):
        monkeypatch.setenv(name, name.lower())
    tells = "(root / 'seen').write_text(' '.join(sorted(each for each in os.environ if each in KNOWN)))"
    known = "KNOWN = ('HOME', 'EXLAB_A', 'EXLAB_B', 'SECRET')\n"
    environment = ["HOME", "EXLAB_*"]
    if own:
        body = f"import pathlib\nroot = pathlib.Path(root)\n{known}{tells}\nanswer(result='success', per_file=[])"
        plugin = lab.raw("tells", body, environment=environment)
    else:
        body = f"def transform(self, path, ctx):\n    root = ctx.dst_root\n    {tells}"
        plugin = lab.plugin("tells", body, top=known, environment=environment)
    assert lab.one(plugin).status == "success"
    assert lab.text("seen") == "EXLAB_A EXLAB_B HOME"


def test_a_plugin_can_be_for_files_without_a_suffix_or_with_one_name(lab: Lab) -> None:
    lab.write({"Makefile": "m\n", "LICENSE": "l\n", "a.csv": "c\n", ".hidden": "h\n"})
    assert lab.one(lab.plugin("named", extensions=["makefile"])).files_affected == ["Makefile"]
    assert lab.one(lab.plugin("bare", extensions=[""])).files_affected == [".hidden", "LICENSE", "Makefile"]
