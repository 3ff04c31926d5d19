"""The packages of a job to the steps that set them up. Installs tools, not a project's own dependencies."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from plughost_sdk.hook_messages import CigenSchema, JobDefinition, PackageSpec

from . import matrix, raw
from .notes import Notes
from .paths import hash_files
from .yaml_reader import read_scalar

Mapping = dict[str, Any]


@dataclass(frozen=True)
class Language:
    """How GitHub sets up a language: the action, its input for the version, and what it can cache by manager."""

    action: str
    version: str
    default: str  # the version if nobody says one; empty where the action finds out by itself
    managers: dict[str, tuple[str, ...]]  # the files that a manager's cache depends on
    cached: frozenset[str] = frozenset()  # the managers whose name the action's input `cache` takes
    more: dict[str, Any] = field(default_factory=dict)


LANGUAGES = {
    "python": Language(
        "actions/setup-python@v5",
        "python-version",
        "3.x",
        {
            "pip": ("requirements*.txt", "pyproject.toml"),
            "pipenv": ("Pipfile.lock",),
            "poetry": ("poetry.lock",),
            "uv": (),
        },
        frozenset({"pip", "pipenv"}),  # for poetry it asks a poetry that is there already
    ),
    "node": Language(
        "actions/setup-node@v4",
        "node-version",
        "lts/*",
        {"npm": ("package-lock.json",), "yarn": ("yarn.lock",), "pnpm": ("pnpm-lock.yaml",)},
        frozenset({"npm", "yarn", "pnpm"}),
    ),
    "ruby": Language("ruby/setup-ruby@v1", "ruby-version", "", {"bundler": ()}, more={"bundler-cache": True}),
    "go": Language("actions/setup-go@v5", "go-version", "stable", {"gomod": ("go.sum",)}),
    "java": Language(
        "actions/setup-java@v4",
        "java-version",
        "21",
        {"maven": ("pom.xml",), "gradle": ("*.gradle*",)},
        frozenset({"maven", "gradle"}),
        more={"distribution": "temurin"},
    ),
}
RUST = "rust"  # rustup is on every runner; what is missing is a cache
IMAGES = {
    "go": "golang",
    "java": "eclipse-temurin",
}  # the official images; the others have the language's name
OTHER_NAMES = {"nodejs": "node", "golang": "go", "cargo": RUST}


def set_up(
    job: JobDefinition, schema: CigenSchema, notes: Notes, shared: Iterable[PackageSpec] = ()
) -> list[Mapping]:
    """Return the steps that set up what *job* asks for, and what all jobs *shared* have, each language once."""
    steps: list[Mapping] = []
    system: list[str] = []
    seen: set[str] = set()
    for spec in [*raw.packages(list(job.package_specs), list(job.packages)), *shared]:
        language = language_of(spec)
        if spec.manager == "apt":
            system.append(f"{spec.name}={spec.version}" if spec.version else spec.name)
        elif language and language not in seen and not _is_in_image(language, job.image):
            steps += _set_up(language, spec, job, schema)
        elif not language and spec.name not in seen:
            hint = "Say its manager (apt), or install it in a run step"
            notes.warning("GITHUB_PACKAGE", f"the package {spec.name!r} is not known", hint)
        seen.add(language or spec.name)
    if system:
        names = " ".join(map(shlex.quote, dict.fromkeys(system)))
        install = f"$sudo apt-get update\n$sudo apt-get install --yes --no-install-recommends {names}"
        command = f"sudo=$(command -v sudo || true)  # none in a container\n{install}"
        steps.insert(0, {"name": "Install packages", "run": command})
    return steps


def language_of(spec: PackageSpec) -> str:
    """Return the language that *spec* means by its name or its manager, or an empty text."""
    for name in (spec.name.lower(), spec.manager.lower()):
        name = OTHER_NAMES.get(name, name)
        if name == RUST or name in LANGUAGES:
            return name
        for language, each in LANGUAGES.items():
            if name in each.managers:
                return language
    return ""


def _is_in_image(language: str, image: str) -> bool:
    """Say whether *image* is the one that is made for *language*."""
    return image.rpartition("/")[2].partition(":")[0] == IMAGES.get(language, language)


def _set_up(language: str, spec: PackageSpec, job: JobDefinition, schema: CigenSchema) -> list[Mapping]:
    version = spec.version or _matrix_version(language, job)
    folder = spec.path.removeprefix("./").strip("/").removesuffix(".")
    if language == RUST:
        return _set_up_rust(version, folder)
    known = LANGUAGES[language]
    manager = next((each for each in (spec.manager.lower(), spec.name.lower()) if each in known.managers), "")
    manager = manager or next(iter(known.managers))
    inputs: Mapping = {known.version: version or known.default} if version or known.default else {}
    inputs |= known.more
    files = known.managers[manager]
    shown = [f"{folder}/{each}" for each in files] if folder else _shown(files, job, schema)
    if manager in known.cached and (spec.path or shown):  # without such a file the action fails
        inputs["cache"] = manager
    if shown and (manager in known.cached or language == "go"):
        inputs["cache-dependency-path"] = "\n".join(shown)
    elif folder and language == "ruby":
        inputs["working-directory"] = folder
    inputs |= {key: read_scalar(spec.extra[key]) for key in sorted(spec.extra)}
    steps = [{"name": f"Set up {language}", "uses": known.action, "with": inputs}]
    if manager == "pnpm":  # setup-node caches for a pnpm that is there already
        steps.insert(0, {"name": "Set up pnpm", "uses": "pnpm/action-setup@v4"})
    return steps


def _shown(files: tuple[str, ...], job: JobDefinition, schema: CigenSchema) -> list[str]:
    """Return the paths in the schema that are such *files*: it is all that is known of the repository here."""
    named = [*job.source_files, *job.skip_if.paths_unmodified]
    for name in sorted(schema.source_file_groups):
        named += schema.source_file_groups[name].values
    for name in sorted(schema.caches):
        named += schema.caches[name].key_parts
    paths = [path.removeprefix("./") for path in dict.fromkeys(named) if not path.startswith(("!", "@"))]
    return [path for path in paths if any(fnmatchcase(path.rpartition("/")[2], file) for file in files)]


def _set_up_rust(version: str, folder: str) -> list[Mapping]:
    inside = f"{folder}/" if folder else ""
    lock = hash_files([f"{inside or '**/'}Cargo.lock"])
    start = f"cargo-{version}-" if version else "cargo-"
    cache = {
        "path": f"~/.cargo/registry\n~/.cargo/git\n{inside}target",
        "key": f"{start}${{{{ runner.os }}}}-${{{{ {lock} }}}}",
        "restore-keys": f"{start}${{{{ runner.os }}}}-",
    }
    steps: list[Mapping] = [{"name": "Cache cargo", "uses": "actions/cache@v4", "with": cache}]
    if version:
        word = version if version.startswith("${{") else shlex.quote(version)
        command = f"rustup toolchain install {word} --profile minimal\nrustup default {word}"
        steps.insert(0, {"name": "Set up rust", "run": command})
    return steps


def _matrix_version(language: str, job: JobDefinition) -> str:
    """Return the version as the matrix has it, if one of its names is the language's."""
    keys = matrix.keys(job)
    for key in (language, f"{language}-version", f"{language}_version"):
        if key in keys:
            return matrix.reference(key)
    return ""
