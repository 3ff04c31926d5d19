"""The tree of a pipeline file to the schema that providers are given, as written and with its matrices expanded.

Everything is checked here, the rows of every matrix too, so that whoever holds a schema has nothing left to fear.
"""

from __future__ import annotations

from collections.abc import Mapping as Sections
from dataclasses import dataclass, replace

from plughost_sdk.hook_messages import CigenSchema, ProjectConfig

from . import caches, definitions, graph, jobs
from .names import GROUP, Names
from .node import Mapping
from .place import Place, yaml_of

VERSION = "1"  # of the file's format, and what the schema says
SCRATCH = "x-"  # begins the top-level keys that hold only what is named by anchors
PROVIDERS = (
    "github",
    "circleci",
    "woodpecker",
    "buildkite",
)  # have a top-level key of their own, and so has every provider that is listed
OTHER_NAMES = {"github-actions": "github"}  # of providers, where one is named alone

_KEYS = (
    "version",
    "project",
    "variables",
    "provider",
    "providers",
    "provider_config",
    "packages",
    "jobs",
    "caches",
    "runners",
    "workflows",
    "commands",
    "services",
    "source_file_groups",
    "outputs",
)


@dataclass(frozen=True, slots=True)
class Schemas:
    """What a file says: *native* with matrices, *expanded* without; the expanded jobs in *order*."""

    native: CigenSchema
    expanded: CigenSchema
    order: tuple[str, ...]
    providers: tuple[str, ...]


def read(place: Place, raw: str) -> Schemas:
    """Return the schemas of the file whose tree is at *place*; *raw* is what of it is sent as it is.

    Raises ManifestError.
    """
    providers = _providers(place)
    sections = _sections(place, providers)
    names = _names(sections)
    native = _definitions(sections, names, providers)
    native.raw_config_yaml = raw
    found = jobs.read(sections["jobs"], names)
    expanded = CigenSchema()
    expanded.CopyFrom(native)
    native.jobs.extend(each.native for each in found)
    expanded.jobs.extend(jobs.expanded(found, names))
    for each in (native, expanded):
        caches.resolve(each)
    return Schemas(native, expanded, tuple(each.id for each in expanded.jobs), providers)


def _providers(place: Place) -> tuple[str, ...]:
    found: dict[str, None] = {}
    members = place.entries()
    listed = members.get("providers")
    if listed is None and "provider" in members:
        name = members["provider"].name()
        return (OTHER_NAMES.get(name, name),)
    for each in listed.one_or_more() if listed is not None else ():
        name = each.name()
        if name in found:
            raise each.wrong(f"`{name}` a second time", "Keep one of them")
        if name in _KEYS or name.startswith(SCRATCH):
            raise each.wrong(f"`{name}` has a meaning of its own in this file", "Rename the provider")
        found[name] = None
    return tuple(found)


def _sections(place: Place, providers: tuple[str, ...]) -> dict[str, Place]:
    """Return the top-level values by key, without those that only a provider knows: it has them as they are.

    A key that is nearly a known one is refused.
    """
    node = place.node
    assert isinstance(node, Mapping)
    entries = {key: value for key, value in node.entries.items() if not key.startswith(SCRATCH)}
    known = (*_KEYS, *dict.fromkeys((*PROVIDERS, *providers)))
    return replace(place, node=replace(node, entries=entries)).split(known, ("jobs",))[0]


def _definitions(sections: Sections[str, Place], names: Names, providers: tuple[str, ...]) -> CigenSchema:
    """Return the schema without its jobs."""
    if "version" in sections and sections["version"].text() != VERSION:
        raise sections["version"].wrong("a version that is not known", f'Write "{VERSION}"')
    schema = CigenSchema(version=VERSION)
    if "project" in sections:
        project = sections["project"].members(("name", "default_runner", "type"))
        texts = {key: value.filled() for key, value in project.items() if key != "type"}
        schema.project.CopyFrom(ProjectConfig(**texts))
    if "variables" in sections:
        schema.variables.update({name: each.text() for name, each in sections["variables"].named().items()})
    for name, each in _named(sections, "caches").items():
        schema.caches[name].CopyFrom(definitions.cache(each, names))
    for name, each in _named(sections, "runners").items():
        schema.runners[name].CopyFrom(definitions.runner(each))
    for name, each in _named(sections, "commands").items():
        schema.commands[name].CopyFrom(definitions.command(each, names))
    for name, each in _named(sections, "source_file_groups").items():
        schema.source_file_groups[name].values.extend(names.files(each))
    for name, each in _named(sections, "workflows").items():
        schema.workflows.append(definitions.workflow(name, each))
    for each in sections["outputs"].items() if "outputs" in sections else ():
        schema.outputs.append(definitions.output(each, providers))
    if "packages" in sections:
        sections["packages"].texts()
    schema.provider_config.update(_provider_config(sections))
    _refuse_circles(sections, schema)
    return schema


def _names(sections: Sections[str, Place]) -> Names:
    commands = _named(sections, "commands")
    return Names(
        caches=frozenset(_named(sections, "caches")),
        services=frozenset(_named(sections, "services")),
        groups=frozenset(_named(sections, "source_file_groups")),
        workflows=frozenset(_named(sections, "workflows")),
        commands={name: definitions.parameters(each) for name, each in commands.items()},
    )


def _named(sections: Sections[str, Place], key: str) -> dict[str, Place]:
    return sections[key].named() if key in sections else {}


def _provider_config(sections: Sections[str, Place]) -> dict[str, str]:
    """Return the YAML of each provider's own key, and of the services, for which the schema has no message."""
    own = _named(sections, "provider_config")
    for key, place in sections.items():
        if key not in _KEYS:
            place.entries()
            own[key] = place
    found = yaml_of(own)
    if "services" in sections:
        place = sections["services"]
        services = {name: definitions.service(each) for name, each in place.named().items()}
        assert isinstance(place.node, Mapping)  # else it had no names
        found["services"] = replace(place, node=replace(place.node, entries=services)).yaml()
    return found


def _refuse_circles(sections: Sections[str, Place], schema: CigenSchema) -> None:
    """Refuse groups of source files that hold each other, and commands that run each other."""
    groups = {
        name: [
            each.removeprefix(GROUP)
            for each in schema.source_file_groups[name].values
            if each.startswith(GROUP)
        ]
        for name in _named(sections, "source_file_groups")
    }
    commands = {
        name: [
            each.custom.kind
            for each in schema.commands[name].steps
            if each.HasField("custom") and each.custom.kind in schema.commands
        ]
        for name in _named(sections, "commands")
    }
    for key, needs in (("source_file_groups", groups), ("commands", commands)):
        circle = graph.circle(needs)
        if circle:
            where = sections[key].named()[circle[0]]
            raise where.wrong(f"{graph.drawn(circle)}: it holds itself", "Take one of these out")
