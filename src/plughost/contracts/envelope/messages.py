"""The wire types of the `envelope` contract, and nothing else. Unknown fields are ignored."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

FRAME_LIMIT = 1_048_576  # bytes of one envelope, either way, its line feed not counted

Result = Literal["success", "failed", "input_required", "timeout"]
ChangeKind = Literal["modify", "create", "rename", "delete"]
FieldType = Literal["string", "text", "choice", "date", "boolean"]


class Context(Struct, frozen=True):
    """What a plugin may know about the run. Paths are text on the wire."""

    variables: dict[str, Any]
    dst_root: str
    answers_file: str
    template_name: str = ""
    template_version: str = ""
    run_kind: str = ""
    equipment_id: str = ""
    project: str = ""
    dry_run: bool = False
    log: str = "stderr"  # the log channel, by name: a stream cannot be serialised


class Request(Struct, frozen=True):
    """Host to worker: transform these files."""

    plugin_module: str
    context: Context
    files: tuple[str, ...]
    dry_run: bool = False
    extra_inputs: dict[str, Any] | None = None


class FileChange(Struct, frozen=True):
    """What a dry run says a plugin would do to one file."""

    path: str
    kind: ChangeKind
    summary: str = ""
    detail: dict[str, Any] = {}


class PerFile(Struct, frozen=True):
    """How one file came out, in the worker's own words."""

    path: str
    status: str  # modified, skipped, described, failed, input_required, or a word of the worker's own
    changes: tuple[FileChange, ...] | None = None
    error: str | None = None


class Field(Struct, frozen=True):
    """One thing that a plugin wants to be told by the operator."""

    id: str
    label: str = ""
    type: FieldType = "string"
    required: bool = False
    default: Any = None
    options: tuple[Any, ...] | None = None
    hint: str | None = None


class InputRequired(Struct, frozen=True):
    """A worker's question."""

    fields: tuple[Field, ...] = ()
    reason: str = ""


class Reply(Struct, frozen=True):
    """Worker to host: what became of it. Only together with the exit code is it an answer."""

    result: Result
    per_file: tuple[PerFile, ...] | UnsetType = UNSET
    log_records: tuple[Any, ...] | None = ()
    input_required: InputRequired | None = None
    error_message: str | None = None

    @property
    def reports(self) -> tuple[PerFile, ...]:
        """What `per_file` says, or nothing where it is left out."""
        return () if self.per_file is UNSET else self.per_file


class PluginFacts(Struct, frozen=True):
    """What the plugin's class says about itself, to be compared with its manifest."""

    name: str | None = None
    version: str | None = None
    supported_extensions: tuple[str, ...] | None = None
    api_version: str | None = None


class ValidationReply(Struct, frozen=True):
    """Worker to host, in mode `validate`. A worker that knows no modes answers with a *result* instead of *errors*."""

    errors: tuple[str, ...] | None = None
    plugin: PluginFacts | None = None
    result: Result | None = None
    error_message: str | None = None
