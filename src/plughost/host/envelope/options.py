"""What a pass is asked to do, what it asks the operator, and what it returns. Values only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from ...contracts.envelope import host as envelope
from ...contracts.envelope.messages import Context, Field
from ...contracts.envelope.policy import FORBIDDEN
from ...errors import LocalProtocolError, TreeError
from ...failures import PluginFailure
from ...files import store
from ...manifest import envelope_registry, project
from ...manifest.envelope_manifest import EnvelopeManifest
from ...messages.quoting import is_utf8
from ...record.schema import Applied

RECORD = ".exlab-wizard/creation.json"  # below the directory
LOGS = ".exlab-wizard"
ANSWERS_FILE = ".exlab-answers.yml"
MOST_JOBS = 64


@dataclass(frozen=True, slots=True)
class Question:
    """What a plugin wants to be told, but for what it was told. *problems* says which answers did not fit."""

    plugin: str
    reason: str
    fields: tuple[Field, ...]
    round: int = 1
    problems: tuple[str, ...] = ()


Answers = Mapping[str, Any] | None  # None: the operator wants no more of it
Ask = Callable[[Question], Answers]
AsyncAsk = Callable[[Question], Answers | Awaitable[Answers]]


@dataclass(frozen=True, slots=True)
class PassResult:
    """What became of a pass."""

    run: str
    directory: Path
    plugins_applied: tuple[Applied, ...] = ()
    aborted: bool = False  # the operator gave up on one, or there are some that were not run
    not_run: tuple[str, ...] = ()  # plugins that were never begun
    problems: tuple[str, ...] = ()  # why nothing was begun: what validation objected to
    dry_run: bool = False
    confined: bool = False  # the kernel kept the workers from writing elsewhere
    recovered: str | None = None  # what an earlier pass had left, and was put right first
    failures: tuple[PluginFailure, ...] = field(default=(), compare=False)

    @property
    def ok(self) -> bool:
        fine = all(each.status in ("success", "skipped") for each in self.plugins_applied)
        return fine and not self.aborted

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready values."""
        return {
            "plugins_applied": [each.to_dict() for each in self.plugins_applied],
            "aborted": self.aborted,
            "not_run": list(self.not_run),
            "run": self.run,
            "dry_run": self.dry_run,
            "confined": self.confined,
            "problems": list(self.problems),
            "recovered": self.recovered,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PassOptions:
    """A pass, ready to begin: everything checked that can be without touching the tree."""

    root: Path  # resolved
    manifests: tuple[EnvelopeManifest, ...]  # in the order they run
    variables: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] | None = None  # relative to root; None: all of them
    answers: Mapping[str, Any] = field(default_factory=dict)
    template_name: str = ""
    template_version: str = ""
    run_kind: str = ""
    equipment_id: str = ""
    project: str = ""
    dry_run: bool = False
    fatal: bool = False
    jobs: int = 1
    keep_partial: bool = False
    confine: bool | None = None  # None: where the kernel can
    forbidden: tuple[str, ...] = FORBIDDEN
    record: Path | None = None
    logs: Path | None = None
    input_timeout_s: float | None = None
    interactive: bool = False  # there is somebody to ask

    @property
    def record_path(self) -> Path:
        return self.record or self.root / RECORD

    @property
    def log_directory(self) -> Path:
        return self.logs or self.root / LOGS

    @property
    def context(self) -> Context:
        return Context(
            variables=dict(self.variables),
            dst_root=str(self.root),
            answers_file=str(self.root / ANSWERS_FILE),
            template_name=self.template_name,
            template_version=self.template_version,
            run_kind=self.run_kind,
            equipment_id=self.equipment_id,
            project=self.project,
            dry_run=self.dry_run,
        )


class PassKeywords(TypedDict, total=False):
    """What `run_pass` takes by keyword."""

    order: Sequence[str]  # names of plugins that run first, in this order
    files: Sequence[str | os.PathLike[str]] | None  # what the plugins are given; None: all
    variables: Mapping[str, Any]  # plain JSON values
    answers: Mapping[str, Any]  # to questions, by field id: what is here is not asked for
    input_timeout_s: float | None  # for the operator to answer one question
    template_name: str
    template_version: str
    run_kind: str
    equipment_id: str
    project: str
    dry_run: bool  # plugins only describe; the tree stays as it is
    fatal: bool  # stop at the first plugin that does not succeed
    jobs: int  # how many plugins may run at once, where they share no file and can be confined to their own
    keep_partial: bool  # keep what a plugin changed before it failed
    confine: bool | None  # let the kernel keep workers from writing elsewhere; None: where it can
    forbidden: Sequence[str]  # paths that no plugin may touch, besides the record and the logs
    record: str | os.PathLike[str]  # `.exlab-wizard/creation.json` in the directory otherwise
    logs: str | os.PathLike[str]  # the directory for logs; `.exlab-wizard` in the directory otherwise
    log_of: str  # "run": as above; "equipment": `.exlab-wizard` in the directory above that is named as it


def plan(
    directory: str | os.PathLike[str],
    plugins: Sequence[str | os.PathLike[str] | EnvelopeManifest],
    keywords: PassKeywords,
    on_input_required: object,
) -> PassOptions:
    """Return the pass that the arguments of `run_pass` mean.

    Raises ManifestError, TreeError for the directory, LocalProtocolError for everything else that is wrong.
    """
    if not _is_path(directory):
        raise LocalProtocolError(f"the directory is {directory!r:.80}: name one by its path")
    root = _tree(directory)
    unknown = set(keywords) - set(PassKeywords.__annotations__)
    if unknown:
        raise LocalProtocolError(f"run_pass knows no {', '.join(sorted(unknown))}")
    if on_input_required is not None and not callable(on_input_required):  # told now, not when a plugin asks
        raise LocalProtocolError(f"on_input_required is {on_input_required!r:.80}: give a function, or None")
    manifests = _manifests(plugins)
    options: dict[str, Any] = {**keywords}
    _check_types(options)
    files = options.pop("files", None)
    for key in ("record", "logs"):
        if options.get(key) is not None:
            options[key] = _place(key, options[key])
    if options.pop("log_of", "run") == "equipment":
        options["logs"] = _equipment_logs(root, options)
    _check_note(options.get("record"))
    forbidden = (
        *(_guarded(each) for each in options.get("forbidden", FORBIDDEN)),
        *_own(root, options.get("record"), options.get("logs")),
    )
    options["forbidden"] = tuple(dict.fromkeys(forbidden))
    planned = PassOptions(
        root=root,
        manifests=tuple(envelope_registry.order(manifests, options.pop("order", ()))),
        files=None
        if files is None
        else tuple(dict.fromkeys(_relative(root, os.fspath(each)) for each in files)),
        interactive=on_input_required is not None,
        **options,
    )
    _check(planned)
    return planned


def _tree(directory: str | os.PathLike[str]) -> Path:
    if not os.fspath(directory):
        raise TreeError("''", "no directory was named", "Name one; `.` is the one you are in")
    try:
        root = os.path.realpath(directory)
        root.encode()
    except UnicodeEncodeError as error:
        raise TreeError(
            _spelled(directory), "its path is not UTF-8, so no worker can be told of it", "Rename it"
        ) from error
    except ValueError as error:
        raise TreeError(repr(directory), f"no path: {error}", "Name a directory") from error
    except FileNotFoundError as error:  # of what is not there the path is known all the same
        raise _homeless(directory) from error
    left = store.locate(Path(directory))
    if (
        left is not None
    ):  # whatever a killed pass has made of the directory: it is put back before anything else
        return left[0]
    if not os.path.isdir(root):
        raise TreeError(
            str(directory), "not a directory", "Name the directory whose files are to be transformed"
        )
    return Path(root)


def _place(key: str, path: str | os.PathLike[str]) -> Path:
    if not os.fspath(path):
        raise TreeError("''", f"no place for the {key} was named", "Name one, or leave it out")
    try:
        return Path(path).absolute()
    except FileNotFoundError as error:
        raise _homeless(path) from error


def _equipment_logs(root: Path, options: Mapping[str, Any]) -> Path:
    """Return where the log of the equipment is: in the nearest directory above *root* that is named as it."""
    equipment = options.get("equipment_id", "")
    if options.get("logs") is not None:
        raise LocalProtocolError(
            "the log is to be that of the equipment, and logs names another place for it"
        )
    above = next((each for each in root.parents if equipment and each.name == equipment), None)
    if above is None:
        raise LocalProtocolError(
            f"the log is to be that of the equipment, and no directory above {root} is named {equipment!r}"
        )
    return above / LOGS


def _homeless(path: str | os.PathLike[str]) -> TreeError:
    return TreeError(
        _spelled(path), "the working directory is gone, which it is relative to", "Change to another"
    )


def _check_note(record: Path | None) -> None:
    """Raise TreeError for a place that cannot be noted for who recovers a killed pass: the note is JSON."""
    places = {"Name another record": record, "Let TMPDIR name another directory": tempfile.gettempdir()}
    for remedy, place in places.items():
        if place is not None and not is_utf8(os.fspath(place)):
            raise TreeError(_spelled(place), "its path is not UTF-8, so it cannot be noted", remedy)


def _spelled(path: str | os.PathLike[str]) -> str:
    """Return *path* with bytes that are no UTF-8 spelled out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _is_path(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, os.PathLike) and isinstance(os.fspath(value), str))


def _is_list(value: object, fits: Callable[[object], bool]) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes) and all(map(fits, value))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_TEXTS = ("template_name", "template_version", "run_kind", "equipment_id", "project")


def _check_types(options: Mapping[str, Any]) -> None:
    """Raise LocalProtocolError for what no type checker has stopped."""
    for key, value in options.items():
        if not _fits(key, value):
            raise LocalProtocolError(
                f"{key} is {value!r:.80}: see the documentation of run_pass for what it may be"
            )


def _fits(key: str, value: Any) -> bool:
    match key:
        case _ if key in _TEXTS:
            return isinstance(value, str) and is_utf8(value)
        case "variables" | "answers":
            return isinstance(value, Mapping)
        case "order" | "forbidden":
            return _is_list(value, _is_text)
        case "files":
            return value is None or _is_list(value, _is_path)
        case "record" | "logs":
            return value is None or _is_path(value)
        case "log_of":
            return value in ("run", "equipment")
        case "jobs":
            return type(value) is int
        case "input_timeout_s":
            return value is None or isinstance(value, int | float)
        case "confine":
            return value is None or isinstance(value, bool)
        case _:  # those that are on or off
            return isinstance(value, bool)


def _guarded(path: str) -> str:
    """Return a forbidden *path*, which is relative to the tree and goes straight to its place."""
    if os.path.isabs(path) or ".." in path.split("/"):
        raise LocalProtocolError(
            f"the forbidden path {path!r} must be relative to the directory, without `..`"
        )
    return path


def _own(root: Path, record: Path | None, logs: Path | None) -> list[str]:
    """Return what is ours to write in the tree, wherever the caller has put it."""
    ours = [] if record is not None else [RECORD, f"{RECORD}.lock"]
    ours += [] if logs is not None else [LOGS]
    below = os.path.join(root, "")
    named = [] if record is None else [record, record.with_name(f"{record.name}.lock")]
    for path in (*named, *([] if logs is None else [logs])):
        real = os.path.join(os.path.realpath(path.parent), path.name)
        ours += [real.removeprefix(below)] if real.startswith(below) else []
    return ours


def _manifests(plugins: Sequence[str | os.PathLike[str] | EnvelopeManifest]) -> list[EnvelopeManifest]:
    if not _is_list(
        plugins, lambda each: isinstance(each, EnvelopeManifest) or (_is_path(each) and each != "")
    ):
        raise LocalProtocolError("plugins are a list of directories or names, none of them empty")
    manifests = [
        each if isinstance(each, EnvelopeManifest) else project.resolve_envelope(os.fspath(each), Path())
        for each in plugins
    ]
    if not manifests:
        raise LocalProtocolError("a pass needs at least one plugin")
    names = [manifest.name for manifest in manifests]
    if len(set(names)) < len(names):
        raise LocalProtocolError(f"a plugin is named twice: {', '.join(names)}")
    return manifests


def _check(planned: PassOptions) -> None:
    envelope.check_variables(planned.variables)
    if not 1 <= planned.jobs <= MOST_JOBS:
        raise LocalProtocolError(f"{planned.jobs} jobs: give 1 to {MOST_JOBS}")
    if any(not each.strip("/.") for each in planned.forbidden):
        raise LocalProtocolError("a forbidden path is empty: that would forbid everything")
    limit = planned.input_timeout_s
    if limit is not None and not 0 < limit <= 86_400:
        raise LocalProtocolError(f"{limit} seconds for the operator: give more than 0, at most a day")


def _relative(root: Path, path: str) -> str:
    """Return *path*, relative to *root* or below it, as a path relative to it. Raises LocalProtocolError.

    Whether it is there is asked when a killed pass was recovered from.
    """
    if "\0" in path:
        raise LocalProtocolError(f"{path!r} is no path")
    joined = _by_way_of(root, os.path.normpath(os.path.join(root, path)))
    relative = os.path.relpath(joined, root)
    if relative == ".." or relative.startswith("../") or relative == ".":
        raise LocalProtocolError(f"{path} is not a file in {root}, which it is relative to")
    return relative


def check_files(planned: PassOptions) -> None:
    """Raise LocalProtocolError for what is no file in the tree. The caller has recovered the tree."""
    for path in planned.files or ():
        joined = os.path.join(planned.root, path)
        if os.path.realpath(os.path.dirname(joined)) != os.path.dirname(joined):
            raise LocalProtocolError(f"{path} leaves {planned.root} by way of a symbolic link")
        if not os.path.lexists(joined):
            raise LocalProtocolError(f"{path} is not there: there is no {joined}")
        if os.path.isdir(joined):
            raise LocalProtocolError(f"{path} is a directory: name the files in it")


def _by_way_of(root: Path, path: str) -> str:
    """Return *path* below *root*, if it leads there by another name of *root*; else as it is."""
    if Path(path).is_relative_to(root):
        return path
    for above in reversed(Path(path).parents):
        if os.path.realpath(above) == str(root):
            return str(root / Path(path).relative_to(above))
    return path
