"""Makes a directory of a run for the examples to work on: a workbook and some text files.

python examples/envelope/make_sample.py DIR
"""

from __future__ import annotations

import sys
from pathlib import Path

from openpyxl import Workbook
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side

TEXTS = {
    "notes.txt": "First impressions   \n\n\tThe lamp needs ten minutes.\t\n\n\n",
    "data/spectrum.csv": "wavelength_nm,counts\n400,12\n401,15\n",
    "protocol.md": "---\ntitle: Protocol\n---\n# Protocol\n\nWarm up the lamp.  \nThen measure. \n",
    "analysis.py": '#!/usr/bin/env python3\n"""Plots the spectrum."""\n\nprint("nothing to plot yet")\n',
    "README.md": "# Sample run\n\nThe host writes this file, so plugins leave it alone.   \n",
}


def make(directory: Path) -> None:
    """Fill *directory*, which must be new or empty. Raises FileExistsError."""
    if directory.exists() and any(directory.iterdir()):
        raise FileExistsError(f"{directory} is not empty")
    for name, text in TEXTS.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    workbook().save(directory / "run-log.xlsx")


def workbook() -> Workbook:
    """Return a form as a laboratory would draw it: a title over merged cells, labels, and a table."""
    book = Workbook()
    sheet = book.active
    sheet.title = "Run"
    sheet["A1"] = "Run log of {{project}}"
    sheet.merge_cells("A1:D1")
    sheet["A1"].font = Font(name="Calibri", size=16, bold=True, color="1F4E79")
    sheet["A1"].alignment = Alignment(horizontal="center")

    frame = Border(*[Side(style="thin", color="808080")] * 4)
    yellow = PatternFill("solid", start_color="FFF2CC")
    for row, (label, value) in enumerate(
        [
            ("Operator:", None),
            ("Date", "{{date}}"),
            ("Equipment:", None),
            ("Integration time", "{{integration_ms}}"),
        ],
        start=3,
    ):
        sheet.cell(row, 1, label).font = Font(bold=True)
        cell = sheet.cell(row, 2, value)
        cell.fill, cell.border = yellow, frame
    sheet["B4"].number_format = "DD.MM.YYYY"
    sheet["B6"].number_format = '0" ms"'
    sheet["A8"] = "Signed: {{operator}}, {{date}}"
    sheet["A8"].font = Font(italic=True)
    sheet.column_dimensions["A"].width = 22
    sheet.column_dimensions["B"].width = 28

    table = book.create_sheet("Counts")
    table.append(["wavelength_nm", "counts"])
    for at in range(5):
        table.append([400 + at, 12 + 3 * at])
    table["B7"] = "=SUM(B2:B6)"
    return book


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        make(Path(sys.argv[1]))
    except OSError as error:
        sys.exit(str(error))
