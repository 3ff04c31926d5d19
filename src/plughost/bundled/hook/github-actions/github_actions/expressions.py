"""Conditions to expressions of GitHub's language, as they stand in `if`. Knows which contexts a job's `if` may read."""

from __future__ import annotations

import re

from plughost_sdk.hook_messages import (
    WORKFLOW_CONDITION_KIND_ENV,
    WORKFLOW_CONDITION_KIND_EXPRESSION,
    WORKFLOW_CONDITION_KIND_PARAMETER,
    WORKFLOW_CONDITION_KIND_VARIABLE,
    SkipConfig,
    WorkflowCondition,
)

from .notes import Notes
from .yaml_reader import is_null, read
from .yaml_writer import Plain

NEVER = "false"  # in the place of a condition that cannot be written: a deployment must not lose its guard
BRANCH = "(github.head_ref || github.ref_name)"  # a pull request's own branch, else the one that was pushed

_WRAPPED = re.compile(r"\$\{\{\s*(.*?)\s*\}\}", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INPUT = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def quoted(text: str) -> str:
    """Return *text* as a string of the expression language."""
    return "'" + text.replace("'", "''") + "'"


def bare(expression: str) -> str:
    """Return *expression* without `${{ }}`: inside `if` it is one already."""
    return _WRAPPED.sub(r"\1", expression).strip()


def all_of(*expressions: str) -> str:
    """Return what holds if each of *expressions* does; empty ones always do."""
    wanted = list(dict.fromkeys(filter(None, map(bare, expressions))))
    return wanted[0] if len(wanted) == 1 else " && ".join(f"({each})" for each in wanted)


def run_when(condition: WorkflowCondition, notes: Notes) -> str:
    """Return *condition* as an expression; an empty one if it is another provider's."""
    if condition.provider not in ("", "github"):
        return ""
    key = condition.key
    match condition.kind:
        case kind if kind == WORKFLOW_CONDITION_KIND_EXPRESSION:
            return bare(condition.expression)
        case kind if kind == WORKFLOW_CONDITION_KIND_PARAMETER and _INPUT.fullmatch(key):
            return _equals(f"inputs.{key}", condition.equals_yaml, typed=True)
        case kind if kind == WORKFLOW_CONDITION_KIND_VARIABLE and _NAME.fullmatch(key):
            return _equals(f"vars.{key}", condition.equals_yaml, typed=False)
        case kind if kind == WORKFLOW_CONDITION_KIND_ENV and _NAME.fullmatch(key):
            hint = f"Set the repository variable {key}, or write an `expression`"
            notes.info("GITHUB_ENV_CONDITION", f"a job's if reads vars.{key}, not env.{key}", hint)
            return _equals(f"vars.{key}", condition.equals_yaml, typed=False)
    hint = "Use a parameter, a variable or an expression"
    notes.warning("GITHUB_CONDITION", f"run_when {key!r} cannot hold here: it never runs", hint)
    return NEVER


def skip_if(skip: SkipConfig, notes: Notes) -> str:
    """Return what must hold for the job not to be skipped. Unmodified paths are not looked at here."""
    parts = []
    for each in skip.env:
        name, given, value = each.partition("=")
        if _NAME.fullmatch(name):
            parts.append(f"vars.{name} != {quoted(value)}" if given else f"vars.{name} == ''")
        else:
            notes.warning("GITHUB_SKIP_IF", f"skip_if env {each!r} is no name", "Write NAME or NAME=value")
    for each in skip.branch:
        start = each.rstrip("*")
        if "*" in start or "?" in each:
            hint = "Write the branch, or the beginning of its name and one *"
            notes.warning("GITHUB_SKIP_IF", f"skip_if branch {each!r} cannot be matched", hint)
        elif start != each:
            parts.append(f"!startsWith({BRANCH}, {quoted(start)})")
        else:
            parts.append(f"{BRANCH} != {quoted(each)}")
    return all_of(*parts)


def _equals(name: str, equals: str, *, typed: bool) -> str:
    value = read(equals) if equals else None
    if value is None or is_null(value):
        return name
    if not isinstance(value, str):
        raise ValueError(f"run_when {name} equals a list or mapping")
    word = value.lower()
    if typed and isinstance(value, Plain) and (word in ("true", "false") or _NUMBER.fullmatch(value)):
        return f"{name} == {word}"
    return f"{name} == {quoted(value)}"
