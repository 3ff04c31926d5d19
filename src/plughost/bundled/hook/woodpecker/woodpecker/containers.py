"""The jobs of one file to its steps: their names, what each waits for, and when it runs."""

from __future__ import annotations

import re
from typing import Any

from plughost_sdk.hook_messages import LIMIT, CigenSchema, JobDefinition

from . import steps
from .conditions import both, skip_if, step_if
from .files import File
from .images import Place
from .notes import Notes
from .raw import NO_STAGE
from .steps import OTHER_PROVIDERS
from .yaml_reader import read
from .yaml_writer import Plain

Mapping = dict[str, Any]

STEP_KEYS = (
    "privileged",
    "pull",
    "volumes",
    "directory",
    "failure",
    "backend_options",
    "entrypoint",
    "dns",
    "dns_search",
)


def is_runnable(job: JobDefinition, schema: CigenSchema, notes: Notes) -> bool:
    """Say whether a step of *job* can be run here. Raises ValueError."""
    if steps.build(job, schema, Place("", {}, ()), {}, notes):
        return True
    hint = "Give it a run step, or a step under `woodpecker:`"
    notes.warning("WOODPECKER_EMPTY_JOB", f"job {job.id} is left out: nothing of it can be run here", hint)
    return False


def containers(
    file: File, schema: CigenSchema, places: dict[str, Place], env: Mapping, notes: Notes
) -> list[Mapping]:
    """Return the containers of all jobs. If there are several jobs, each says what it waits for, or nothing: `[]`."""
    built: list[Mapping] = []
    jobs = {job.id: job for job in schema.jobs}
    names: set[str] = set()
    last: dict[str, list[str]] = {}
    size = 0
    for job in _in_order(file.jobs):
        made = steps.build(job, schema, places[job.id], env, notes)
        size += sum(len(str(command)) for each in made for command in each.get("commands", ()))
        if size > LIMIT:
            raise ValueError(f"a file of more than {LIMIT} bytes, which no answer holds")
        waits = list(dict.fromkeys(name for need in job.needs for name in last.get(need, [])))
        always = _always(job, schema, notes)
        _say_what_is_lost(job, jobs, notes)
        for number, each in enumerate(made, 1):
            name = _unique(_step_name(job, each, number if len(made) > 1 else 0), names)
            own = each.pop("when", {})
            entries = own if isinstance(own, list) else [own]
            when = [both(each, entry) for entry in entries for each in always]
            each = (
                {"name": name}
                | {key: value for key, value in each.items() if key != "name"}
                | _extra(job, notes)
            )
            built.append(each | ({"when": when} if any(when) else {}))
            if len(file.jobs) > 1:
                built[-1]["depends_on"] = waits
            waits = [name]
        last[job.id] = waits
    return built


def _in_order(jobs: tuple[JobDefinition, ...]) -> list[JobDefinition]:
    """Return *jobs* so that each comes after those it needs; otherwise as they are."""
    waiting = {job.id: job for job in jobs}
    ordered: list[JobDefinition] = []
    while waiting:
        left = len(waiting)
        for job in list(waiting.values()):
            if not waiting.keys() & set(job.needs):
                del waiting[job.id]
                ordered.append(job)
        if len(waiting) == left:
            raise ValueError(f"jobs that wait for each other: {', '.join(sorted(waiting))}")
    return ordered


def _always(job: JobDefinition, schema: CigenSchema, notes: Notes) -> list[Mapping]:
    """Return of what one must hold for every step of *job*: changed files, its own condition, and skip_if."""
    when: list[Mapping] = [{}]
    paths: list[str] = []
    for each in [*job.source_files, *job.skip_if.paths_unmodified]:
        group = schema.source_file_groups.get(each[1:]) if each.startswith("@") else None
        if each.startswith("@") and group is None:
            raise ValueError(f"there is no source file group {each[1:]!r}")
        paths += list(group.values) if group is not None else [each]
    if paths:  # of a pull request alone: a push is compared with the one before, which may have been red
        changed = {"include": list(dict.fromkeys(map(_pattern, paths))), "on_empty": True}
        when = [
            {"event": "pull_request", "path": changed},
            {"evaluate": 'CI_PIPELINE_EVENT != "pull_request"'},
        ]
    own = step_if(str(read(job.extra["if"])), f"job {job.id}", notes) if "if" in job.extra else {}
    skip = skip_if(job.skip_if, notes)
    return [both(both(each, own), {"evaluate": skip} if skip else {}) for each in when]


def _say_what_is_lost(job: JobDefinition, jobs: dict[str, JobDefinition], notes: Notes) -> None:
    if job.stage not in ("", NO_STAGE):
        hint = "Say with `needs` what a job waits for"
        notes.info("WOODPECKER_STAGE", f"the stage {job.stage!r} is left out: Woodpecker has none", hint)
    for need in job.needs:
        other = jobs[need]
        skipped = {*other.skip_if.env, *other.skip_if.branch} - {*job.skip_if.env, *job.skip_if.branch}
        if skipped or other.extra.get("if", "") not in ("", job.extra.get("if", "")):
            hint = f"Give {job.id} the same skip_if and if"
            notes.warning("WOODPECKER_NEEDS", f"job {job.id} runs even where {need} is skipped", hint)


def _pattern(path: str) -> str:
    path = path.removeprefix("./").lstrip("/")
    return f"{path}**" if path.endswith("/") else path


def _extra(job: JobDefinition, notes: Notes) -> Mapping:
    found: Mapping = {}
    for name in sorted(job.extra.keys() - {"if"}):
        key = name.replace("-", "_")
        if key in OTHER_PROVIDERS:
            continue
        if key in STEP_KEYS:
            found[key] = read(job.extra[name])
        elif key == "timeout_minutes":
            hint = "The settings of the repository have a timeout, which then ends it"
            notes.info("WOODPECKER_JOB_KEY", f"job {job.id}: {name!r} is left out", hint)
        elif key == "continue_on_error" and read(job.extra[name]) == Plain("true"):
            found["failure"] = "ignore"
        else:
            hint = f"Woodpecker knows {', '.join(STEP_KEYS)}"
            notes.warning("WOODPECKER_JOB_KEY", f"job {job.id}: {name!r} is left out", hint)
    for name in sorted(job.checkout):
        hint = "Write `clone` under the workflow, with the settings of Woodpecker's git plugin"
        notes.warning("WOODPECKER_CHECKOUT", f"job {job.id}: {name!r} of checkout is left out", hint)
    return found


def _step_name(job: JobDefinition, step: Mapping, number: int) -> str:
    """Return a name that says which job it is of; its own part is the step's name or its number."""
    own = str(step.get("name") or number) if number else ""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", f"{job.id}-{own}".strip("-")).strip("-") or "step"


def _unique(name: str, taken: set[str]) -> str:
    number = 2
    wanted = name
    while name in taken:
        name = f"{wanted}-{number}"
        number += 1
    taken.add(name)
    return name
