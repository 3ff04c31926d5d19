"""The matrix of a job to its rows: every combination of its values, less `exclude`, and then `include`.

A list is its rows, one by one.

Refuses more rows than anybody waits for, before it makes them, and rows that cannot be told apart.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..messages.quoting import quote
from .node import Scalar, Sequence
from .place import Place

ROW_LIMIT = 256  # of one job; GitHub has the same
KEY_LIMIT = 16  # of one matrix; they are all part of a row's name
VALUE_LIMIT = 200  # characters of one value, for the same reason

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9_.-]")
_ROWS = ("include", "exclude")
_NAME, _SUFFIX = "job_name", "job_name_suffix"  # keys that say what the ids begin and end with

Row = Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The *values* of each key, and all *rows* in order."""

    values: dict[str, tuple[Scalar, ...]]
    rows: tuple[Row, ...]
    listed: bool = False  # whether it was written as a list of rows

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that a row has, those of `include` alone at the end."""
        return tuple(dict.fromkeys((*self.values, *itertools.chain.from_iterable(self.rows))))


def read(place: Place) -> Matrix:
    """Return the matrix at *place*. Raises ManifestError."""
    if isinstance(place.node, Sequence):
        return Matrix({}, _few(place, [_included(each, {}) for each in place.items()]), listed=True)
    entries = place.entries()
    values = {key: _values(key, each) for key, each in entries.items() if key not in _ROWS}
    if len(values) > KEY_LIMIT:
        raise place.wrong(f"over {KEY_LIMIT} keys", "Make two jobs of it")
    if math.prod(map(len, values.values())) > ROW_LIMIT:
        raise place.wrong(f"over {ROW_LIMIT} rows", "Take values out, or make two jobs of it")
    rows: list[Row] = [dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]
    rows = rows if values else []
    if "exclude" in entries:
        for each in entries["exclude"].items():
            rows = _without(rows, each, values)
    if "include" in entries:
        rows += [_included(each, values) for each in entries["include"].items()]
    return Matrix(values, _few(place, rows))


def _few(place: Place, rows: list[Row]) -> tuple[Row, ...]:
    if not rows:
        raise place.wrong("no rows", "Give it values, or take it out")
    if len(rows) > ROW_LIMIT:
        raise place.wrong(f"over {ROW_LIMIT} rows", "Take values out, or make two jobs of it")
    return tuple(rows)


def row_ids(job: str, found: Matrix, suffix: str | None = None) -> list[str]:
    """Return the names of the jobs that the rows of *job* become; *suffix* is what the job says they end with."""
    return [_row_id(job, row, found.listed, suffix) for row in found.rows]


def _row_id(job: str, row: Row, listed: bool, suffix: str | None) -> str:
    """Return a row's id: its values sorted by their keys; those of a listed row are sorted themselves."""
    begin = row[_NAME].text if _NAME in row else job
    if _SUFFIX in row:
        suffix = row[_SUFFIX].text
    if suffix is not None:
        ends = [suffix] if suffix else []
    else:
        ends = [row[key].text for key in sorted(row) if key != _NAME]
        ends = sorted(ends) if listed else ends
    return "-".join(_NOT_IN_AN_ID.sub("_", each) for each in (begin, *ends))


def texts(row: Row) -> dict[str, str]:
    """Return *row* as the schema has it."""
    return {key: value.text for key, value in row.items()}


def _values(key: str, place: Place) -> tuple[Scalar, ...]:
    _check_key(key, place)
    found = tuple(_value(each, may_be_empty=key == _SUFFIX) for each in place.items())
    if not found:
        raise place.wrong("no values", "Give it some, such as [linux, macos]")
    seen: set[str] = set()
    for value in found:
        if value.text in seen:
            raise place.wrong(f"{quote(value.text)} a second time", "Keep one of them", value)
        seen.add(value.text)
    return found


def _value(place: Place, *, may_be_empty: bool = False) -> Scalar:
    text = place.text() if may_be_empty else place.filled()
    assert isinstance(place.node, Scalar)
    if len(text) > VALUE_LIMIT:
        raise place.wrong(f"a value of over {VALUE_LIMIT} characters", "Shorten it")
    if not text.isprintable():
        raise place.wrong(
            f"{quote(text)} is more than one line", "A value is part of a job's name: write one line"
        )
    if "{{" in text:
        raise place.wrong("a placeholder in the matrix", "Write the value itself")
    return Scalar(text, place.node.style, place.node.line, place.node.column)


def _row(place: Place) -> dict[str, Scalar]:
    entries = place.entries()
    if not entries:
        raise place.wrong("an empty row", "Give it keys and values, or take it out")
    return {key: _value(each, may_be_empty=key == _SUFFIX) for key, each in entries.items()}


def _without(rows: list[Row], place: Place, values: Mapping[str, object]) -> list[Row]:
    """Return *rows* without those that have all values of the row at *place*."""
    unwanted = _row(place)
    for key in unwanted:
        if key not in values:
            raise place.at(key, unwanted[key]).unresolved(key, "key of the matrix", values.keys())
    kept = [row for row in rows if any(row[key].text != value.text for key, value in unwanted.items())]
    if len(kept) == len(rows):
        raise place.wrong("excludes no row", "Mend its values, or take it out")
    return kept


def _included(place: Place, values: Mapping[str, object]) -> Row:
    """Return the row at *place*: the keys of the matrix in its order, then its own."""
    row = _row(place)
    for key, value in row.items():
        _check_key(key, place.at(key, value))
    if len(row) > KEY_LIMIT:
        raise place.wrong(f"over {KEY_LIMIT} keys", "Take some out")
    return {key: row[key] for key in (*(key for key in values if key in row), *row)}


def _check_key(key: str, place: Place) -> None:
    if not _KEY.fullmatch(key):
        raise place.wrong(f"{quote(key)} is no key of a matrix", "Use letters, digits, `_` and `-`")
