"""The value of one manifest key to what is wrong with it and what to do about it, or None. Knows no file.

What the contract accepts is accepted, unless it could not work or would lead out of the plugin's directory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any

from ..capabilities.web_address import spelled
from ..messages.quoting import listed, quote
from .duplex_limits import SECONDS_CAP

ABI_VERSION = 2  # the one that this version speaks
SPAWN_WORDS = ("lazy", "eager")
CONFIG_KINDS = ("path", "string", "bool", "enum", "int")
NAME_LENGTH = 100  # characters; it is a directory's and a program's name, which may have 255 bytes
TEXT_LENGTH = 4096  # characters of any other text
LIST_LENGTH = 256  # entries of any list

# A plugin of the name `host` could be taken for the host where publishers are named. The others are files of
# the same directory: the program would be the manifest itself.
RESERVED = ("host", "manifest.toml", "narrow.toml")

# One path component and nothing else: no slash, no leading dot, so neither `..` nor a hidden directory.
_NAME = re.compile(r"\A[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?\Z")

# The grammar of SemVer 2.0 in one expression, because the contract asks for semver and no library we have reads
# just that (those for Python packages take `1.0` and `v1.0.0`). Digits are spelled out: `\d` is any script's.
_NUMBER = r"(?:0|[1-9][0-9]*)"
_PRE_RELEASE = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER = re.compile(
    rf"\A{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    rf"(?:-{_PRE_RELEASE}(?:\.{_PRE_RELEASE})*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?\Z"
)
_WHOLE_NUMBER = re.compile(r"\A-?[0-9]{1,19}\Z")  # digits of a 64-bit number

Wrong = tuple[str, str]  # the problem and the remedy
Rule = Callable[[Any], Wrong | None]


def name(value: Any) -> Wrong | None:
    """Judge a plugin's name, which is also its directory's and its program's."""
    remedy = "Use letters, digits, `_`, `-` and `.`, such as `session-reader`"
    if not isinstance(value, str):
        return f"expected a text, got {kind(value)}", remedy
    if len(value) > NAME_LENGTH:
        return f"over {NAME_LENGTH} characters", "Shorten it"
    if value.lower() in RESERVED:
        return f"{quote(value)} is reserved", "Choose another name, for the directory and the program too"
    return None if _NAME.match(value) else (f"{quote(value)} is not a name", remedy)


def version(value: Any) -> Wrong | None:
    """Judge a version by the grammar of SemVer 2.0."""
    remedy = 'Give three numbers such as "1.0.0", with `-beta.1` or `+build` after them if needed'
    if not isinstance(value, str):
        return f"expected a text, got {kind(value)}", remedy
    if len(value) > TEXT_LENGTH:
        return f"over {TEXT_LENGTH} characters", "Shorten it"
    return None if _SEMVER.match(value) else (f"{quote(value)} is not a semantic version", remedy)


def abi_version(value: Any) -> Wrong | None:
    """Judge the contract's version: this host speaks one."""
    remedy = f"Write abi_version = {ABI_VERSION}, without quotes"
    if type(value) is not int:  # not isinstance: a bool is an int
        return f"expected a whole number, got {kind(value)}", remedy
    return None if value == ABI_VERSION else (f"this version does not speak {_number(value)}", remedy)


def grant(value: Any) -> Wrong | None:
    """Judge a capability: all of it, nothing of it, or what a list names."""
    remedy = 'Write true, false or a list of texts such as ["one", "two"]'
    if isinstance(value, bool):
        return None
    if not isinstance(value, list):
        return f"expected true, false or a list, got {kind(value)}", remedy
    return _entries(value, identifier, remedy)


def network(value: Any) -> Wrong | None:
    """Judge the capability whose list holds host names. One that can never match is refused, not ignored."""
    wrong = grant(value)
    if wrong is not None or isinstance(value, bool):
        return wrong
    for host in value:
        if spelled(host) is None:
            remedy = "Name a host alone: no scheme, port, path or pattern; or write true for every one"
            return f"{quote(host)} is not a host", remedy
    return None


def identifier(value: Any) -> Wrong | None:
    """Judge a text that something is looked up by."""
    wrong = text(value)
    if wrong is not None:
        return wrong
    if not value or value != value.strip() or not value.isprintable():
        return f"{quote(value)} is empty, padded with blanks or not printable", "Write it plainly"
    return None


def namespace(value: Any) -> Wrong | None:
    """Judge the word that stands first on a command line."""
    wrong = identifier(value)
    if wrong is None and (value.startswith("-") or " " in value):
        return f"{quote(value)} cannot be a command's first word", "Use one word, such as `usage`"
    return wrong


def text(value: Any) -> Wrong | None:
    """Judge a free text."""
    if not isinstance(value, str):
        return f"expected a text, got {kind(value)}", "Quote it, or take the key out"
    return (f"over {TEXT_LENGTH} characters", "Shorten it") if len(value) > TEXT_LENGTH else None


def boolean(value: Any) -> Wrong | None:
    """Judge a switch."""
    if isinstance(value, bool):
        return None
    return f"expected true or false, got {kind(value)}", "Write true or false, without quotes"


def seconds(value: Any) -> Wrong | None:
    """Judge a number of seconds that the contract keeps in 32 bits."""
    remedy = f"Give whole seconds from 0 to {SECONDS_CAP}, without quotes; 0 is never"
    if type(value) is not int:
        return f"expected a whole number, got {kind(value)}", remedy
    return None if 0 <= value <= SECONDS_CAP else (f"{_number(value)} is out of range", remedy)


def word_of(*words: str) -> Rule:
    """Return the rule for a text that is one of *words*, as they are spelled."""
    remedy = f"Use one of: {', '.join(words)}"

    def rule(value: Any) -> Wrong | None:
        if not isinstance(value, str):
            return f"expected a text, got {kind(value)}", remedy
        return None if value in words else (f"{quote(value)} is not known", remedy)

    return rule


def list_of(entry: Rule) -> Rule:
    """Return the rule for a list whose every entry passes *entry*."""
    remedy = 'Write it as ["one", "two"]'

    def rule(value: Any) -> Wrong | None:
        if not isinstance(value, list):
            return f"expected a list, got {kind(value)}", remedy
        return _entries(value, entry, remedy)

    return rule


def config_default(entry: Mapping[str, Any]) -> Wrong | None:
    """Judge the default of a config entry whose single keys are right: it must be a value of its kind."""
    default = entry.get("default", "")
    if default == "":
        return None
    match entry["kind"]:
        case "bool" if default not in ("true", "false"):
            return f"{quote(default)} is no switch", 'Write "true" or "false", or leave it out'
        case "int" if _WHOLE_NUMBER.match(default) is None:
            return f"{quote(default)} is no whole number", 'Write one in quotes, such as "5", or leave it out'
        case "enum" if default not in entry["choices"]:
            return f"{quote(default)} is not among the choices", f"Use one of: {listed(entry['choices'])}"
    return None


def kind(value: Any) -> str:
    """Return what a TOML value is, in words."""
    return _KINDS.get(type(value), "something else")


def _entries(value: list[Any], entry: Rule, remedy: str) -> Wrong | None:
    if len(value) > LIST_LENGTH:
        return f"over {LIST_LENGTH} entries", "Shorten it"
    for index, each in enumerate(value):
        if (wrong := entry(each)) is not None:
            return f"entry {index + 1}: {wrong[0]}", remedy if not isinstance(each, str) else wrong[1]
    return None


def _number(value: int) -> str:
    return str(value) if abs(value) < 10**20 else "so large a number"  # str() refuses thousands of digits


_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number with a point",
    str: "a text",
    list: "a list",
    dict: "a table",
    date: "a date",
    time: "a time",
    datetime: "a date and time",
}
