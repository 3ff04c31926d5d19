"""One file's jobs to the text of it. Refuses a file that waits for one which no event starts with it."""

from __future__ import annotations

from typing import Any

from plughost_sdk.hook_messages import CigenSchema, JobDefinition, WorkflowDefinition

from . import conditions, matrix, raw
from .containers import containers
from .files import File
from .images import DEFAULT as DEFAULT_IMAGE
from .images import Place, place
from .notes import Notes
from .services import services
from .substitution import protect, variable, writer
from .yaml_reader import is_null, read_mapping
from .yaml_writer import write

Mapping = dict[str, Any]

AXIS_LIMIT = 10  # values of one name in a matrix; Woodpecker's own limit
PRODUCT_LIMIT = 25  # combinations of lists, after which Woodpecker stops without a word
ROW_LIMIT = 64  # rows of `include`

KEYS = (
    "when",
    "labels",
    "depends_on",
    "matrix",
    "clone",
    "skip_clone",
    "workspace",
    "runs_on",
    "services",
    "steps",
)
# Those that the pipeline file may say itself.
OWN = ("when", "labels", "clone", "skip_clone", "workspace", "runs_on")
GITHUBS = ("name", "run-name", "permissions", "concurrency", "defaults", "jobs")
HEADER = """\
# Written by plughost, provider/woodpecker. Do not edit: the next run replaces this file.
# Source: workflow {name} of the pipeline file
# Regenerate: plughost generate PROVIDER --schema FILE, with the provider above and the pipeline file
#
"""


def render(file: File, schema: CigenSchema, notes: Notes) -> str:
    """Return the text of *file*. Raises ValueError."""
    definition, own, shared = _said(file.workflow, schema)
    default_image = str(shared.pop("image", DEFAULT_IMAGE))
    given = _known(shared | own, file.workflow, notes)
    env = {**schema.variables, **_env(shared, file.workflow), **_env(own, file.workflow)}
    places = {job.id: place(job, schema, default_image, notes) for job in file.jobs}
    head = {key: given[key] for key in OWN if key in given}
    head["when"] = _when(given, definition, file.workflow, notes)
    if labels := _labels(head.get("labels"), list(places.values()), file, notes):
        head["labels"] = labels
    if file.depends_on:
        head["depends_on"] = list(file.depends_on)
    if table := _matrix(file.jobs[0]):
        head["matrix"] = table
    if found := services(list(file.jobs), raw.services(schema), notes):
        head["services"] = found
    head["steps"] = containers(file, schema, places, env, notes)
    ordered = {key: head[key] for key in KEYS if key in head}
    ready = writer(matrix.keys(file.jobs[0]))
    # The matrix is read before anything is substituted, all else after.
    parts = [
        write({key: value}) if key == "matrix" else protect(write({key: ready(value)}))
        for key, value in ordered.items()
    ]
    return HEADER.format(name=file.workflow) + "\n".join(parts)


def check_events(file: File, files: list[File], schema: CigenSchema, notes: Notes) -> None:
    """Say as an error if *file* can never run, because what it waits for is never in the same pipeline."""
    workflows = {each.name: each.workflow for each in files}
    for other in {workflows[name] for name in file.depends_on} - {file.workflow}:
        here, there = (_events(name, schema) for name in (file.workflow, other))
        if here and there and not here & there:
            hint = "Put both jobs into one workflow, or give both workflows an event in common"
            message = (
                f"workflow {file.workflow} waits for {other}, which no event starts with it: it never runs"
            )
            notes.error("WOODPECKER_NEEDS", message, hint)


def _said(workflow: str, schema: CigenSchema) -> tuple[WorkflowDefinition, Mapping, Mapping]:
    """Return the definition of *workflow*, what it says in its own words, and what is said for all."""
    definition = next((each for each in schema.workflows if each.id == workflow), WorkflowDefinition())
    own = read_mapping(definition.yaml, f"workflow {workflow}")
    shared = _config(schema, "woodpecker")
    own, shared = (
        {key: value for key, value in each.items() if not is_null(value)} for each in (own, shared)
    )
    return definition, own, shared


def _events(workflow: str, schema: CigenSchema) -> set[str]:
    """Return the events that start *workflow*; none if any of them does."""
    definition, own, shared = _said(workflow, schema)
    found: set[str] = set()
    for entry in _when(shared | own, definition, workflow, Notes()):
        if not entry.get("event"):
            return set()
        event = entry["event"]
        found |= set(map(str, event)) if isinstance(event, list) else {str(event)}
    return found


def _config(schema: CigenSchema, name: str) -> Mapping:
    return read_mapping(schema.provider_config.get(name, ""), name)


def _known(given: Mapping, workflow: str, notes: Notes) -> Mapping:
    """Return *given*, having said what of it has no place here."""
    for key in sorted(given.keys() - {*OWN, "on", "env"}):
        say = notes.info if key in GITHUBS else notes.warning
        say(
            "WOODPECKER_WORKFLOW_KEY",
            f"workflow {workflow}: {key!r} is left out",
            f"Woodpecker knows {', '.join(OWN)}",
        )
    return given


def _env(given: Mapping, workflow: str) -> dict[str, str]:
    env = given.get("env")
    if not isinstance(env, dict | None):
        raise ValueError(f"workflow {workflow}: env is not a mapping")
    return {key: str(value) for key, value in (env or {}).items()}


def _when(given: Mapping, definition: WorkflowDefinition, workflow: str, notes: Notes) -> list[Mapping]:
    when = given.get("when")
    if when is None:
        when = conditions.events(given["on"], workflow, notes) if given.get("on") else conditions.DEFAULT
    entries = when if isinstance(when, list) else [when]
    if not all(isinstance(each, dict) for each in entries):
        raise ValueError(f"workflow {workflow}: when is a mapping or a list of them")
    wanted = conditions.all_of(*(conditions.run_when(each, notes) for each in definition.run_when))
    return [conditions.both(each, {"evaluate": wanted} if wanted else {}) for each in entries]


def _labels(given: Any, places: list[Place], file: File, notes: Notes) -> Mapping:
    if not isinstance(given, dict | None):
        raise ValueError(f"workflow {file.workflow}: labels is not a mapping")
    labels = dict(given or {})
    for each in places:
        if any(labels.get(key, value) != value for key, value in each.labels.items()):
            hint = "Put jobs that need different agents into different workflows"
            notes.warning("WOODPECKER_LABELS", f"the jobs of {file.name} do not agree on labels", hint)
        labels |= each.labels
    return labels


def _matrix(job: JobDefinition) -> Mapping:
    if not matrix.is_used(job):
        return {}
    rows = matrix.rows(job)
    if len({variable(key) for key in matrix.keys(job)}) != len(matrix.keys(job)):
        raise ValueError(f"job {job.id}: two names of the matrix are the same variable")
    values = matrix.lists(job)
    if values and len(rows) <= PRODUCT_LIMIT and all(len(each) <= AXIS_LIMIT for each in values.values()):
        return {variable(key): each for key, each in values.items()}
    if len(rows) > ROW_LIMIT:
        raise ValueError(f"job {job.id}: a matrix of {len(rows)}; Woodpecker takes {ROW_LIMIT}")
    return {"include": [{variable(key): value for key, value in row.items()} for row in rows]} if rows else {}
