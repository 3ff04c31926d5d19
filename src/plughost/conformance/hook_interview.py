"""One conversation of a check with a `hook` plugin: a script in, what was seen out. Judges nothing.

Every conversation is a process of its own, spoken to in raw frames, because a session would stop at the first fault and
hide the others. All waiting is bounded by the binding's limits, and no process outlives its conversation.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire
from plughost_sdk.frames.length_prefix import HEADER_BYTES

from ..contracts.hook import host as hook
from ..contracts.hook import rounds
from ..contracts.hook.messages import FRAME_BYTES, PROTOCOL, Phase
from ..errors import RemoteProtocolError
from ..manifest.binding import Binding
from ..process.launcher import Launcher
from ..process.stderr import printable
from . import hook_odd_requests as odd
from .hook_probe import FrameProbe
from .hook_requests import Results
from .hook_seen import Answer, Seen

HEAD_BYTES = 400  # of its output that are kept to be shown

Ask = Callable[[int, Phase, wire.PluginInfo, Results], Message]  # the number of the round, and what is known


@dataclass(frozen=True, slots=True)
class Script:
    """What is said in one conversation."""

    when: str
    ask: Ask
    rounds: int = 1
    most: int | None = None  # requests; None: whole rounds
    oddly: bool = False  # the greeting holds fields that nobody knows
    byte_by_byte: bool = False
    listening: bool = False  # for a while, whenever it should be silent
    chosen: tuple[Phase, ...] = ()  # what it is asked for; empty: what it declares, or the usual round
    unsaid: bool = False  # it is not told which phases these are
    given: Results | None = None  # earlier results, for a process that is asked for some phases only


class Interviewer:
    """Holds conversations with the plugin of *binding*, listening for *quiet_s* seconds where it should be silent."""

    def __init__(self, binding: Binding, launcher: Launcher, quiet_s: float) -> None:
        self._binding = binding
        self._usual = hook.bound(binding)
        self._launcher = launcher
        self._limits = binding.limits
        self._quiet_s = quiet_s

    def converse(self, script: Script) -> Seen:
        """Shake hands, ask, end its input, and see how it ends."""
        binding = self._bound(script)
        with self._probe(binding) as probe:
            send = probe.dribble if script.byte_by_byte else probe.send
            send(self._hello(binding, oddly=script.oddly), self._limits.handshake_s)
            body = probe.frame(self._limits.handshake_s)
            early = self._overheard(probe, script) if body is not None else b""
            info = Seen("", body).info
            answers: tuple[Answer, ...] = ()
            if isinstance(info, wire.PluginInfo):
                answers = self._interview(probe, script, info, script.chosen or self.round_of(info))
            probe.close_stdin()
            probe.wait_exit(self._limits.teardown_s)
            return _seen(script.when, probe, body, early, answers)

    def greet(self, when: str, protocol: int) -> Seen:
        """Greet it with another *protocol*."""
        with self._probe(self._usual) as probe:
            probe.send(self._hello(self._usual, protocol), self._limits.handshake_s)
            body = probe.frame(self._limits.handshake_s)
            if not probe.stdout:
                probe.wait_exit(self._limits.teardown_s)
            return _seen(when, probe, body)

    def break_off(self, when: str, tail: bytes, after_hello: Phase | None = None) -> Seen:
        """Send *tail* and end its input: at once, or after the handshake, in place of a request for a phase."""
        with self._probe(self._usual) as probe:
            body = None
            if after_hello is not None:
                probe.send(self._hello(self._usual), self._limits.handshake_s)
                body = probe.frame(self._limits.handshake_s)
            if tail:
                probe.send(tail, self._limits.handshake_s)
            probe.close_stdin()
            probe.wait_exit(self._limits.handshake_s + self._limits.teardown_s)
            answers = (Answer(after_hello, probe.frame(0.0)),) if after_hello is not None else ()
            return _seen(when, probe, body, answers=answers)

    def hello(self) -> bytes:
        """Return the frame of the usual greeting."""
        return self._hello(self._usual)

    def round_of(self, info: wire.PluginInfo) -> tuple[Phase, ...]:
        """Return the phases that a plugin with *info* is asked for; none if that cannot be known."""
        try:
            return rounds.begin(tuple(map(Phase, self._binding.hook.phases)), info).phases
        except RemoteProtocolError:
            return ()

    def _bound(self, script: Script) -> Binding:
        if script.unsaid:
            return self._binding
        return hook.bound(hook.choose(self._binding, script.chosen)) if script.chosen else self._usual

    def _probe(self, binding: Binding) -> FrameProbe:
        return FrameProbe(self._launcher, binding, FRAME_BYTES)

    def _hello(self, binding: Binding, protocol: int = PROTOCOL, *, oddly: bool = False) -> bytes:
        from .. import __version__  # the package imports the hosts first

        terms = hook.terms(binding, os.environ, __version__)
        hello = wire.Hello(core_protocol=protocol, core_version=__version__, env=terms.env)
        return frame(odd.with_unknown_fields(hello) if oddly else hello)

    def _interview(
        self, probe: FrameProbe, script: Script, info: wire.PluginInfo, phases: tuple[Phase, ...]
    ) -> tuple[Answer, ...]:
        within = self._limits.timeout_s
        send = partial(probe.dribble if script.byte_by_byte else probe.send, within=within)
        turns = [(number, phase) for number in range(script.rounds) for phase in phases]
        answers: list[Answer] = []
        results: dict[Phase, Message] = {}
        for number, phase in turns[: script.most]:
            if phase is phases[0]:
                results = dict(script.given or {})
            send(frame(script.ask(number, phase, info, results)))
            body = probe.frame(within)
            extra = self._overheard(probe, script) if body is not None else b""
            answers.append(answer := Answer(phase, body, extra))
            if body is None:  # whatever else came, it is too late for it, or too much
                break
            if isinstance(answer.result, Message):
                results[phase] = answer.result
        return tuple(answers)

    def _overheard(self, probe: FrameProbe, script: Script) -> bytes:
        """Return what it says while nothing is asked of it."""
        if script.listening:
            probe.listen(self._quiet_s)
        return probe.drop()


def frame(message: Message) -> bytes:
    """Return *message* as a frame, however long it is."""
    return framed(message.SerializeToString(deterministic=True))


def framed(body: bytes) -> bytes:
    """Return *body* behind its length."""
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def _seen(
    when: str,
    probe: FrameProbe,
    body: bytes | None,
    early: bytes = b"",
    answers: tuple[Answer, ...] = (),
) -> Seen:
    return Seen(
        when=when,
        introduction=body,
        early=early,
        answers=answers,
        rest=probe.rest,
        head=bytes(probe.stdout[:HEAD_BYTES]),
        promised=probe.promised,
        exit=probe.exit,
        stderr=printable(bytes(probe.stderr)),
    )
