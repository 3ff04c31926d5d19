"""One entry of the record: its keys, which of them may be missing, and the schema that says so."""

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from plughost.record.schema import (
    Applied,
    Change,
    Failure,
    Isolation,
    PerFile,
    brief,
    cut,
    json_schema,
    of_dict,
    stamp,
)

ALWAYS = {
    "id": "r-1",
    "run": "r",
    "plugin": "p",
    "version": "1.0",
    "status": "success",
    "files_affected": [],
    "changes": [],
    "started_at": "2026-01-02T03:04:05.006Z",
    "finished_at": "2026-01-02T03:04:05.011Z",
    "per_file": [],
}


def applied(**keys):
    return Applied(**{**ALWAYS, "isolation": Isolation(duration_ms=5, exit_code=0), **keys})


def test_an_entry_that_has_nothing_to_say_has_only_the_keys_that_are_always_there():
    cost = {"duration_ms": 5, "exit_code": 0, "peak_memory_mb": 0, "cpu_ms": 0, "attempts": 1}
    assert applied().to_dict() == {**ALWAYS, "isolation": cost}


def test_what_a_plugin_cost_whose_exit_code_is_unknown_is_written_under_another_name():
    entry = applied(isolation=Isolation(duration_ms=5, attempts=0)).to_dict()
    assert entry == {**ALWAYS, "partial_isolation": {"duration_ms": 5, "cpu_ms": 0, "attempts": 0}}
    assert of_dict(entry).isolation == Isolation(duration_ms=5, attempts=0)


def test_an_aborted_plugin_is_written_as_a_failed_one_with_a_word_beside_it():
    entry = applied(status="aborted").to_dict()
    assert (entry["status"], entry["aborted"]) == ("failed", True)
    assert of_dict(entry).status == "aborted"


def test_an_entry_says_all_there_is_to_say():
    entry = applied(
        status="failed",
        files_affected=["b"],
        changes=[Change(path="b", kind="renamed", before="a"), Change(path="c", kind="created")],
        error="no",
        failure=Failure(code="PLUGIN_CRASHED", hint="look"),
        crash=True,
        violations=["README.md"],
        per_file=[PerFile(path="b", status="failed", error="no"), PerFile(path="c", status="modified")],
        warnings=["late"],
    ).to_dict()
    assert entry["changes"] == [
        {"path": "b", "kind": "renamed", "from": "a"},
        {"path": "c", "kind": "created"},
    ]
    assert entry["failure"] == {"code": "PLUGIN_CRASHED", "hint": "look"}
    assert entry["per_file"] == [
        {"path": "b", "status": "failed", "error": "no"},
        {"path": "c", "status": "modified"},
    ]
    assert (entry["error"], entry["crash"]) == ("no", True)
    assert (entry["violations"], entry["warnings"]) == (["README.md"], ["late"])
    assert of_dict(entry).to_dict() == entry


def test_the_schema_requires_just_what_is_always_written():
    schema = json_schema()["$defs"]
    assert set(schema["WrittenEntry"]["required"]) == set(ALWAYS)
    assert set(schema["Change"]["properties"]) == {"path", "kind", "from"}
    assert len(schema["WrittenEntry"]["properties"]["status"]["enum"]) == 5


def test_an_entry_that_is_cut_says_how_long_its_lists_were():
    whole = applied(
        files_affected=["a", "b", "c"],
        changes=[Change(path=path, kind="created") for path in "abc"],
        per_file=[PerFile(path="a", status="modified")],
    ).to_dict()
    assert cut(whole, 3) == whole
    short = cut(whole, 2)
    assert (short["files_affected"], len(short["changes"]), len(short["per_file"])) == (["a", "b"], 2, 1)
    assert short["totals"] == {"files_affected": 3, "changes": 3, "per_file": 1, "violations": 0}
    assert "violations" not in short
    assert cut(short, 1)["totals"] == short["totals"]
    assert of_dict(short).to_dict() == short
    assert of_dict(short).files_count == of_dict(whole).files_count == 3


def test_an_entry_in_brief_is_short_however_long_it_was():
    long = applied(
        status="failed", files_affected=["x" * 4_000] * 9_000, error="e" * 4_000, warnings=["w" * 4_000] * 20
    ).to_dict()
    short = brief(long)
    assert len(msgspec.json.encode(short)) < 4_096
    assert short["totals"]["files_affected"] == 9_000
    assert of_dict(short).error


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=-5))])
def test_a_time_is_written_in_utc_with_milliseconds(zone):
    at = datetime(2026, 1, 2, 3, 4, 5, 6789, UTC).astimezone(zone)
    assert stamp(at) == "2026-01-02T03:04:05.006Z"
