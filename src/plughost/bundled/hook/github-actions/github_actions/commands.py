"""Steps that name a command of the schema to the steps of that command. Refuses calls that do not fit, and loops.

`<< parameters.x >>` and `${{ parameters.x }}` stand for what the call gives. Values are put into texts that are
read already, never into YAML, so no value can become more than a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from itertools import count
from typing import Any

from google.protobuf.message import Message
from plughost_sdk.hook_messages import CigenSchema, CommandDefinition, Step

from .yaml_reader import is_null, read, read_mapping
from .yaml_writer import write

DEPTH_LIMIT = 8  # commands that call commands; deeper is a loop or a riddle
STEP_LIMIT = 1000  # steps and calls of one job; a person writes a hundred, commands may multiply them

_PARAMETER = re.compile(r"<<\s*parameters\.([\w-]+)\s*>>|\$\{\{\s*parameters\.([\w-]+)\s*\}\}")

Values = Mapping[str, str]


def expand(steps: Iterable[Step], schema: CigenSchema) -> list[Step]:
    """Return *steps* with every command in the place of its call. Raises ValueError."""
    return list(_expand(steps, schema, {}, (), count(1)))


def fill(value: Any, values: Values) -> Any:
    """Return *value* with the parameters in all of its texts replaced by *values*."""
    if not values:
        return value
    if isinstance(value, dict):
        return {key: fill(each, values) for key, each in value.items()}
    if isinstance(value, list):
        return [fill(each, values) for each in value]
    if not isinstance(value, str) or not _PARAMETER.search(value):
        return value  # as it is: a number keeps its spelling
    return _PARAMETER.sub(lambda found: values.get(found[1] or found[2], found[0]), value)


def _expand(
    steps: Iterable[Step], schema: CigenSchema, values: Values, calls: tuple[str, ...], visited: Iterator[int]
) -> Iterator[Step]:
    for step in steps:
        if next(visited) > STEP_LIMIT:
            raise ValueError(f"a job of more than {STEP_LIMIT} steps and calls")
        kind = step.custom.kind if step.WhichOneof("step_type") == "custom" else ""
        if kind in schema.commands:
            if kind in calls or len(calls) == DEPTH_LIMIT:
                raise ValueError(f"commands that call each other: {' -> '.join([*calls, kind])}")
            command = schema.commands[kind]
            given = _arguments(kind, command, fill(read_mapping(step.custom.yaml, f"call of {kind}"), values))
            yield from _expand(command.steps, schema, given, (*calls, kind), visited)
        else:
            yield _filled(step, values)


def _arguments(name: str, command: CommandDefinition, given: dict[str, Any]) -> dict[str, str]:
    unknown = sorted(given.keys() - set(command.parameters))
    if unknown:
        raise ValueError(f"command {name} has no parameter {unknown[0]!r}")
    values = {}
    for key, parameter in sorted(command.parameters.items()):
        value = given.get(key)
        if value is None or is_null(value):
            value = read(parameter.default_yaml) if parameter.default_yaml else None
        if not isinstance(value, str):
            problem = "needs a value" if value is None else "is a text or number, not a list or mapping"
            raise ValueError(f"command {name}: the parameter {key!r} {problem}")
        values[key] = str(value)
    return values


def _filled(step: Step, values: Values) -> Step:
    """Return *step* with *values* in every text of it."""
    if not values:
        return step
    filled = Step()
    filled.CopyFrom(step)
    kind = step.WhichOneof("step_type")
    if kind == "custom":
        filled.custom.yaml = _filled_yaml(step.custom.yaml, values)
    elif kind is not None:
        replace_texts(filled, lambda text: fill(text, values))
        for name in ("with", "extra"):  # maps of YAML
            before, after = (getattr(getattr(each, kind), name, {}) for each in (step, filled))
            for key in before:
                after[key] = _filled_yaml(before[key], values)
    return filled


def _filled_yaml(text: str, values: Values) -> str:
    """Return YAML *text* with *values* in the texts that it holds; if it is none, in itself."""
    try:
        value = read(text)
    except ValueError:
        value = text
    return write(fill(value, values)).removesuffix("\n")


def replace_texts(message: Message, change: Callable[[str], str]) -> None:
    """Replace every text in *message* and below by what *change* makes of it. Keys of maps stay."""
    for field, value in message.ListFields():
        if isinstance(value, str):
            setattr(message, field.name, change(value))
        elif isinstance(value, Message):
            replace_texts(value, change)
        elif isinstance(value, (MutableMapping, MutableSequence)):
            _replace_each(value, change)


def _replace_each(container: Any, change: Callable[[str], str]) -> None:
    places = list(container) if isinstance(container, MutableMapping) else range(len(container))
    for place in places:
        if isinstance(container[place], str):
            container[place] = change(container[place])
        elif isinstance(container[place], Message):
            replace_texts(container[place], change)
