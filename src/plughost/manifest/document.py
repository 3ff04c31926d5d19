"""A TOML file to a typed document, or a ManifestError that names file, key and remedy. Knows no meaning."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..errors import ManifestError
from . import bounded_file, toml_depth

T = TypeVar("T")

SIZE_LIMIT = 1_048_576  # bytes; no file that describes a plugin is anywhere near it
_PLACE = re.compile(r"^(?P<problem>.*?)(?: - at `\$\.?(?P<key>[^`]*)`)?$", re.DOTALL)
_FIELD = re.compile(r"Object (?:contains unknown|missing required) field `([^`]*)`")


def read(path: Path, type: type[T]) -> T:
    """Return the file at *path* as a *type*. Raises ManifestError."""
    return parse(bounded_file.text(path, SIZE_LIMIT, "Check the path"), str(path), type)


def parse(text: str, source: str, type: type[T]) -> T:
    """Return TOML *text* as a *type*; *source* names it in errors. Raises ManifestError."""
    toml_depth.check(text, source)
    try:
        document = tomllib.loads(text)
    except ValueError as error:  # also what int() says to a number of thousands of digits
        raise ManifestError(source, "", f"not valid TOML: {error}", "Mend the line it names") from error
    except RecursionError as error:
        raise ManifestError(source, "", "nested too deep", "Flatten it") from error
    try:
        return msgspec.convert(document, type)
    except msgspec.ValidationError as error:
        key, problem = _place(str(error))
        raise ManifestError(source, key, problem, _remedy(problem, key, type)) from error


def hold(part: object, kind: type[msgspec.Struct], source: str, key: str) -> None:
    """Hold *part*, a table that was made in code, to the rules of one in a file. Raises ManifestError.

    It is a *kind* or made of one, and what is wrong in it is named as it is there: a file may call it otherwise.
    """
    if not isinstance(part, kind):
        problem = f"it is of type {type(part).__name__}"
        raise ManifestError(source, key, problem, f"Give it {_noun(kind)}")
    try:
        msgspec.convert(msgspec.to_builtins(part), type(part))
    except msgspec.ValidationError as error:
        place, problem = _place(str(error))
        field = _field_at(type(part), place)
        if field is not None:
            place = place.replace(field.encode_name, field.name, 1)
        raise ManifestError(source, f"{key}.{place}".rstrip("."), problem, _change(field)) from error
    except (TypeError, ValueError) as error:  # of something that no file can hold
        raise ManifestError(source, key, str(error), f"Give it {_noun(kind)} of plain values") from error


def _noun(kind: type) -> str:
    """Return the name of *kind* with its article, if it is one thing."""
    name = kind.__name__
    return name if name.endswith("s") else f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]*)`")
_INDEX = re.compile(r"\[[^]]*\]")  # of an item: its list has the key


def _remedy(problem: str, key: str, type: Any) -> str:
    """Advise on a wrong key: the one that was probably meant, and those there are."""
    unknown = _UNKNOWN.search(problem)
    if unknown is None:
        return "Add it" if "missing required field" in problem else _change(_field_at(type, key))
    keys = sorted(_keys_at(type, key.split(".")[:-1]))
    meant = difflib.get_close_matches(unknown["name"], keys, 1)
    guess = f"Did you mean `{meant[0]}`? " if meant else ""
    return f"{guess}The keys here are: {', '.join(keys)}"


def _change(field: msgspec.structs.FieldInfo | None) -> str:
    """Advise on a value that will not do: where nobody has to give one, to give none."""
    if field is None or field.required:
        return "Change it"
    usual = field.default
    is_number = isinstance(usual, int | float) and not isinstance(usual, bool)
    return f"Change it, or leave it out: then it is {usual}" if is_number else "Change it, or leave it out"


def _field_at(kind: Any, key: str) -> msgspec.structs.FieldInfo | None:
    """Return what a document of *kind* has at *key*, or None where its tables are not spelled out."""
    field = None
    for name in _INDEX.sub("", key).split("."):
        if not isinstance(kind, type) or not issubclass(kind, msgspec.Struct):
            return None
        field = next((each for each in msgspec.structs.fields(kind) if each.encode_name == name), None)
        kind = None if field is None else field.type
    return field


def _keys_at(type: Any, path: list[str]) -> list[str]:
    """Return the keys of the table at *path* in a document of *type*."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(type)}
    if not path:
        return list(fields)
    return _keys_at(fields[path[0]].type, path[1:]) if path[0] in fields else []


def _place(error: str) -> tuple[str, str]:
    """Return the key that a decoder's *error* is about, and the rest of it."""
    found = _PLACE.match(error)
    key, problem = (found["key"] or "", found["problem"]) if found else ("", error)
    field = _FIELD.match(problem)  # a missing or unknown one is named here, and only its table there
    return (f"{key}.{field[1]}".lstrip(".") if field else key), problem
