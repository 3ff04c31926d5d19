"""Lines that a person types -> one request, or the wish for another line. Compiles what it judges, and never runs it.

Python is judged by its own grammar, which may be older than the worker's: what that cannot read is the worker's to
judge, and a block of it ends with a blank line like any other. R is judged by its brackets. Of other languages nothing
is known: there a line that ends in a backslash goes on. What is pasted is whole, unless something in it is still open.
"""

from __future__ import annotations

import ast
import codeop
import io
import re
import tokenize
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

CONTINUED = "\\"
# Strings, quoted names and comments of R: brackets in them are none.
_R_TEXT = re.compile(r"""#[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`""", re.DOTALL)


class Manner(NamedTuple):
    """How a language is typed: the prompts, and when *lines* are a whole request."""

    prompt: str
    more: str
    is_whole: Callable[[Sequence[str]], bool]
    backslash: bool  # at the end of a line is ours, and means that it goes on


def manner(language: str) -> Manner:
    """Return how the language that a worker says it has is typed."""
    return _MANNERS.get(language.lower(), _ANY)


def join(lines: Sequence[str], how: Manner) -> str:
    """Return the request that *lines* are."""
    if not how.backslash:
        return "\n".join(lines)
    return "\n".join([*(line.removesuffix(CONTINUED) for line in lines[:-1]), *lines[-1:]])


def _python(lines: Sequence[str]) -> bool:
    text = "\n".join(lines)
    pasted = any("\n" in line for line in lines)
    ended = not lines[-1].strip()
    try:
        return _parses(text, "exec" if pasted else "single") or (ended and not _is_open(text))
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError):
        return ended or pasted or (len(lines) == 1 and not text.rstrip().endswith(":"))


def _parses(text: str, kind: str) -> bool:
    """Tell whether *text* is whole, or wants more. Raises what `compile` raises."""
    compiler = codeop.CommandCompiler()
    compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the worker will say the same
        return compiler(text, "<input>", kind) is not None


def _is_open(text: str) -> bool:
    """Tell whether a bracket, a string or a line that goes on is open at the end."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO(text).readline):
            pass
    except (tokenize.TokenError, SyntaxError):
        return True
    return text.rstrip("\n").endswith(CONTINUED)


def _r(lines: Sequence[str]) -> bool:
    bare = _R_TEXT.sub("", "\n".join(lines))
    if any(quote in bare for quote in "\"'`"):  # a string is open: a backslash is its own
        return False
    return _any(lines) and sum(map(bare.count, "([{")) <= sum(map(bare.count, ")]}"))


def _any(lines: Sequence[str]) -> bool:
    return not lines[-1].endswith(CONTINUED)


_MANNERS = {
    "python": Manner(">>> ", "... ", _python, backslash=False),
    "r": Manner("> ", "+ ", _r, backslash=True),
}
_ANY = Manner("> ", ". ", _any, backslash=True)
