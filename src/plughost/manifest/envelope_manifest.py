"""`manifest.yml`, what an `envelope` plugin says about itself, to one frozen value.

It refuses what could not work. Values that other hosts of the contract load in spite of their form, such as a version
that YAML takes for a number, are taken with a remark. Keys that nobody knows are only noted, so that a manifest for a
later version can be used. `plughost lint` warns of both.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..errors import ManifestError
from ..messages.quoting import quote
from . import yaml_document
from .binding import Limits
from .envelope_leniency import Remark, adapted

FILE_NAME = "manifest.yml"
API_VERSIONS = ("1",)  # those that this version speaks
TIMEOUT_CAP_S = 300  # a worker is short-lived: an operator waits for it
MEMORY_CAP_MB = 2048
OPEN_FILES = 256  # descriptors of a worker, which has one file at a time to transform
TERMINATE_S = 1.0  # between SIGTERM and SIGKILL: enough to remove a temporary file
CPU_SHARE = 2  # CPU seconds per second of the timeout: a worker may use two cores
NAME_LENGTH = 100  # characters; it becomes part of file names, which may have 255 bytes
TEXT_LENGTH = 4096  # characters of any other text; also a path may have no more bytes
LIST_LENGTH = 256  # entries of any list

_VARIABLE = re.compile(r"\A[A-Za-z_][A-Za-z0-9_]*\*?\Z")
_NAME = re.compile(r"\A[A-Za-z0-9_-]+\Z")


class Isolation(Struct, frozen=True):
    """What bounds the plugin's worker. *network* is a declaration that discovery may refuse."""

    timeout_seconds: float = 30.0
    memory_mb: int = 512
    network: bool = False


class EnvelopeManifest(Struct, frozen=True):
    """An `envelope` plugin as it describes itself."""

    name: str
    version: str
    supported_extensions: tuple[str, ...]
    api_version: str
    directory: Path
    author: str = ""
    description: str = ""
    required_variables: tuple[str, ...] = ()
    optional_variables: tuple[str, ...] = ()
    isolation: Isolation = Isolation()
    command: tuple[str, ...] = ()  # the worker's own, paths relative to `directory`; empty: the Python worker
    validates: bool = True  # its worker knows `--mode validate`; of a command it is only believed if said
    lenient: bool = False  # its worker may leave `per_file` out of a reply
    environment: tuple[
        str, ...
    ] = ()  # variables of the host that it sees too; `EXLAB_*` are all that begin so
    unknown: tuple[str, ...] = ()  # keys that this version does not know
    remarks: tuple[Remark, ...] = ()  # values that were not taken as they are written


def read(directory: Path) -> EnvelopeManifest:
    """Return the manifest in *directory*. Raises ManifestError."""
    file = directory / FILE_NAME
    return parse(yaml_document.text(file), directory, str(file))


@lru_cache(
    maxsize=64
)  # YAML takes a millisecond, and a host that stays reads the same manifest for every pass
def parse(text: str, directory: Path, source: str = FILE_NAME) -> EnvelopeManifest:
    """Return the manifest in *text*, as if it were a file in *directory*. Raises ManifestError."""
    return of_document(yaml_document.parse(text, source), directory, source)


def of_document(document: Mapping[str, Any], directory: Path, source: str) -> EnvelopeManifest:
    """Return the manifest whose keys and values are *document*. Raises ManifestError, for the first flaw."""
    for flaw in flaws(document, source):
        raise flaw
    document, remarks = adapted(document)
    isolation = document.get("isolation", {})
    return EnvelopeManifest(
        name=document["name"],
        version=document["version"],
        supported_extensions=tuple(document["supported_extensions"]),
        api_version=str(document["api_version"]),
        directory=directory.absolute(),
        author=document.get("author", ""),
        description=document.get("description", ""),
        required_variables=tuple(document.get("required_variables", ())),
        optional_variables=tuple(document.get("optional_variables", ())),
        isolation=Isolation(
            timeout_seconds=float(isolation.get("timeout_seconds", 30)),
            memory_mb=isolation.get("memory_mb", 512),
            network=isolation.get("network", False),
        ),
        command=tuple(document.get("command", ())),
        validates=document.get("validates", not document.get("command")),
        lenient=document.get("lenient", False),
        environment=tuple(document.get("environment", ())),
        unknown=_unknown(document),
        remarks=remarks,
    )


def matches(manifest: EnvelopeManifest, path: str) -> bool:
    """Tell whether the plugin is to be given the file at *path*.

    An extension is compared with the end of the file's name, in any case; `.gitignore` is also a whole name. Without
    a dot before it, such as `Makefile`, it is the whole name. The empty text matches all files without a suffix.
    """
    name = path.rpartition("/")[2].lower()
    wanted = [each.lower() for each in manifest.supported_extensions]
    if name.endswith(tuple(each for each in wanted if each.startswith("."))) or name in wanted:
        return True
    return "" in wanted and not os.path.splitext(name)[1]


def limits_of(manifest: EnvelopeManifest) -> Limits:
    """Return the limits that the plugin's worker runs under."""
    isolation = manifest.isolation
    return Limits(
        timeout_s=isolation.timeout_seconds,
        terminate_s=TERMINATE_S,
        memory_mb=isolation.memory_mb,
        cpu_s=math.ceil(CPU_SHARE * isolation.timeout_seconds),
        open_files=OPEN_FILES,
    )


def flaws(document: Mapping[str, Any], source: str) -> list[ManifestError]:
    """Return everything that is wrong with the *document* of a manifest, in the order of the keys."""
    document, _ = adapted(document)
    found = []
    for key, flaw in RULES.items():
        holder = document.get("isolation") if key.startswith("isolation.") else document
        name = key.removeprefix("isolation.")
        if not isinstance(holder, Mapping):
            continue  # a missing block has its defaults; of a wrong one it was said already
        if name not in holder:
            if key in REQUIRED:
                found.append(ManifestError(source, key, "missing", f"Add a line `{key}: …`"))
        elif (wrong := flaw(holder[name])) is not None:
            found.append(ManifestError(source, key, *wrong))
    return found


def _unknown(document: Mapping[str, Any]) -> tuple[str, ...]:
    keys = [*document, *(f"isolation.{key}" for key in document.get("isolation", {}))]
    return tuple(sorted(set(keys) - set(RULES)))


# What is wrong with a value, and what to do about it; None if nothing is.
Wrong = tuple[str, str]
Rule = Callable[[Any], Wrong | None]


def _name(value: Any) -> Wrong | None:
    remedy = "Use letters, digits, `_` and `-`, such as `my_plugin`"
    if not isinstance(value, str):
        return f"expected a text, got {_kind(value)}", remedy
    if len(value) > NAME_LENGTH:
        return f"over {NAME_LENGTH} characters", "Shorten it"
    return None if _NAME.match(value) else (f"{quote(value)} is not a name", remedy)


def _version(value: Any) -> Wrong | None:
    if isinstance(value, str):
        return _filled_text(value)
    return f"expected a text, got {_kind(value)}", 'Quote it, such as "1.0": without quotes, 1.10 is 1.1'


def _api_version(value: Any) -> Wrong | None:
    if type(value) in (str, int) and str(value) in API_VERSIONS:
        return None
    known = " or ".join(f'"{each}"' for each in API_VERSIONS)
    return f"{_shown(value)} is not supported", f"This version of plughost speaks {known}"


def _variable(value: str) -> Wrong | None:
    if _VARIABLE.match(value):
        return None
    return f"{quote(value)} names no variable", "Write names such as HOME, or the beginning of such: EXLAB_*"


def _word(value: str) -> Wrong | None:
    return ("holds a NUL character", "Take it out") if "\0" in value else None


def _command(value: Any) -> Wrong | None:
    remedy = 'Give a list such as ["node", "worker.js"]'
    if isinstance(value, str):
        return "expected a list, got a text", remedy
    wrong = _list_of(_word)(value)
    if wrong is None and value and not value[0].strip():
        return "its program is empty", remedy
    return wrong


def _isolation(value: Any) -> Wrong | None:
    if isinstance(value, Mapping):
        return None
    return f"expected a mapping, got {_kind(value)}", "Indent its keys below it, or take it out"


def _number_in(above: float, cap: int, unit: str, *types: type) -> Rule:
    def rule(value: Any) -> Wrong | None:
        kind = "a number" if float in types else "a whole number"
        remedy = f"Give {kind} of {unit}, at most {cap}, without quotes"
        if type(value) not in types:  # not isinstance: a bool is an int
            return f"expected {kind}, got {_kind(value)}", remedy
        if not above < value <= cap:
            return f"{value} is over the cap of {cap}" if value > cap else f"{value} is too small", remedy
        return None

    return rule


def _boolean(value: Any) -> Wrong | None:
    if isinstance(value, bool):
        return None
    return f"expected true or false, got {_kind(value)}", "Write true or false, without quotes"


def _text(value: Any) -> Wrong | None:
    if not isinstance(value, str):
        return f"expected a text, got {_kind(value)}", "Quote it, or take the key out"
    return (f"over {TEXT_LENGTH} characters", "Shorten it") if len(value) > TEXT_LENGTH else None


def _filled_text(value: Any) -> Wrong | None:
    wrong = _text(value)
    if wrong is not None:
        return wrong
    if not value or value != value.strip() or not value.isprintable():
        return f"{quote(value)} is empty, padded with blanks or not printable", "Write it plainly"
    return None


def _list_of(rule: Callable[[str], Wrong | None]) -> Rule:
    def list_rule(value: Any) -> Wrong | None:
        if not isinstance(value, list):
            return f"expected a list, got {_kind(value)}", "Write it as [one, two]"
        if len(value) > LIST_LENGTH:
            return f"over {LIST_LENGTH} entries", "Shorten it"
        return next((wrong for each in value if (wrong := _text(each) or rule(each)) is not None), None)

    return list_rule


RULES: dict[str, Rule] = {
    "name": _name,
    "version": _version,
    "supported_extensions": _list_of(_word),
    "api_version": _api_version,
    "author": _text,
    "description": _text,
    "required_variables": _list_of(_filled_text),
    "optional_variables": _list_of(_filled_text),
    "isolation": _isolation,
    "isolation.timeout_seconds": _number_in(0, TIMEOUT_CAP_S, "seconds", int, float),
    "isolation.memory_mb": _number_in(0, MEMORY_CAP_MB, "MiB", int),
    "isolation.network": _boolean,
    "command": _command,
    "validates": _boolean,
    "lenient": _boolean,
    "environment": _list_of(_variable),
}
REQUIRED = ("name", "version", "supported_extensions", "api_version")

_KINDS: dict[type, str] = {
    type(None): "nothing",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a mapping",
}


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "something else")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return quote(value)
    return str(value) if isinstance(value, int | float) else _kind(value)
