"""The code of a file without `compile`: the same code, the same errors and warnings, and nothing of it run."""

import sys
import sysconfig
import warnings
from pathlib import Path
from types import CodeType

import pytest
from plughost_sdk.envelope_source import code_of

LIBRARY = Path(sysconfig.get_path("stdlib"))
PATH = "/somewhere/plugin.py"
SOURCES = {
    "nothing": b"",
    "a comment": b"# nothing",
    "a docstring": b'"""What it is."""\n',
    "functions in classes in functions": b"def f():\n class A:\n  def g(self): return lambda: [x for x in ()]\n",
    "a future": b"from __future__ import annotations\ndef f(x: Nothing): pass\n",
    "an annotation": b"x: 1 = 2\ndef f(a: int) -> str: pass\n",
    "an encoding": "# coding: latin-1\nx = 'ä'\n".encode("latin-1"),
    "a mark of its encoding": b"\xef\xbb\xbfx = 1\n",
    "other line ends": b"def f():\r\n  return 1\r\n",
    "no line end": b"x = 1",
    "code that would fail": b"1/0\n",
    "code that would end the process": b"import os\nos._exit(77)\n",
    "what looks like our own": b"x = compile('1', '<string>', 'eval')\nexec('y = 1')\n",
}
ERRORS = {
    "no Python": b"def",
    "an indent": b"  x = 1\n y = 2\n",
    "a late future": b"x = 1\nfrom __future__ import annotations\n",
    "an unknown encoding": b"# coding: nowhere\n",
    "bytes that are no text": b"x = '\xff'\n",
    "a NUL": b"x = 1\0\n",
    "a return outside": b"return 1\n",
    "brackets without end": b"(" * 500,
}


@pytest.fixture(autouse=True)
def _as_before():
    """It works by a trace function and a filter of warnings: neither may stay."""
    before = sys.gettrace(), list(warnings.filters)
    yield
    assert (sys.gettrace(), list(warnings.filters)) == before


def everything(code: CodeType) -> list[object]:
    """Return all that a code object holds, and those in it."""
    names = sorted(
        name for name in dir(code) if name.startswith("co_") and name not in ("co_lnotab", "co_consts")
    )
    plain = [getattr(code, name) for name in names if not callable(getattr(code, name))]
    places = [[*code.co_lines()], [*code.co_positions()]]
    consts = [everything(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return [*plain, *places, *consts]


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_code_is_that_of_compile(source):
    expected = compile(source, PATH, "exec", dont_inherit=True)
    assert everything(code_of(source, PATH)) == everything(expected)


@pytest.mark.parametrize(
    "name",
    [
        "abc.py",
        "argparse.py",
        "asyncio/tasks.py",
        "dataclasses.py",
        "typing.py",
        "zipfile.py",
        "__future__.py",
    ],
)
def test_the_code_of_large_modules_is_that_of_compile(name):
    path = str(
        next(
            each
            for each in (LIBRARY / name, LIBRARY / name.removesuffix(".py") / "__init__.py")
            if each.exists()
        )
    )
    source = Path(path).read_bytes()
    assert everything(code_of(source, path)) == everything(compile(source, path, "exec", dont_inherit=True))


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_compile_is_not_called_and_nothing_is_run(monkeypatch, source):
    monkeypatch.setattr("builtins.compile", lambda *_, **__: pytest.fail("it was called"))
    seen = dict(sys.modules)
    assert code_of(source, PATH).co_filename == PATH
    assert sys.modules == seen


@pytest.mark.parametrize("source", ERRORS.values(), ids=ERRORS)
def test_an_error_is_that_of_compile_and_names_the_file(source):
    with pytest.raises((SyntaxError, ValueError, MemoryError)) as expected:
        compile(source, PATH, "exec", dont_inherit=True)
    with pytest.raises(expected.type) as caught:
        code_of(source, PATH)
    assert str(caught.value) == str(expected.value)
    assert getattr(caught.value, "filename", None) == getattr(expected.value, "filename", None)
    assert getattr(caught.value, "lineno", None) == getattr(expected.value, "lineno", None)


@pytest.mark.parametrize("source", [b"x = 1\nx is 'a'\n", b"x = '\\d'\n", b"assert (1, 'x')\n"])
def test_a_warning_is_given_once_and_names_the_file(source):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        code = code_of(source, PATH)
    assert [(each.filename, each.lineno) for each in caught] == [(PATH, source.count(b"\n"))]
    assert code.co_filename == PATH


def test_a_warning_that_is_ignored_is_not_given():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        assert code_of(b"1 is 1\n", PATH).co_filename == PATH
    assert caught == []


def test_a_warning_names_the_file_also_where_nobody_has_imported_warnings(run_child):
    body = (
        "assert 'warnings' not in sys.modules\n"
        "from plughost_sdk.envelope_source import code_of\n"
        f"code_of(b'1 is 1', {PATH!r})\n"
        "print(any('error' in each for each in __import__('_warnings').filters))\n"
    )
    child = run_child(body, b"")
    assert f"{PATH}:1: SyntaxWarning" in child.stderr.decode()
    assert child.stdout == b"False\n"


def test_a_debugger_stays_where_it_was():
    seen = []

    def tracer(frame, event, argument):
        seen.append(event)

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        code_of(b"x = 1\n", PATH)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert "call" in seen  # of code_of itself
