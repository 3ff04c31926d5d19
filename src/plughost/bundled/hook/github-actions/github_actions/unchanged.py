"""A job's steps to steps that are skipped if the job was green for the same files and definition before.

GitHub has no such thing, but its cache can tell: a job that is green saves an empty file under a key made of its
definition, its machine, its row of the matrix and the hash of its files. If the key is there, nothing changed. A
branch sees its own keys and those of the main branch, never those of a stranger's pull request.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from .expressions import all_of
from .matrix import reference
from .paths import hash_files
from .yaml_writer import write

Mapping = dict[str, Any]

MARKER = ".plughost/unchanged"
CHANGED = "steps.unchanged.outputs.cache-hit != 'true'"
KEY = "steps.unchanged.outputs.cache-primary-key"  # as it was asked for: the job may have written files since
DIGITS = 12  # of the definition's hash: for one job's few definitions, not for the world's


def guard(
    job_id: str, job: Mapping, steps: list[Mapping], paths: Iterable[str], matrix_keys: Iterable[str]
) -> list[Mapping]:
    """Return *steps* so that those after the checkout run only if something changed."""
    definition = sha256(write({**job, "steps": steps}).encode()).hexdigest()[:DIGITS]
    files = hash_files(paths)
    rows = map(reference, matrix_keys)
    key = "-".join(["unchanged", job_id, definition, "${{ runner.os }}", *rows, f"${{{{ {files} }}}}"])
    at = 1 + next(at for at, step in enumerate(steps) if is_checkout(step))
    return [*steps[:at], _look_up(key, files), *map(_guarded, steps[at:]), *_remember(job)]


def is_checkout(step: Mapping) -> bool:
    return str(step.get("uses", "")).startswith("actions/checkout@")


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
