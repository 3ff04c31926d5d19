"""The cells of a workbook that wait for a value, and what would stand in them. Changes nothing by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from openpyxl import Workbook
from openpyxl.cell.cell import Cell, MergedCell
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.worksheet.worksheet import Worksheet

PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
LABELS = (
    "operator",
    "project",
    "date",
    "equipment",
    "template",
)  # as in "Operator:", with an empty cell beside it


@dataclass(frozen=True)
class Filling:
    """One cell that waits for the values called *names*; *label* if it is the empty one beside a label."""

    cell: Cell
    names: tuple[str, ...]
    label: bool = False

    @property
    def place(self) -> str:
        return f"{self.cell.parent.title}!{self.cell.coordinate}"

    def value(self, values: Mapping[str, Any]) -> Any:
        """Return what the cell would hold. Placeholders without a value stay."""
        if self.label:
            return values.get(self.names[0])
        held = self.cell.value
        if isinstance(held, CellRichText):
            return CellRichText(*(_filled_part(part, values) for part in held))
        alone = PLACEHOLDER.fullmatch(held.strip())
        if alone and alone[1] in values:
            return values[alone[1]]  # as it is: a number stays a number, a date a date
        return _filled(held, values)

    def fill(self, values: Mapping[str, Any]) -> None:
        """Write the value. Its style stays, and a text that looks like a formula stays a text."""
        value = self.value(values)
        self.cell.value = value
        if isinstance(value, str):
            self.cell.data_type = "s"


def find(workbook: Workbook) -> Iterator[Filling]:
    """Yield every cell of *workbook* that waits for a value."""
    for sheet in workbook.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if isinstance(cell, MergedCell) or cell.data_type == "f":
                    continue
                if isinstance(cell.value, (str, CellRichText)):
                    yield from _waiting(sheet, cell)


def _waiting(sheet: Worksheet, cell: Cell) -> Iterator[Filling]:
    text = str(cell.value)
    names = tuple(dict.fromkeys(PLACEHOLDER.findall(text)))
    if names:
        yield Filling(cell, names)
    elif text.rstrip().endswith(":") and (label := text.strip(" :\t\n").casefold()) in LABELS:
        beside = sheet.cell(cell.row, _last_column(sheet, cell) + 1)
        if beside.value is None and not isinstance(beside, MergedCell):
            yield Filling(beside, (label,), label=True)


def _last_column(sheet: Worksheet, cell: Cell) -> int:
    """Return the last column of *cell*, which may be merged with those beside it."""
    merged = (each for each in sheet.merged_cells.ranges if cell.coordinate in each)
    return next((each.max_col for each in merged), cell.column)


def _filled_part(part: str | TextBlock, values: Mapping[str, Any]) -> str | TextBlock:
    return (
        TextBlock(part.font, _filled(part.text, values))
        if isinstance(part, TextBlock)
        else _filled(part, values)
    )


def _filled(text: str, values: Mapping[str, Any]) -> str:
    return PLACEHOLDER.sub(lambda found: _text(values.get(found[1], found[0])), text)


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)
