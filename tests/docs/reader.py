"""A careful newcomer: reads a page from top to bottom and types in every example, in one empty directory.

An HTML comment right above a code block says what to do with it where its language does not:

    not run: REASON     leave it alone
    file: PATH          save it there
    prints              compare it with what the Python block before it has printed
    shape: COMMAND      run the command; the JSON it prints has these keys, and values of these types
"""

from __future__ import annotations

import io
import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from sybil import Document, Example, Region
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

from plughost.manifest import binding, document, duplex_manifest, duplex_narrowing, project
from tests.docs import terminal

REPOSITORY = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "changes/*.md", "examples/*.md", "sdk/python/*.md")
    for path in REPOSITORY.glob(pattern)
)

_LEXER = FencedCodeBlockLexer(language="[a-z]+")
_DIRECTIVE = re.compile(r"^<!-- (not run|file|prints|shape)(?:: (.+))? -->\n\Z", re.M)
AT_TIMES_NULL = ("peak_memory_mb",)  # keys: a worker may be gone before anybody has looked
_SOME_PLUGIN = '[plugin]\nname = "some"\ncontract = "execute"\ncommand = ["python", "some.py"]\n'


class Reader:
    """Evaluates the examples of one page in *directory*."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._terminal = terminal.Terminal(directory)
        self._run_python = PythonEvaluator()
        self._printed = ""
        (directory / "examples").symlink_to(REPOSITORY / "examples")  # pages speak from the repository's root

    def open(self, page: Path) -> Document:
        """Return *page* with an example for each block that can be tried out."""
        return Document.parse(str(page), self._regions)

    def _regions(self, page: Document) -> Iterator[Region]:
        by_language = {
            "console": self._type,
            "python": self._execute,
            "toml": self._parse_toml,
            "json": self._parse_json,
        }
        by_directive = {"file": self._save, "prints": self._compare, "shape": self._compare_shape}
        for region in _LEXER(page):
            directive, argument = directive_above(page.text, region.start)
            evaluator = by_directive.get(directive, by_language.get(region.lexemes["language"]))
            if evaluator is None or directive == "not run":
                continue
            region.parsed, region.evaluator = region.lexemes["source"], evaluator
            region.lexemes["argument"] = argument
            yield region

    def _save(self, example: Example) -> None:
        path = self.directory / example.region.lexemes["argument"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(example.parsed, encoding="utf-8")
        if example.parsed.startswith("#!"):
            path.chmod(0o755)  # a program, which its author would make executable
        if path.name == duplex_narrowing.FILE_NAME:
            duplex_narrowing.parse(example.parsed)
        elif path.suffix == ".toml":
            self._parse_toml(example)

    def _type(self, example: Example) -> str:
        for command in terminal.parse(example.parsed):
            wrong = terminal.difference(command.prints, self._terminal.run(command.line))
            if wrong:
                return f"$ {command.line}\n{wrong}"
        return ""

    def _execute(self, example: Example) -> None:
        with redirect_stdout(io.StringIO()) as printed:
            self._run_python(example)
        self._printed = printed.getvalue()

    def _compare(self, example: Example) -> str:
        return terminal.difference(example.parsed, self._printed)

    def _compare_shape(self, example: Example) -> str:
        command = example.region.lexemes["argument"]
        printed = self._terminal.run(command)
        wrong = shape_difference(json.loads(example.parsed), json.loads(printed), "$")
        return f"$ {command}\n{wrong}" if wrong else ""

    def _parse_json(self, example: Example) -> None:
        json.loads(example.parsed)

    def _parse_toml(self, example: Example) -> None:
        found = tomllib.loads(example.parsed)
        keys = found.keys()
        if "abi_version" in found.get("plugin", {}):
            duplex_manifest.parse(example.parsed, self.directory / found["plugin"]["name"])
        elif keys & {"plugins", "directories"}:
            document.parse(example.parsed, "the page", project._Project)
        else:
            whole = example.parsed if "plugin" in keys else _SOME_PLUGIN + example.parsed
            binding.parse(whole, self.directory)


def directive_above(text: str, start: int) -> tuple[str, str]:
    """Return the word and the argument of the comment right above *start*, empty if there is none."""
    found = _DIRECTIVE.search(text, 0, start)
    return (found[1], found[2] or "") if found else ("", "")


def shape_difference(shown: Any, real: Any, at: str) -> str:
    """Say where the shape of *real* is not that of *shown*; "" if it is. A null that is shown stands for any value."""
    if isinstance(shown, dict) and isinstance(real, dict):
        if shown.keys() != real.keys():
            return f"{at}: the page shows {sorted(shown)}, the command prints {sorted(real)}"
        return next(
            filter(None, (shape_difference(shown[key], real[key], f"{at}.{key}") for key in shown)), ""
        )
    if isinstance(shown, list) and isinstance(real, list):
        if bool(shown) != bool(real):
            return f"{at}: one list is empty, the other is not"
        return shape_difference(shown[0], real[0], f"{at}[0]") if shown else ""
    if real is None and at.endswith(AT_TIMES_NULL):
        return ""
    if shown is not None and type(shown) is not type(real):
        return f"{at}: the page shows a {type(shown).__name__}, the command prints {real!r}"
    return ""
