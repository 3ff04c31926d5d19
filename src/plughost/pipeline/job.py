"""One job of a pipeline file to a JobDefinition, as written or for one row of its matrix. Knows no other job.

Keys that are none of ours are passed on as YAML, for the provider that knows them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from plughost_sdk.hook_messages import JobDefinition, MatrixRow, MatrixValue, PackageSpec, SkipConfig

from ..messages.quoting import quote
from . import matrix, placeholder, steps
from .matrix import Matrix, Row
from .names import Names
from .node import Mapping, Node
from .place import Place, yaml_of

WORKFLOW = "ci"  # of a job that names none

_KEYS = (
    "needs",
    "matrix",
    "packages",
    "steps",
    "skip_if",
    "runner",
    "env",
    "image",
    "workflow",
    "checkout",
    "services",
    "source_files",
    "stage",
)
_AS_WRITTEN = ("needs", "matrix")  # jobs are known by the names in the file, and values hold no placeholders
_PACKAGE = ("name", "manager", "path", "version")


@dataclass(frozen=True, slots=True)
class Job:
    """A job that was read: where, what it needs and where it says so, and as the schema has it."""

    id: str
    place: Place
    needs: dict[str, Place]
    matrix: Matrix | None
    native: JobDefinition


def read(id: str, place: Place, names: Names, default_runner: str) -> Job:
    """Return the job at *place*. Raises ManifestError."""
    members = place.entries()
    found = matrix.read(members["matrix"]) if "matrix" in members else None
    here = replace(place, templated=found is not None)
    definition = _definition(id, here, names, default_runner)
    if found is not None:
        _check_placeholders(here, found)
        for key, values in found.values.items():
            definition.matrix[key].CopyFrom(MatrixValue(values=[each.text for each in values]))
        definition.matrix_rows.extend(MatrixRow(values=matrix.texts(row)) for row in found.rows)
    return Job(id, place, _needs(members), found, definition)


def of_row(job: Job, row: Row, names: Names, default_runner: str) -> JobDefinition:
    """Return what *job* is for one *row* of its matrix, under that row's name. Raises ManifestError."""
    node = job.place.node
    assert isinstance(node, Mapping)
    entries: dict[str, Node] = {
        key: value if key in _AS_WRITTEN else placeholder.replaced(value, row)
        for key, value in node.entries.items()
    }
    here = replace(job.place, node=replace(node, entries=entries))
    definition = _definition(matrix.row_id(job.id, row), here, names, default_runner)
    definition.matrix_rows.add(values=matrix.texts(row))
    return definition


def _definition(id: str, place: Place, names: Names, default_runner: str) -> JobDefinition:
    found, others = place.split(_KEYS)
    job = JobDefinition(
        id=id,
        needs=list(_needs(found)),
        runner=found["runner"].filled() if "runner" in found else default_runner,
        image=found["image"].filled() if "image" in found else "",
        workflow=_workflow(found["workflow"], names) if "workflow" in found else WORKFLOW,
        stage=found["stage"].filled() if "stage" in found else "",
        env=found["env"].variables() if "env" in found else {},
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
        wanted = found["services"].one_or_more()
        job.services.extend(each.reference("service", names.services) for each in wanted)
    if "source_files" in found:
        job.source_files.extend(names.files(found["source_files"]))
    return job


def _needs(members: dict[str, Place]) -> dict[str, Place]:
    found: dict[str, Place] = {}
    for each in members["needs"].one_or_more() if "needs" in members else ():
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
        if not isinstance(each.node, Mapping):
            job.packages.append(each.filled())
            continue
        found, others = each.split(_PACKAGE, ("name",))
        texts = {key: value.filled() for key, value in found.items()}
        job.package_specs.append(PackageSpec(**texts, extra=yaml_of(others)))


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
