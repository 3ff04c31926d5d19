"""The services of a job to GitHub's. Well-known ones get a port, a health check and a way in without being told."""

from __future__ import annotations

import re
from typing import Any

from plughost_sdk.hook_messages import JobDefinition

from .notes import Notes
from .raw import variables
from .well_known import image_of, known_service

Mapping = dict[str, Any]

# A slow runner's database is up in 30 s.
HEALTH = "--health-interval 10s --health-timeout 5s --health-retries 10"
KEYS = ("image", "credentials", "env", "ports", "volumes", "options")


def services(job: JobDefinition, defined: Mapping, notes: Notes) -> Mapping:
    """Return the services of *job* by the name under which its steps find them. Raises ValueError."""
    built = {_id(name): _service(name, defined.get(name), notes) for name in job.services}
    if len(built) != len(set(job.services)):
        raise ValueError(f"job {job.id}: two services would be reached by one name; define them under two")
    return built


def _service(name: str, defined: Any, notes: Notes) -> Mapping:
    given = {"image": defined} if isinstance(defined, str) else (defined or {})
    if not isinstance(given, dict):
        raise ValueError(f"service {name}: neither an image nor a mapping")
    if defined is None and known_service(image_of(name)) is None and not re.search("[:/]", name):
        hint = "Define it under `services` with its image"
        notes.warning("GITHUB_SERVICE", f"the service {name!r} is not defined; its image is a guess", hint)
    given = {{"environment": "env"}.get(key, key): value for key, value in given.items()}
    for key in sorted(given.keys() - set(KEYS)):
        hint = f"GitHub knows {', '.join(KEYS)}"
        notes.warning("GITHUB_SERVICE", f"service {name}: {key!r} is left out", hint)
    built = {"image": image_of(name)} | {key: given[key] for key in KEYS if key in given}
    if "env" in built:
        built["env"] = variables(built["env"])
    for key in ("ports", "volumes"):
        if isinstance(built.get(key), str):
            built[key] = [built[key]]
    if isinstance(built.get("ports"), list):  # a port alone would be found under another number each time
        built["ports"] = [f"{each}:{each}" if str(each).isdigit() else str(each) for each in built["ports"]]
    return _completed(built)


def _completed(service: Mapping) -> Mapping:
    known = known_service(str(service["image"]))
    if known is None:
        return service
    service.setdefault("ports", [known.port])
    service.setdefault("options", f"--health-cmd {known.health} {HEALTH}")
    if known.env:
        service.setdefault("env", dict(known.env))
    return {key: service[key] for key in KEYS if key in service}


def _id(name: str) -> str:
    """Return *name* as a host name: `postgres:16` is reached as `postgres`."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", name.rpartition("/")[2].partition(":")[0]) or "service"
