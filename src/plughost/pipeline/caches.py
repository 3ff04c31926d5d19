"""Resolve named caches: copy key and paths of a cache into the steps that use it."""

from __future__ import annotations

from collections.abc import Iterable

from plughost_sdk.hook_caches import key_of
from plughost_sdk.hook_messages import CigenSchema, Step


def resolve(schema: CigenSchema) -> None:
    """Give the steps of *schema* that name a cache its key and paths, where they have none of their own."""
    keys = {name: key_of(name, schema) for name in schema.caches}
    for job in schema.jobs:
        _resolve(job.steps, schema, keys)
    for command in schema.commands.values():
        _resolve(command.steps, schema, keys)


def _resolve(steps: Iterable[Step], schema: CigenSchema, keys: dict[str, str]) -> None:
    for step in steps:
        if step.HasField("restore_cache") and step.restore_cache.name in keys:
            step.restore_cache.key = step.restore_cache.key or keys[step.restore_cache.name]
        elif step.HasField("save_cache") and step.save_cache.name in keys:
            save = step.save_cache
            save.key = save.key or keys[save.name]
            if not save.paths:
                save.paths.extend(schema.caches[save.name].paths)
