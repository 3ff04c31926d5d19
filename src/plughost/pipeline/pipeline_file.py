"""The path or text of a pipeline to a Pipeline, or a ManifestError that names file, line, key and remedy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from plughost_sdk.hook_messages import CigenSchema

from . import directory, document, schema, stages, yaml_events, yaml_text
from .node import Mapping
from .place import Place


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What a project wants built.

    *native* has the jobs as written, with their matrices and all rows of them, for providers that know matrices;
    *expanded* has a job for each row. Both list every job after those it needs; *order* has the ids of the expanded
    ones. *providers* are those that the file names, if it does; *source* is where it was read.
    """

    native: CigenSchema
    expanded: CigenSchema
    order: tuple[str, ...]
    providers: tuple[str, ...]
    source: str


def read(path: Path) -> Pipeline:
    """Return the pipeline in the file at *path*, or in the directory of its parts. Raises ManifestError."""
    if path.is_dir():
        tree, settings = directory.read(path)
        return _pipeline(tree, settings, str(path))
    return parse(yaml_events.read(path), str(path))


def parse(text: str, source: str) -> Pipeline:
    """Return the pipeline in *text*; *source* names it in errors. Raises ManifestError."""
    tree = document.parse(text, source)
    stages.refuse_in_a_file(tree, source)
    return _pipeline(tree, tree, source)


def _pipeline(tree: Mapping, raw: Mapping, source: str) -> Pipeline:
    found = schema.read(Place(tree, "", tree.source or source), yaml_text.dump(raw))
    return Pipeline(found.native, found.expanded, found.order, found.providers, source)
