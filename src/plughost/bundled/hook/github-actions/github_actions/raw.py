"""Parts of the pipeline file that a provider reads from `raw_config_yaml`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from plughost_sdk.hook_messages import CigenSchema, PackageSpec

from .yaml_reader import is_null, read, read_mapping

NO_IMAGE = "ubuntu-latest"  # what hosts say where a job names no image
NO_STAGE = "default"  # what some hosts say where a job is in no stage

_VERSION = re.compile(r"\s*(?:@|==?|:)\s*[~^]?")
_SERVICES, _PACKAGES = (re.compile(f"^[\"']?{key}[\"']?:", re.MULTILINE) for key in ("services", "packages"))


def call(kind: str, text: str, what: str) -> dict[str, Any]:
    """Return what the step *text*, of one *kind*, is given. *what* names it in errors. Raises ValueError.

    A host sends all of a step, `kind: {…}`, or the word that it is; some send only what is below the kind.
    """
    try:
        value = read(text)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error
    if isinstance(value, dict) and list(value) == [kind]:
        value = value[kind]
    if value is None or is_null(value) or value == kind:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{what}: not a mapping")
    return value


def services(schema: CigenSchema) -> dict[str, Any]:
    """Return the services that are defined, by name. Raises ValueError."""
    if "services" in schema.provider_config:
        return read_mapping(schema.provider_config["services"], "services")
    found = _raw(schema, "services", _SERVICES) if any(job.services for job in schema.jobs) else None
    return found if isinstance(found, dict) else {}


def variables(value: Any) -> Any:
    """Return the variables of a service with texts as values. Some files have a list of them, `[NAME=value]`."""
    if isinstance(value, list):
        value = dict(str(each).partition("=")[::2] for each in value)
    return {key: str(each) for key, each in value.items()} if isinstance(value, dict) else value


def shared_packages(schema: CigenSchema) -> list[PackageSpec]:
    """Return the packages that every job is to have. Raises ValueError."""
    found = _raw(schema, "packages", _PACKAGES)
    listed = found if isinstance(found, list) else [found]
    return [
        _package(PackageSpec(name=each)) for each in listed if isinstance(each, str) and not is_null(each)
    ]


def packages(specs: list[PackageSpec], names: list[str]) -> list[PackageSpec]:
    """Return the packages of a job, each once: a host sends them whole, and their *names* besides, or one of these."""
    whole = {spec.name for spec in specs}
    return [
        _package(each) for each in [*specs, *(PackageSpec(name=name) for name in names if name not in whole)]
    ]


def _package(spec: PackageSpec) -> PackageSpec:
    """Return *spec* with the version that its name may end with."""
    name, *version = _VERSION.split(spec.name, maxsplit=1)
    if not version or spec.version:
        return spec
    split = PackageSpec()
    split.CopyFrom(spec)
    split.name, split.version = name, version[0]
    return split


def _raw(schema: CigenSchema, key: str, written: re.Pattern[str]) -> Any:
    text = schema.raw_config_yaml
    return (
        _top(text).get(key) if written.search(text) else None
    )  # most files have none, and reading takes long


@lru_cache(maxsize=1)  # every job asks
def _top(text: str) -> dict[str, Any]:
    return read_mapping(text, "the pipeline file")
