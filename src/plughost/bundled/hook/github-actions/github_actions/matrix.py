"""The matrix of a job: lists to multiply out if its rows are that product, the rows themselves if not."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

from plughost_sdk.hook_messages import JobDefinition

from .commands import replace_texts

_NAME = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_BARE = re.compile(r"(?<!\$)\{\{\s*(matrix\.[\w-]+)\s*\}\}")


def lists(job: JobDefinition) -> dict[str, list[str]]:
    """Return the values by name, sorted by name (a map has no order), if they and nothing else are the rows."""
    values = {key: list(dict.fromkeys(job.matrix[key].values)) for key in sorted(job.matrix)}
    if not values:
        return {}
    every = {tuple(zip(values, row, strict=True)) for row in product(*values.values())}
    wanted = [tuple(sorted(row.values.items())) for row in job.matrix_rows] or every
    return values if every == set(wanted) and len(every) == len(wanted) else {}


def rows(job: JobDefinition) -> list[dict[str, str]]:
    """Return every combination, in the order of the schema."""
    if job.matrix_rows:
        return [dict(sorted(row.values.items())) for row in job.matrix_rows]
    values = lists(job)
    return [dict(zip(values, row, strict=True)) for row in product(*values.values())] if values else []


def is_used(job: JobDefinition) -> bool:
    """Say whether *job* is to be multiplied. One row alone may be a note of what the host did already."""
    if job.matrix or len(job.matrix_rows) != 1:
        return bool(job.matrix or job.matrix_rows)
    return b"matrix." in job.SerializeToString()


def keys(job: JobDefinition) -> list[str]:
    """Return the names that stand for a value in the texts of *job*, sorted."""
    return sorted({key for row in rows(job) for key in row}) if is_used(job) else []


def reference(key: str) -> str:
    """Return the expression for the value of *key*."""
    name = f"matrix.{key}" if _NAME.fullmatch(key) else "matrix['" + key.replace("'", "''") + "']"
    return f"${{{{ {name} }}}}"


def with_dollars(job: JobDefinition) -> JobDefinition:
    """Return *job* with `{{ matrix.x }}` in its texts spelled `${{ matrix.x }}`: both are allowed in a schema."""
    names = {f"matrix.{key}" for key in keys(job)}
    changed = JobDefinition()
    changed.CopyFrom(job)
    replace_texts(changed, lambda text: _BARE.sub(lambda it: _dollar(it, names), text))
    return changed


def _dollar(found: re.Match[str], names: set[str]) -> Any:
    return f"${{{{ {found[1]} }}}}" if found[1] in names else found[0]
