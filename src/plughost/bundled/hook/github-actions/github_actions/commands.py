"""Steps that name a command of the schema to the steps of that command. Refuses calls that do not fit, loops and bombs.

`<< parameters.x >>` and `${{ parameters.x }}` stand for what the call gives. Values are put into texts that are
read already, never into YAML, so no value can become more than a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from typing import Any

from google.protobuf.message import Message
from plughost_sdk.hook_messages import CigenSchema, CommandDefinition, JobDefinition, Step

from .raw import call
from .yaml_reader import is_null, read
from .yaml_writer import write

DEPTH_LIMIT = 8  # commands that call commands; deeper is a loop or a riddle
STEP_LIMIT = 1000  # steps and calls of one job; a person writes a hundred, commands may multiply them
TEXT_LIMIT = (
    1_048_576  # bytes that commands add to one job; a parameter used twice in each of them doubles every time
)

_PARAMETER = re.compile(r"<<\s*parameters\.([\w-]+)\s*>>|\$\{\{\s*parameters\.([\w-]+)\s*\}\}")

Values = Mapping[str, str]


def expand(job: JobDefinition, schema: CigenSchema) -> list[Step]:
    """Return the steps of *job* with every command in the place of its call. Raises ValueError."""
    try:
        return list(_expand(job.steps, schema, {}, (), _Room()))
    except ValueError as error:
        raise ValueError(f"job {job.id}: {error}") from error


class _Room:
    """What one job may still take. Asked before anything is made, so that what has no room is never made."""

    def __init__(self) -> None:
        self._steps = STEP_LIMIT
        self._text = TEXT_LIMIT

    def take_step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise ValueError(f"more than {STEP_LIMIT} steps and calls")

    def take_text(self, size: int) -> None:
        self._text -= size
        if self._text < 0:
            raise ValueError(f"commands add more than {TEXT_LIMIT} bytes to it")


def _fill(value: Any, values: Values, room: _Room) -> Any:
    """Return *value* with the parameters in all of its texts replaced by *values*."""
    if not values:
        return value
    if isinstance(value, dict):
        return {key: _fill(each, values, room) for key, each in value.items()}
    if isinstance(value, list):
        return [_fill(each, values, room) for each in value]
    if not isinstance(value, str) or not _PARAMETER.search(value):
        return value  # as it is: a number keeps its spelling
    room.take_text(sum(len(values.get(_name(found), "").encode()) for found in _PARAMETER.finditer(value)))
    return _PARAMETER.sub(lambda found: values.get(_name(found), found[0]), value)


def _name(found: re.Match[str]) -> str:
    return found[1] or found[2]


def _expand(
    steps: Iterable[Step], schema: CigenSchema, values: Values, calls: tuple[str, ...], room: _Room
) -> Iterator[Step]:
    for step in steps:
        room.take_step()
        if calls:  # what stands in the job itself is as long as its author made it
            room.take_text(step.ByteSize())
        kind = step.custom.kind if step.WhichOneof("step_type") == "custom" else ""
        if kind in schema.commands:
            if kind in calls or len(calls) == DEPTH_LIMIT:
                raise ValueError(f"commands that call each other: {' -> '.join([*calls, kind])}")
            command = schema.commands[kind]
            said = _fill(call(kind, step.custom.yaml, f"call of {kind}"), values, room)
            given = _arguments(kind, command, said)
            yield from _expand(command.steps, schema, given, (*calls, kind), room)
        else:
            yield _filled(step, values, room)


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


def _filled(step: Step, values: Values, room: _Room) -> Step:
    """Return *step* with *values* in every text of it."""
    if not values:
        return step
    filled = Step()
    filled.CopyFrom(step)
    kind = step.WhichOneof("step_type")
    if kind == "custom":
        filled.custom.yaml = _filled_yaml(step.custom.yaml, values, room)
    elif kind is not None:
        replace_texts(filled, lambda text: _fill(text, values, room))
        for name in ("with", "extra"):  # maps of YAML
            before, after = (getattr(getattr(each, kind), name, {}) for each in (step, filled))
            for key in before:
                after[key] = _filled_yaml(before[key], values, room)
    return filled


def _filled_yaml(text: str, values: Values, room: _Room) -> str:
    """Return YAML *text* with *values* in the texts that it holds; if it is none, in itself."""
    try:
        value = read(text)
    except ValueError:
        value = text
    return write(_fill(value, values, room))  # with its last line feed, which a block at the end needs


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
