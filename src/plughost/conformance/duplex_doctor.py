"""Why a `duplex` plugin does not work: how it takes init, what a host makes of it, and what it lacks.

Turns a binding into findings, the most basic first. That its program is there was looked at before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from plughost_sdk.frames import content_length

from ..capabilities.gates import ROOTS
from ..contracts.duplex.messages import ABI_VERSION, FRAME_BYTES, InitParams
from ..errors import RemoteError
from ..failures import PluginFailure
from ..host.events import Denied, Event
from ..manifest import duplex_registry
from ..manifest.binding import COMMAND_LINE, Binding
from ..manifest.duplex_binding import DuplexBinding
from ..manifest.duplex_manifest import FILE_NAME
from ..messages import jsonrpc
from ..messages.quoting import quote
from ..process.launcher import Launcher
from ..process.stderr import printable
from .doctor import Finding
from .probe import Probe

EXITING_S = 0.2  # for a process that has closed its output to be gone
SHOWN = 70  # bytes of what came in place of a frame
WIDTH, HEIGHT = 80, 24  # of the screen that it is asked for: what a plain terminal has
HEADER = b"content-length:"
FRAMES_WANTED = "This contract wants `Content-Length: N`, CR LF, CR LF, and then N bytes of JSON."


def examine(binding: Binding, launcher: Launcher) -> Iterator[Finding]:
    """Yield what is found about *binding*, ending with the first problem that makes the rest meaningless."""
    try:
        first = _first_look(binding, launcher)
    except OSError as error:
        first = Finding(False, launcher.diagnose(binding, error), "Mend `command`.")
    yield first
    if first.ok and binding.source != COMMAND_LINE:
        bound = duplex_registry.load(binding.directory)
        yield from _places(bound)
        yield from _with_a_host(bound)


def _first_look(binding: Binding, launcher: Launcher) -> Finding:
    """Send init, and look at the first line that comes."""
    manifest = str(binding.directory / FILE_NAME)
    init = InitParams(manifest, binding.allow, ABI_VERSION)
    frame = content_length.encode(jsonrpc.encode_request(1, "plugin/init", init), FRAME_BYTES)
    within = binding.limits.handshake_s
    with Probe(launcher, binding) as probe:
        probe.send(frame, within)
        probe.line(within)
        data = bytes(probe.stdout)
        if not data:
            return _silence(probe, within)
    return _head(data)


def _head(data: bytes) -> Finding:
    """Say what *data* is: the beginning of a frame, or something else."""
    line, ended, _ = data.partition(b"\n")
    if line.lower().startswith(HEADER):
        if not ended or line.endswith(b"\r"):
            return Finding(True, "it writes frames with Content-Length")
        return Finding(False, "its header ends in LF, without CR", FRAMES_WANTED)
    if line.startswith(b"{"):
        return Finding(
            False,
            f"it writes JSON without a frame: {_shown(line)}",
            f"{FRAMES_WANTED} One JSON object a line is the contract execute.",
        )
    if line.startswith(b"\0"):
        return Finding(False, "it begins with a length prefix", FRAMES_WANTED)
    return Finding(
        False, f"it prints to stdout: {_shown(line)}", "stdout carries frames only: print to stderr."
    )


def _silence(probe: Probe, within: float) -> Finding:
    status = probe.wait_exit(EXITING_S) if probe.eof else probe.exit
    if status is not None:
        advice = "Run the command by hand to see more."
        if b"ModuleNotFoundError" in probe.stderr:
            advice = "Install what it lacks in the interpreter that `command` names."
        return Finding(
            False, f"it ended with {status.meaning}, saying: {probe.stderr_tail() or 'nothing'}", advice
        )
    if probe.eof:
        return Finding(False, "it closes its standard output", "It must answer there, and keep it open.")
    if probe.unread():
        return Finding(
            False, "it does not read its standard input", "It must read frames from stdin when it starts."
        )
    return Finding(
        False,
        f"it read init and wrote nothing for {within:g} s",
        "It must answer plugin/init at once, and flush. Reading to the end of stdin never ends.",
    )


def _places(bound: DuplexBinding) -> Iterator[Finding]:
    """Say which of the places that it may read are not there: it would find nothing."""
    for capability, places in ROOTS.items():
        if bound.capabilities.grants().has(capability) and not any(
            os.path.isdir(os.path.expanduser(place)) for place in places
        ):
            yield Finding(
                True,
                f"{capability.value} opens {' and '.join(places)}, which is not there",
                f"It will find nothing; `--logs {capability.value}=DIR` names another place.",
            )


def _with_a_host(bound: DuplexBinding) -> Iterator[Finding]:
    """Let the real host judge it: its introduction, its screen, and what it asked for in vain."""
    from ..blocking import Host

    refused: list[Denied] = []

    def note(event: Event) -> None:
        if isinstance(event.what, Denied):
            refused.append(event.what)

    with Host(on_event=note) as host:
        plugin = host.fleet(bound)[bound.name]
        try:
            found = plugin.start()
            abi = (
                "" if found.abi_version is None else f", abi {found.abi_version}"
            )  # only one dialect says it
            yield Finding(True, f"init is answered: {found.name} {found.version}{abi}")
            if bound.manifest.provides.screens:
                plugin.render(WIDTH, HEIGHT)
                yield Finding(True, f"it draws a screen of {WIDTH}x{HEIGHT}")
            plugin.stop()
            yield Finding(True, "it ends when it is told to")
        except PluginFailure as failure:
            yield Finding(False, f"{failure.code}: {failure.message}", failure.hint)
        except RemoteError as error:
            yield Finding(
                False, f"it answers with an error: {quote(error.message)} [{error.code}]", "Mend it."
            )
    for denied in {each.message: each for each in refused}.values():
        yield Finding(
            False,
            f"{denied.method} was refused: {denied.message}",
            f"Ask for it under [capabilities] in its {FILE_NAME}; a narrow.toml may have taken it away.",
        )


def _shown(data: bytes) -> str:
    return repr(printable(data[:SHOWN]).strip())
