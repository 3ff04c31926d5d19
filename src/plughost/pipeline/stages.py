"""Job ids, stages and dependencies of jobs that are loaded from a directory.

A workflow may list its `stages`, with those that each `needs`: every job of a stage then needs all jobs of these. With
`stage_prefix: true` a job's id begins with its stage, and `stage_prefix_separator`, which is `_` by default. A job in
no stage is in that of the name `default`, whose prefix is `default_stage_prefix`.
"""

from __future__ import annotations

from collections.abc import Mapping as Names
from dataclasses import dataclass, replace

from .node import Mapping, Node, Scalar, Sequence
from .place import Place

_NEEDS = ("needs", "requires")
_PREFIX, _DEFAULT_PREFIX = "stage_prefix", "default_stage_prefix"
_SEPARATOR = "_"
_DEFAULT = "default"  # the stage of jobs that are in no other, where it is named


@dataclass(frozen=True, slots=True)
class Part:
    """A job as it was found: its workflow, its path below `jobs` without a suffix, and what its file says."""

    workflow: str
    path: tuple[str, ...]
    tree: Mapping

    @property
    def stage(self) -> str:
        """The first directory below `jobs`; none for a job that is in no other."""
        return self.path[0] if len(self.path) > 1 else ""


@dataclass(frozen=True, slots=True)
class _Order:
    """What a workflow says of its stages."""

    needs: dict[str, list[str]]
    prefix: bool
    default_prefix: bool
    separator: str


def arranged(parts: list[Part], workflows: Names[str, Node]) -> dict[str, Node]:
    """Return the jobs by id, with workflow, stage and all that they need. Raises ManifestError."""
    orders = {name: _order(name, node) for name, node in workflows.items()}
    ids: dict[str, Part] = {}
    for part in parts:
        order = orders[part.workflow]
        if order.prefix or order.needs:
            _refuse_stages_of_rows(part)
        name = _id(part, order)
        if name in ids:
            problem = f"a second job `{name}`, after that in {ids[name].tree.source}"
            remedy = "Rename one of the files, or give the workflow `stage_prefix: true`"
            raise Place(part.tree, "", part.tree.source).wrong(problem, remedy)
        ids[name] = part
    return {name: _job(name, part, ids, orders[part.workflow]) for name, part in ids.items()}


def refuse_in_a_file(tree: Mapping, source: str) -> None:
    """Refuse workflows of *tree*, a whole file, that order stages: only the parts of a directory have such an order."""
    workflows = tree.entries.get("workflows")
    found = Place(workflows, "workflows", source).entries() if isinstance(workflows, Mapping) else {}
    for workflow in found.values():
        said = workflow.entries() if isinstance(workflow.node, Mapping) else {}
        stages = said["stages"].one_or_more() if "stages" in said else []
        orders = [each.entries().get("needs") for each in stages if isinstance(each.node, Mapping)]
        orders += [said[key] for key in (_PREFIX, _DEFAULT_PREFIX) if _is_true(said, key)]
        for each in orders:
            if each is not None:
                remedy = "Make a directory of parts of it, or write into each job what it needs"
                raise each.wrong("stages have no order in a single file", remedy)


def _order(name: str, node: Node) -> _Order:
    place = Place(node, f"workflows.{name}", node.source)
    said = place.entries() if isinstance(node, Mapping) else {}
    needs: dict[str, list[str]] = {}
    for each in said["stages"].items() if "stages" in said else ():
        found = each.members(("name", "needs"), ("name",))
        needs[found["name"].filled()] = found["needs"].texts() if "needs" in found else []
    return _Order(
        needs,
        prefix=_is_true(said, _PREFIX),
        default_prefix=_is_true(said, _DEFAULT_PREFIX),
        separator=said["stage_prefix_separator"].text() if "stage_prefix_separator" in said else _SEPARATOR,
    )


def _is_true(said: dict[str, Place], key: str) -> bool:
    node = said[key].node if key in said else None
    return isinstance(node, Scalar) and node.text.lower() == "true"


def _refuse_stages_of_rows(part: Part) -> None:
    """Refuse a matrix whose rows are in stages of their own: a job has one, by its directory."""
    place = Place(part.tree, "", part.tree.source)
    matrix = place.entries().get("matrix")
    if matrix is None:
        return
    for each in matrix.one_or_more():
        stage = each.entries().get("stage") if isinstance(each.node, Mapping) else None
        if stage is not None:
            remedy = "Write the job into the directory of each stage, or rename the key"
            raise stage.wrong("a stage in a matrix, where the workflow orders its stages", remedy)


def _id(part: Part, order: _Order) -> str:
    stage, name = part.stage or _DEFAULT, part.path[-1]
    is_prefixed = order.default_prefix if stage == _DEFAULT else order.prefix
    return f"{stage}{order.separator}{name}" if is_prefixed else name


def _job(name: str, part: Part, ids: dict[str, Part], order: _Order) -> Node:
    """Return the tree of the job *name*, which says now what its place in the directory means."""
    tree = part.tree
    own = {key: value for key, value in tree.entries.items() if key not in _NEEDS}
    said: dict[str, Node] = {**own, "workflow": _word(part.workflow, tree)}
    if part.stage:
        said["stage"] = _word(part.stage, tree)
    needs: dict[str, Node] = {}
    written = next((tree.entries[key] for key in _NEEDS if key in tree.entries), None)
    if written is not None:
        for each in Place(written, f"jobs.{name}.needs", tree.source).one_or_more():
            needs.setdefault(_needed(each.text(), part, ids), replace(each.node, source=tree.source))
    before = order.needs.get(part.stage or _DEFAULT, ())
    for each_id, other in ids.items():
        if other.workflow == part.workflow and (other.stage or _DEFAULT) in before:
            needs.setdefault(each_id, _word(each_id, tree))
    if needs:
        items = (replace(node, text=wanted) for wanted, node in needs.items() if isinstance(node, Scalar))
        said["needs"] = Sequence(tuple(items), tree.line, tree.column, tree.source)
    keys = {key: tree.keys.get(key, Scalar(key)) for key in said}
    return replace(tree, entries=said, keys=keys)


def _needed(written: str, part: Part, ids: dict[str, Part]) -> str:
    """Return the id of the job that *written* means to *part*: an id, a path, or a neighbour's name."""
    if written in ids and (ids[written].workflow == part.workflow or len(ids[written].path) == 1):
        return written
    wanted = (tuple(written.split("/")), (*part.path[:-1], *written.split("/")))
    near = sorted(ids.items(), key=lambda each: each[1].workflow != part.workflow)
    return next((name for name, other in near if other.path in wanted), written)


def _word(text: str, like: Mapping) -> Scalar:
    return Scalar(text, "'", like.line, like.column, like.source)
