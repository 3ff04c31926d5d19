"""What was typed, kept in a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from plughost.frontends.console.history import MOST, MOST_CHARS, History, usual_path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "history"


def test_what_is_added_is_loaded_in_order_with_all_its_lines(path: Path) -> None:
    first, second = History(path), History(path)
    first.add("a = 1")
    second.add("def f():\n    return 'é\u2028'")
    first.add("\udcff")
    assert History(path).load() == ["a = 1", "def f():\n    return 'é\u2028'", "\udcff"]
    assert path.stat().st_mode & 0o077 == 0


def test_without_a_path_nothing_is_kept(tmp_path: Path) -> None:
    history = History(None)
    history.add("a")
    assert (history.load(), history.problem) == ([], None)


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"5", b'""', b'"a\\u0000b"', b"\xff\xfe", b"null", b"[" * 100_000, b'"cut off'],
    ids=range(9),
)
def test_a_line_that_is_none_costs_only_itself(path: Path, line: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(b'"before"\n' + line + b'\n"after"\n')
    assert History(path).load() == ["before", "after"]


def test_the_oldest_are_forgotten_and_a_long_file_is_cut(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("".join(f"{json.dumps(str(number))}\n" for number in range(2 * MOST + 1)))
    assert History(path).load() == [str(number) for number in range(MOST + 1, 2 * MOST + 1)]
    assert len(path.read_text().splitlines()) == MOST
    assert [each.name for each in path.parent.iterdir()] == ["history"]


def test_what_is_too_long_is_not_kept(path: Path) -> None:
    history = History(path)
    history.add("x" * (MOST_CHARS + 1))
    history.add("x" * MOST_CHARS)
    assert [len(text) for text in history.load()] == [MOST_CHARS]


def test_a_file_that_cannot_be_written_is_a_problem_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    history = History(tmp_path / "file" / "history")
    history.add("a")
    assert history.problem is not None
    assert History(tmp_path).load() == []  # a directory


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HOME": "/home/ada"}, "/home/ada/.local/state/plughost/console-history"),
        ({"HOME": "/home/ada", "XDG_STATE_HOME": "/state"}, "/state/plughost/console-history"),
        (
            {"HOME": "/home/ada", "XDG_STATE_HOME": "relative"},
            "/home/ada/.local/state/plughost/console-history",
        ),
        ({"HOME": "relative"}, None),
        ({}, None),
    ],
)
def test_the_usual_place_is_the_users_state_directory(environ: dict[str, str], expected: str | None) -> None:
    found = usual_path(environ)
    assert (None if found is None else os.fspath(found)) == expected
