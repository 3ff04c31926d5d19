"""One job of a pipeline file to a JobDefinition, as written or for one row of its matrix. Knows no other job.

Keys that are not known here are passed on as YAML, for the provider that knows them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from plughost_sdk.hook_messages import JobDefinition, MatrixRow, MatrixValue, PackageSpec, SkipConfig

from ..messages.quoting import quote
from . import matrix, placeholder, steps
from .matrix import Matrix, Row
from .names import Names
from .node import Mapping, Node, Scalar
from .place import Place, yaml_of

WORKFLOW = "ci"  # of a job that names none
IMAGE = "ubuntu-latest"  # of a job that names none: every provider knows it, if only as a machine

_KEYS = (
    "needs",
    "requires",
    "matrix",
    "packages",
    "steps",
    "skip_if",
    "runner",
    "env",
    "environment",
    "image",
    "workflow",
    "checkout",
    "services",
    "source_files",
    "stage",
    # Not sent: no field is made for them, and providers write what is in `extra` into their files as it is.
    "trigger",
    "artifacts",
)
_AS_WRITTEN = (
    "needs",
    "requires",
    "matrix",
)  # jobs are known by the names in the file, and values hold no placeholders
_PACKAGE = ("name", "manager", "path", "version")
_SUFFIX = "job_name_suffix"
_SERVICE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Job:
    """A job that was read: where, what it needs and where it says so, and as the schema has it."""

    id: str
    place: Place
    needs: dict[str, Place]
    matrix: Matrix | None
    native: JobDefinition
    ids: tuple[str, ...]  # of the jobs that it becomes


def read(id: str, place: Place, names: Names) -> Job:
    """Return the job at *place*. Raises ManifestError."""
    members = place.entries()
    found = matrix.read(members["matrix"]) if "matrix" in members else None
    here = replace(place, templated=found is not None)
    definition = _definition(id, here, names)
    ids = [id]
    if found is not None:
        _check_placeholders(here, found)
        for key, values in found.values.items():
            definition.matrix[key].CopyFrom(MatrixValue(values=[each.text for each in values]))
        definition.matrix_rows.extend(MatrixRow(values=matrix.texts(row)) for row in found.rows)
        ids = matrix.row_ids(id, found, members[_SUFFIX].text() if _SUFFIX in members else None)
    return Job(id, place, _needs(members), found, definition, tuple(ids))


def of_row(job: Job, id: str, row: Row, names: Names) -> JobDefinition:
    """Return what *job* is for one *row* of its matrix, under the *id* of that row. Raises ManifestError."""
    node = job.place.node
    assert isinstance(node, Mapping)
    entries: dict[str, Node] = {
        key: value if key in _AS_WRITTEN else placeholder.replaced(value, row)
        for key, value in node.entries.items()
    }
    here = replace(job.place, node=replace(node, entries=entries))
    definition = _definition(id, here, names)
    if "stage" in row and not definition.stage:
        definition.stage = row["stage"].text
    return definition


def _definition(id: str, place: Place, names: Names) -> JobDefinition:
    found, others = place.split(_KEYS)
    if "environment" in found and _is_deployment(found["environment"].node):
        others["environment"] = found.pop("environment")
    env = place.either(found, "env", "environment")
    job = JobDefinition(
        id=id,
        needs=list(_needs(found)),
        runner=found["runner"].filled() if "runner" in found else "",
        image=found["image"].filled() if "image" in found else IMAGE,
        workflow=_workflow(found["workflow"], names) if "workflow" in found else WORKFLOW,
        stage=found["stage"].filled() if "stage" in found else "",
        env=env.variables() if env is not None else {},
        checkout=found["checkout"].yaml_map() if "checkout" in found else {},
        extra=yaml_of(others),
    )
    if "packages" in found:
        _packages(found["packages"], job)
    if "steps" in found:
        job.steps.extend(steps.read(found["steps"], names))
    if "skip_if" in found:
        job.skip_if.CopyFrom(_skip_if(found["skip_if"], names))
    if "services" in found:
        job.services.extend(_service(each, names) for each in found["services"].one_or_more())
    if "source_files" in found:
        job.source_files.extend(names.files(found["source_files"]))
    return job


def _is_deployment(node: Node) -> bool:
    """Tell whether *node* names an environment of GitHub's, in which a job may deploy, and no variables."""
    if isinstance(node, Mapping):
        return "name" in node.entries and node.entries.keys() <= {"name", "url"}
    return isinstance(node, Scalar) and not node.is_null


def _service(place: Place, names: Names) -> str:
    """Return the name of a service of this file, or an image; any name where the file defines none."""
    text = place.text()
    is_image = ":" in text or "/" in text
    if not placeholder.is_in(text) and (is_image or (not names.services and _SERVICE.fullmatch(text))):
        return place.filled()
    return place.reference("service", names.services)


def _needs(members: dict[str, Place]) -> dict[str, Place]:
    found: dict[str, Place] = {}
    key = "needs" if "needs" in members else "requires"
    for each in members[key].one_or_more() if key in members else ():
        name = each.text()
        if name in found:
            raise each.wrong(f"{quote(name)} a second time", "Keep one of them")
        found[name] = each
    return found


def _workflow(place: Place, names: Names) -> str:
    name = place.name()
    if names.workflows and name != WORKFLOW:
        place.reference("workflow", names.workflows)
    return name


def _packages(place: Place, job: JobDefinition) -> None:
    for each in place.one_or_more():
        job.package_specs.append(_package(each))
        job.packages.append(job.package_specs[-1].name)


def _package(place: Place) -> PackageSpec:
    if not isinstance(place.node, Mapping):
        return PackageSpec(name=place.filled())
    found, others = place.split(_PACKAGE, ("name",))
    texts = {key: value.filled() for key, value in found.items()}
    return PackageSpec(**texts, extra=yaml_of(others))


def _skip_if(place: Place, names: Names) -> SkipConfig:
    found = place.members(("paths_unmodified", "env", "branch"))
    return SkipConfig(
        paths_unmodified=names.files(found["paths_unmodified"]) if "paths_unmodified" in found else [],
        env=found["env"].texts() if "env" in found else [],
        branch=found["branch"].texts() if "branch" in found else [],
    )


def _check_placeholders(place: Place, found: Matrix) -> None:
    """Refuse a placeholder for a key that no row of the matrix has: it would become nothing."""
    there = frozenset(found.keys)
    for name, each in place.entries().items():
        if name not in _AS_WRITTEN:
            for key, holder in placeholder.keys(each.node):
                if key not in there:
                    raise replace(each, node=holder).unresolved(key, "key of the matrix", there)
