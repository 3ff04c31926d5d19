"""A job's steps to steps that are skipped if the job was green for the same files and definition before.

GitHub has no such thing, but its cache can tell: a job that is green saves an empty file under a key made of its
definition, its machine, its row of the matrix and the hash of its files. If the key is there, nothing changed. A
branch sees its own keys and those of the main branch, never those of a stranger's pull request.

A job that leaves something for others, or reads what no key can hold, would be green and hollow: `obstacle` says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from .expressions import all_of
from .paths import hash_files
from .yaml_writer import write

Mapping = dict[str, Any]

MARKER = ".plughost/unchanged"
CHANGED = "steps.unchanged.outputs.cache-hit != 'true'"
KEY = "steps.unchanged.outputs.cache-primary-key"  # as it was asked for: the job may have written files since
DIGITS = 12  # of the definition's hash: for one job's few definitions, not for the world's
SHARED = ("env", "defaults", "permissions")  # of the workflow: part of what each of its jobs does
# Values of a matrix may have commas or be long, and a key takes neither; the definition says which row is which.
ROW = "${{ strategy.job-index }}"

_CARRIES = re.compile(r"upload|publish|release|deploy|push|artifact", re.IGNORECASE)
_OUTSIDE = re.compile(
    r"(?<![\w.-])(?:inputs|needs|secrets|vars|github(?!\.(?:token|workspace|repository|server_url)\b))\b"
)
_DECIDE_ONLY_WHETHER = ("if", "name", "needs", "concurrency")  # keys of a job that say nothing of its work


def obstacle(job: Mapping, steps: list[Mapping], shared: Mapping) -> str:
    """Return why the job has to run even if nothing changed, or an empty text."""
    for key in ("outputs", "environment"):
        if key in job:
            return f"it has {key}"
    permissions = job.get("permissions")
    if "write" in (permissions.values() if isinstance(permissions, dict) else str(permissions).split("-")):
        return "it may write with its permissions"
    for step in steps:
        action = str(step.get("uses", "")).partition("@")[0]
        if _CARRIES.search(action):
            return f"what {action} brings or leaves behind is none of its files"
    work = {key: value for key, value in job.items() if key not in _DECIDE_ONLY_WHETHER}
    for expression in _expressions([work, steps, shared]):
        if found := _OUTSIDE.search(expression):
            return f"it reads {found[0]}, which may change while its files do not"
    return ""


def guard(
    job_id: str, job: Mapping, steps: list[Mapping], paths: Iterable[str], shared: Mapping
) -> list[Mapping]:
    """Return *steps* so that those after the checkout run only if something changed."""
    defined = {"workflow": shared, "job": {**job, "steps": steps}}
    definition = sha256(write(defined).encode()).hexdigest()[:DIGITS]
    files = hash_files(paths)
    row = [ROW] if "strategy" in job else []
    machine = "${{ runner.os }}-${{ runner.arch }}"
    key = "-".join(["unchanged", job_id, definition, machine, *row, f"${{{{ {files} }}}}"])
    at = 1 + next(at for at, step in enumerate(steps) if is_checkout(step))
    return [*steps[:at], _look_up(key, files), *map(_guarded, steps[at:]), *_remember(job)]


def is_checkout(step: Mapping) -> bool:
    return str(step.get("uses", "")).startswith("actions/checkout@")


def _expressions(value: Any, key: str = "") -> Iterator[str]:
    """Yield what is inside of `${{ }}` in every text of *value*, and every `if`, which needs none."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _expressions(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _expressions(each)
    elif isinstance(value, str) and key == "if":
        yield value
    elif isinstance(value, str):
        for piece in value.split("${{")[1:]:  # a search for both marks takes long where the second is missing
            yield piece.partition("}}")[0]


def _look_up(key: str, files: str) -> Mapping:
    """Return the step that asks. Files that are none have no hash, and would be unchanged for ever: not asked."""
    return {
        "name": "Has anything changed?",
        "id": "unchanged",
        "if": f"{files} != ''",
        "uses": "actions/cache/restore@v4",
        "with": {"path": MARKER, "key": key, "lookup-only": True},
    }


def _guarded(step: Mapping) -> Mapping:
    condition = {"if": all_of(str(step.get("if", "")), CHANGED)}
    first = {key: step[key] for key in ("name", "id") if key in step}
    return first | condition | {key: value for key, value in step.items() if key not in (*first, "if")}


def _remember(job: Mapping) -> list[Mapping]:
    changed = {"if": all_of(CHANGED, f"{KEY} != ''")}
    # A container may have no bash; a Windows machine has no sh.
    shell = {} if "container" in job else {"shell": "bash"}
    touch = {
        "name": "Green for these files",
        **changed,
        **shell,
        "run": f"mkdir -p .plughost\ntouch {MARKER}",
    }
    save = {"uses": "actions/cache/save@v4", "with": {"path": MARKER, "key": f"${{{{ {KEY} }}}}"}}
    return [touch, {"name": "Remember it", **changed, **save}]
