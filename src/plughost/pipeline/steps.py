"""The steps of a job or command to messages. Refuses a step that is two things or none, and unknown caches."""

from __future__ import annotations

from dataclasses import replace

from plughost_sdk.hook_messages import CustomStep, RestoreCacheStep, RunStep, SaveCacheStep, Step, UsesStep

from .names import Names
from .node import Scalar, mapping_of
from .place import Place, yaml_of

_RUN = ("run", "name", "env", "if")
_USES = ("uses", "name", "with", "if")
_RESTORE = ("name", "key", "keys", "restore_keys")
_SAVE = ("name", "key", "paths")
_KINDS = ("run", "uses", "restore_cache", "save_cache")


def read(place: Place, names: Names) -> list[Step]:
    """Return the steps at *place*, a list. Raises ManifestError."""
    return [_step(each, names) for each in place.items()]


def _step(place: Place, names: Names) -> Step:
    if isinstance(place.node, Scalar):
        return Step(run=RunStep(command=place.filled()))
    entries = place.entries()
    kinds = [kind for kind in _KINDS if kind in entries]
    if len(kinds) > 1:
        raise place.wrong(f"both `{kinds[0]}` and `{kinds[1]}`", "Make two steps of it")
    if kinds == ["run"]:
        return Step(run=_run(place))
    if kinds == ["uses"]:
        return Step(uses=_uses(place))
    if len(entries) != 1:
        remedy = f"Give it one of {', '.join(_KINDS)}, or one key of a provider's"
        raise place.wrong(f"a step of {len(entries)} keys and no known kind", remedy)
    members, others = place.split(_KINDS)  # refuses what is nearly one of them
    if "restore_cache" in members:
        return Step(restore_cache=_restore(_spelled_out(members["restore_cache"]), names))
    if "save_cache" in members:
        return Step(save_cache=_save(_spelled_out(members["save_cache"]), names))
    ((kind, value),) = others.items()
    return Step(custom=_custom(kind, value, names))


def _run(place: Place) -> RunStep:
    found = place.members(_RUN)
    step = RunStep(name=_text(found, "name"), command=found["run"].filled())
    if "env" in found:
        step.env.update(found["env"].variables())
    if "if" in found:
        setattr(step, "if", found["if"].text())
    return step


def _uses(place: Place) -> UsesStep:
    found = place.members(_USES)
    step = UsesStep(name=_text(found, "name"), module=found["uses"].filled())
    if "with" in found:
        getattr(step, "with").update(found["with"].yaml_map())
    if "if" in found:
        setattr(step, "if", found["if"].text())
    return step


def _restore(place: Place, names: Names) -> RestoreCacheStep:
    found, others = place.split(_RESTORE)
    if not found.keys() & {"name", "key", "keys"}:
        raise place.wrong("which cache?", "Give `name`, one of `caches`, or a `key`")
    return RestoreCacheStep(
        name=_cache(found, names),
        key=_text(found, "key"),
        keys=found["keys"].texts() if "keys" in found else [],
        restore_keys=found["restore_keys"].texts() if "restore_keys" in found else [],
        extra=yaml_of(others),
    )


def _save(place: Place, names: Names) -> SaveCacheStep:
    found, others = place.split(_SAVE)
    if "name" not in found and not {"key", "paths"} <= found.keys():
        raise place.wrong("which cache?", "Give `name`, one of `caches`, or a `key` and `paths`")
    return SaveCacheStep(
        name=_cache(found, names),
        key=_text(found, "key"),
        paths=found["paths"].texts() if "paths" in found else [],
        extra=yaml_of(others),
    )


def _custom(kind: str, value: Place, names: Names) -> CustomStep:
    """Return a step that a command of this file, or else the provider, knows."""
    if not kind.strip():
        raise value.wrong("a step without a kind", f"Give it one of {', '.join(_KINDS)}")
    command = names.commands.get(kind)
    if command is not None:
        nothing = isinstance(value.node, Scalar) and value.node.is_null
        given = replace(value, node=mapping_of({}, value.node)) if nothing else value
        given.members(command.known, command.required)
    return CustomStep(kind=kind, yaml=value.yaml())


def _spelled_out(place: Place) -> Place:
    """Return the mapping that a cache's name alone stands for."""
    if not isinstance(place.node, Scalar) or place.node.is_null:
        return place
    return replace(place, node=mapping_of({"name": place.node}, place.node))


def _cache(found: dict[str, Place], names: Names) -> str:
    return found["name"].reference("cache", names.caches) if "name" in found else ""


def _text(found: dict[str, Place], key: str) -> str:
    return found[key].text() if key in found else ""
