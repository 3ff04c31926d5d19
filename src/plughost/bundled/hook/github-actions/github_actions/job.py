"""One job of the schema to one job of a workflow, and job ids to ids that GitHub takes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Any

from plughost_sdk.hook_messages import CigenSchema, JobDefinition

from . import caches, matrix, raw, runners, services, steps, unchanged
from .expressions import all_of, skip_if
from .notes import Notes
from .paths import resolve
from .yaml_reader import read

Mapping = dict[str, Any]

MATRIX_LIMIT = 256  # jobs that GitHub makes of one matrix
ID_LIMIT = 100  # characters of a job's id

KEYS = (
    "name",
    "needs",
    "if",
    "runs-on",
    "container",
    "environment",
    "permissions",
    "concurrency",
    "strategy",
    "services",
    "outputs",
    "env",
    "defaults",
    "timeout-minutes",
    "continue-on-error",
    "uses",
    "with",
    "secrets",
    "steps",
)
CALL_KEYS = ("name", "needs", "if", "permissions", "concurrency", "strategy", "uses", "with", "secrets")
OTHER_PROVIDERS = ("circleci", "woodpecker", "gitlab", "buildkite")  # what a job says to them is not for us
STRATEGY_KEYS = ("fail-fast", "max-parallel")
SCALARS = ("name", "if", "timeout-minutes", "continue-on-error", "uses", *STRATEGY_KEYS)


@dataclass(frozen=True)
class Setting:
    """What a job stands in: the schema, what its workflow says for all jobs, and where to put what is worth saying."""

    schema: CigenSchema
    shared: Mapping  # keys of the workflow that are part of every job's work
    ids: dict[str, str]  # of the jobs in the same workflow, as GitHub has them
    services: Mapping
    condition: str
    notes: Notes


def identify(names: Iterable[str]) -> dict[str, str]:
    """Return an id of GitHub's for each name: a letter first, no two the same, whatever the names are."""
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names, key=lambda each: (_id(each) != each, each)):  # those that may stay, stay
        free = (f"{_id(name)}_{number}" for number in count(2))
        ids[name] = _id(name) if _id(name) not in taken else next(each for each in free if each not in taken)
        taken.add(ids[name])
    return ids


def build(job: JobDefinition, setting: Setting) -> Mapping:
    """Return *job* as a mapping in GitHub's words. Raises ValueError."""
    job = matrix.with_dollars(job) if matrix.is_used(job) else job
    extra = _extra(job, setting.notes)
    built: Mapping = {"name": job.id} if setting.ids[job.id] != job.id else {}
    if job.stage not in ("", raw.NO_STAGE):
        hint = "Say with `needs` what a job waits for"
        setting.notes.info("GITHUB_STAGE", f"the stage {job.stage!r} is left out: GitHub has none", hint)
    if needs := _needs(job, setting):
        built["needs"] = needs
    condition = all_of(setting.condition, skip_if(job.skip_if, setting.notes), str(extra.pop("if", "")))
    if condition:
        built["if"] = condition
    if strategy := _strategy(job, extra, setting.notes):
        built["strategy"] = strategy
    if "uses" in extra:
        return _call(job, built | extra, setting.notes)
    built |= runners.machine(job, setting.schema, setting.notes)
    if job.services:
        built["services"] = services.services(job, setting.services, setting.notes)
    if job.env:
        built["env"] = {key: job.env[key] for key in sorted(job.env)}
    built |= extra
    ordered = {key: built[key] for key in KEYS if key in built}
    return ordered | {"steps": _steps(job, ordered, setting)}


def _steps(job: JobDefinition, built: Mapping, setting: Setting) -> list[Mapping]:
    made = steps.build(job, setting.schema, setting.notes)
    caches.check_keys(made, matrix.rows(job) if matrix.is_used(job) else [])
    paths = resolve([*job.source_files, *job.skip_if.paths_unmodified], setting.schema)
    if not paths:
        return made
    if why := unchanged.obstacle(built, made, setting.shared):
        hint = "Move what can be skipped into a job of its own, or drop source_files and paths_unmodified"
        setting.notes.info("GITHUB_NOT_SKIPPED", f"job {job.id} runs even if nothing changed: {why}", hint)
        return made
    return unchanged.guard(setting.ids[job.id], built, made, paths, setting.shared)


def _needs(job: JobDefinition, setting: Setting) -> list[str]:
    needs = []
    for name in dict.fromkeys(job.needs):
        if name in setting.ids:
            needs.append(setting.ids[name])
        elif any(each.id == name for each in setting.schema.jobs):
            hint = "Put both jobs into one workflow; an `if` of the job says when it runs"
            message = f"job {job.id} needs {name!r}, which is in another workflow; GitHub cannot wait for it"
            setting.notes.error("GITHUB_NEEDS", message, hint)  # a deployment must not lose its guard
        else:
            raise ValueError(f"job {job.id} needs {name!r}, which is not there")
    return needs


def _extra(job: JobDefinition, notes: Notes) -> Mapping:
    """Return what the schema has no field for, by GitHub's keys. `timeout_minutes` is `timeout-minutes`."""
    found = {}
    for name in sorted(job.extra):
        key = name.replace("_", "-")
        if key in OTHER_PROVIDERS:
            continue
        if key not in (*KEYS, *STRATEGY_KEYS) or key in ("needs", "env", "steps"):
            hint = f"GitHub knows {', '.join(KEYS)}"
            notes.warning("GITHUB_JOB_KEY", f"job {job.id}: {name!r} is left out", hint)
            continue
        try:
            found[key] = read(job.extra[name])
        except ValueError as error:
            raise ValueError(f"job {job.id}: {name}: {error}") from error
        if key in SCALARS and not isinstance(found[key], str):
            raise ValueError(f"job {job.id}: {name} is a text or number, not a list or mapping")
    return found


def _strategy(job: JobDefinition, extra: Mapping, notes: Notes) -> Mapping:
    """Return the strategy, and take what belongs to it out of *extra*."""
    given = extra.pop("strategy", None) or {}
    if not isinstance(given, dict):
        raise ValueError(f"job {job.id}: strategy is not a mapping")
    given |= {key: extra.pop(key) for key in STRATEGY_KEYS if key in extra}
    rows = matrix.rows(job) if matrix.is_used(job) else []
    if len(rows) > MATRIX_LIMIT:
        raise ValueError(f"job {job.id}: a matrix of {len(rows)}; GitHub takes {MATRIX_LIMIT}")
    if not rows:
        if given and "matrix" not in given:  # GitHub takes none without
            notes.warning(
                "GITHUB_STRATEGY",
                f"job {job.id}: a strategy without a matrix is left out",
                "Give it a matrix",
            )
        return given if "matrix" in given else {}
    table: Mapping = matrix.lists(job) or {"include": rows}
    # One red row says little about the others: let them finish.
    return {"fail-fast": False} | given | {"matrix": table}


def _call(job: JobDefinition, built: Mapping, notes: Notes) -> Mapping:
    """Return a job that calls another workflow, which has no steps of its own."""
    if job.steps:
        hint = "Drop `uses` from the job, or its steps"
        notes.warning("GITHUB_JOB_USES", f"job {job.id} calls a workflow; its steps are left out", hint)
    return {key: built[key] for key in CALL_KEYS if key in built}


def _id(name: str) -> str:
    wanted = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if not re.match(r"[A-Za-z_]", wanted):
        wanted = f"_{wanted}"
    if len(wanted) > ID_LIMIT:
        wanted = f"{wanted[: ID_LIMIT - 13]}_{sha256(name.encode()).hexdigest()[:12]}"
    return wanted
