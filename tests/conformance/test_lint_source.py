"""What a source tells by itself: habits that a worker should not have, and files that cannot be parsed."""

import pytest

from plughost.conformance.lint_source import SAME_LIMIT, SIZE_LIMIT, habits, load


def modules_of(directory, **files):
    for name, source in files.items():
        (directory / f"{name}.py").write_bytes(source if isinstance(source, bytes) else source.encode())
    return load(directory)


@pytest.fixture
def look(tmp_path):
    """Return a function that says what the habits of a source are: the codes of the findings."""

    def at(source, network=False):
        modules, problems = modules_of(tmp_path, plugin=source)
        assert problems == []
        (module,) = modules.values()
        return [finding.code for finding in habits(module, network=network)]

    return at


@pytest.mark.parametrize(
    "line",
    [
        "import socket",
        "import requests, json",
        "import urllib.request",
        "import http.client as client",
        "from urllib import request",
        "from urllib.request import urlopen",
        "from http import server",
        "import httpx",
        "import aiohttp.web",
        "import ftplib, os",
        "from smtplib import SMTP",
        "def f():\n    import socket",
    ],
)
def test_an_import_of_the_network_is_found_unless_it_is_declared(look, line):
    assert look(line) == ["network-import"]
    assert look(line, network=True) == []


@pytest.mark.parametrize(
    "line",
    [
        "import urllib.parse",
        "from http import HTTPStatus",
        "import socketless",
        "from .socket import x",
        "import json",
    ],
)
def test_an_import_that_only_sounds_like_it_is_none(look, line):
    assert look(line) == []


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("def f():\n    print('x')", "print-call"),
        ("class A:\n    def f(self):\n        print()", "print-call"),
        ("import sys\ndef f():\n    sys.exit(0)", "exit-call"),
        ("from sys import exit as leave\ndef f():\n    leave()", "exit-call"),
        ("import os as o\ndef f():\n    o._exit(0)", "exit-call"),
        ("def f():\n    quit()", "exit-call"),
        ("def f():\n    raise SystemExit", "exit-call"),
        ("def f():\n    raise SystemExit(1)", "exit-call"),
        ("x = open('f')", "import-work"),
        ("class A:\n    x = open('f').read()", "import-work"),
        ("if True:\n    with open('f') as x: pass", "import-work"),
        ("x = [open(y) for y in 'ab']", "import-work"),
        ("import subprocess\nsubprocess.run(['x'])", "import-work"),
        ("from subprocess import run\nrun(['x'])", "import-work"),
        ("from time import sleep\nsleep(9)", "import-work"),
        ("from pathlib import Path\nx = Path('f').read_text()", "import-work"),
        ("import os.path\nos.remove('x')", "import-work"),
    ],
)
def test_each_habit_is_found(look, source, code):
    assert look(source) == [code]


@pytest.mark.parametrize(
    "source",
    [
        "import sys\ndef f():\n    print('x', file=sys.stderr)",
        "from rich import print\ndef f():\n    print('x')",
        "def print(x): ...\ndef f():\n    print('x')",
        "def open(x): ...\nx = open('f')",
        "def f():\n    return open('f')",
        "class A:\n    def f(self):\n        self.path.write_text('x')",
        "f = lambda: open('x')",
        "import sys\nif __name__ == '__main__':\n    print('x')\n    open('f')\n    sys.exit(1)",
        "def f(ctx):\n    ctx.print('x')\n    ctx.exit()",
        "x = '\\d'  # an odd escape\ny = 1 is 1",
        "# -*- coding: latin-1 -*-\nx = '\xe9'".encode("latin-1"),
        b"\xef\xbb\xbfx = 1\r\n",
    ],
)
def test_what_only_looks_like_a_habit_is_none(look, source):
    assert look(source) == []


def test_the_other_branch_of_a_guard_for_main_is_looked_at(look):
    assert look("if __name__ == '__main__':\n    print('x')\nelse:\n    print('y')") == ["print-call"]


def test_a_habit_is_told_with_its_line_and_only_so_often(tmp_path):
    modules, _ = modules_of(tmp_path, plugin="def f():\n" + "    print()\n" * 20)
    (module,) = modules.values()
    found = habits(module, network=False)
    assert len(found) == SAME_LIMIT
    assert "plugin.py:2:" in found[0].message


@pytest.mark.parametrize(
    "source",
    [
        "class (",
        "x = 'open",
        "\tif",
        b"x = '\xff'",
        b"x = 1\0",
        "print 'x'",
        "# coding: nonsense\n",
        "(" * 5000,
        "x = " + "-" * 50_000 + "1",
        "x = " + "1+" * 50_000 + "1",
        "x = a" + ".b" * 50_000,
        "x = " + "[" * 150 + "(" * 150,
        "x = " + "9" * 5000,
        "if 1:\n" + "".join(" " * at + "if 1:\n" for at in range(1, 150)),
    ],
)
def test_what_cannot_be_parsed_is_an_error_and_nothing_worse(tmp_path, source):
    modules, found = modules_of(tmp_path, plugin=source, other="x = 1")
    assert [str(path) for path in modules] == ["other.py"]
    assert [finding.code for finding in found] == ["syntax-error"]
    assert len(found[0].message) < 300


@pytest.mark.parametrize("over", [0, 1])
def test_a_file_over_the_limit_is_a_warning_and_not_parsed(tmp_path, over):
    (tmp_path / "data.bin").write_bytes(b"x" * (SIZE_LIMIT + over))
    modules, found = modules_of(tmp_path, plugin="#" * (SIZE_LIMIT + over))
    assert len(modules) == 1 - over
    assert [finding.code for finding in found] == ["large-file"] * (2 * over)


def test_a_link_to_a_large_file_is_no_way_around_the_limit(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/big").write_bytes(b"#" * (SIZE_LIMIT + 1))
    (tmp_path / "here").mkdir()
    (tmp_path / "here/plugin.py").symlink_to("../elsewhere/big")
    (tmp_path / "here/loop.py").symlink_to("loop.py")
    (tmp_path / "here/up").symlink_to("..")
    modules, found = load(tmp_path / "here")
    assert modules == {}
    assert [finding.code for finding in found] == ["unreadable", "large-file"]


def test_hidden_directories_and_caches_are_not_looked_at(tmp_path):
    for name in (".venv", "__pycache__", "node_modules", "sub"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("x = 1")
    assert [str(path) for path in load(tmp_path)[0]] == ["sub/a.py"]


def test_a_tree_deeper_than_any_stack_is_walked(tmp_path):
    deep = tmp_path
    for _ in range(400):
        deep = deep / "d"
        deep.mkdir()
    (deep / "a.py").write_text("x = 1")
    assert len(load(tmp_path)[0]) == 1
