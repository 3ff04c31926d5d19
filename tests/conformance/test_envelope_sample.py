"""Samples are valid files of their kind."""

from __future__ import annotations

import csv
import json
import tomllib
import xml.etree.ElementTree as ElementTree
from io import BytesIO

import pytest
from openpyxl import load_workbook

from plughost.conformance.envelope_sample import ANY_BYTES, content
from plughost.manifest import yaml_document


@pytest.mark.parametrize("extension", [".txt", ".md", ".TXT", ".gitignore", ".py", ".ini"])
def test_a_sample_of_text_is_text(extension: str) -> None:
    assert content(extension).decode().isascii()
    assert content(extension).endswith(b"\n")


def test_a_sample_is_what_its_format_wants() -> None:
    assert json.loads(content(".json")) == {}
    assert json.loads(content(".ipynb"))["nbformat"] == 4
    assert len(list(csv.DictReader(content(".csv").decode().splitlines()))) == 2
    assert tomllib.loads(content(".toml").decode())
    assert yaml_document.parse(content(".yml").decode(), "sample")
    for extension in (".xml", ".svg"):
        ElementTree.fromstring(content(extension))
    compile(content(".py"), "sample.py", "exec")


def test_a_compound_extension_has_the_format_of_its_end() -> None:
    assert content(".schema.json") == content(".json")


def test_a_format_that_is_not_known_gets_bytes_that_are_no_text() -> None:
    assert content(".tiff") == ANY_BYTES
    with pytest.raises(UnicodeDecodeError):
        ANY_BYTES.decode()


@pytest.mark.filterwarnings("error")
def test_the_workbook_can_be_opened_filled_and_saved() -> None:
    book = load_workbook(BytesIO(content(".xlsx")))
    assert book.active["A1"].value == "sample"
    book.active["A2"] = 2
    book.save(BytesIO())
