"""The path or text of a pipeline file to a Pipeline, or a ManifestError that names file, line, key and remedy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from plughost_sdk.hook_messages import CigenSchema

from . import document, schema, yaml_events
from .place import Place

_BYTE_ORDER_MARK = "\ufeff"  # some editors put it first; it is no part of the text


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
    """Return the pipeline in the file at *path*. Raises ManifestError."""
    return parse(yaml_events.read(path), str(path))


def parse(text: str, source: str) -> Pipeline:
    """Return the pipeline in *text*; *source* names it in errors. Raises ManifestError."""
    tree = Place(document.parse(text, source), "", source)
    found = schema.read(tree, text.removeprefix(_BYTE_ORDER_MARK))
    return Pipeline(found.native, found.expanded, found.order, found.providers, source)
