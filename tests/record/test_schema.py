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


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=-5))])
def test_a_time_is_written_in_utc_with_milliseconds(zone):
    at = datetime(2026, 1, 2, 3, 4, 5, 6789, UTC).astimezone(zone)
    assert stamp(at) == "2026-01-02T03:04:05.006Z"
