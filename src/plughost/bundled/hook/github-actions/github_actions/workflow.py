"""The jobs of one workflow to the text of its file. Refuses names that are none of a file, and YAML that is none."""

from __future__ import annotations

import re
from typing import Any

from plughost_sdk.hook_messages import (
    LIMIT,
    WORKFLOW_CONDITION_KIND_PARAMETER,
    CigenSchema,
    JobDefinition,
    WorkflowDefinition,
)

from . import job, raw, unchanged
from .expressions import all_of, run_when
from .notes import Notes
from .yaml_reader import is_null, read, read_mapping
from .yaml_writer import Plain, write

Mapping = dict[str, Any]

DEFAULT = "ci"  # the workflow of a job that names none
KEYS = ("name", "run-name", "on", "permissions", "concurrency", "env", "defaults")
HEADER = """\
# Written by plughost, provider/github. Do not edit: the next run replaces this file.
# Source: workflow {name} of the pipeline file
# Regenerate: plughost generate PROVIDER --schema FILE, with the provider above and the pipeline file
#
"""

_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def group(schema: CigenSchema) -> dict[str, list[JobDefinition]]:
    """Return the jobs by workflow, workflows by name, jobs in the order of the schema."""
    grouped: dict[str, list[JobDefinition]] = {}
    for each in schema.jobs:
        grouped.setdefault(each.workflow or DEFAULT, []).append(each)
    return {name: grouped[name] for name in sorted(grouped)}


def render(name: str, jobs: list[JobDefinition], schema: CigenSchema, notes: Notes) -> str:
    """Return the file of the workflow *name*. Raises ValueError."""
    if not _FILE_NAME.fullmatch(name):
        raise ValueError("the name of a workflow is the name of a file: letters, digits, '_', '-' and '.'")
    if len({each.id for each in jobs}) != len(jobs) or not all(each.id for each in jobs):
        raise ValueError("every job has an id of its own")
    definition = next((each for each in schema.workflows if each.id == name), WorkflowDefinition(id=name))
    head = _head(definition, schema, notes)
    condition = all_of(*(run_when(each, notes) for each in definition.run_when))
    ids = job.identify(each.id for each in jobs)
    shared = {key: head[key] for key in unchanged.SHARED if key in head}
    setting = job.Setting(schema, shared, ids, raw.services(schema), condition, notes)
    parts = [HEADER.format(name=name) + write(head)]
    size = len(parts[0])
    for each in jobs:
        parts.append(write({ids[each.id]: job.build(each, setting)}, indent=2))
        size += len(parts[-1])
        if size > LIMIT:
            raise ValueError(f"a file of more than {LIMIT} bytes, which no answer holds")
    return "\n".join([parts[0], "jobs:\n" + parts[1], *parts[2:]])


def _head(definition: WorkflowDefinition, schema: CigenSchema, notes: Notes) -> Mapping:
    own = read_mapping(definition.yaml, f"workflow {definition.id}")
    own.pop("jobs", None)
    shared = read_mapping(schema.provider_config.get("github", ""), "github")
    own, shared = (
        {key: value for key, value in each.items() if not is_null(value)} for each in (own, shared)
    )
    given = shared | own
    for key in sorted(given.keys() - set(KEYS)):
        hint = f"GitHub knows {', '.join(KEYS)}"
        notes.warning("GITHUB_WORKFLOW_KEY", f"workflow {definition.id}: {key!r} is left out", hint)
    head: Mapping = {
        "name": definition.id.upper(),
        "on": _default_events(definition),
        "permissions": {"contents": "read"},
        # A pull request that is pushed to again does not need its last run, so its runs share a group. Every other run
        # has a group of its own: in a shared one, a third run would take the place of a second that still waits.
        "concurrency": {
            "group": definition.id
            + "-${{ github.event_name == 'pull_request' && github.ref || github.run_id }}",
            "cancel-in-progress": "${{ github.event_name == 'pull_request' }}",
        },
    }
    head |= given
    if "workflow_call" in _names(head["on"]) and "concurrency" not in given:
        del head[
            "concurrency"
        ]  # it would see the caller's event and run, and two calls would cancel each other
    if env := _env(definition.id, shared, own, schema):
        head["env"] = env
    _check_inputs(definition, head["on"], notes)
    return {key: head[key] for key in KEYS if key in head}


def _env(name: str, shared: Mapping, own: Mapping, schema: CigenSchema) -> Mapping:
    env: Mapping = {key: schema.variables[key] for key in sorted(schema.variables)}
    for given in (shared.get("env"), own.get("env")):
        if not isinstance(given, dict | None):
            raise ValueError(f"workflow {name}: env is not a mapping")
        env |= {key: str(value) for key, value in (given or {}).items()}
    return env


def _parameters(definition: WorkflowDefinition) -> Mapping:
    return {
        each.key: read(each.equals_yaml) if each.equals_yaml else Plain("true")
        for each in definition.run_when
        if each.kind == WORKFLOW_CONDITION_KIND_PARAMETER and each.provider in ("", "github")
    }


def _default_events(definition: WorkflowDefinition) -> Mapping:
    events: Mapping = {"pull_request": {}, "push": {"branches": ["main"]}}
    if parameters := _parameters(definition):
        kinds = {
            key: isinstance(value, Plain) and value.lower() in ("true", "false")
            for key, value in parameters.items()
        }
        inputs = {key: {"type": "boolean" if kinds[key] else "string"} for key in sorted(kinds)}
        events["workflow_dispatch"] = {"inputs": inputs}
    return events


def _names(events: Any) -> set[str]:
    return {events} if isinstance(events, str) else {str(each) for each in events}


def _check_inputs(definition: WorkflowDefinition, events: Any, notes: Notes) -> None:
    if _parameters(definition) and not {"workflow_dispatch", "workflow_call"} & _names(events):
        hint = "Add workflow_dispatch with inputs to `on`"
        message = f"workflow {definition.id} runs when a parameter says so, and nothing in `on` can give one"
        notes.warning("GITHUB_PARAMETER", message, hint)
