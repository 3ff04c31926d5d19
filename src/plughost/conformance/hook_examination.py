"""The conversations that the checks of the `hook` contract look at, each held when it is first asked for."""

from __future__ import annotations

from functools import cached_property

from google.protobuf.message import Message
from plughost_sdk import hook_messages as wire

from ..contracts.hook.messages import FRAME_BYTES, USUAL_ROUND, Phase
from ..manifest.binding import Binding
from ..process.launcher import Launcher
from . import hook_odd_requests as odd
from . import hook_requests as requests
from .hook_interview import Interviewer, Script, frame, framed
from .hook_requests import Results, Sample
from .hook_seen import Answer, Seen

QUIET_S = 0.3  # how long a plugin that should be silent is listened to


class Examination:
    """One plugin, asked about *sample*. Without *large*, it is spared requests of the greatest length."""

    def __init__(
        self,
        binding: Binding,
        launcher: Launcher,
        sample: Sample,
        *,
        large: bool = True,
        quiet_s: float = QUIET_S,
    ) -> None:
        self.binding = binding
        self.sends_large = large
        self.sample = sample
        self._interviewer = Interviewer(binding, launcher, quiet_s)

    # What is known from the ordinary conversation

    @property
    def info(self) -> wire.PluginInfo | None:
        """How the plugin introduced itself, if that can be read."""
        found = self.ordinary.info
        return found if isinstance(found, wire.PluginInfo) else None

    @property
    def round(self) -> tuple[Phase, ...]:
        """The phases that it is asked for, in turns; none if that cannot be known."""
        return self._interviewer.round_of(self.info) if self.info is not None else ()

    @property
    def first_round(self) -> tuple[Answer, ...]:
        return self.ordinary.answers[: len(self.round)]

    @property
    def second_round(self) -> tuple[Answer, ...]:
        return self.ordinary.answers[len(self.round) :]

    @property
    def results(self) -> dict[Phase, Message]:
        """The results of the first round, as far as they can be read."""
        return {each.phase: each.result for each in self.first_round if isinstance(each.result, Message)}

    @property
    def goes_on(self) -> bool:
        """It answers a second round like a first: then several things can be asked in one process."""
        answered = [each for each in self.second_round if isinstance(each.result, Message)]
        return len(answered) == len(self.round)

    def is_out_of_order(self, answer: Answer) -> bool:
        """Tell whether *answer* is one to another phase of the round: then the order is wrong, not the message."""
        return any(phase in self.round for phase in answer.misplaced)

    # The conversations

    @cached_property
    def ordinary(self) -> Seen:
        return self._interviewer.converse(Script("asked as usual", self._usual, rounds=2))

    @cached_property
    def again(self) -> Seen:
        return self._interviewer.converse(Script("started again", self._usual))

    @cached_property
    def idle(self) -> Seen:
        """It is left alone after the handshake, and after one answer if it gives any; then its input ends."""
        most = 0 if self.ordinary.is_silent else 1
        return self._interviewer.converse(Script("left alone", self._usual, most=most, listening=True))

    @cached_property
    def greeted(self) -> Seen:
        return self._interviewer.converse(Script("greeted and let go", self._usual, most=0))

    @cached_property
    def byte_by_byte(self) -> Seen:
        script = Script("when its input comes byte by byte", self._usual, byte_by_byte=True)
        return self._interviewer.converse(script)

    @cached_property
    def unknown(self) -> Seen:
        """Fields that it does not know in the first round, values that it does not know in the second."""

        def ask(number: int, phase: Phase, info: wire.PluginInfo, results: Results) -> Message:
            strange = odd.with_unknown_values if number else odd.with_unknown_fields
            return strange(self._usual(number, phase, info, results))

        rounds = 2 if self.goes_on else 1
        script = Script("when messages hold what it does not know", ask, rounds, oddly=True)
        return self._interviewer.converse(script)

    @cached_property
    def large(self) -> Seen:
        def ask(number: int, phase: Phase, info: wire.PluginInfo, results: Results) -> Message:
            return odd.filled(self._usual(number, phase, info, results), FRAME_BYTES)

        return self._interviewer.converse(Script(f"given requests of {FRAME_BYTES} bytes", ask))

    @cached_property
    def swollen(self) -> Seen:
        """What it is asked for cannot fit into a frame, or hardly."""

        def ask(number: int, phase: Phase, info: wire.PluginInfo, results: Results) -> Message:
            request = self._usual(number, phase, info, results)
            return odd.swollen(request, FRAME_BYTES) if phase is Phase.GENERATE else request

        return self._interviewer.converse(Script(f"given a job of {FRAME_BYTES} bytes", ask))

    @cached_property
    def nonsense(self) -> Seen:
        """Empty requests, then wrong ones, then some that lead out of the output directory."""

        def ask(number: int, phase: Phase, info: wire.PluginInfo, results: Results) -> Message:
            if number == 0:
                return odd.empty(phase)
            spoil = odd.broken if number == 1 else odd.leading_out
            schema = spoil(self.sample.schema(info))
            return requests.of_schema(schema, self.sample, info, phase, results)

        rounds = 3 if self.goes_on else 1
        return self._interviewer.converse(Script("given requests that make no sense", ask, rounds))

    def chosen(self, phases: tuple[Phase, ...]) -> Seen:
        """Some phases are chosen for its process, and asked for twice."""
        when, rounds = f"asked for {', '.join(phases)} only", 2 if self.goes_on else 1
        script = Script(when, self._usual, rounds, chosen=phases, given=self.results)
        return self._interviewer.converse(script)

    @cached_property
    def untold(self) -> Seen:
        """It is asked for the usual phases by a host that knows nothing of others."""
        when = f"asked for {', '.join(USUAL_ROUND)} without having been told so"
        rounds = 2 if self.goes_on else 1
        script = Script(when, self._usual, rounds, chosen=USUAL_ROUND, unsaid=True, given=self.results)
        return self._interviewer.converse(script)

    def greeted_with(self, protocol: int) -> Seen:
        """The greeting names another *protocol*."""
        return self._interviewer.greet(f"greeted with protocol {protocol}", protocol)

    @cached_property
    def cut_off(self) -> Seen:
        """Its input ends before the greeting."""
        return self._interviewer.break_off("its input ended before the greeting", b"")

    @cached_property
    def cut_short(self) -> list[Seen]:
        """Its input ends inside a frame, or holds one that cannot be read, in the greeting and after it."""
        phase = self.round[0] if self.round else Phase.PLAN
        request = frame(self._usual(0, phase, self.info or wire.PluginInfo(), {}))
        unreadable = framed(odd.UNREADABLE)
        break_off = self._interviewer.break_off
        return [
            break_off("its greeting is cut short", self._interviewer.hello()[:-2]),
            break_off("its greeting cannot be read", unreadable),
            break_off("its input ends inside a header", b"\0\0", phase),
            break_off("its input ends inside a request", request[:-3], phase),
            break_off("a request cannot be read", unreadable, phase),
        ]

    def _usual(self, number: int, phase: Phase, info: wire.PluginInfo, results: Results) -> Message:  # noqa: ARG002 - an `Ask`
        return requests.ordinary(self.sample, info, phase, results)
