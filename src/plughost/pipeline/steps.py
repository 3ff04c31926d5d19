"""The steps of a job or command to messages. Refuses a step that is two things or none, and unknown caches."""

from __future__ import annotations

from dataclasses import replace

from plughost_sdk.hook_messages import CustomStep, RestoreCacheStep, RunStep, SaveCacheStep, Step, UsesStep

from .names import Names
from .node import Mapping, Scalar, mapping_of
from .place import Place, yaml_of

# `id` is no part of any message: an expression that names a step by it is not understood.
_RUN = ("run", "name", "env", "environment", "if", "id")
_COMMAND = ("command", "name", "env", "environment", "if")  # of a `run` that is a mapping
_USES = ("uses", "name", "with", "if", "id")
_RESTORE = ("name", "key", "keys", "restore_keys")
_SAVE = ("name", "key", "paths")
_KINDS = ("run", "uses", "restore_cache", "save_cache")
# Steps of CircleCI's that are written as one word. Any other text is a command of this file, or else of a shell.
_WORDS = frozenset(("checkout", "setup_remote_docker", "add_ssh_keys"))


def read(place: Place, names: Names) -> list[Step]:
    """Return the steps at *place*, a list. Raises ManifestError."""
    return [_step(each, names) for each in place.items()]


def _step(place: Place, names: Names) -> Step:
    if isinstance(place.node, Scalar):
        text = place.filled()
        if text in names.commands or text in _WORDS:
            return Step(custom=_custom(text, replace(place, node=Scalar("")), place, names))
        return Step(run=RunStep(command=text))
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
    return Step(custom=_custom(kind, value, place, names))


def _run(place: Place) -> RunStep:
    found = place.members(_RUN)
    command = found.pop("run")
    if isinstance(command.node, Mapping):
        inner = command.members(_COMMAND, ("command",))
        command = inner.pop("command")
        for key in inner.keys() & found.keys():
            raise inner[key].wrong(f"`{key}` a second time", "Keep one of them")
        found |= inner
    step = RunStep(name=_text(found, "name"), command=command.filled())
    env = place.either(found, "env", "environment")
    if env is not None:
        step.env.update(env.variables())
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
    keys = found["keys"].texts() if "keys" in found else []
    return RestoreCacheStep(
        name=_cache(found, names, "key" in found or bool(keys)),
        key=_text(found, "key") or next(iter(keys), ""),
        keys=keys,
        restore_keys=found["restore_keys"].texts() if "restore_keys" in found else [],
        extra=yaml_of(others),
    )


def _save(place: Place, names: Names) -> SaveCacheStep:
    found, others = place.split(_SAVE)
    is_whole = {"key", "paths"} <= found.keys()
    if "name" not in found and not is_whole:
        raise place.wrong("which cache?", "Give `name`, one of `caches`, or a `key` and `paths`")
    return SaveCacheStep(
        name=_cache(found, names, is_whole),
        key=_text(found, "key"),
        paths=found["paths"].texts() if "paths" in found else [],
        extra=yaml_of(others),
    )


def _custom(kind: str, value: Place, step: Place, names: Names) -> CustomStep:
    """Return a step that a command of this file, or else the provider, knows. All of the *step* is passed on."""
    if not kind.strip():
        raise value.wrong("a step without a kind", f"Give it one of {', '.join(_KINDS)}")
    command = names.commands.get(kind)
    if command is not None:
        nothing = isinstance(value.node, Scalar) and value.node.is_null
        given = replace(value, node=mapping_of({}, value.node)) if nothing else value
        given.members(command.known, command.required)
    return CustomStep(kind=kind, yaml=step.yaml())


def _spelled_out(place: Place) -> Place:
    """Return the mapping that a cache's name alone stands for."""
    if not isinstance(place.node, Scalar) or place.node.is_null:
        return place
    return replace(place, node=mapping_of({"name": place.node}, place.node))


def _cache(found: dict[str, Place], names: Names, is_whole: bool) -> str:
    """Return the name of a cache of this file; of a step that says all by itself, any name will do."""
    if "name" not in found:
        return ""
    return found["name"].text() if is_whole else found["name"].reference("cache", names.caches)


def _text(found: dict[str, Place], key: str) -> str:
    return found[key].text() if key in found else ""
