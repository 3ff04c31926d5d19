"""What is recorded of a plugin: what was seen in the tree, not what it claims, and all that is known of its end."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

import plughost
from plughost import blocking
from plughost.errors import TreeError
from plughost.host.events import PluginBegun
from plughost.record.schema import Applied, of_dict
from tests.host.envelope.lab import Lab


def changes(entry: Applied) -> list[tuple[str, str, str | None]]:
    return [(change.kind, change.path, change.before) for change in entry.changes]


@pytest.mark.requirement("envelope:reply:seen", "envelope:record:truth")
@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("deed", "seen"),
    [
        ("(root / 'b.bin').unlink()", [("deleted", "b.bin", None)]),
        ("(root / 'b.bin').rename(root / 'c.bin')", [("renamed", "c.bin", "b.bin")]),
        (
            "(root / 'new/deep').mkdir(parents=True)",
            [("created", "new", None), ("created", "new/deep", None)],
        ),
        ("(root / 'b.bin').chmod(0o600)", [("modified", "b.bin", None)]),
        (
            "(root / 'b.bin').write_text('x'); (root / 'x').symlink_to('b.bin')",
            [("modified", "b.bin", None), ("created", "x", None)],
        ),
        ("(root / 'empty').rmdir()", [("deleted", "empty", None)]),
        ("(root / 'sub').rename(root / 'bus')", [("renamed", "bus", "sub")]),
    ],
)
def test_what_became_of_the_tree_is_recorded(deed: str, seen: list[Any], lab: Lab) -> None:
    lab.write({"b.bin": "content of b", "sub/c.bin": "content of c"})
    (lab.root / "empty").mkdir()
    entry = lab.one(lab.plugin("does", f"def transform(self, path, ctx):\n    root = ctx.dst_root; {deed}"))
    assert entry.status == "success"
    assert changes(entry) == seen
    assert entry.files_affected == sorted(path for _, path, _ in seen)


@pytest.mark.requirement("envelope:reply:seen")
def test_a_plugin_that_claims_what_it_did_not_do_is_recorded_as_it_was(lab: Lab) -> None:
    boasts = lab.raw(
        "boasts", "answer(result='success', per_file=[{'path': files[0], 'status': 'modified'}])"
    )
    entry = lab.one(boasts)
    assert (entry.status, entry.files_affected, entry.changes) == ("skipped", [], [])


@pytest.mark.requirement("envelope:reply:seen")
def test_a_plugin_that_conceals_what_it_did_is_recorded_as_it_was(lab: Lab) -> None:
    sly = lab.raw("sly", "open('sly.bin', 'w').close(); os.remove(files[0]); answer(result='success')")
    entry = lab.one(sly)
    assert entry.status == "success"
    assert changes(entry) == [("deleted", "a.txt", None), ("created", "sly.bin", None)]


@pytest.mark.requirement("envelope:record:truth")
def test_an_entry_tells_who_ran_when_how_it_ended_and_what_it_cost(both: Lab) -> None:
    result = both.run(
        both.plugin("hello"),
        both.plugin("none", extensions=[".none"]),
        template_name="t",
        template_version="2",
        run_kind="test",
        variables={"v": 1},
    )
    first, second = both.entries
    assert (first["plugin"], first["version"], first["status"]) == ("hello", "1.0", "success")
    assert (second["plugin"], second["status"], second["files_affected"]) == ("none", "skipped", [])
    assert first["run"] == second["run"] == result.run
    assert first["id"] != second["id"]
    assert first["isolation"].keys() == {"duration_ms", "exit_code", "peak_memory_mb", "cpu_ms", "attempts"}
    peak = first["isolation"]["peak_memory_mb"]
    assert peak == 0 or peak > 5, "no Python is smaller: rather nothing than what is not true"
    for entry in both.entries:
        of_dict(entry)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["started_at"])
    assert both.record["template"] == {"name": "t", "version": "2", "source_path": ""}
    assert both.record["run_kind"] == "test"
    assert both.record["variables"] == {"v": 1}
    assert both.record["paths"]["local"] == str(both.root)


def test_a_file_that_fails_is_not_lost_among_those_that_succeed(lab: Lab) -> None:
    lab.write({"b.txt": ""})
    picky = lab.plugin(
        "picky",
        """
        def can_handle(self, path, variables):
            if path.name == "b.txt":
                raise RuntimeError("cannot tell")
            return True
        """,
    )
    entry = lab.one(picky)
    assert entry.status == "success"
    told = {each.path: (each.status, each.error) for each in entry.per_file}
    assert told["a.txt"] == ("modified", None)
    assert told["b.txt"][0] == "failed"
    assert entry.error


def test_a_plugin_whose_files_all_fail_has_failed(lab: Lab) -> None:
    entry = lab.one(
        lab.plugin("never", "def can_handle(self, path, variables):\n    raise RuntimeError('cannot tell')")
    )
    assert entry.status == "failed"
    assert entry.error is not None
    assert "cannot tell" in entry.error


@pytest.mark.parametrize(
    "error",
    ["PluginError('x')", "KeyError('x')", "MemoryError", "PluginInputRequired([field('a', 'A?')], 'r')"],
)
def test_the_clean_up_hook_is_called_for_any_exception(error: str, lab: Lab) -> None:
    cleans = lab.plugin(
        "cleans",
        f"""
        def transform(self, path, ctx):
            raise {error}

        def on_plugin_failure(self, error, ctx):
            ctx.log.warning("cleaned up", after=type(error).__name__)
        """,
    )
    assert lab.one(cleans).status == "failed"
    assert any("cleaned up" in line for line in lab.log)


def test_a_clean_up_that_fails_as_well_changes_nothing(lab: Lab) -> None:
    fails = lab.plugin(
        "fails",
        """
        def transform(self, path, ctx):
            raise PluginError("first")

        def on_plugin_failure(self, error, ctx):
            raise SystemExit(0)
        """,
    )
    assert lab.one(fails).error == "first"


# The record as a file


@pytest.mark.requirement("envelope:record:atomic")
def test_what_else_is_in_the_record_is_kept(both: Lab) -> None:
    entry = {"plugin": "old", "version": "1", "files_affected": [], "status": "success", "own": 1}
    old = {
        "schema_version": "1.8",
        "created_at": "2026-01-01T00:00:00Z",
        "created_by": "me",
        "level": "project",
        "run_kind": "test",
        "lims_project": {"uid": "u", "short_id": "P", "name_at_creation": "p", "source": "cache"},
        "template": {"name": "t", "version": "1", "source_path": "/t"},
        "variables": {"v": 1},
        "paths": {"local": "/l", "nas": "/n"},
        "plugins_applied": [entry],
        "odd": [1, {"a": None}],
    }
    both.write({".exlab-wizard/creation.json": json.dumps(old), ".exlab-wizard/own.txt": "own"})
    both.one(both.plugin("hello"))
    assert both.entries[0] == entry
    assert {**both.record, "plugins_applied": [entry]} == old
    assert both.text(".exlab-wizard/own.txt") == "own"


@pytest.mark.requirement("envelope:record:atomic")
@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"{",
        b"[]",
        b'{"plugins_applied": {}}',
        b'{"schema_version": "2.0"}',
        b"\xff",
        b" " * (16 << 20) + b"{}",
    ],
)
def test_a_record_that_is_not_understood_stops_the_pass_before_it_begins(record: bytes, lab: Lab) -> None:
    lab.write({".exlab-wizard/creation.json": record})
    hello = lab.plugin("hello")
    with pytest.raises(TreeError):
        lab.run(hello)
    assert (lab.root / ".exlab-wizard/creation.json").read_bytes() == record
    assert lab.text("a.txt") == "a\n"
    assert not any(event.name == "spawned" for event in lab.events)


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_a_record_that_is_no_file_stops_the_pass_before_it_begins(kind: str, lab: Lab) -> None:
    path = lab.root / ".exlab-wizard/creation.json"
    path.parent.mkdir()
    victim = lab.home / "victim"
    victim.write_text("{}")
    {"link": lambda: path.symlink_to(victim), "pipe": lambda: os.mkfifo(path), "directory": path.mkdir}[
        kind
    ]()
    with pytest.raises(TreeError):
        lab.run(lab.plugin("hello"))
    assert lab.text("a.txt") == "a\n"
    assert victim.read_text() == "{}"


def test_a_directory_for_logs_that_is_none_stops_the_pass_before_it_begins(both: Lab) -> None:
    (both.home / "file").write_text("")
    with pytest.raises(TreeError):
        both.run(both.plugin("hello"), logs=both.home / "file")
    assert both.text("a.txt") == "a\n"


def test_record_and_logs_may_lie_elsewhere(lab: Lab) -> None:
    result = lab.run(lab.plugin("hello"), record=lab.home / "rec/creation.json", logs=lab.home / "logs")
    assert result.ok
    assert sorted(os.listdir(lab.root)) == ["a.txt"]
    assert (
        json.loads((lab.home / "rec/creation.json").read_text())["plugins_applied"][0]["status"] == "success"
    )
    assert list((lab.home / "logs").glob("wizard.*.log"))


@pytest.mark.requirement("envelope:record:atomic", "envelope:tree:killed")
def test_what_could_not_be_written_down_is_written_when_the_cause_is_gone(both: Lab) -> None:
    record = both.home / "rec/creation.json"

    def spoil(event: Any) -> None:
        if isinstance(event.what, PluginBegun):
            record.parent.mkdir(exist_ok=True)
            record.write_text("not a record")

    hello = both.plugin("hello")
    both.events = type("Spoiler", (list,), {"append": lambda self, event: spoil(event)})()
    with pytest.raises(TreeError):
        both.run(hello, record=record)
    assert both.text("a.txt") == "a\n"  # what is not written down is undone
    record.unlink()
    both.events = []
    result = both.run(both.plugin("later", extensions=[".none"]), record=record)
    assert result.recovered
    entries = json.loads(record.read_text())["plugins_applied"]
    assert [(entry["plugin"], entry["status"]) for entry in entries] == [
        ("hello", "failed"),
        ("later", "skipped"),
    ]


# One pass at a time


def test_two_passes_on_one_tree_exclude_each_other(both: Lab) -> None:
    hello = both.plugin("hello")
    asks = both.plugin(
        "asks", "def transform(self, path, ctx):\n    raise PluginInputRequired([field('a', 'A?')], 'r')"
    )
    refused = []

    def ask(question: Any) -> None:
        with blocking.Host() as host, pytest.raises(TreeError) as caught:
            host.run_pass(both.root, [hello])
        refused.append(caught.value)

    assert both.run(asks, ask=ask).aborted
    assert len(refused) == 1
    assert both.text("a.txt") == "a\n"


def test_a_tree_that_holds_the_directory_for_temporary_files_is_refused(both: Lab) -> None:
    hello = both.plugin("hello")
    with blocking.Host() as host, pytest.raises(TreeError):
        host.run_pass(both.home, [hello])
    assert not any(both.home.rglob("creation.json"))


@pytest.mark.parametrize("directory", ["missing", "a.txt", "nul\0", ""])
def test_what_is_no_directory_is_refused(directory: str, lab: Lab) -> None:
    hello = lab.plugin("hello")
    with blocking.Host() as host, pytest.raises(TreeError):
        host.run_pass(f"{lab.root}/{directory}" if directory else "/", [hello])


@pytest.mark.parametrize(
    "option",
    [{"jobs": 0}, {"jobs": 65}, {"input_timeout_s": 0}, {"input_timeout_s": float("nan")}, {"order": ["x"]}],
)
def test_an_option_that_makes_no_sense_is_refused(option: dict[str, Any], lab: Lab) -> None:
    with pytest.raises(plughost.LocalProtocolError):
        lab.run(lab.plugin("hello"), **option)


def test_a_pass_of_no_plugin_or_of_one_twice_is_refused(lab: Lab) -> None:
    hello = lab.plugin("hello")
    for plugins in ([], [hello, hello]):
        with pytest.raises(plughost.LocalProtocolError):
            lab.run(*plugins)
