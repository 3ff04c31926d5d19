"""What a job asks for to the image its commands run in. Every step of Woodpecker is a container."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any

from plughost_sdk.hook_messages import CigenSchema, JobDefinition, PackageSpec

from . import matrix, raw
from .notes import Notes
from .yaml_reader import read

DEFAULT = "ubuntu:24.04"

LANGUAGES = {
    "python": ("python", "3"),
    "node": ("node", "lts"),
    "ruby": ("ruby", "3"),
    "go": ("golang", "1"),
    "rust": ("rust", "1"),
    "java": ("eclipse-temurin", "21"),
}
OTHER_NAMES = {
    "nodejs": "node",
    "npm": "node",
    "yarn": "node",
    "pnpm": "node",
    "pip": "python",
    "poetry": "python",
    "pipenv": "python",
    "uv": "python",
    "bundler": "ruby",
    "golang": "go",
    "cargo": "rust",
    "maven": "java",
    "gradle": "java",
}

_UBUNTU = re.compile(r"ubuntu-([\w.]+)")
_MACHINE = re.compile(r"(?:ubuntu|macos|windows)[^:/]*")
_FROM_MATRIX = re.compile(r"\$?\{\{\s*matrix\.([\w-]+)\s*\}\}")


@dataclass(frozen=True)
class Place:
    """Where the commands of a job run: the image, the agent by its labels, and what is installed first."""

    image: str
    labels: dict[str, Any]
    install: tuple[str, ...]


def place(job: JobDefinition, schema: CigenSchema, default: str, notes: Notes) -> Place:
    """Return where *job* runs. Raises ValueError."""
    runner = _runner(job, schema, notes)
    given = ("" if job.image == raw.NO_IMAGE else job.image) or str(runner.get("image", ""))
    machine = _is_machine(given, job)
    if machine and not _UBUNTU.fullmatch(given):
        hint = "Give the job an image, or a runner with labels for an agent of that kind"
        notes.warning("WOODPECKER_IMAGE", f"job {job.id}: {given!r} is a machine, not an image", hint)
    image, system = _from_packages(job, "" if machine else given, raw.shared_packages(schema), notes)
    if not image and (like := _UBUNTU.fullmatch(given)):
        image = f"ubuntu:{like[1]}"
    names = " ".join(map(shlex.quote, dict.fromkeys(system)))
    install = ("apt-get update", f"apt-get install --yes --no-install-recommends {names}") if names else ()
    return Place(image or default, runner.get("labels") or {}, install)


def _runner(job: JobDefinition, schema: CigenSchema, notes: Notes) -> dict[str, Any]:
    name = job.runner or schema.project.default_runner
    if not name or _is_machine(name, job):
        return {}
    config = schema.runners[name].provider_config if name in schema.runners else {}
    value = read(config["woodpecker"]) if "woodpecker" in config else None
    if not isinstance(value, dict) or not isinstance(value.get("labels", {}), dict):
        hint = "Write `woodpecker: {labels: {…}, image: …}` under the runner"
        notes.warning("WOODPECKER_RUNNER", f"the runner {name!r} says nothing here", hint)
        return {}
    for key in sorted(value.keys() - {"image", "labels"}):
        notes.warning("WOODPECKER_RUNNER", f"runner {name}: {key!r} is left out", "Write image or labels")
    return value


def _is_machine(text: str, job: JobDefinition) -> bool:
    """Say whether *text* names a machine of GitHub's, by itself or in every row of the matrix."""
    if found := _FROM_MATRIX.fullmatch(text):
        return all(_MACHINE.fullmatch(row.get(found[1], "")) for row in matrix.rows(job))
    return bool(_MACHINE.fullmatch(text))


def _from_packages(
    job: JobDefinition, image: str, shared: list[PackageSpec], notes: Notes
) -> tuple[str, list[str]]:
    """Return the image of the job's language if it has no image yet, and the packages of the system."""
    system = []
    for spec in [*raw.packages(list(job.package_specs), list(job.packages)), *shared]:
        language = _language(spec)
        if spec.manager == "apt":
            system.append(f"{spec.name}={spec.version}" if spec.version else spec.name)
        elif language and not image:
            name, newest = LANGUAGES[language]
            image = f"{name}:{spec.version or _matrix_version(language, job) or newest}"
        elif not language or not image.startswith((LANGUAGES[language][0], f"{language}:")):
            hint = "Give the job an image that has it"
            notes.warning(
                "WOODPECKER_PACKAGE",
                f"job {job.id}: {spec.name!r} may not be in {image or 'no image'!r}",
                hint,
            )
    return image, system


def _language(spec: PackageSpec) -> str:
    names = (OTHER_NAMES.get(name.lower(), name.lower()) for name in (spec.name, spec.manager))
    return next((name for name in names if name in LANGUAGES), "")


def _matrix_version(language: str, job: JobDefinition) -> str:
    for key in (language, f"{language}-version", f"{language}_version"):
        if key in matrix.keys(job):
            return matrix.reference(key)
    return ""
