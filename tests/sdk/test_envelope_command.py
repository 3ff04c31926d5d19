"""The worker's command line, and the import path it leaves."""

import os
import sys
from pathlib import Path

import plughost_sdk
import pytest
from plughost_sdk.envelope_command import clean_path, parse

SDK = str(Path(plughost_sdk.__file__).parent)


@pytest.mark.parametrize(
    ("arguments", "meaning"),
    [
        ([], ("", "transform", False)),
        (["/p"], ("/p", "transform", False)),
        (["/p", "--mode", "validate"], ("/p", "validate", False)),
        (["--mode", "validate", "/p"], ("/p", "validate", False)),
        (["--mode", "transform"], ("", "transform", False)),
        (["/p", "--ahead"], ("/p", "transform", True)),
    ],
)
def test_a_command_names_a_directory_and_a_mode_and_says_if_it_comes_ahead(arguments, meaning):
    assert parse(arguments) == meaning


@pytest.mark.parametrize(
    "arguments",
    [
        ["/p", "/q"],
        ["--mode"],
        ["--ahead", "--behind"],
        ["--mode", "dance"],
        ["--help"],
        ["--mode", "x", "--mode", "validate"],
    ],
)
def test_a_command_that_makes_no_sense_ends_the_worker(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 3
    assert "usage" in capsys.readouterr().err


def test_neither_the_working_directory_nor_our_own_stays_on_the_import_path(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        sys, "path", ["", SDK, "/lib/python", str(tmp_path), ".", f"{SDK}/", "/site-packages"]
    )
    clean_path()
    assert sys.path == ["/lib/python", "/site-packages"]


def test_where_the_sdk_is_installed_stays_on_the_import_path(monkeypatch):
    home = os.path.dirname(SDK)
    monkeypatch.chdir(home)
    monkeypatch.setattr(sys, "path", ["", home])
    clean_path()
    assert sys.path == [home]


def test_a_working_directory_that_was_removed_does_not_matter(monkeypatch, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr(sys, "path", ["", "/lib/python"])
    clean_path()
    assert sys.path == ["/lib/python"]
