"""Conditions to Woodpecker's `when`: events, paths, status, and what its `evaluate` can express."""

from __future__ import annotations

import json
import re
from typing import Any

from plughost_sdk.hook_messages import (
    WORKFLOW_CONDITION_KIND_ENV,
    WORKFLOW_CONDITION_KIND_EXPRESSION,
    WORKFLOW_CONDITION_KIND_VARIABLE,
    SkipConfig,
    WorkflowCondition,
)

from .notes import Notes
from .yaml_reader import is_null, read

Mapping = dict[str, Any]

DEFAULT = [{"event": "pull_request"}, {"event": "push", "branch": "main"}]
EVENTS = {
    "push": "push",
    "pull_request": "pull_request",
    "workflow_dispatch": "manual",
    "schedule": "cron",
    "release": "release",
    "deployment": "deployment",
}
NEVER = "false"  # in the place of a condition that cannot be written: a deployment must not lose its guard
STATUS = {"always()": ["success", "failure"], "failure()": ["failure"], "success()": ["success"]}

# What GitHub's expressions call it, and what Woodpecker does.
_NAMES = {
    "github.ref_name": "CI_COMMIT_BRANCH",
    "github.head_ref": "CI_COMMIT_SOURCE_BRANCH",
    "github.event_name": "CI_PIPELINE_EVENT",
    "github.ref": "CI_COMMIT_REF",
    "github.sha": "CI_COMMIT_SHA",
    "github.actor": "CI_COMMIT_AUTHOR",
    "github.repository": "CI_REPO",
}
_WRAPPED = re.compile(r"\$\{\{\s*(.*?)\s*\}\}", re.DOTALL)
_DOTTED = re.compile(r"(?<![\w.'\"])(?:env|vars)\.([A-Za-z_]\w*)|(?<![\w.'\"])github\.\w+")
_FOREIGN = re.compile(
    r"\b(?:github|steps|needs|inputs|secrets|matrix|runner|hashFiles|fromJSON|toJSON)\b|(?:starts|ends)With\("
)
_OWN_WHEN = "Write `when` under the workflow, in Woodpecker's own words"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def all_of(*expressions: str) -> str:
    """Return what holds if each of *expressions* does; empty ones always do."""
    wanted = list(dict.fromkeys(filter(None, expressions)))
    return wanted[0] if len(wanted) == 1 else " && ".join(f"({each})" for each in wanted)


def both(one: Mapping, other: Mapping) -> Mapping:
    """Return the entry of a `when` that holds if *one* and *other* do."""
    merged = one | other
    if "evaluate" in one and "evaluate" in other:
        merged["evaluate"] = all_of(one["evaluate"], other["evaluate"])
    return merged


def step_if(condition: str, where: str, notes: Notes) -> Mapping:
    """Return a step's `if` as what its `when` has to say."""
    expression = _WRAPPED.sub(r"\1", condition).strip()
    if expression in STATUS:
        return {"status": STATUS[expression]}
    expression = _DOTTED.sub(lambda it: it[1] or _NAMES.get(it[0], it[0]), expression)
    if _FOREIGN.search(expression):
        hint = "Write it with Woodpecker's variables (CI_…) in the syntax of its `evaluate`"
        notes.warning("WOODPECKER_CONDITION", f"{where}: {condition!r} is written as it is", hint)
    return {"evaluate": expression} if expression else {}


def run_when(condition: WorkflowCondition, notes: Notes) -> str:
    """Return *condition* as an expression; an empty one if it is another provider's."""
    if condition.provider not in ("", "woodpecker"):
        return ""
    if condition.kind == WORKFLOW_CONDITION_KIND_EXPRESSION:
        return str(step_if(condition.expression, "run_when", notes).get("evaluate", ""))
    plain = condition.kind in (WORKFLOW_CONDITION_KIND_ENV, WORKFLOW_CONDITION_KIND_VARIABLE)
    if not plain or not _NAME.fullmatch(condition.key):
        hint = "Use a variable or an expression"
        notes.warning(
            "WOODPECKER_CONDITION", f"run_when {condition.key!r} cannot hold here: it never runs", hint
        )
        return NEVER
    value = read(condition.equals_yaml) if condition.equals_yaml else None
    if value is None or is_null(value):
        return f'({condition.key} ?? "") != ""'
    if not isinstance(value, str):
        raise ValueError(f"run_when {condition.key} equals a list or mapping")
    return f"{condition.key} == {_text(value)}"  # a variable is a text, whatever it spells


def skip_if(skip: SkipConfig, notes: Notes) -> str:
    """Return what must hold for the job not to be skipped. Unmodified paths are not looked at here."""
    parts = []
    for each in skip.env:
        name, given, value = each.partition("=")
        if _NAME.fullmatch(name):
            parts.append(f"{name} != {_text(value)}" if given else f'({name} ?? "") == ""')
        else:
            notes.warning(
                "WOODPECKER_SKIP_IF", f"skip_if env {each!r} is no name", "Write NAME or NAME=value"
            )
    for each in skip.branch:
        start = each.rstrip("*")
        if "*" in start or "?" in each:
            hint = "Write the branch, or the beginning of its name and one *"
            notes.warning("WOODPECKER_SKIP_IF", f"skip_if branch {each!r} cannot be matched", hint)
        elif start != each:
            parts.append(f"not (CI_COMMIT_BRANCH startsWith {_text(start)})")
        else:
            parts.append(f"CI_COMMIT_BRANCH != {_text(each)}")
    return all_of(*parts)


def events(on: Any, workflow: str, notes: Notes) -> list[Mapping]:
    """Return GitHub's `on` as a list of which one has to hold. If there is none, a person has to start it."""
    named = (
        on if isinstance(on, dict) else {str(each): None for each in ([on] if isinstance(on, str) else on)}
    )
    found: list[Mapping] = []
    for name, filters in named.items():
        if name not in EVENTS:
            notes.warning("WOODPECKER_EVENT", f"workflow {workflow}: no event is like {name!r}", _OWN_WHEN)
            continue
        found += _event(EVENTS[name], filters if isinstance(filters, dict) else {}, workflow, notes)
    return found or [{"event": "manual"}]  # an empty list would let everything start it


def _event(event: str, filters: Mapping, workflow: str, notes: Notes) -> list[Mapping]:
    found: list[Mapping] = []
    if "tags" in filters and event == "push":
        tags = filters["tags"] if isinstance(filters["tags"], list) else [filters["tags"]]
        found.append({"event": "tag", "ref": [f"refs/tags/{each}" for each in tags]})
    if not found or "branches" in filters:
        found.append({"event": event})
        if "branches" in filters:
            found[-1]["branch"] = filters["branches"]
        if "paths" in filters:
            found[-1]["path"] = filters["paths"]
    expressed = (
        {"branches", "tags", "paths", "inputs"} if event in ("push", "manual") else {"branches", "paths"}
    )
    for key in sorted(filters.keys() - expressed):
        notes.warning("WOODPECKER_EVENT", f"workflow {workflow}: {key!r} of {event} is left out", _OWN_WHEN)
    return found


def _text(value: str) -> str:
    return json.dumps(str(value), ensure_ascii=False)
