"""What the file defines besides jobs (caches, commands, runners, services, workflows, outputs) to messages."""

from __future__ import annotations

from dataclasses import replace

from plughost_sdk.hook_messages import (
    WORKFLOW_CONDITION_KIND_ENV,
    WORKFLOW_CONDITION_KIND_EXPRESSION,
    WORKFLOW_CONDITION_KIND_PARAMETER,
    WORKFLOW_CONDITION_KIND_VARIABLE,
    CacheDefinition,
    CommandDefinition,
    CommandParameter,
    OutputConfig,
    RunnerDefinition,
    WorkflowCondition,
    WorkflowDefinition,
)

from . import steps
from .names import Names, Parameters
from .node import Mapping, Node, Scalar, mapping_of
from .place import Place, yaml_of

BACKEND = "native"  # of a cache that names none: whatever the provider has

_KINDS = {
    "parameter": WORKFLOW_CONDITION_KIND_PARAMETER,
    "variable": WORKFLOW_CONDITION_KIND_VARIABLE,
    "env": WORKFLOW_CONDITION_KIND_ENV,
    "expression": WORKFLOW_CONDITION_KIND_EXPRESSION,
}
_EQUALS = {"parameter": "true"}  # what is compared with where nothing is said


def cache(place: Place, names: Names) -> CacheDefinition:
    found = place.members(("paths", "key_parts", "backend"), ("paths",))
    paths = [each.filled() for each in found["paths"].one_or_more()]
    if not paths:
        raise found["paths"].wrong("no paths", "Name what is to be kept")
    return CacheDefinition(
        paths=paths,
        key_parts=names.files(found["key_parts"]) if "key_parts" in found else [],
        backend=found["backend"].name().lower() if "backend" in found else BACKEND,
    )


def runner(place: Place) -> RunnerDefinition:
    """Return what each provider is told of the runner at *place*: its keys, or those of its `provider_config`."""
    found = place.named()
    if list(found) == ["provider_config"]:
        found = found["provider_config"].named()
    return RunnerDefinition(provider_config=yaml_of(found))


def service(place: Place) -> Node:
    """Return the service at *place* as a mapping: an image alone stands for one."""
    if isinstance(place.node, Scalar):
        place.filled()
        return mapping_of({"image": place.node}, place.node)
    found, _ = place.split(("image", "env", "ports"), ("image",))
    found["image"].filled()
    if "env" in found:
        found["env"].variables()
    if "ports" in found:
        found["ports"].texts()
    return place.node


def workflow(id: str, place: Place) -> WorkflowDefinition:
    if isinstance(place.node, Scalar) and place.node.is_null:
        place = replace(place, node=mapping_of({}, place.node))
    found, _ = place.split(("run_when",))
    node = place.node
    assert isinstance(node, Mapping)  # else it could not be split
    rest = replace(node, entries={key: value for key, value in node.entries.items() if key != "run_when"})
    conditions = found["run_when"].items() if "run_when" in found else []
    return WorkflowDefinition(
        id=id, yaml=replace(place, node=rest).yaml(), run_when=[_condition(each) for each in conditions]
    )


def _condition(place: Place) -> WorkflowCondition:
    found = place.members((*_KINDS, "equals", "provider"))
    kinds = [kind for kind in _KINDS if kind in found]
    if len(kinds) != 1:
        remedy = f"Give it one of {', '.join(_KINDS)}"
        raise place.wrong(
            "a condition of no kind" if not kinds else f"both `{kinds[0]}` and `{kinds[1]}`", remedy
        )
    (kind,) = kinds
    if kind == "expression" and "equals" in found:
        raise found["equals"].wrong("an expression is compared with nothing", "Write it into the expression")
    subject = found[kind].filled()
    return WorkflowCondition(
        kind=_KINDS[kind],
        key="" if kind == "expression" else subject,
        expression=subject if kind == "expression" else "",
        equals_yaml=found["equals"].yaml() if "equals" in found else _EQUALS.get(kind, ""),
        provider=found["provider"].name() if "provider" in found else "",
    )


def parameters(place: Place) -> Parameters:
    """Return what the command at *place* may and must be given."""
    command, _ = place.split(("description", "parameters", "steps"), ("steps",))
    every = command["parameters"].named() if "parameters" in command else {}
    required = tuple(name for name, each in every.items() if "default" not in each.entries())
    return Parameters(tuple(every), required)


def command(place: Place, names: Names) -> CommandDefinition:
    found, others = place.split(("description", "parameters", "steps"), ("steps",))
    definition = CommandDefinition(
        description=found["description"].text() if "description" in found else "",
        steps=steps.read(found["steps"], names),
        extra=yaml_of(others),
    )
    if "parameters" in found:
        for name, each in found["parameters"].named().items():
            definition.parameters[name].CopyFrom(_parameter(each))
    return definition


def _parameter(place: Place) -> CommandParameter:
    found, others = place.split(("type", "description", "default"))
    return CommandParameter(
        type=found["type"].filled() if "type" in found else "string",
        description=found["description"].text() if "description" in found else "",
        default_yaml=found["default"].yaml() if "default" in found else "",
        extra=yaml_of(others),
    )


def output(place: Place, providers: tuple[str, ...]) -> OutputConfig:
    found = place.members(("provider", "path", "description"), ("provider", "path"))
    path = found["path"].filled()
    if path.startswith("/") or ".." in path.split("/"):
        raise found["path"].wrong("leads out of the output directory", "Give a path below it")
    provider = found["provider"]
    return OutputConfig(
        provider=provider.reference("provider", providers) if providers else provider.name(),
        path=path,
        description=found["description"].text() if "description" in found else "",
    )
