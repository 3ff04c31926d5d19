"""Why a plugin does not work: looks at its binding, its files, and how it behaves when it is tried out.

Turns a binding into findings, the most basic first, and stops where a later one could not mean anything.
It mends nothing.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..contracts.execute.messages import HandshakeRequest
from ..errors import PlughostError
from ..failures import PluginFailure
from ..manifest import bounded_file
from ..manifest.binding import PYTHON_WORDS, Binding
from ..messages import strict_json
from ..process import command, landlock, survivors
from ..process.local import LocalLauncher
from ..process.stderr import printable
from .probe import Probe

SHOWN = 70  # characters of what a plugin wrote
SOURCE_LIMIT = 4_194_304  # bytes of a script; a longer one is not looked at


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: fine, or a problem with advice."""

    ok: bool
    what: str
    advice: str = ""


def examine(binding: Binding) -> Iterator[Finding]:
    """Yield what is found about *binding*, ending with the first problem that makes the rest meaningless."""
    yield Finding(
        True, f"the binding {binding.source} is well-formed: {binding.contract}, {' '.join(binding.command)}"
    )
    if not binding.cwd.is_dir():
        yield Finding(
            False, f"the working directory {binding.cwd} does not exist", "Mend `cwd` in the binding."
        )
        return
    launcher = LocalLauncher()
    try:
        found = _program(binding, launcher)
        yield found
        if not found.ok:
            return
        if binding.contract == "envelope":
            yield from _envelope(binding)
            return
        script = list(_script(binding))
        yield from script
        if binding.contract == "hook":
            yield from _hook(binding, launcher) if not script else ()
            return
        if binding.contract == "duplex":
            yield from _duplex(binding, launcher) if not script else ()
            return
        if binding.contract == "sideband":
            yield from _sideband(binding, launcher) if not script else ()
            return
        behaviour = list(_behaviour(binding, launcher))
        yield from behaviour
    finally:
        launcher.close()
    if all(finding.ok for finding in behaviour):
        yield from _handshake(binding)


def _envelope(binding: Binding) -> Iterator[Finding]:
    from . import envelope_doctor  # it needs what is defined here

    yield from envelope_doctor.examine(binding)


def _hook(binding: Binding, launcher: LocalLauncher) -> Iterator[Finding]:
    from . import hook_doctor  # it needs what is defined here

    yield from hook_doctor.examine(binding, launcher)


def _duplex(binding: Binding, launcher: LocalLauncher) -> Iterator[Finding]:
    from . import duplex_doctor  # it needs what is defined here

    yield from duplex_doctor.examine(binding, launcher)


def _sideband(binding: Binding, launcher: LocalLauncher) -> Iterator[Finding]:
    from . import sideband_doctor  # it needs what is defined here

    yield from sideband_doctor.examine(binding, launcher)


def system() -> Iterator[Finding]:
    """Yield what this system can and cannot do for plugins."""
    yield Finding(True, f"Python {sys.version.split()[0]} on {sys.platform}")
    if hasattr(os, "pidfd_open"):
        yield Finding(True, "exits are watched through pidfds")
    else:
        yield Finding(True, "exits are polled for: this system has no pidfds")
    if survivors.supported:
        yield Finding(True, "processes that outlive their plugin are found through /proc, and ended")
    else:
        yield Finding(True, "only a plugin's process group is ended: this system has no /proc")
    if landlock.available():
        yield Finding(True, "workers of the envelope contract can write to their directory only (Landlock)")
    else:
        yield Finding(
            True, "workers of the envelope contract can write elsewhere: this kernel lacks Landlock 3"
        )
    if find_spec("textual") is not None:
        yield Finding(True, "screens of duplex plugins can be shown in the terminal")
    else:
        yield Finding(
            True,
            "screens of duplex plugins can only be printed (plughost screen --once): textual is not installed",
            "pip install 'plughost[tui]'",
        )
    if shutil.which("prlimit", path=os.defpath):
        yield Finding(True, "limits for programs that are not Python are set by prlimit(1)")
    else:
        yield Finding(
            True, "limits are set by our own loader (prlimit(1) would be faster; it is in util-linux)"
        )


def _program(binding: Binding, launcher: LocalLauncher) -> Finding:
    path = os.environ.get("PATH", os.defpath) if "PATH" in binding.environment.inherit else os.defpath
    try:
        program = command.resolve(binding, binding.environment.set.get("PATH", path))
    except (OSError, PlughostError) as error:
        return Finding(
            False, launcher.diagnose(binding, error), "Mend `command` in the binding, or install it."
        )
    interpreter = _shebang(program.executable)
    if interpreter is not None and not Path(interpreter).exists():
        return Finding(
            False,
            f"{program.executable} asks for {interpreter}, which does not exist",
            "Mend its first line, or name the interpreter in `command`.",
        )
    return Finding(True, f"the program is {program.executable}")


def _shebang(path: str) -> str | None:
    with open(path, "rb") as file:
        line = file.readline(256)
    words = line[2:].split() if line.startswith(b"#!") else []
    return os.fsdecode(words[0]) if words else None


def _script(binding: Binding) -> Iterator[Finding]:
    """Look at a Python script without running it."""
    if binding.command[0] not in PYTHON_WORDS or len(binding.command) < 2:
        return
    script = binding.directory / binding.command[1]
    if script.suffix != ".py" and binding.command[1] != binding.name:  # a duplex plugin's program is named so
        return
    problem = syntax_problem(script)
    if problem is not None:
        yield problem


def syntax_problem(script: Path) -> Finding | None:
    """Return what keeps *script* from being Python, or None."""
    try:
        source = bounded_file.read(script, SOURCE_LIMIT)
        if source is None:
            return Finding(False, f"{script} is not a regular file", "Put the plugin's source there.")
        if len(source) < SOURCE_LIMIT:
            compile(source, str(script), "exec", dont_inherit=True)
    except OSError as error:
        return Finding(False, f"{script} cannot be read: {error.strerror}", "Mend its permissions.")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        at = f" in line {line}" if line else ""
        return Finding(False, f"{script} is not Python{at}: {error}", "Mend that line.")
    return None


def _behaviour(binding: Binding, launcher: LocalLauncher) -> Iterator[Finding]:
    """Try it out with a raw handshake."""
    hello = strict_json.encode(HandshakeRequest(), "handshake") + b"\n"
    within = binding.limits.handshake_s
    try:
        with Probe(launcher, binding) as probe:
            probe.send(hello, within)
            line = probe.line(within)
            if line is None:
                yield _silence(probe, within)
            else:
                yield _first_line(probe, line)
    except OSError as error:
        yield Finding(False, launcher.diagnose(binding, error), "Mend `command` in the binding.")


def _silence(probe: Probe, within: float) -> Finding:
    if probe.rest:
        return _first_line(probe, probe.rest)
    status = probe.wait_exit(0.2) if probe.eof else probe.exit
    if status is not None:
        advice = "Its last words are above; run the command by hand to see more."
        if "ModuleNotFoundError" in probe.stderr_tail():
            advice = "Install what it lacks in the interpreter that `command` names."
        return Finding(
            False, f"it ended with {status.meaning}, saying: {probe.stderr_tail() or 'nothing'}", advice
        )
    if probe.unread():
        return Finding(
            False, "it does not read its standard input", "It must read a line from stdin when it starts."
        )
    probe.close_stdin()
    late = probe.listen(within)
    if late:
        return Finding(
            False,
            f"it answers only when its input ends: {_shown(late)}",
            "Read line by line, not to the end, and flush stdout after each line.",
        )
    return Finding(
        False,
        f"it read the handshake and wrote nothing for {within:g} s",
        "It must answer at once, and flush.",
    )


def _first_line(probe: Probe, line: bytes) -> Finding:
    if line.lower().startswith(b"content-length"):
        return Finding(
            False,
            "it frames its messages with Content-Length",
            "This contract wants one JSON object per line, and nothing else.",
        )
    if line[:1] == b"\0":
        return Finding(
            False,
            "it begins with a length prefix",
            "This contract wants one JSON object per line, and nothing else.",
        )
    if not line.lstrip().startswith(b"{"):
        later = probe.line(0.5)
        then = " The handshake comes after it." if later is not None and later.startswith(b"{") else ""
        return Finding(
            False,
            f"it prints before the handshake: {_shown(line)}.{then}",
            "stdout carries protocol lines only: print to stderr.",
        )
    return Finding(True, f"it answers the handshake: {_shown(line)}")


def _handshake(binding: Binding) -> Iterator[Finding]:
    """Let the real host judge the handshake."""
    from ..blocking import Host

    with Host() as host:
        try:
            manifest = host.add(binding).describe()
        except PluginFailure as failure:
            yield Finding(False, f"{failure.code}: {failure.message}", failure.hint)
            return
    tools = ", ".join(manifest.exposed_tools or ())
    yield Finding(
        True, f"the handshake is valid: {manifest.plugin_id} {manifest.plugin_version} with {tools}"
    )


def _shown(data: bytes) -> str:
    text = printable(data[: SHOWN * 4]).strip()
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")
