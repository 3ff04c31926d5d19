"""How a user names a `sideband` worker, to the binding that starts it. Starts nothing, and asks no interpreter.

A worker is a Python interpreter, a virtual environment, or a command. Where none is named, the Python of the project
is meant: of the nearest `.venv` above the working directory, then `python3` on the PATH, then this one.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import plughost_sdk

from ..errors import ManifestError
from .binding import IN_CODE, USUAL_ENVIRONMENT, Binding, Environment, Limits
from .sideband_limits import SidebandLimits

CONTRACT = "sideband"
# The file and not its directory: Python would import a module for that, which takes longer.
WORKER = str(Path(plughost_sdk.__file__).with_name("sideband_worker") / "__main__.py")
VENV = ".venv"
PROGRAMS = ("bin/python", "bin/python3")  # of a virtual environment
# What people's code expects to find, beside what every plugin is given.
PERSONAL_ENVIRONMENT = (
    "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "LC_CTYPE", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH", "MPLBACKEND", "MPLCONFIGDIR",
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
    """Return the binding of *worker*: an interpreter, a virtual environment, the words of a command, or a binding.

    Without one, `find_python` chooses. *cwd* is where it runs, the current directory otherwise. Raises ManifestError.
    """
    where = Path(cwd if cwd is not None else Path()).absolute()
    if isinstance(worker, Binding):
        return _checked(_renamed(worker, name, limits, environment))
    if worker is None or isinstance(worker, str | os.PathLike):
        command: tuple[str, ...] = (str(find_python(where, worker)), WORKER)
    else:
        command = _words(worker)
    return _checked(
        Binding(
            name=name or CONTRACT,
            contract=CONTRACT,
            command=command,
            directory=where,
            cwd=where,
            environment=environment or Environment(inherit=(*USUAL_ENVIRONMENT, *PERSONAL_ENVIRONMENT)),
            limits=limits or SidebandLimits(),
        )
    )


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


def _words(worker: Sequence[str]) -> tuple[str, ...]:
    words = tuple(worker)
    if not words or not all(isinstance(word, str) for word in words) or not words[0].strip():
        raise _wrong("a command is a list of words", 'Give for example ["Rscript", "worker.R"]')
    return words


def _renamed(
    binding: Binding, name: str, limits: SidebandLimits | None, environment: Environment | None
) -> Binding:
    changes = {"name": name or None, "limits": limits, "environment": environment}
    changed: Binding = msgspec.structs.replace(
        binding, **{key: value for key, value in changes.items() if value is not None}
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
    for table, part in (("limits", binding.limits), ("environment", binding.environment)):
        try:
            msgspec.convert(msgspec.to_builtins(part), type(part))
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            raise ManifestError(binding.source, table, str(error), "Give it what is expected") from error
    checked: Binding = msgspec.structs.replace(binding, limits=limits_of(binding))
    return checked


def _wrong(problem: str, remedy: str) -> ManifestError:
    return ManifestError(IN_CODE, "worker", problem, remedy)
