"""An extension to the content of a small, valid file that a plugin for such files can be tried out on."""

from __future__ import annotations

import io
import zipfile

# Extensions for which plain sentences are a valid file.
PROSE = (".txt", ".md", ".rst", ".log", ".text", ".tex", ".gitignore")
SENTENCES = b"A sample, made to try a plugin out.\n\nIts last line.\n"

# What a format wants, where sentences would be refused. The first whose extension fits is taken.
FORMATS = {
    ".json": b"{}\n",
    ".jsonl": b"{}\n",
    ".ipynb": b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n',
    ".csv": b"name,value\nfirst,1\nsecond,2\n",
    ".tsv": b"name\tvalue\nfirst\t1\nsecond\t2\n",
    ".yml": b"name: sample\n",
    ".yaml": b"name: sample\n",
    ".toml": b'name = "sample"\n',
    ".ini": b"[sample]\nname = sample\n",
    ".cfg": b"[sample]\nname = sample\n",
    ".py": b'"""A sample."""\n\nNAME = "sample"\n',
    ".xml": b'<?xml version="1.0" encoding="UTF-8"?>\n<sample/>\n',
    ".svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>\n',
    ".html": b'<!DOCTYPE html>\n<html lang="en"><head><title>Sample</title></head><body></body></html>\n',
}
ANY_BYTES = bytes(range(256))  # for a format that is not known here: nobody can take it for text

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
# The parts of a workbook with one sheet, in which one cell holds a word: no fewer are read as a workbook.
_WORKBOOK = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPES}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
    '<sheets><sheet name="Sample" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData><row r="1">'
    '<c r="A1" t="inlineStr"><is><t>sample</t></is></c></row></sheetData></worksheet>',
}


def content(extension: str) -> bytes:
    """Return what a file that ends in *extension* may hold."""
    wanted = extension.lower()
    if wanted.endswith(".xlsx"):
        return workbook()
    if wanted.endswith(PROSE):
        return SENTENCES
    return next((found for ending, found in FORMATS.items() if wanted.endswith(ending)), ANY_BYTES)


def workbook() -> bytes:
    """Return an Office Open XML workbook."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _WORKBOOK.items():
            archive.writestr(name, _HEAD + text)
    return file.getvalue()
