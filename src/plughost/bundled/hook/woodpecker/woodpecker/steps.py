"""The steps of one job to containers. What Woodpecker cannot do is left out with a warning.

Each step of Woodpecker is a container of its own: what a command installs outside of the workspace is gone in the
next. So commands that follow each other with the same environment and condition share one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as Map
from typing import Any

from plughost_sdk.hook_messages import CigenSchema, JobDefinition, RunStep, Step, UsesStep

from . import commands
from .conditions import step_if
from .images import Place
from .notes import Notes
from .raw import call
from .yaml_reader import is_null, read_scalar

Mapping = dict[str, Any]

OTHER_PROVIDERS = ("circleci", "github", "gitlab", "buildkite")  # their raw steps are not for us

_SECRET = re.compile(r"\$\{\{\s*secrets\.([A-Za-z_]\w*)\s*\}\}")
_EXPRESSION = re.compile(r"\$\{\{(?!\s*matrix\.).*?\}\}", re.DOTALL)


def build(
    job: JobDefinition, schema: CigenSchema, place: Place, env: Map[str, str], notes: Notes
) -> list[Mapping]:
    """Return the containers of *job*, with no other names and conditions than their own. Raises ValueError."""
    built: list[Mapping] = []
    for step in commands.expand(job, schema):
        made = _step(step, job, place, env, notes)
        if made and built and _may_share(built[-1], made):
            built[-1]["commands"] += made["commands"]
        elif made:
            built.append(made)
    for each in built:
        if each.get("image") == place.image and "commands" in each:
            each["commands"] = [*place.install, *each["commands"]]
    if sum("commands" in each for each in built) > 1:
        hint = "Give the steps the same env and if, or keep what they share in the workspace"
        notes.info(
            "WOODPECKER_CONTAINERS", f"job {job.id} runs in several containers, one after the other", hint
        )
    return built


def _step(step: Step, job: JobDefinition, place: Place, env: Map[str, str], notes: Notes) -> Mapping:
    match step.WhichOneof("step_type"):
        case "run" if step.run.command.strip():
            return _run(step.run, job, place, env, notes)
        case "uses":
            return _uses(step.uses, job, notes)
        case "restore_cache" | "save_cache" as kind:
            name = getattr(step, kind).name
            hint = "Mount a volume, or write a step under `woodpecker:` with a plugin that caches"
            notes.info(  # it is slower, and does the same
                "WOODPECKER_CACHE", f"job {job.id}: {kind} {name!r} is left out: there is no cache", hint
            )
        case "custom":
            return _custom(step.custom.kind, step.custom.yaml, job, notes)
        case _:
            hint = "Give it run, or a command"
            notes.warning(
                "WOODPECKER_EMPTY_STEP", f"job {job.id}: a step that does nothing is left out", hint
            )
    return {}


def _run(step: RunStep, job: JobDefinition, place: Place, env: Map[str, str], notes: Notes) -> Mapping:
    where = f"job {job.id}"
    built: Mapping = {"name": step.name} if step.name else {}
    built |= {"image": place.image, "commands": [step.command]}
    if environment := {**env, **job.env, **step.env}:
        built["environment"] = {key: _variable(environment[key], where, notes) for key in sorted(environment)}
    if found := _EXPRESSION.search(step.command):
        _warn_of_expression(found[0], where, notes)
    condition = step_if(getattr(step, "if"), where, notes)  # a keyword: the field is reached by its name only
    return built | ({"when": condition} if condition else {})


def _uses(step: UsesStep, job: JobDefinition, notes: Notes) -> Mapping:
    if step.module.startswith("actions/checkout@"):
        return {}  # Woodpecker clones by itself
    if not step.module.startswith("docker://"):
        hint = "Write docker://image for a plugin of Woodpecker's, or the commands themselves"
        notes.warning(
            "WOODPECKER_USES", f"job {job.id}: {step.module!r} is left out: there are no actions", hint
        )
        return {}
    built: Mapping = {"name": step.name} if step.name else {}
    built["image"] = step.module.removeprefix("docker://")
    given = getattr(step, "with")
    if given:
        values = {key: read_scalar(given[key]) for key in sorted(given)}
        built["settings"] = {key: _secret(value) for key, value in values.items() if not is_null(value)}
    condition = step_if(getattr(step, "if"), f"job {job.id}", notes)
    return built | ({"when": condition} if condition else {})


def _custom(kind: str, text: str, job: JobDefinition, notes: Notes) -> Mapping:
    if kind == "woodpecker":
        raw = call(kind, text, f"job {job.id}: a step of kind woodpecker")
        if "image" not in raw:
            raise ValueError(f"job {job.id}: a step of kind woodpecker has an image")
        return raw
    if kind not in (*OTHER_PROVIDERS, "checkout"):
        hint = "Define it under `commands`, or write the step in Woodpecker's own words under `woodpecker:`"
        notes.warning("WOODPECKER_UNKNOWN_STEP", f"job {job.id}: a step of kind {kind!r} is left out", hint)
    return {}


def _may_share(last: Mapping, made: Mapping) -> bool:
    """Say whether two steps differ in nothing but commands; a name is worth a container only with a condition."""
    rest = [
        {key: value for key, value in each.items() if key not in ("name", "commands")}
        for each in (last, made)
    ]
    return rest[0] == rest[1] and "commands" in last and "commands" in made


def _variable(value: str, where: str, notes: Notes) -> Any:
    if found := _EXPRESSION.search(value):
        if _SECRET.fullmatch(value):
            return _secret(value)
        _warn_of_expression(found[0], where, notes)
    return value


def _secret(value: str) -> Any:
    found = _SECRET.fullmatch(value)
    return {"from_secret": found[1].lower()} if found else value


def _warn_of_expression(expression: str, where: str, notes: Notes) -> None:
    hint = "Only `${{ matrix.… }}`, and `${{ secrets.… }}` as a whole value of env, mean something here"
    notes.warning("WOODPECKER_EXPRESSION", f"{where}: {expression!r} is written as it is", hint)
