"""The binding: what the host, not the plugin, says about a plugin. Turns `plugin.toml` into one frozen value.

It refuses what could not work (no name, no command, a bad capability) before anything is started.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, field

from ..capabilities.allow_list import flaw
from ..errors import ManifestError
from . import document
from .sideband_snippets import Snippets

FILE_NAME = "plugin.toml"
CONTRACTS = ("execute", "envelope", "hook", "duplex", "sideband")  # those that this version speaks
COMMAND_LINE = "(command line)"
IN_CODE = "(given in code)"
PYTHON_WORDS = (
    "python",
    "python3",
)  # as the first of a command: the interpreter that runs the host, isolated
USUAL_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TZ")

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Count = Annotated[int, Meta(gt=0, le=2**31)]


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """Every number that bounds a plugin. Seconds, bytes, or what the name says."""

    timeout_s: Seconds = 5.0  # a whole invocation, spawn to exit
    launch_s: Seconds = 2.0
    handshake_s: Seconds = 2.0
    teardown_s: Seconds = 0.5  # to exit by itself after the answer
    terminate_s: Seconds = 0.5  # between SIGTERM and SIGKILL
    reap_s: Seconds = 2.0  # for the kernel to take it away after SIGKILL
    line_bytes: Count = 1_048_576  # one protocol line, either way
    frame_bytes: Annotated[int, Meta(gt=0, le=10_485_760)] = 10_485_760  # one binary frame, either way
    stderr_bytes: Count = 65_536  # of stderr kept for the autopsy
    memory_mb: Count | None = None
    cpu_s: Count | None = None
    open_files: Count | None = None
    processes: Count | None = None
    file_mb: Count | None = None


class HookLimits(Limits, frozen=True, forbid_unknown_fields=True):
    """The same, with what is usual for `hook`: a provider works longer, and is let go more patiently."""

    timeout_s: Seconds = 30.0  # each hook
    handshake_s: Seconds = 5.0
    teardown_s: Seconds = 5.0


class Environment(Struct, frozen=True, forbid_unknown_fields=True):
    """Which variables of the host a plugin sees, and which it is given."""

    inherit: tuple[str, ...] = field(name="pass", default=USUAL_ENVIRONMENT)
    set: dict[str, str] = {}

    def inherited(self, ours: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of *ours* that are listed. `EXAMPLE_*` lists all that begin so; `*` alone lists none."""
        named = {name: ours[name] for name in self.inherit if name in ours}
        prefixes = tuple(each[:-1] for each in self.inherit if len(each) > 1 and each.endswith("*"))
        if not prefixes:
            return named
        return named | {name: value for name, value in ours.items() if name.startswith(prefixes)}


class ExecuteOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """What only the `execute` contract knows."""

    spares: Annotated[int, Meta(ge=0, le=64)] = 0  # processes kept started and shaken hands with
    strict: bool = False  # bytes after the answer fail the call instead of being a warning


class EnvelopeOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """What only the `envelope` contract knows. It stands in the plugin's manifest.yml."""

    lenient: bool = False  # its replies may be without `per_file`


class HookOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """What only the `hook` contract knows."""

    # What it is asked for, in this order; empty: what it declares, or Plan and Generate as usual.
    phases: tuple[Literal["detect", "plan", "generate", "validate", "preflight"], ...] = ()


class SidebandOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """What only the `sideband` contract knows."""

    # Its standard input is a terminal that shows what it reads: that echo is taken out of its output.
    echoes: bool = False


_USUAL = Limits()


class Binding(Struct, frozen=True):
    """A plugin as the host knows it."""

    name: str
    contract: str
    command: tuple[str, ...]
    directory: Path  # what relative paths in `command` are relative to
    cwd: Path
    source: str = IN_CODE
    description: str = ""
    allow: tuple[str, ...] = ()
    environment: Environment = Environment()
    limits: Limits = _USUAL
    survivors: Literal["end", "allow"] = "end"
    execute: ExecuteOptions = ExecuteOptions()
    envelope: EnvelopeOptions = EnvelopeOptions()
    hook: HookOptions = HookOptions()
    sideband: SidebandOptions = SidebandOptions()
    check: Snippets = Snippets()  # of `sideband`
    writable: tuple[Path, ...] | None = (
        None  # it can write below these paths only; None: wherever its user can
    )

    def __post_init__(self) -> None:
        if self.limits is not _USUAL:
            return
        if self.contract == "hook":  # nobody has said anything about limits
            msgspec.structs.force_setattr(self, "limits", HookLimits())
        elif self.contract == "duplex":
            from .duplex_limits import DuplexLimits  # which are made of those here

            msgspec.structs.force_setattr(self, "limits", DuplexLimits())
        elif self.contract == "sideband":
            from .sideband_limits import SidebandLimits  # likewise

            msgspec.structs.force_setattr(self, "limits", SidebandLimits())

    @property
    def reference(self) -> str:
        """How to name this plugin on a command line."""
        if self.source == COMMAND_LINE:
            allowed = "".join(f"--allow {shlex.quote(each)} " for each in self.allow)
            phases = f"--phases {','.join(self.hook.phases)} " if self.hook.phases else ""
            return f"--contract {self.contract} {allowed}{phases}-- {shlex.join(self.command)}"
        if self.source == IN_CODE:
            return self.name
        return self.source.removesuffix(f"/{FILE_NAME}").removesuffix("/manifest.yml")


class _Plugin(Struct, forbid_unknown_fields=True):
    name: str
    contract: str
    command: list[str]
    cwd: str = "."
    description: str = ""
    survivors: Literal["end", "allow"] = "end"


class _Capabilities(Struct, forbid_unknown_fields=True):
    allow: list[str] = []


class _Document(Struct, frozen=True, forbid_unknown_fields=True):
    plugin: _Plugin
    capabilities: _Capabilities = field(default_factory=_Capabilities)
    environment: Environment = Environment()
    limits: Limits = Limits()
    execute: ExecuteOptions = ExecuteOptions()
    hook: HookOptions = HookOptions()
    sideband: SidebandOptions = SidebandOptions()
    check: Snippets = Snippets()


class _HookDocument(_Document, frozen=True, forbid_unknown_fields=True):
    limits: HookLimits = HookLimits()


class _Contract(Struct, frozen=True):
    contract: str = ""


class _Head(Struct, frozen=True):
    """As much of a binding as says which limits it may set."""

    plugin: _Contract = _Contract()


def _type(head: _Head) -> type[_Document]:
    match head.plugin.contract:
        case "hook":
            return _HookDocument
        case "sideband":
            from .sideband_document import SidebandDocument  # which is made of those here

            return SidebandDocument
        case _:
            return _Document


def read(path: Path) -> Binding:
    """Return the binding at *path*: the file itself, or a directory that holds one. Raises ManifestError."""
    is_directory = os.path.isdir(path)  # unlike Path.is_dir, it takes a name that is too long for an answer
    if is_directory and not os.path.exists(path / FILE_NAME):
        remedy = "`plughost new CONTRACT NAME` writes one; `--contract CONTRACT -- COMMAND` does without"
        raise ManifestError(str(path), "", f"this directory holds no {FILE_NAME}", remedy)
    if os.path.isfile(path) and path.suffix != ".toml":
        remedy = f"To run it as a plugin: --contract CONTRACT -- {shlex.quote(str(path))}"
        raise ManifestError(str(path), "", f"this is no binding, such as a {FILE_NAME}", remedy)
    file = path / FILE_NAME if is_directory else path
    found = document.read(file, _type(document.read(file, _Head)))
    return _bind(found, file.absolute().parent, str(file))


def parse(text: str, directory: Path, source: str = FILE_NAME) -> Binding:
    """Return the binding in *text*, as if it were a file in *directory*. Raises ManifestError."""
    found = document.parse(text, source, _type(document.parse(text, source, _Head)))
    return _bind(found, directory, source)


def of_command(
    contract: str,
    command: list[str] | tuple[str, ...],
    *,
    name: str = "",
    directory: Path | None = None,
    allow: tuple[str, ...] = (),
    phases: tuple[str, ...] = (),
) -> Binding:
    """Bind a bare command line, with defaults for the rest.

    Without a *name*, the plugin may call itself what it likes. *allow* are the capabilities that it is granted,
    *phases* what a `hook` plugin is asked for. Raises ManifestError.
    """
    where = (directory or Path()).absolute()
    options = HookOptions(phases=phases)  # type: ignore[arg-type]  # checked below
    binding = Binding(
        name, contract, tuple(command), where, where, source=COMMAND_LINE, allow=allow, hook=options
    )
    check(binding, named=bool(name))
    return binding


def _bind(found: _Document, directory: Path, source: str) -> Binding:
    binding = Binding(
        name=found.plugin.name,
        contract=found.plugin.contract,
        command=tuple(found.plugin.command),
        directory=directory,
        cwd=directory / found.plugin.cwd,
        source=source,
        description=found.plugin.description,
        allow=tuple(found.capabilities.allow),
        environment=found.environment,
        limits=found.limits,
        survivors=found.plugin.survivors,
        execute=found.execute,
        hook=found.hook,
        sideband=found.sideband,
        check=found.check,
    )
    check(binding)
    if binding.contract == "duplex":
        remedy = "Put a manifest.toml here instead, and a narrow.toml for what the host has to say"
        raise ManifestError(source, "plugin.contract", "a duplex plugin describes itself", remedy)
    return binding


def replace(binding: Binding, **changes: object) -> Binding:
    """Return *binding* with *changes*, checked again. Raises ManifestError."""
    changed: Binding = msgspec.structs.replace(binding, **changes)
    check(changed, named=bool(changed.name))
    return changed


def check(binding: Binding, *, named: bool = True) -> None:
    """Raise ManifestError if *binding* could not work; a *named* one must have a name."""

    def wrong(key: str, problem: str, remedy: str) -> ManifestError:
        return ManifestError(binding.source, key, problem, remedy)

    if named and (not binding.name.strip() or binding.name != binding.name.strip()):
        raise wrong("plugin.name", "empty or padded with blanks", "Give the plugin's own name")
    if binding.contract not in CONTRACTS:
        raise wrong(
            "plugin.contract",
            f"this version does not speak {binding.contract!r}",
            f"It speaks: {', '.join(CONTRACTS)}",
        )
    if not binding.command or not binding.command[0].strip():
        raise wrong("plugin.command", "empty", 'Give a list such as ["python", "plugin.py"]')
    if any("\0" in word for word in binding.command):
        raise wrong("plugin.command", "holds a NUL character", "Take it out")
    if "\0" in str(binding.cwd):
        raise wrong("plugin.cwd", "holds a NUL character", "Take it out")
    _check_types(binding, wrong)
    problem = flaw(binding.allow)
    if problem is not None:
        raise wrong("capabilities.allow", problem, "List each capability once, without blanks around it")
    for variable, value in binding.environment.set.items():
        if not variable or "=" in variable or "\0" in variable + value:
            raise wrong("environment.set", f"{variable!r} is not a variable", 'Use NAME = "value"')


def _check_types(binding: Binding, wrong: Callable[[str, str, str], ManifestError]) -> None:
    """Hold a binding that was made in code to the same rules as one from a file."""
    tables: dict[str, tuple[Struct, type[Struct]]] = {
        "limits": (binding.limits, Limits),
        "environment": (binding.environment, Environment),
        "execute": (binding.execute, ExecuteOptions),
        "envelope": (binding.envelope, EnvelopeOptions),
        "hook": (binding.hook, HookOptions),
        "sideband": (binding.sideband, SidebandOptions),
        "check": (binding.check, Snippets),
    }
    for table, (part, kind) in tables.items():
        document.hold(part, kind, binding.source, table)
    problem = _flaw_of_phases(binding.hook.phases)
    if problem is not None:
        raise wrong("hook.phases", problem, 'Use for example phases = ["plan", "generate"]')
    if binding.survivors not in ("end", "allow"):
        raise wrong("plugin.survivors", f"{binding.survivors!r}", 'Use "end" or "allow"')


_PHASES = ("detect", "plan", "generate", "validate", "preflight")  # in the order of a round


def _flaw_of_phases(phases: tuple[str, ...]) -> str | None:
    if len(set(phases)) != len(phases):
        return "a phase is named twice"
    if "preflight" in phases and len(phases) > 1:
        return "preflight shares its process with no other phase"
    if list(phases) != sorted(phases, key=_PHASES.index):
        return f"a round goes in this order: {', '.join(_PHASES[:4])}"
    return None
