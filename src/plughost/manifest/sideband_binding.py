"""How a user names a `sideband` worker, to the binding that starts it. Starts nothing, and asks no interpreter.

A worker is a language (`python`, `r`), an interpreter of either, a virtual environment, a plugin of the project, or a
command. Where none is named, the Python of the project is meant: of the nearest `.venv` above the working directory,
then `python3` on the PATH, then this one. A file that is called like a language is named by its path: `./r`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import plughost_sdk

from ..errors import ManifestError
from . import document, project
from .binding import FILE_NAME, IN_CODE, USUAL_ENVIRONMENT, Binding, Environment, Limits, SidebandOptions
from .sideband_limits import SidebandLimits

CONTRACT = "sideband"
# The file and not its directory: Python would import a module for that, which takes longer.
WORKER = str(Path(plughost_sdk.__file__).with_name("sideband_worker") / "__main__.py")
R_WORKER = str(Path(plughost_sdk.__file__).with_name("sideband_worker_r") / "sideband_worker.R")
PYTHON = "python"
R = "r"
# Either takes a script, with other words; a version may be part of its name. `R` would show each line of the script.
R_PROGRAM = re.compile(r"R(?:script)?(?:-?[0-9][0-9.]*)?")
R_WORDS = {True: (R_WORKER,), False: ("--no-echo", "--no-restore", "--no-save", f"--file={R_WORKER}")}
NO_R = "Install R (r-base-core in Debian and Ubuntu, r in Homebrew), or name an Rscript program"
VENV = ".venv"
PROGRAMS = ("bin/python", "bin/python3")  # of a virtual environment
# What people's code expects to find, beside what every plugin is given.
PERSONAL_ENVIRONMENT = (
    "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "LC_CTYPE", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH", "MPLBACKEND", "MPLCONFIGDIR",
    "R_LIBS", "R_LIBS_USER", "R_LIBS_SITE", "R_ENVIRON_USER", "R_PROFILE_USER",
)  # fmt: skip

Worker = str | os.PathLike[str] | Sequence[str] | Binding


def bind(
    worker: Worker | None = None,
    *,
    name: str = "",
    cwd: str | os.PathLike[str] | None = None,
    limits: SidebandLimits | None = None,
    environment: Environment | None = None,
) -> Binding:
    """Return the binding of *worker*: whatever names one, the words of a command, or a binding.

    Without one, `find_python` chooses. *cwd* is where it runs: the current directory, or what a plugin says, otherwise.
    Raises ManifestError.
    """
    _check_types(name, cwd, limits, environment)
    where = Path(os.fsdecode(cwd if cwd is not None else Path())).absolute()
    if isinstance(worker, os.PathLike):
        worker = os.fsdecode(worker)  # a path may be bytes
    if isinstance(worker, str):
        worker = _plugin(where, worker) or _interpreter(where, worker)
    if isinstance(worker, Binding):
        return _checked(_changed(worker, name, None if cwd is None else where, limits, environment))
    return _checked(
        Binding(
            name=name or CONTRACT,
            contract=CONTRACT,
            command=_words((str(find_python(where)), WORKER) if worker is None else worker),
            directory=where,
            cwd=where,
            environment=environment or Environment(inherit=(*USUAL_ENVIRONMENT, *PERSONAL_ENVIRONMENT)),
            limits=limits or SidebandLimits(),
        )
    )


def _plugin(cwd: Path, name: str) -> Binding | None:
    """Return the worker that has a file of its own at *name*, or that the project of *cwd* calls so."""
    if not name or "\0" in name or name.lower() in (PYTHON, R):
        return None
    place = cwd / Path(name).expanduser()
    if os.path.isfile(place / FILE_NAME) or (place.suffix == ".toml" and os.path.isfile(place)):
        return project.read(place)
    if "/" in name or os.path.exists(place):
        return None
    entry = project.load(cwd).find(name)
    if entry is not None and entry.error is not None:
        raise entry.error
    return None if entry is None else entry.binding


def _interpreter(cwd: Path, name: str) -> tuple[str, ...]:
    """Return the command of our worker for the language or the interpreter that is called *name*."""
    if name.lower() == R:
        return _run_by_r(find_r(cwd))
    if name.lower() == PYTHON:
        return (str(find_python(cwd)), WORKER)
    program = find_python(cwd, name)
    return _run_by_r(program) if R_PROGRAM.fullmatch(program.name) else (str(program), WORKER)


def _run_by_r(program: Path) -> tuple[str, ...]:
    return (str(program), *R_WORDS[program.name.startswith("Rscript")])


def find_r(cwd: Path, environ: Mapping[str, str] | None = None) -> Path:
    """Return the `Rscript` that is on the PATH. Raises ManifestError if R is not installed."""
    path = (os.environ if environ is None else environ).get("PATH", os.defpath)
    found = shutil.which("Rscript", path=path)
    if found is None:
        raise _wrong("there is no Rscript on the PATH", NO_R)
    return cwd / found  # a PATH may be relative


def find_python(
    cwd: Path, named: str | os.PathLike[str] | None = None, environ: Mapping[str, str] | None = None
) -> Path:
    """Return the Python interpreter that is *named*, or the one that belongs to *cwd*.

    A name is a file, a virtual environment, or a program on the PATH. What is found and cannot be run is passed over;
    what is named and cannot be is a ManifestError. Symbolic links are kept: a virtual environment is one.
    """
    variables = os.environ if environ is None else environ
    path = variables.get("PATH", os.defpath)
    if named is not None:
        return _named(cwd, os.fspath(named), path)
    for directory in _upwards(cwd, variables.get("HOME", "")):
        for program in PROGRAMS:
            candidate = directory / VENV / program
            if _is_program(candidate):
                return candidate
    found = shutil.which("python3", path=path)
    if found is None and not sys.executable:
        raise _wrong("no Python was found", "Name an interpreter")
    return Path(found if found is not None else sys.executable).absolute()


def limits_of(binding: Binding) -> SidebandLimits:
    """Return the limits of *binding*: what is usual here, and what it says otherwise than is usual elsewhere."""
    known = binding.limits
    if isinstance(known, SidebandLimits):
        return known
    usual = Limits()
    names = (field for field in Limits.__struct_fields__ if getattr(known, field) != getattr(usual, field))
    return SidebandLimits(**{name: getattr(known, name) for name in names})


def _named(cwd: Path, name: str, path: str) -> Path:
    if not name or "\0" in name:
        raise _wrong(f"{name!r} names nothing", "Name an interpreter, or a virtual environment")
    place = cwd / Path(name).expanduser()
    if "/" not in name and not os.path.exists(place):
        found = shutil.which(name, path=path)
        if found is None:
            raise _wrong(f"there is no program {name!r} on the PATH", "Give its whole path")
        return Path(found).absolute()
    if os.path.isdir(place):
        for program in PROGRAMS:
            if _is_program(place / program):
                return place / program
        raise _wrong(f"{name} is no virtual environment", "Name one, or an interpreter")
    if not _is_program(place):
        raise _wrong(f"{name} is no program", "Name an interpreter, or a virtual environment")
    return place


def _upwards(cwd: Path, home: str) -> Iterator[Path]:
    """Yield *cwd* and what is above it, as far as the home directory; to the root if it is not below that."""
    for directory in (cwd, *cwd.parents):
        yield directory
        if home and directory == Path(home):
            return


def _is_program(path: Path) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _check_types(name: object, cwd: object, limits: object, environment: object) -> None:
    """Raise ManifestError for what is no such thing at all: whoever has no type checker is told as well."""
    known = (
        ("name", isinstance(name, str), name, "a str"),
        ("cwd", isinstance(cwd, str | os.PathLike | None), cwd, "a str or a path"),
        ("limits", isinstance(limits, Limits | None), limits, "SidebandLimits"),
        ("environment", isinstance(environment, Environment | None), environment, "an Environment"),
    )
    for key, fits, value, wanted in known:
        if not fits:
            raise ManifestError(IN_CODE, key, f"it is of type {type(value).__name__}", f"Give it {wanted}")


def _words(worker: object) -> tuple[str, ...]:
    words = tuple(worker) if isinstance(worker, Sequence) else ()
    if not words or not all(isinstance(word, str) for word in words) or not words[0].strip():
        raise _wrong("a command is a list of words", 'Give for example ["Rscript", "worker.R"]')
    return words


def _changed(
    binding: Binding,
    name: str,
    cwd: Path | None,
    limits: SidebandLimits | None,
    environment: Environment | None,
) -> Binding:
    said = {"name": name or None, "cwd": cwd, "limits": limits, "environment": environment}
    changed: Binding = msgspec.structs.replace(
        binding, **{key: value for key, value in said.items() if value is not None}
    )
    return changed


def _checked(binding: Binding) -> Binding:
    if binding.contract != CONTRACT:
        raise ManifestError(
            binding.source, "plugin.contract", f"{binding.contract!r} is not {CONTRACT}", "Bind a worker"
        )
    if not binding.command or any("\0" in word for word in (*binding.command, str(binding.cwd))):
        raise ManifestError(
            binding.source, "plugin.command", "empty, or with a NUL character", "Give a command"
        )
    document.hold(binding.limits, Limits, binding.source, "limits")
    document.hold(binding.environment, Environment, binding.source, "environment")
    document.hold(binding.sideband, SidebandOptions, binding.source, "sideband")
    checked: Binding = msgspec.structs.replace(binding, limits=limits_of(binding))
    return checked


def _wrong(problem: str, remedy: str) -> ManifestError:
    return ManifestError(IN_CODE, "worker", problem, remedy)
