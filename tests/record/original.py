"""The record as its other readers know it, schema 1.8: what they require, and of which type.

Written down from the description of the format alone. Readers ignore keys that they do not know, take `isolation` as
absent if it is missing, and `experimental` for a missing `run_kind`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class LimsProject(msgspec.Struct):
    uid: str
    short_id: str
    name_at_creation: str
    source: Literal["live", "cache", "offline_catalogue"] = "live"
    cache_freshness_at_use: str | None = None


class Template(msgspec.Struct):
    name: str
    version: str
    source_path: str
    run_scope: str | None = None


class Isolation(msgspec.Struct):
    duration_ms: int
    exit_code: int
    peak_memory_mb: int


class PluginApplied(msgspec.Struct):
    plugin: str
    version: str
    files_affected: list[str]
    status: Literal["success", "failed", "skipped", "timeout", "policy_violation"]
    isolation: Isolation | None = None


class Paths(msgspec.Struct):
    local: str
    nas: str


class Creation(msgspec.Struct):
    schema_version: str
    created_at: str
    created_by: str
    level: Literal["project", "run"]
    run_kind: Literal["experimental", "test"]
    lims_project: LimsProject
    template: Template
    variables: dict[str, Any]
    paths: Paths
    plugins_applied: list[PluginApplied] = []
    orchestrator: dict[str, Any] | None = None
    sync_status: Literal["pending", "synced", "failed", "blocked_by_validation"] = "pending"
    validation_overrides: list[dict[str, Any]] = []


def read(data: bytes) -> Creation:
    """Return the record in *data*. Raises msgspec.ValidationError where another reader would fail."""
    return msgspec.json.decode(data, type=Creation)


def updated(data: bytes) -> bytes:
    """Return *data* as another program would write it back: of entries only the members that it knows are left."""
    known = msgspec.to_builtins(read(data))
    return msgspec.json.encode({**msgspec.json.decode(data), **known})
