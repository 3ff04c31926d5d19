"""The services of jobs to Woodpecker's: containers that run beside all steps of a file."""

from __future__ import annotations

import re
from typing import Any

from plughost_sdk.hook_messages import JobDefinition

from .notes import Notes
from .raw import variables
from .well_known import image_of, known_service

Mapping = dict[str, Any]

KEYS = (
    "image",
    "environment",
    "ports",
    "volumes",
    "commands",
    "entrypoint",
    "privileged",
    "pull",
    "backend_options",
)


def services(jobs: list[JobDefinition], defined: Mapping, notes: Notes) -> list[Mapping]:
    """Return the services of *jobs*, each once. Raises ValueError."""
    names = dict.fromkeys(name for job in jobs for name in job.services)
    built = [_service(name, defined.get(name), notes) for name in names]
    if len({each["name"] for each in built}) != len(built):
        raise ValueError("two services would be reached by one name; define them under two")
    return built


def _service(name: str, defined: Any, notes: Notes) -> Mapping:
    given = {"image": defined} if isinstance(defined, str) else (defined or {})
    if not isinstance(given, dict):
        raise ValueError(f"service {name}: neither an image nor a mapping")
    if defined is None and known_service(image_of(name)) is None and not re.search("[:/]", name):
        hint = "Define it under `services` with its image"
        notes.warning(
            "WOODPECKER_SERVICE", f"the service {name!r} is not defined; its image is a guess", hint
        )
    given = {{"env": "environment"}.get(key, key): value for key, value in given.items()}
    for key in sorted(given.keys() - set(KEYS)):
        hint = f"Woodpecker knows {', '.join(KEYS)}; wait for the service in a command"
        notes.warning("WOODPECKER_SERVICE", f"service {name}: {key!r} is left out", hint)
    built = {"name": _name(name), "image": image_of(name)} | {key: given[key] for key in KEYS if key in given}
    if "environment" in built:
        built["environment"] = variables(built["environment"])
    if "ports" in built:  # which of the machine's ports it is has no meaning here
        ports = built["ports"] if isinstance(built["ports"], list) else [built["ports"]]
        built["ports"] = [str(each).rpartition(":")[2] for each in ports]
    known = known_service(str(built["image"]))
    if known and known.env:
        built.setdefault("environment", dict(known.env))
    return built


def _name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", name.rpartition("/")[2].partition(":")[0]) or "service"
