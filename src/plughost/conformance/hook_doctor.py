"""Why a `hook` plugin does not work: how it takes a greeting, what a host says to its introduction, and one round.

Turns a binding into findings, the most basic first. That its program is there was looked at before.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.message import DecodeError, Message
from plughost_sdk import hook_messages as wire
from plughost_sdk.frames.length_prefix import HEADER_BYTES

from ..contracts.hook import host as hook
from ..contracts.hook.messages import FRAME_BYTES, PROTOCOL, Phase
from ..errors import FragmentError, RemoteProtocolError
from ..failures import PluginFailure
from ..fragments import paths
from ..host.hook.providers import BlockingProvider
from ..manifest.binding import Binding
from ..messages import protobuf
from ..messages.quoting import listed, quote
from ..process.launcher import Launcher
from . import hook_requests as requests
from .doctor import Finding
from .hook_handshake import MISMATCH
from .hook_interview import frame
from .hook_probe import FrameProbe
from .hook_seen import is_text, shown

EXITING_S = 0.2  # for a process that has closed its output to be gone
FRAMES_WANTED = (
    "This contract wants the length of a message in four bytes, the highest first, and then the message."
)
_NO_PROTOBUF = re.compile(
    r"No module named '(google|google\.protobuf)'|needs protobuf|speaks protobuf, which is not"
)


def examine(binding: Binding, launcher: Launcher) -> Iterator[Finding]:
    """Yield what is found about *binding*, ending with the first problem that makes the rest meaningless."""
    try:
        greeting = _greeting(binding, launcher)
    except OSError as error:
        greeting = Finding(False, launcher.diagnose(binding, error), "Mend `command` in the binding.")
    yield greeting
    if greeting.ok:
        yield from _with_a_host(binding)


def _greeting(binding: Binding, launcher: Launcher) -> Finding:
    """Try it out with a raw greeting."""
    from .. import __version__  # the package imports the hosts first

    bound, within = hook.bound(binding), binding.limits.handshake_s
    terms = hook.terms(bound, os.environ, __version__)
    hello = wire.Hello(core_protocol=PROTOCOL, core_version=__version__, env=terms.env)
    with FrameProbe(launcher, bound, FRAME_BYTES) as probe:
        probe.send(frame(hello), within)
        body = probe.frame(within)
        if body is None:
            return _no_frame(probe, probe.rest) if probe.rest else _silence(probe, within)
    try:
        info = protobuf.decode(wire.PluginInfo, body, "introduction")
    except RemoteProtocolError as error:
        return Finding(
            False, f"it answers the greeting with {shown(body)}: {error}", "Answer with a PluginInfo."
        )
    return Finding(True, f"it answers the greeting: it calls itself {quote(info.name)}")


def _silence(probe: FrameProbe, within: float) -> Finding:
    status = probe.wait_exit(EXITING_S) if probe.eof else probe.exit
    said = bytes(probe.stderr).decode("utf-8", "replace")
    if status is not None:
        what = f"it ended with {status.meaning}, saying: {probe.stderr_tail() or 'nothing'}"
        return Finding(False, what, _advice_on_exit(said))
    if probe.eof:
        return Finding(False, "it closes its standard output", "It must answer there, and keep it open.")
    if probe.unread():
        return Finding(
            False,
            "it does not read its standard input",
            "It must read the greeting from stdin when it starts.",
        )
    probe.close_stdin()
    late = probe.listen(within)
    if late:
        return Finding(
            False,
            f"it answers only when its input ends: {shown(late)}",
            "Read frame by frame, not to the end, and flush stdout after each frame.",
        )
    return Finding(
        False,
        f"it read the greeting and wrote nothing for {within:g} s",
        "It must answer at once, and flush.",
    )


def _advice_on_exit(said: str) -> str:
    refusal = next((line for line in said.splitlines() if MISMATCH.search(line)), None)
    if refusal is not None:
        return f"It refuses protocol version {PROTOCOL} ({quote(refusal)}): take another release of it."
    if _NO_PROTOBUF.search(said):
        return 'Install protobuf for the interpreter that `command` names: pip install "plughost-sdk[hook]".'
    if "ModuleNotFoundError" in said:
        return "Install what it lacks in the interpreter that `command` names."
    if "JSON" in said:
        return 'Is it a plugin of another contract, such as "execute"? Then say so in its binding.'
    return "Run the command by hand to see more."


def _no_frame(probe: FrameProbe, data: bytes) -> Finding:
    """Say what *data* is, which came in place of a frame."""
    if data.lower().startswith(b"content-length"):
        return Finding(False, "it frames its messages with Content-Length", FRAMES_WANTED)
    if data.lstrip().startswith(b"{") and is_text(data[:HEADER_BYTES]):
        return Finding(
            False,
            f"it writes JSON: {shown(data)}",
            'Is it a plugin of another contract, such as "execute"? Then say so in its binding.',
        )
    if _is_introduction(data):
        return Finding(False, "it writes its introduction without a length", FRAMES_WANTED)
    if _is_introduction(data[1:]) and data[0] == len(data) - 1:
        return Finding(False, "it writes the length of its introduction as a varint", FRAMES_WANTED)
    if int.from_bytes(data[:HEADER_BYTES], "little") == len(data) - HEADER_BYTES:
        return Finding(False, "it writes the length of its introduction lowest byte first", FRAMES_WANTED)
    if is_text(data[:1]):
        return Finding(
            False, f"it prints to stdout: {shown(data)}", "stdout carries frames only: print to stderr."
        )
    if probe.promised is not None:
        return Finding(False, f"it begins a frame of {probe.promised} bytes", FRAMES_WANTED)
    missing = "the rest of the frame does not come"
    return Finding(False, f"it writes {len(data)} bytes, and {missing}", "Write all of it, and flush.")


def _is_introduction(data: bytes) -> bool:
    try:
        return bool(wire.PluginInfo.FromString(data).name)
    except DecodeError:
        return False


def _with_a_host(binding: Binding) -> Iterator[Finding]:
    """Let the real host judge the introduction, and ask for one round."""
    from ..blocking import Host

    with Host() as host, tempfile.TemporaryDirectory(prefix="plughost-doctor-") as directory:
        try:
            provider = host.connect(binding)
            phases = ", ".join(provider.phases)
            yield Finding(
                True, f"the handshake is valid: {provider.name} {provider.info.version}, asked for {phases}"
            )
            yield from _round(provider, requests.sample(None, Path(directory).resolve()))
            provider.close()
        except PluginFailure as failure:
            lines = failure.autopsy.stderr_tail.strip().splitlines()
            words = f" Its last words: {listed(lines[-1:])}" if lines else ""
            yield Finding(False, f"{failure.code}: {failure.message}.{words}", failure.hint)
            return
        for warning in provider.warnings:
            yield Finding(False, warning, "It must exit with status 0 when its input ends.")


def _round(provider: BlockingProvider, sample: requests.Sample) -> Iterator[Finding]:
    results: dict[Phase, Message] = {}
    for phase in provider.phases:
        results[phase] = provider.ask(phase, requests.ordinary(sample, provider.info, phase, results))
    yield Finding(True, f"it answers {', '.join(results)} for a small pipeline")
    for remark in provider.remarks:
        yield Finding(True, remark)
    errors = [
        each
        for result in results.values()
        for each in getattr(result, "diagnostics", ())
        if each.level == wire.Diagnostic.LEVEL_ERROR
    ]
    if errors:
        told = quote(errors[0].message or errors[0].title)
        yield Finding(True, f"it reports an error about it: {told}", "Nothing would be written then.")
    made = results.get(Phase.GENERATE)
    for fragment in made.fragments if isinstance(made, wire.GenerateResult) else ():
        try:
            paths.normalise(provider.name, fragment.path)
        except FragmentError as error:
            what = f"a host refuses its fragment {quote(fragment.path)}: {error.problem}"
            yield Finding(False, what, f"{error.remedy}.")
