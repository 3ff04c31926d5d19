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
    "isolation": {"duration_ms": 5, "exit_code": None, "peak_memory_mb": None, "cpu_ms": 0, "attempts": 1},
    "started_at": "2026-01-02T03:04:05.006Z",
    "finished_at": "2026-01-02T03:04:05.011Z",
    "per_file": [],
}


def applied(**keys):
    return Applied(**{**ALWAYS, "isolation": Isolation(duration_ms=5), **keys})


def test_an_entry_that_has_nothing_to_say_has_only_the_keys_that_are_always_there():
    assert applied().to_dict() == ALWAYS


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
    assert msgspec.convert(entry, Applied).to_dict() == entry


def test_the_schema_requires_just_what_is_always_written():
    schema = json_schema()["$defs"]
    assert set(schema["Applied"]["required"]) == set(ALWAYS)
    assert set(schema["Change"]["properties"]) == {"path", "kind", "from"}
    assert len(schema["Applied"]["properties"]["status"]["enum"]) == 6


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
    assert msgspec.convert(short, Applied).to_dict() == short
    assert msgspec.convert(short, Applied).files_count == msgspec.convert(whole, Applied).files_count == 3


def test_an_entry_in_brief_is_short_however_long_it_was():
    long = applied(
        status="failed", files_affected=["x" * 4_000] * 9_000, error="e" * 4_000, warnings=["w" * 4_000] * 20
    ).to_dict()
    short = brief(long)
    assert len(msgspec.json.encode(short)) < 4_096
    assert short["totals"]["files_affected"] == 9_000
    assert msgspec.convert(short, Applied).error


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=-5))])
def test_a_time_is_written_in_utc_with_milliseconds(zone):
    at = datetime(2026, 1, 2, 3, 4, 5, 6789, UTC).astimezone(zone)
    assert stamp(at) == "2026-01-02T03:04:05.006Z"
