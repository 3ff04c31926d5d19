"""Steps that restore and save caches to those of actions/cache. Refuses keys that it would refuse.

Keys come from the step, else from the schema; a key that the host made from the schema is made anew, in GitHub's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from plughost_sdk.hook_caches import key_of
from plughost_sdk.hook_messages import CigenSchema, RestoreCacheStep, SaveCacheStep

from .notes import Notes
from .paths import hash_files, is_path, resolve
from .yaml_reader import read

KEY_LIMIT = 512  # characters of a key; actions/cache refuses more, and commas

_OS = "${{ runner.os }}"
_KEYS = ("key", "restore-keys")  # inputs that hold keys, one in each line
_MATRIX = re.compile(r"\$\{\{\s*matrix\.([\w-]+)\s*\}\}")
_TEMPLATE = re.compile(r"(?<!\$)\{\{\s*(.*?)\s*\}\}")
_CHECKSUM = re.compile(r"""checksum\s*\(?\s*(["'])(.+?)\1\s*\)?""")
_KNOWN = {
    "arch": "runner.arch",
    ".Branch": "github.ref_name",
    ".Revision": "github.sha",
    "runner.os": "runner.os",
}

Mapping = dict[str, Any]


def restore(step: RestoreCacheStep, schema: CigenSchema, notes: Notes) -> list[Mapping]:
    """Return the step that restores, or none if the schema does not say what."""
    keys = list(
        dict.fromkeys(key for key in (step.key, *step.keys) if key != key_of(step.name, schema) and key)
    )
    key = _key(step.name, keys[0] if keys else "", schema)
    paths = _paths(step.name, [], dict(step.extra), schema)
    if not key or not paths:
        return _unknown("restore_cache", step.name, notes)
    more = {"path": "\n".join(paths), "key": key}
    fallbacks = [_templates(each) for each in (*keys[1:], *step.restore_keys)] or _beginnings(keys, key)
    if fallbacks:
        more["restore-keys"] = "\n".join(fallbacks)
    return [{"name": f"Restore cache {step.name}".strip(), "uses": "actions/cache/restore@v4", "with": more}]


def save(step: SaveCacheStep, schema: CigenSchema, notes: Notes) -> list[Mapping]:
    """Return the step that saves, or none if the schema does not say what."""
    key = _key(step.name, "" if step.key == key_of(step.name, schema) else step.key, schema)
    paths = _paths(step.name, list(step.paths), dict(step.extra), schema)
    if not key or not paths:
        return _unknown("save_cache", step.name, notes)
    more = {"path": "\n".join(paths), "key": key}
    return [{"name": f"Save cache {step.name}".strip(), "uses": "actions/cache/save@v4", "with": more}]


def check_keys(steps: Iterable[Mapping], rows: Iterable[dict[str, str]]) -> None:
    """Raise ValueError for a key that actions/cache would refuse, by itself or in one of the matrix's *rows*."""
    values: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.items():
            values.setdefault(name, set()).add(value)
    given = [step.get("with") for step in steps if str(step.get("uses", "")).startswith("actions/cache")]
    inputs = [str(each.get(name, "")) for each in given if isinstance(each, dict) for name in _KEYS]
    for key in dict.fromkeys(key for each in inputs for key in each.split("\n")):
        start, *rest = key.split("${{")
        own = start + "".join(part.partition("}}")[2] for part in rest)
        put_in = [values.get(name, {""}) for name in _MATRIX.findall(key)]
        longest = len(own) + sum(max(map(len, each)) for each in put_in)
        if longest > KEY_LIMIT or any("," in text for each in ({own}, *put_in) for text in each):
            hint = "${{ strategy.job-index }} stands for a row of the matrix"
            raise ValueError(
                f"the key {key[:KEY_LIMIT]!r} of a cache has a comma or over {KEY_LIMIT} characters; {hint}"
            )


def _key(name: str, given: str, schema: CigenSchema) -> str:
    if given:
        return _templates(given)
    if name not in schema.caches:
        return ""
    parts = [_part(each, schema) for each in schema.caches[name].key_parts]
    # What changes most comes last, so that the beginning of a key finds what is nearest to it.
    return "-".join([name, _OS, *sorted(filter(None, parts), key=lambda part: "hashFiles(" in part)])


def _part(part: str, schema: CigenSchema) -> str:
    if part.startswith("@") or is_path(part):
        return f"${{{{ {hash_files(resolve([part], schema))} }}}}"
    text = _templates(part)
    return "" if text == _OS else text  # every key begins with it already


def _templates(text: str) -> str:
    """Return *text* with the placeholders that other systems have for keys in GitHub's spelling."""
    return _TEMPLATE.sub(_template, text)


def _template(found: re.Match[str]) -> str:
    if checksum := _CHECKSUM.fullmatch(found[1]):
        return f"${{{{ {hash_files([checksum[2]])} }}}}"
    return f"${{{{ {_KNOWN[found[1]]} }}}}" if found[1] in _KNOWN else found[0]


def _beginnings(given: list[str], key: str) -> list[str]:
    """Return the key without its hashes, which are what changes; not for a key that was given."""
    start, found, _ = key.partition("${{ hashFiles(")
    return [start] if found and not given else []


def _paths(name: str, given: list[str], extra: dict[str, str], schema: CigenSchema) -> list[str]:
    for key in ("paths", "path"):
        if not given and key in extra:
            value = read(extra[key])
            given = [str(each) for each in value] if isinstance(value, list) else [str(value)]
    return given or (list(schema.caches[name].paths) if name in schema.caches else [])


def _unknown(kind: str, name: str, notes: Notes) -> list[Mapping]:
    hint = "Define it under `caches` with paths and key_parts, or give the step a key and paths"
    notes.warning("GITHUB_CACHE", f"{kind} {name!r} has no key or no paths; it is left out", hint)
    return []
