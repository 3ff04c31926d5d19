"""The steps of a job to GitHub's, one mapping each. What GitHub cannot do is left out with a warning."""

from __future__ import annotations

import re
from collections.abc import Mapping as Map
from typing import Any

from plughost_sdk.hook_messages import CigenSchema, JobDefinition, PackageSpec, RunStep, Step, UsesStep

from . import caches, commands, packages
from .notes import Notes
from .raw import call, shared_packages
from .unchanged import is_checkout
from .yaml_reader import is_null, read_scalar

Mapping = dict[str, Any]

OTHER_PROVIDERS = ("circleci", "woodpecker", "gitlab", "buildkite")  # their raw steps are not for us

_ACTION = re.compile(r"\./\S*|docker://\S+|[\w.-]+/[\w./-]+@[\w./-]+")
_LANGUAGE = re.compile(r"lang/([\w-]+)(?:@[~^]?(.*))?")


def build(job: JobDefinition, schema: CigenSchema, notes: Notes) -> list[Mapping]:
    """Return checkout, set-up and the steps of *job*. Raises ValueError."""
    built = []
    for step in commands.expand(job, schema):
        built += _step(step, job, schema, notes)
    at = next((number for number, each in enumerate(built, 1) if is_checkout(each)), 0)
    before = built[:at] or [_checkout(_scalars(job.checkout))]
    return [
        *before,
        *packages.set_up(job, schema, notes, shared_packages(schema)),
        *built[at:],
    ]  # set-up looks for lock files: not before


def _step(step: Step, job: JobDefinition, schema: CigenSchema, notes: Notes) -> list[Mapping]:
    match step.WhichOneof("step_type"):
        case "run" if step.run.command.strip():
            return [_run(step.run)]
        case "uses":
            return _uses(step.uses, job, schema, notes)
        case "restore_cache":
            return caches.restore(step.restore_cache, schema, notes)
        case "save_cache":
            return caches.save(step.save_cache, schema, notes)
        case "custom":
            return _custom(step.custom.kind, step.custom.yaml, job, notes)
    hint = "Give it run, uses, restore_cache, save_cache or a command"
    notes.warning("GITHUB_EMPTY_STEP", f"job {job.id}: a step that does nothing is left out", hint)
    return []


def _run(step: RunStep) -> Mapping:
    built = _named(step)
    if step.env:
        built["env"] = {key: step.env[key] for key in sorted(step.env)}
    return built | {"run": step.command}


def _uses(step: UsesStep, job: JobDefinition, schema: CigenSchema, notes: Notes) -> list[Mapping]:
    if found := _LANGUAGE.fullmatch(step.module):
        spec = PackageSpec(name=found[1], version=found[2] or "", extra=_with(step))
        return packages.set_up(JobDefinition(package_specs=[spec]), schema, notes)
    if not _ACTION.fullmatch(step.module):
        hint = "Write owner/repository@version, ./folder or docker://image"
        notes.warning("GITHUB_USES", f"job {job.id}: {step.module!r} is no action; left out", hint)
        return []
    built = _named(step) | {"uses": step.module}
    if inputs := _inputs(_scalars(_with(step))):
        built["with"] = inputs
    return [built]


def _custom(kind: str, text: str, job: JobDefinition, notes: Notes) -> list[Mapping]:
    if kind == "checkout":
        return [_checkout(call(kind, text, "checkout"))]
    if kind == "github":
        raw = call(kind, text, f"job {job.id}: a step of kind github")
        if ("run" in raw) == ("uses" in raw):
            raise ValueError(f"job {job.id}: a step of kind github has either run or uses")
        return [raw]
    if kind not in OTHER_PROVIDERS:
        hint = "Define it under `commands`, or write what it does in GitHub's own words under `github:`"
        notes.warning("GITHUB_UNKNOWN_STEP", f"job {job.id}: a step of kind {kind!r} is left out", hint)
    return []


def _checkout(given: Mapping) -> Mapping:
    inputs = _inputs(given)
    return {"name": "Check out", "uses": "actions/checkout@v4"} | ({"with": inputs} if inputs else {})


def _inputs(given: Mapping) -> Mapping:
    """Return the inputs of an action. All of them are texts, so `3.10` is quoted to stay what it is."""
    built = {}
    for key in sorted(given):
        value = "\n".join(map(str, given[key])) if isinstance(given[key], list) else given[key]
        if not is_null(value):
            built[key] = value if value in ("true", "false") or str(value).isdigit() else str(value)
    return built


def _scalars(texts: Map[str, str]) -> Mapping:
    return {key: read_scalar(text) for key, text in texts.items()}


def _named(step: RunStep | UsesStep) -> Mapping:
    built = {"name": step.name} if step.name else {}
    condition = getattr(step, "if")  # a keyword: the field is reached by its name only
    return built | ({"if": condition} if condition else {})


def _with(step: UsesStep) -> dict[str, str]:
    return dict(getattr(step, "with"))
