"""The plugin: which values there are, whom to ask for the missing one, and how a workbook is saved."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from openpyxl import Workbook, load_workbook
from openpyxl.utils.exceptions import InvalidFileException
from plughost_sdk import envelope

from .cells import Filling, find

ASKED = "(the operator is asked)"


class WorkbookFiller(envelope.Plugin):
    name = "workbook-filler"
    version = "1.0.0"
    supported_extensions = (".xlsx",)
    optional_variables = ("operator", "date")

    def __init__(self) -> None:
        self.filled = 0

    def can_handle(self, path: Path, variables: dict[str, Any]) -> bool:  # noqa: ARG002 - the hook's own shape
        return not path.name.startswith("~$")  # what Excel leaves beside a workbook that is open

    def validate_variables(self, variables: dict[str, Any]) -> list[str]:
        given = variables.get("date")
        if given is None or _date(given) is not None:
            return []
        return [f"variable 'date' is a date such as 2024-12-31, not {given!r}"]

    def describe_changes(self, path: Path, ctx: envelope.PluginContext) -> list[envelope.FileChange]:
        values = {"operator": ASKED, **_values(ctx)}
        return [
            envelope.FileChange(path, "modify", f"{each.place}: {each.value(values)}", _detail(each, values))
            for each in _ready(find(_load(path)), values)
        ]

    def transform(self, path: Path, ctx: envelope.PluginContext) -> None:
        workbook, values = _load(path), _values(ctx)
        waiting = list(find(workbook))
        if "operator" not in values and any("operator" in each.names for each in waiting):
            raise envelope.PluginInputRequired(
                fields=[envelope.field("operator", "Operator", hint="Who does the measurement")],
                reason=f"{path.name} has a cell for the operator's name",
            )
        for name in sorted({name for each in waiting for name in each.names} - set(values)):
            ctx.log.warning("no value for this name, its cells stay as they are", file=path.name, name=name)
        ready = list(_ready(waiting, values))
        for each in ready:
            each.fill(values)
        if ready:  # a workbook with nothing to fill keeps every byte
            _save(workbook, path)
        self.filled += len(ready)
        ctx.log.info("filled", file=path.name, cells=len(ready))

    def post_transform_all(self, ctx: envelope.PluginContext) -> None:
        if not ctx.dry_run:
            ctx.log.info("all workbooks done", cells=self.filled)


def _values(ctx: envelope.PluginContext) -> dict[str, Any]:
    """Return what may stand in a cell: what the host says, the variables, and the operator's answers."""
    values: dict[str, Any] = {
        "project": ctx.project,
        "equipment": ctx.equipment_id,
        "template": ctx.template_name,
        "run_kind": ctx.run_kind,
        **{name: each for name, each in ctx.variables.items() if isinstance(each, (str, int, float))},
        **ctx.extra_inputs,
    }
    values = {name: each for name, each in values.items() if each != ""}
    return {**values, "date": _date(values.get("date")) or date.today()}  # noqa: DTZ011 - the laboratory's day


def _date(given: object) -> date | None:
    try:
        return date.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        return None


def _ready(waiting: Iterable[Filling], values: dict[str, Any]) -> Iterable[Filling]:
    return (each for each in waiting if any(name in values for name in each.names))


def _detail(filling: Filling, values: dict[str, Any]) -> dict[str, Any]:
    before = filling.cell.value
    return {
        "cell": filling.place,
        "before": None if before is None else str(before),
        "after": str(filling.value(values)),
    }


def _load(path: Path) -> Workbook:
    try:
        return load_workbook(path, rich_text=True)
    except (InvalidFileException, BadZipFile, KeyError, ValueError) as error:
        raise envelope.PluginError(f"{path.name} cannot be read as a workbook: {error}") from error


def _save(workbook: Workbook, path: Path) -> None:
    """Save beside, then rename: whoever is killed while saving leaves the old workbook."""
    fd, temporary = tempfile.mkstemp(prefix=".", suffix=".xlsx", dir=path.parent)
    os.close(fd)
    try:
        workbook.save(temporary)
        shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
