"""Load a directory of parts as one pipeline file.

| part | is |
|---|---|
| `config.yml`, and each file in `config/` | the top level: mappings are merged, of anything else the last wins |
| `commands/NAME.yml` | the command NAME |
| `workflows/ID.yml`, `workflows/ID/config.yml` | the workflow ID |
| `workflows/ID/jobs/NAME.yml` | the job NAME of that workflow |
| `workflows/ID/jobs/STAGE/…/NAME.yml` | the same, in that stage |

Names end in `.yml` or `.yaml`; of one directory they are taken in the order of their names. Every node knows its
file, so that a mistake is reported there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import ManifestError
from . import document, stages, yaml_events
from .document import Spent
from .node import Mapping, Node, Scalar

FILE_LIMIT = 1000  # parts of one pipeline
DEPTH_LIMIT = 8  # directories below `jobs`
SUFFIXES = (".yml", ".yaml")
ALONE = ("cigen.yml", "cigen.yaml")  # a whole pipeline file, in a directory of its own
_REMEDY = "Write `config.yml` there, or name a pipeline file"


def read(path: Path) -> tuple[Mapping, Mapping]:
    """Return the tree of the pipeline in the directory at *path*, and that of its settings. Raises ManifestError."""
    reader = _Reader()
    start = _first(path, "config.yml", "config.yaml")
    if start is None:
        whole = _first(path, *ALONE)
        if whole is None:
            raise ManifestError(str(path), "", "a directory without a pipeline", _REMEDY)
        tree = reader.part(whole)
        stages.refuse_in_a_file(tree, str(whole))
        return tree, tree
    settings = reader.part(start)
    for each in _files(path / "config"):
        settings = _merged(settings, reader.part(each))
    tree = _merged(settings, _below("commands", _commands(path / "commands", reader), settings))
    workflows, jobs = _workflows(path / "workflows", reader)
    tree = _merged(tree, _below("workflows", workflows, settings))
    found = stages.arranged(jobs, _mapping(tree, "workflows"))
    tree = _merged(_without_settings_of_caches(tree), _below("jobs", found, settings))
    if "jobs" not in tree.entries:  # it is not in any file that there are none
        tree.entries["jobs"] = Mapping({}, {}, 1, 1, str(path / "workflows"))
        tree.keys["jobs"] = Scalar("jobs")
    return tree, settings


@dataclass(slots=True)
class _Reader:
    """Reads parts, under the bounds that one file has."""

    spent: Spent = field(default_factory=Spent)
    files: int = 0
    size: int = 0

    def part(self, path: Path) -> Mapping:
        self.files += 1
        text = yaml_events.read(path)
        self.size += len(text)
        if self.files > FILE_LIMIT or self.size > yaml_events.SIZE_LIMIT:
            problem = f"over {FILE_LIMIT} files, or {yaml_events.SIZE_LIMIT} characters in all"
            raise ManifestError(str(path), "", problem, "Name the right directory")
        source = str(path)
        if not text.strip():
            return Mapping({}, {}, 1, 1, source)
        tree = document.parse(text, source, self.spent)
        entries = {key: replace(value, source=source) for key, value in tree.entries.items()}
        keys = {key: replace(written, source=source) for key, written in tree.keys.items()}
        return replace(tree, entries=entries, keys=keys, source=source)


def _commands(path: Path, reader: _Reader) -> dict[str, Node]:
    return {each.stem: reader.part(each) for each in _files(path)}


def _workflows(path: Path, reader: _Reader) -> tuple[dict[str, Node], list[stages.Part]]:
    """Return the workflows by id, and the jobs of all of them."""
    found: dict[str, Node] = {each.stem: reader.part(each) for each in _files(path)}
    jobs: list[stages.Part] = []
    for folder in _folders(path):
        config = _first(folder, "config.yml", "config.yaml")
        own = reader.part(config) if config is not None else Mapping({}, {}, 1, 1, str(folder))
        there = found.get(folder.name)
        found[folder.name] = _merged(there, own) if isinstance(there, Mapping) else own
        for each in _tree(folder / "jobs", 0):
            inside = each.relative_to(folder / "jobs")
            jobs.append(stages.Part(folder.name, inside.with_suffix("").parts, reader.part(each)))
    return found, jobs


def _merged(one: Mapping, other: Mapping) -> Mapping:
    """Return *one* with the keys of *other*: mappings in both are merged, anything else is the other's."""
    entries, keys = dict(one.entries), {**one.keys, **other.keys}
    for key, value in other.entries.items():
        there = entries.get(key)
        if isinstance(there, Mapping) and isinstance(value, Mapping):
            value = _merged(there, value)
        entries[key] = value
    return replace(one, entries=entries, keys=keys)


def _below(key: str, entries: dict[str, Node], like: Mapping) -> Mapping:
    """Return a mapping with *entries* below *key*, or nothing if there are none."""
    if not entries:
        return Mapping({}, {}, like.line, like.column, like.source)
    inner = Mapping(
        entries, {name: Scalar(name, "'") for name in entries}, like.line, like.column, like.source
    )
    return Mapping({key: inner}, {key: Scalar(key)}, like.line, like.column, like.source)


def _without_settings_of_caches(tree: Mapping) -> Mapping:
    """Return *tree* without caches that have no paths: in a directory, these are settings that a provider reads."""
    caches = _mapping(tree, "caches")
    kept = {
        name: each
        for name, each in caches.items()
        if not isinstance(each, Mapping) or {"paths", "path"} & each.entries.keys()
    }
    if len(kept) == len(caches):
        return tree
    there = tree.entries["caches"]
    assert isinstance(there, Mapping)  # else it had no entries
    return replace(tree, entries={**tree.entries, "caches": replace(there, entries=kept)})


def _mapping(tree: Mapping, key: str) -> dict[str, Node]:
    found = tree.entries.get(key)
    return found.entries if isinstance(found, Mapping) else {}


def _first(path: Path, *names: str) -> Path | None:
    return next((path / name for name in names if (path / name).exists()), None)


def _files(path: Path) -> Iterator[Path]:
    return (each for each in _inside(path) if each.suffix in SUFFIXES and not each.is_dir())


def _folders(path: Path) -> Iterator[Path]:
    return (each for each in _inside(path) if each.is_dir())


def _tree(path: Path, depth: int) -> Iterator[Path]:
    """Yield the files at and below *path*: those of a directory before those of its own directories."""
    if depth > DEPTH_LIMIT:
        raise ManifestError(str(path), "", f"over {DEPTH_LIMIT} directories deep", "Flatten it")
    yield from _files(path)
    for folder in _folders(path):
        yield from _tree(folder, depth + 1)


def _inside(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    try:
        return [path / name for name in sorted(os.listdir(path))]
    except OSError as error:
        reason = error.strerror or str(error)
        raise ManifestError(str(path), "", f"cannot be read: {reason}", "Check its permissions") from error
