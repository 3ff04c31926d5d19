"""Requests of the `hook` contract that are as long, as strange or as wrong as a request can be.

Each function turns a request, or the schema in it, into an odd one; what it is given is changed. Sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire

from ..contracts.hook.messages import EXCHANGES, Phase

FILL_NAME = "plughost-check-fill"  # of a part that only makes a request long
FILL_LINE = "echo " + "x" * 94 + "\n"
OUTSIDE = "../../plughost-check-escape"  # a workflow whose name would lead out of the output directory
NO_SUCH_VALUE = 99  # of any enum
# A field that nobody knows, in each way in which one can be spelled: number, 8 bytes, text, 4 bytes, message.
UNKNOWN = (
    b"\x80\xe2\x09\xff\xff\x03"  # 20 000: a number
    b"\x89\xe2\x09decoy!!!"  # 20 001: eight bytes
    b"\x92\xe2\x09\x05decoy"  # 20 002: a text
    b"\x9d\xe2\x09abcd"  # 20 003: four bytes
    b"\xa2\xe2\x09\x07\x0a\x05decoy"  # 20 004: a message
)
UNREADABLE = b"\x0a\x7fcut"  # its first field promises 127 bytes, and three follow


def empty(phase: Phase) -> Message:
    """Return a request for *phase* in which nothing is set: on the wire it is a length of 0."""
    return EXCHANGES[phase].request()


def with_unknown_fields(message: Message) -> Message:
    """Return *message* with fields that nobody knows in every part of it."""
    for part in parts(message):
        with_unknown_fields(part)
    message.MergeFromString(UNKNOWN)
    return message


def with_unknown_values(request: Message) -> Message:
    """Return *request* with values of enums that nobody knows, where there is room for them."""
    schema = getattr(request, "schema", None)
    if isinstance(schema, wire.CigenSchema):
        for workflow in schema.workflows:
            workflow.run_when.add(key="plughost-check", kind=NO_SUCH_VALUE)
    if isinstance(request, wire.GenerateRequest):
        request.graph.add(id="plughost-check", type=NO_SUCH_VALUE)
    if isinstance(request, wire.ValidateRequest):
        for fragment in request.rendered:
            fragment.strategy = NO_SUCH_VALUE
    if isinstance(request, wire.PreflightRequest):
        request.repo_state.changes.add(path="README.md", type=NO_SUCH_VALUE)
    return request


def filled(request: Message, size: int) -> Message:
    """Return *request* made *size* bytes long, by a part that changes nothing. One that is longer stays as it is."""

    def fill(length: int) -> None:
        if isinstance(request, wire.PlanRequest | wire.GenerateRequest):
            request.facts[FILL_NAME] = "x" * length
        elif isinstance(request, wire.DetectRequest):
            request.repo.file_cache[FILL_NAME] = b"x" * length
        elif isinstance(request, wire.ValidateRequest):
            rendered = [each for each in request.rendered if each.path != FILL_NAME]
            del request.rendered[:]
            request.rendered.extend([*rendered, wire.Fragment(path=FILL_NAME, content="x" * length)])
        elif isinstance(request, wire.PreflightRequest):
            request.repo_state.env[FILL_NAME] = "x" * length

    return _stretched(request, size, fill)


def swollen(request: Message, size: int) -> Message:
    """Return *request* made *size* bytes long by the command of a job: what is made of it is longer still."""
    schema = getattr(request, "schema", None)
    if not isinstance(schema, wire.CigenSchema):
        return request
    del schema.jobs[1:]
    if not schema.jobs:
        schema.jobs.add(id="swollen")
    job = schema.jobs[0]
    del job.steps[:], job.needs[:]
    step = job.steps.add()

    def fill(length: int) -> None:
        step.run.command = (FILL_LINE * (length // len(FILL_LINE) + 1))[:length]

    return _stretched(request, size, fill)


def _stretched(request: Message, size: int, fill: Callable[[int], None]) -> Message:
    """Return *request* at exactly *size* bytes, as far as *fill* can bring it there."""
    fill(0)
    length = size - request.ByteSize()
    if length <= 0:
        return request
    fill(length)
    while (over := request.ByteSize() - size) > 0:  # the lengths that the parts begin with have grown
        length -= over
        fill(length)
    return request


def leading_out(schema: wire.CigenSchema) -> wire.CigenSchema:
    """Return *schema* with workflows whose names lead out of the output directory."""
    for workflow in schema.workflows:
        workflow.id = OUTSIDE
    for job in schema.jobs:
        job.workflow = OUTSIDE
    return schema


def broken(schema: wire.CigenSchema) -> wire.CigenSchema:
    """Return *schema* with what no reader of pipelines would let through."""
    schema.version = "no number"
    schema.raw_config_yaml = "{ this: [is no YAML"
    for workflow in schema.workflows:
        workflow.yaml = "]: nor is this"
    schema.jobs.add()  # without an id, a step or anything else
    job = schema.jobs.add(id="broken", needs=["nowhere", "broken"], runner="none", services=["none"])
    job.steps.add()  # of no kind
    job.steps.add().uses.module = "@@"
    job.steps.add().restore_cache.name = "none"
    job.steps.add().custom.yaml = "{"
    job.extra["broken"] = "[1, 2"
    job.matrix["empty"].SetInParent()
    return schema


def parts(message: Message) -> Iterator[Message]:
    """Yield the messages that *message* holds, but not those in them."""
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        if descriptor.message_type.GetOptions().map_entry:
            values = [value[key] for key in value]
            yield from (each for each in values if isinstance(each, Message))
        elif isinstance(value, Message):
            yield value
        else:
            yield from value
