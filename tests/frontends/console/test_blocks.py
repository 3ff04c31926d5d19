"""When what is typed is a whole request."""

from __future__ import annotations

import warnings

import pytest

from plughost.frontends.console.blocks import join, manner

PYTHON, R, OTHER = manner("python"), manner("R"), manner("forth")


@pytest.mark.parametrize(
    "lines",
    [
        ["1 + 1"],
        ["x = 1; y = 2"],
        ["await thing"],
        ["def f():", "    return 1", ""],
        ["if x:", "    y", "else:", "    z", ""],
        ["for i in x: print(i)", ""],
        ["@decorated", "class A: pass", ""],
        ["x = (1,", "", "2)"],
        ["'''text", "", "'''"],
        ["x = 1 + \\", "2"],
        ["# a remark"],
        [""],
        ["   "],
        # What is wrong is the worker's to say, and at once.
        ["1 +* 2"],
        ["'open"],
        ["  indented"],
        ["else"],
        ["a\0b"],
        ["(" * 5_000 + ")" * 5_000],
        ["1" * 5_000],
        # What is pasted or recalled is whole.
        ["def f():\n    return 1"],
        ["a = 1\nb = 2\na + b"],
        ["if x:\n\n    y\n\nz"],
        ["def f[T](x): return x\nexcept A, B: 1"],
        # A blank line ends what cannot be finished.
        ["try:", "    x", ""],
        ["if x:", ""],
        ["@decorated", ""],
        ["def f[T](x):", "    return x", ""],
    ],
    ids=lambda lines: repr(lines)[:40],
)
def test_python_that_is_whole_is_run(lines: list[str]) -> None:
    assert PYTHON.is_whole(lines)


@pytest.mark.parametrize(
    "lines",
    [
        ["def f():"],
        ["def f():", "    return 1"],
        ["if x: y"],
        ["async with x:"],
        ["@decorated"],
        ["x = (1,"],
        ["x = (1,", ""],
        ["x = [", "", "1,", ""],
        ["'''text"],
        ["'''text", ""],
        ["x = 1 + \\"],
        ["f(\n1,\n"],
        ["try:", "    x"],
        # In the words of a later grammar, perhaps.
        ["def f[T](x):"],
        ["def f[T](x):", "    return x"],
        ["def f():", "    x = = 1"],
    ],
    ids=lambda lines: repr(lines)[:40],
)
def test_python_that_is_open_wants_more(lines: list[str]) -> None:
    assert not PYTHON.is_whole(lines)


def test_judging_warns_of_nothing() -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert PYTHON.is_whole(["'a' is 1"])
        assert PYTHON.is_whole([r"'\d'"])
    assert heard == []


def test_judging_runs_nothing() -> None:
    assert PYTHON.is_whole(["raise SystemExit"])
    assert PYTHON.is_whole(["9 ** 9 ** 9 ** 9"])


@pytest.mark.parametrize(
    ("lines", "whole"),
    [
        (["f <- function(x) {"], False),
        (["f <- function(x) {", "  x", "}"], True),
        (["c(1,"], False),
        (["x[["], False),
        (['"("'], True),
        (["'it is open"], False),
        (['"a \\" ("'], True),
        (["1 # (not a bracket, 'nor a string"], True),
        (["`odd (name`"], True),
        (["1 + \\"], False),
        ([")"], True),
        ([""], True),
    ],
    ids=repr,
)
def test_r_is_judged_by_its_brackets(lines: list[str], whole: bool) -> None:
    assert R.is_whole(lines) is whole


def test_of_another_language_only_a_backslash_is_known() -> None:
    assert OTHER.is_whole(["(open", "{"])
    assert OTHER.is_whole(["pasted\nlines"])
    assert not OTHER.is_whole(["first\\"])
    assert join(["first\\", "second\\", "third"], OTHER) == "first\nsecond\nthird"


def test_a_backslash_of_python_is_its_own() -> None:
    assert join(["x = 1 + \\", "2"], PYTHON) == "x = 1 + \\\n2"


def test_a_language_is_known_whatever_its_case() -> None:
    assert manner("Python") is PYTHON
    assert manner("r") is R
    assert manner("") is OTHER
