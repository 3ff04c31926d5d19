"""One entry of `plugins_applied` in the record: what a plugin did to a directory. Values only; written elsewhere.

Keys that are always there: `id` (unique; writing an entry with the same one again replaces it), `run` (the pass
it belongs to), `plugin`, `version`, `status`, `files_affected`, `changes`, `started_at`, `finished_at` and
`per_file`. The others are left out when there is nothing to say. A reader ignores keys that it does not know. A dry
run leaves no entry.

Other programs read the record too, by a schema that has fewer words: five statuses, and an `isolation` of three
integers. So an aborted plugin is written as `failed` with `aborted: true` beside it, memory that nobody could measure
as 0, and what a plugin cost of which no exit code is known as `partial_isolation`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

Written = Literal["success", "failed", "skipped", "timeout", "policy_violation"]
Status = Written | Literal["aborted"]
ChangeKind = Literal["created", "modified", "deleted", "renamed"]

LISTS = ("files_affected", "changes", "per_file", "violations")  # of an entry: as long as a plugin makes them
PARTIAL = ("duration_ms", "cpu_ms", "attempts")  # of an isolation: what is always known
UNMEASURED = 0  # MiB; no process takes none
BRIEF_ERROR = 200  # characters of an error where there is no room for more
NOT_LISTED = "the record had no room for more than this"


class Change(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One path of the tree that is not as it was; *before* is where a renamed one came from."""

    path: str
    kind: ChangeKind
    before: str | None = msgspec.field(default=None, name="from")


class Isolation(msgspec.Struct, frozen=True, kw_only=True):
    """What the worker processes of one plugin cost, over all attempts; None is what nobody could measure."""

    duration_ms: int
    exit_code: int | None = None  # of the last attempt; negative: the signal that ended it
    peak_memory_mb: int | None = None
    cpu_ms: int = 0
    attempts: int = 1


class WholeIsolation(Isolation, frozen=True, kw_only=True):
    """What the worker processes of one plugin cost. *peak_memory_mb* is 0 if nobody could measure it."""

    exit_code: int
    peak_memory_mb: int


class PartialIsolation(msgspec.Struct, frozen=True, kw_only=True):
    """The same where no exit code is known: the worker could not be started, or the host was killed."""

    duration_ms: int
    cpu_ms: int
    attempts: int


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why it failed, for programs (*code*) and for people (*hint*: what to do next)."""

    code: str
    hint: str


class PerFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the plugin itself says about one file. It may be wrong: `changes` of the entry is what was seen."""

    path: str
    status: str
    changes: list[dict[str, Any]] = []
    error: str | None = None


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """How long the lists of an entry were before they were cut for the record."""

    files_affected: int
    changes: int
    per_file: int
    violations: int


class Applied(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One plugin's part in one pass."""

    id: str
    run: str
    plugin: str
    version: str
    status: Status
    files_affected: list[str]
    changes: list[Change]
    isolation: Isolation
    started_at: str
    finished_at: str
    error: str | None = None
    failure: Failure | None = None
    crash: bool = False
    violations: list[str] = []
    per_file: list[PerFile]
    warnings: list[str] = []
    totals: Totals | None = None  # only in the record, and only if a list there is cut

    @property
    def files_count(self) -> int:
        """How many files were affected, also where not all are listed."""
        return len(self.files_affected) if self.totals is None else self.totals.files_affected

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as it is written, without optional keys that say nothing."""
        entry: dict[str, Any] = msgspec.to_builtins(self)
        if self.status == "aborted":
            entry |= {"status": "failed", "aborted": True}
        entry["isolation"]["peak_memory_mb"] = self.isolation.peak_memory_mb or UNMEASURED
        if self.isolation.exit_code is None:
            cost = entry.pop("isolation")
            entry["partial_isolation"] = {name: cost[name] for name in PARTIAL}
        return entry


class WrittenEntry(Applied, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of `plugins_applied`. It has either of `isolation` and `partial_isolation`."""

    status: Written
    isolation: WholeIsolation | None = None  # type: ignore[assignment]
    partial_isolation: PartialIsolation | None = None
    aborted: bool = False  # the operator gave up on it, or the pass was interrupted


def of_dict(entry: dict[str, Any]) -> Applied:
    """Return the entry that is written as *entry*. Raises msgspec.ValidationError."""
    cost = {**entry.get("isolation", entry.get("partial_isolation", {}))}
    if not cost.get("peak_memory_mb"):
        cost["peak_memory_mb"] = None
    status = "aborted" if entry.get("aborted") else entry.get("status")
    return msgspec.convert({**entry, "isolation": cost, "status": status}, Applied)


def cut(entry: dict[str, Any], most: int) -> dict[str, Any]:
    """Return *entry*, as it is written, with *most* items in a list at most; then `totals` says how many there are."""
    counts = {name: len(entry.get(name, ())) for name in LISTS}
    if max(counts.values()) <= most:
        return entry
    kept = {name: entry[name][:most] for name in LISTS if name in entry}
    return {**entry, **kept, "totals": entry.get("totals", counts)}


def brief(entry: dict[str, Any]) -> dict[str, Any]:
    """Return *entry*, as it is written, without all that may be long: some kilobytes are left at most."""
    short = {**cut(entry, 0), "warnings": [NOT_LISTED]}
    if isinstance(short.get("error"), str):
        short["error"] = short["error"][:BRIEF_ERROR]
    return short


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of one entry."""
    return msgspec.json.schema(WrittenEntry)


def stamp(at: datetime) -> str:
    """Return *at* as every time is written here: UTC, ISO 8601, milliseconds, `Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
