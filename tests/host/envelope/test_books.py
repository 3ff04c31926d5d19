"""The books are kept whatever happens: interrupted between plugins, not writable, nested, in batches."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

import plughost
from plughost import blocking
from plughost.errors import LocalProtocolError, TreeError
from plughost.files import recovery
from plughost.files.snapshot import Snapshot
from plughost.files.store import place
from plughost.host.envelope import ledger, plugin_flow
from plughost.host.envelope.leftovers import put_right, settle, touched
from plughost.host.events import Event, PassInterrupted, PassSettled, PluginApplied, PluginBegun
from plughost.record import creation
from tests.host.envelope.lab import Lab, outcome


@pytest.mark.requirement("envelope:record:truth")
def test_an_interrupt_between_two_plugins_keeps_what_the_first_did_and_its_record(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Snapshot.advance
    calls = []

    def advance(self: Snapshot, note: dict[str, Any], **keywords: Any) -> None:
        calls.append(note)
        if len(calls) == 2:  # the first accepts; the second is before the next plugin
            raise KeyboardInterrupt
        real(self, note, **keywords)

    monkeypatch.setattr(Snapshot, "advance", advance)
    with pytest.raises(KeyboardInterrupt):
        lab.run(lab.plugin("one"), lab.plugin("two"))
    assert lab.text("a.txt") == "a\none\n"
    assert [(entry["plugin"], entry["status"]) for entry in lab.entries] == [("one", "success")]
    assert any("plugin:one" in line for line in lab.log)


@pytest.mark.requirement("envelope:record:truth")
def test_an_interrupt_while_the_record_is_written_keeps_what_was_accepted_and_writes_it(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = creation.Record.append
    calls = []

    def append(self: creation.Record, *arguments: Any, **keywords: Any) -> None:
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        real(self, *arguments, **keywords)

    monkeypatch.setattr(creation.Record, "append", append)
    with pytest.raises(KeyboardInterrupt):
        lab.run(lab.plugin("one"))
    assert lab.text("a.txt") == "a\none\n"
    assert [(entry["plugin"], entry["status"]) for entry in lab.entries] == [("one", "success")]


SPOILS = """
def transform(self, path, ctx):
    path.write_text("x")
    (ctx.dst_root / "new").mkdir()
"""


def spoil(books: str, lab: Lab) -> tuple[Path, dict[str, Any]]:
    """Return books that look well until a pass writes to them, which is when a listener spoils them."""
    place = lab.home / "books"
    place.mkdir()
    if books == "record":
        return place / "creation.json", {"record": place / "creation.json", "logs": lab.home / "logs"}
    return place / f"wizard.{socket.gethostname()}.log", {"record": lab.home / "creation.json", "logs": place}


@pytest.mark.requirement("envelope:record:truth", "envelope:tree:undone")
@pytest.mark.parametrize("books", ["record", "log"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_what_cannot_be_written_down_is_undone(books: str, jobs: int, both: Lab) -> None:
    both.write({"b.csv": "b\n"})
    path, options = spoil(books, both)
    before = both.portrait()

    def block(event: Event) -> None:
        both.events.append(event)
        if isinstance(event.what, PluginBegun) and not path.is_dir():
            path.unlink(missing_ok=True)
            path.mkdir()  # from now on nobody can write a file of that name

    plugins = [both.plugin("one", SPOILS), both.plugin("two", extensions=[".csv"])]
    with pytest.raises(TreeError) as caught:
        pass_with(both, plugins, block, jobs=jobs, **options)
    assert caught.value.path == str(path)
    assert both.portrait() == before

    path.rmdir()
    assert put_right(both.root)
    assert both.portrait() == before
    entries = json.loads(Path(options["record"]).read_bytes())["plugins_applied"]
    assert {entry["status"] for entry in entries} == {"failed"}
    assert all("written down" in entry["error"] and not entry["changes"] for entry in entries)
    (log,) = Path(options["logs"]).glob("wizard.*.log")
    assert log.read_text().count("plugin applied status=failed") == len(entries)


def pass_with(lab: Lab, plugins: list[Path], listener: Any, **options: Any) -> None:
    if lab.kind == "asyncio":
        asyncio.run(apass(lab, plugins, listener, **options))
    else:
        with blocking.Host(on_event=listener) as host:
            host.run_pass(lab.root, plugins, **options)


async def apass(lab: Lab, plugins: list[Path], listener: Any, **options: Any) -> None:
    async with plughost.Host(on_event=listener) as host:
        await host.run_pass(lab.root, plugins, **options)


REFUSES = "def transform(self, path, ctx):\n    path.write_text('x'); raise PluginError('no room')"


def irreversible(self: Any, *arguments: Any, **keywords: Any) -> Any:
    raise TreeError("a.txt", "could not be put back", "Remove the cause")


@pytest.mark.requirement("envelope:record:truth", "envelope:tree:killed")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_plugin_that_failed_and_could_not_be_undone_is_recorded_with_its_own_error_once_it_is(
    jobs: int, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write({"b.csv": "b\n"})
    before = lab.portrait()
    plugins = lab.plugin("good", extensions=[".csv"]), lab.plugin("refuses", REFUSES)
    with monkeypatch.context() as patch:
        patch.setattr(Snapshot, "revert", irreversible)
        with pytest.raises(TreeError):
            lab.run(*plugins, jobs=jobs)
    assert put_right(lab.root)
    good, refused = lab.entries
    assert (refused["plugin"], refused["status"], refused["error"]) == ("refuses", "failed", "no room")
    assert refused["isolation"]["attempts"] == 1
    assert outcome(good) == ("success" if jobs == 1 else "aborted"), "at once, it was undone with the other"
    assert lab.text("b.csv") == ("b\ngood\n" if jobs == 1 else "b\n")
    assert lab.portrait()[b"a.txt"] == before[b"a.txt"]
    for path in lab.home.glob("*.plughost-displaced-*"):
        shutil.rmtree(path)


@pytest.mark.requirement("envelope:record:truth")
def test_a_plugin_that_touched_what_it_must_not_is_recorded_as_such_even_if_it_is_undone_later(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Snapshot, "revert", irreversible)
        with pytest.raises(TreeError):
            lab.run(lab.plugin("p", "def transform(self, path, ctx):\n    Path('README.md').touch()"))
    assert put_right(lab.root)
    (entry,) = lab.entries
    assert (entry["status"], entry["violations"]) == ("policy_violation", ["README.md"])
    for path in lab.home.glob("*.plughost-displaced-*"):
        shutil.rmtree(path)


@pytest.mark.requirement("envelope:record:truth")
def test_a_kill_between_two_plugins_displaces_nothing(lab: Lab) -> None:
    """What the host wrote itself is not put back: nobody was at work."""
    lab.run(lab.plugin("one"))
    before = lab.portrait()
    store = place(lab.root)
    Snapshot.take(lab.root, store, {"touched": False})
    (lab.root / ".exlab-wizard/later.log").write_text("ours")
    recovered = recovery.recover(lab.root, touched=touched)
    assert recovered is not None
    assert recovered.displaced is None
    settle(recovered)
    (lab.root / ".exlab-wizard/later.log").unlink()
    assert lab.portrait() == before


@pytest.mark.requirement("envelope:record:atomic")
@pytest.mark.parametrize("record", ["nowhere/deep/x.json", "a.txt/x.json"])
def test_a_record_that_could_not_be_written_is_refused_before_a_file_is_touched(
    record: str, lab: Lab
) -> None:
    before = lab.portrait()
    with pytest.raises(TreeError):
        lab.run(lab.plugin("one"), record=lab.root / record)
    assert lab.portrait() == before
    assert lab.run(lab.plugin("two")).ok


@pytest.mark.requirement("envelope:record:atomic")
@pytest.mark.parametrize("option", [{"logs": "/proc"}, {"record": "/proc/creation.json"}])
def test_a_place_that_takes_no_file_is_refused_before_a_plugin_is_asked(
    option: dict[str, str], lab: Lab
) -> None:
    before = lab.portrait()
    with pytest.raises(TreeError):
        lab.run(lab.plugin("one"), **option)
    assert lab.portrait() == before
    assert not lab.events


@pytest.mark.requirement("envelope:record:atomic")
def test_a_record_that_is_nearly_full_is_refused_before_a_plugin_is_asked(lab: Lab) -> None:
    lab.write({".exlab-wizard/creation.json": b"{}".ljust(creation.SIZE_LIMIT - 300)})
    before = lab.portrait()
    with pytest.raises(TreeError):
        lab.run(lab.plugin("one"))
    assert lab.portrait() == before
    assert not lab.events


@pytest.mark.requirement("envelope:tree:killed")
def test_a_record_that_cannot_be_written_any_more_does_not_keep_anybody_from_the_directory(lab: Lab) -> None:
    note = {"touched": True, "record": str(lab.home / "gone/deep/r.json"), "entries": [{"id": "x:y"}]}
    Snapshot.take(lab.root, place(lab.root), note)
    recovered = recovery.recover(lab.root, touched=touched)
    assert recovered is not None
    told = settle(recovered)
    aside = list(lab.home.rglob("*.plughost-unwritten-*.json"))
    assert len(aside) == 1
    assert str(aside[0]) in told
    assert "x:y" in aside[0].read_text()
    aside[0].unlink()


@pytest.mark.requirement("envelope:tree:killed")
def test_entries_that_cannot_be_written_are_all_kept_however_fast_they_follow(lab: Lab) -> None:
    for number in range(3):
        record = str(lab.home / "gone/deep/r.json")
        note = {"touched": True, "record": record, "entries": [{"id": f"x:{number}"}]}
        Snapshot.take(lab.root, place(lab.root), note)
        assert put_right(lab.root)
    aside = list(lab.home.glob("*.plughost-unwritten-*.json"))
    kept = [entry["id"] for path in aside for entry in json.loads(path.read_bytes())["entries"]]
    assert sorted(kept) == ["x:0", "x:1", "x:2"]
    for path in aside:
        path.unlink()


@pytest.mark.requirement("envelope:tree:killed")
def test_what_was_put_right_is_told_also_by_a_pass_that_is_then_refused(both: Lab) -> None:
    Snapshot.take(both.root, place(both.root), {"touched": True})
    both.write({".exlab-wizard/creation.json": "{"})
    both.run(both.plugin("one"))
    (told,) = [event for event in both.events if event.name == "tree_recovered"]
    assert told.plugin == ""
    assert told.to_dict()["told"]
    for path in both.home.glob("*.plughost-displaced-*"):
        shutil.rmtree(path)
    both.write({".exlab-wizard/creation.json": "{"})
    Snapshot.take(both.root, place(both.root), {"touched": True})
    with pytest.raises(TreeError):
        both.run(both.plugin("two"))
    assert [event.name for event in both.events].count("tree_recovered") == 2


def test_a_pass_in_a_directory_keeps_passes_off_those_above_and_below(lab: Lab) -> None:
    lab.write({"sub/in.txt": "in\n"})
    refused: list[TreeError] = []

    def look(event: plughost.Event) -> None:
        if isinstance(event.what, PluginBegun) and not refused:
            with blocking.Host() as other:
                for directory in (lab.root / "sub", lab.root.parent):
                    with pytest.raises(TreeError) as caught:
                        other.run_pass(directory, [second])
                    refused.append(caught.value)

    second = lab.plugin("second")
    with blocking.Host(on_event=look) as host:
        assert host.run_pass(lab.root, [lab.plugin("first")]).ok
    assert len(refused) == 2
    assert lab.text("sub/in.txt") == "in\nfirst\n"


@pytest.mark.requirement("envelope:request:batches")
def test_many_files_are_given_to_several_workers_one_after_the_other(
    both: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_flow, "BATCH_BYTES", 1_000)
    both.write({f"many/{number}.txt": "" for number in range(20)})
    entry = both.one(both.plugin("each"))
    assert entry.status == "success"
    assert entry.isolation.attempts > 3
    assert all(both.text(f"many/{number}.txt") == "each\n" for number in range(20))


def test_the_hooks_around_all_files_run_in_each_worker(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_flow, "BATCH_BYTES", 1_000)
    lab.write({f"many/{number}.txt": "" for number in range(20)})
    body = """
    def note(self, ctx, word):
        with (ctx.dst_root / "hooks").open("a") as file:
            file.write(word)

    def pre_transform_all(self, ctx):
        self.note(ctx, "(")

    def post_transform_all(self, ctx):
        self.note(ctx, ")")
    """
    entry = lab.one(lab.plugin("each", body))
    assert lab.text("hooks") == "()" * entry.isolation.attempts


def test_a_plugin_that_fails_in_a_later_batch_leaves_the_whole_tree_as_it_was(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_flow, "BATCH_BYTES", 1_000)
    lab.write({f"many/{number}.txt": "" for number in range(20)})
    before = lab.portrait()
    body = """def transform(self, path, ctx):
    path.write_text('x')
    if path.name == '9.txt':
        raise PluginError('no')"""
    entry = lab.one(lab.plugin("late", body))
    assert entry.status == "failed"
    assert lab.portrait() == before
    assert lab.text("many/1.txt") == ""


@pytest.mark.requirement("envelope:record:truth")
def test_an_entry_names_the_exception_that_nobody_caught(lab: Lab) -> None:
    entry = lab.one(
        lab.plugin("odd", "def transform(self, path, ctx):\n    raise ZeroDivisionError('by nothing')")
    )
    assert entry.crash
    assert entry.error is not None
    assert "ZeroDivisionError: by nothing" in entry.error


def test_an_entry_in_the_record_has_an_end_and_tells_how_much_there_was(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "MOST_LISTED", 3)
    body = "def transform(self, path, ctx):\n    [Path(f'{n}.new').write_text('') for n in range(10)]"
    (entry,) = lab.run(lab.plugin("maker", body), files=["a.txt"]).plugins_applied
    assert len(entry.changes) == len(entry.files_affected) == 10, "the caller is told all"
    assert entry.totals is None
    (applied,) = [event.what for event in lab.events if isinstance(event.what, PluginApplied)]
    assert len(applied.files_affected) == 10
    (written,) = lab.entries
    assert written["files_affected"] == [f"{n}.new" for n in range(3)]
    assert len(written["changes"]) == 3
    assert written["totals"] == {"files_affected": 10, "changes": 10, "per_file": 1, "violations": 0}
    assert "files_affected=10" in lab.log[-1]
    assert (lab.root / "9.new").exists()


@pytest.mark.requirement("envelope:tree:killed")
def test_also_what_recovery_writes_has_an_end_and_tells_how_much_there_was(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "MOST_LISTED", 3)
    body = "def transform(self, path, ctx):\n    [Path(f'{n}.new').write_text('') for n in range(10)]"

    def killed(*arguments: Any, **keywords: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(creation.Record, "append", killed)
        with pytest.raises(KeyboardInterrupt):
            lab.run(lab.plugin("maker", body), files=["a.txt"])
    assert put_right(lab.root)
    (written,) = lab.entries
    assert len(written["changes"]) == 3
    assert written["totals"]["changes"] == 10
    assert "files_affected=10" in lab.log[-1]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("project", 3),
        ("project", "\udcff"),
        ("jobs", "2"),
        ("jobs", 2.5),
        ("variables", [("a", 1)]),
        ("input_timeout_s", "3"),
        ("order", "one"),
        ("files", "a.txt"),
        ("order", None),
        ("order", [None]),
        ("order", [b"one"]),
        ("files", [1]),
        ("files", [b"a.txt"]),
        ("files", [None]),
        ("forbidden", None),
        ("forbidden", [1]),
        ("forbidden", [b"a.txt"]),
        ("record", 5),
        ("record", b"record.json"),
        ("logs", 5),
        ("dry_run", "no"),
        ("fatal", None),
        ("keep_partial", 1),
        ("confine", "yes"),
        ("forbidden", ["/etc"]),
        ("forbidden", ["x/../a.txt"]),
    ],
)
def test_an_option_of_a_wrong_kind_is_refused_before_anything_is_begun(
    key: str, value: Any, both: Lab
) -> None:
    before = both.portrait()
    with pytest.raises(LocalProtocolError):
        both.run(both.plugin("one"), **{key: value})
    assert both.portrait() == before


@pytest.mark.parametrize("plugins", [None, 5, [None], [5], [b"one"], b"one", {"one": 1}], ids=repr)
def test_what_names_no_plugins_is_refused(plugins: Any, lab: Lab) -> None:
    with blocking.Host() as host, pytest.raises(LocalProtocolError):
        host.run_pass(lab.root, plugins)


@pytest.mark.parametrize("directory", [None, 5, b"tree"], ids=repr)
def test_what_names_no_directory_is_refused(directory: Any, lab: Lab) -> None:
    with blocking.Host() as host, pytest.raises(LocalProtocolError):
        host.run_pass(directory, [lab.plugin("one")])


@pytest.mark.parametrize("key", ["record", "logs"])
def test_an_empty_path_is_not_the_directory_we_are_in(
    key: str, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with pytest.raises(TreeError):
        lab.run(lab.plugin("one"), **{key: ""})
    assert not os.listdir(here)


@pytest.mark.parametrize(
    ("directory", "options"),
    [(".", {}), ("tree", {}), (None, {"record": "r.json"}), (None, {"logs": "logs"})],
)
def test_what_is_relative_to_a_working_directory_that_is_gone_is_refused(
    directory: str | None, options: dict[str, Any], lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, plugin = lab.home / "gone", lab.plugin("one")
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with blocking.Host() as host, pytest.raises(TreeError):
        host.run_pass(directory or lab.root, [plugin], **options)
    assert lab.text("a.txt") == "a\n"


def test_no_directory_is_not_the_one_we_are_in(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = lab.plugin("one")
    monkeypatch.chdir(lab.root)
    with blocking.Host() as host:
        with pytest.raises(TreeError):
            host.run_pass("", [plugin])
        with pytest.raises(LocalProtocolError):
            host.run_pass(".", [""])
        with pytest.raises(LocalProtocolError):
            host.run_pass(".", str(plugin))
    assert lab.text("a.txt") == "a\n"


@pytest.mark.requirement("envelope:exit:gone")
@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_at_a_question_ends_plugins_that_run_at_once(
    raised: type[BaseException], lab: Lab
) -> None:
    lab.write({"b.csv": "b\n"})
    asks = "def transform(self, path, ctx):\n    raise PluginInputRequired([field('f', 'F')], 'why')"

    def ask(question: plughost.Question) -> None:
        raise raised

    before = lab.portrait()
    with pytest.raises(raised):
        lab.run(lab.plugin("one", asks), lab.plugin("two", asks, extensions=[".csv"]), jobs=2, ask=ask)
    assert lab.portrait() == before
    assert lab.text("a.txt") == "a\n"


def test_a_store_that_a_plugin_has_locked_up_is_opened_again(lab: Lab) -> None:
    store = place(lab.root)
    snapshot = Snapshot.take(lab.root, store, {})
    (lab.root / "a.txt").write_text("spoilt")
    for path in [*(store / "objects").iterdir(), *store.iterdir(), store]:
        os.chmod(path, 0)
    snapshot.revert()
    assert lab.text("a.txt") == "a\n"
    snapshot.close()


@pytest.mark.requirement("envelope:record:truth")
def test_bytecode_is_not_written_where_a_plugin_lies_in_the_tree(lab: Lab, tmp_path: Path) -> None:
    plugin = lab.plugin("inside")
    (lab.root / "tools").mkdir()
    moved = lab.root / "tools" / plugin.name
    plugin.rename(moved)
    entry = lab.one(moved, confine=False)
    assert entry.status == "success"
    assert not list(lab.root.rglob("__pycache__"))


def test_everybody_is_told_of_a_plugin_once_it_is_written_down(lab: Lab) -> None:
    lab.run(lab.plugin("one"))
    told = [event.what for event in lab.events if isinstance(event.what, PluginApplied)]
    assert [each.status for each in told] == ["success"]


def test_an_interrupt_when_all_is_written_down_is_told_with_all_of_it(lab: Lab) -> None:
    told = []

    def listen(event: Event) -> None:
        told.append(event.what)
        if isinstance(event.what, PluginApplied) and event.plugin == "two":
            raise KeyboardInterrupt

    with blocking.Host(on_event=listen) as host, pytest.raises(KeyboardInterrupt):
        host.run_pass(lab.root, [lab.plugin("one"), lab.plugin("two")])
    (interrupted,) = [what for what in told if isinstance(what, PassInterrupted)]
    assert list(interrupted.plugins_applied) == lab.entries
    assert [entry["status"] for entry in lab.entries] == ["success", "success"]
    assert interrupted.put_back == 0
    assert lab.text("a.txt") == "a\none\ntwo\n"


def test_a_pass_that_is_settled_says_so_last(both: Lab) -> None:
    result = both.run(both.plugin("one"), both.plugin("two", REFUSES))
    told = [event.what for event in both.events if isinstance(event.what, PluginApplied | PassSettled)]
    assert told[-1] == PassSettled(result.run)
    assert len(told) == 3


def test_what_could_not_be_kept_is_named(both: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    look, path = Snapshot.look, str(both.root / "sub/busy.db")

    def refuse(_: Snapshot) -> Any:
        monkeypatch.setattr(Snapshot, "look", look)
        raise TreeError(path, "something else is writing to it", "Let that finish first")

    monkeypatch.setattr(Snapshot, "look", refuse)
    entry = both.one(both.plugin("one"))
    assert entry.status == "failed"
    assert path in (entry.error or "")
    assert both.text("a.txt") == "a\n"
