"""One request, from its text to its last reply: shown as it comes, answered, interrupted. Decides no exit status.

Theory of operation. A reply is asked for twenty times a second, so that a person sees what long work prints; the last
one comes at once. The first Ctrl-C interrupts the request, and the second one, if it still runs, replaces the worker.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from ...contracts.sideband.items import Prompt
from ...host.sideband.blocking_console import BlockingConsole
from ...host.sideband.reply import Interruption, Reply, ReplyState
from .display import Display
from .keyboard import Keyboard

LOOK_S = 0.05  # what is printed is seen by then: a person takes it for at once
FLOOD_CHARS = 65_536  # in one reply: more is coming, and would not fit the next one after a rest
INTERRUPT_S = 1.0  # for a worker to answer, and for the request to be over, before we say that it goes on
FORCE_S = 0.5  # for the same after the second one, before the worker is replaced
LATE_S = 5.0  # for the same where nobody has lost patience, and the time is up
GIVE_UP_S = 0.5  # for the same in a script: its command ends within a second of its time

KILLED = "it did not stop: the worker was killed"
AGAIN = "Ctrl-C again replaces the worker, and what is in its memory is lost"
REMARKS = {
    Interruption.DELIVERED: "interrupted",
    Interruption.SENT: "interrupted, as far as can be known",
    Interruption.IDLE: "it was over already: nothing was interrupted",
    Interruption.UNANSWERED: "the worker does not answer: it may be busy with native code",
    Interruption.ENDED: "the worker ended",
    Interruption.REPLACED: "it did not stop: the worker was replaced",
}

Ask = Callable[[str, bool], str | None]  # a prompt, and whether in secret, to an answer; None: there is none


class Ending(StrEnum):
    """How a turn ended."""

    OVER = "over"  # by itself
    INTERRUPTED = "interrupted"
    LATE = "late"  # its time was up
    UNANSWERED = "unanswered"  # it asked for input, and got none


@dataclass(frozen=True, slots=True)
class Outcome:
    """The last reply of a turn. *asked*: what it asked for last. *exit_status*: what its code ended its worker with."""

    reply: Reply
    ending: Ending = Ending.OVER
    asked: str = ""
    exit_status: int | None = None


class Turn:
    """Runs requests for whoever looks at *display*. *ask* None: there is nobody to ask.

    *timeout*: seconds for one, the time for answers not counted. *is_script*: the command ends with its request.
    """

    def __init__(
        self,
        console: BlockingConsole,
        display: Display,
        keyboard: Keyboard,
        ask: Ask | None,
        timeout: float | None = None,
        *,
        is_script: bool = False,
    ) -> None:
        self._console = console
        self._display = display
        self._keyboard = keyboard
        self._ask = ask
        self._timeout = timeout
        self._is_script = is_script

    def run(self, text: str) -> Outcome:
        """Run *text* to its end. Raises what `Console.run` raises."""
        self._keyboard.take()
        presses, ending, asked = 0, Ending.OVER, ""
        reply = self._console.run(text, LOOK_S)
        until = None if self._timeout is None else time.monotonic() + self._timeout - reply.elapsed_ms / 1000
        while True:
            self._display.show(reply.items, reply.full_output)
            if reply.state in (ReplyState.READY, ReplyState.ENDED):
                own = self._console.exit_status if reply.state is ReplyState.ENDED else None
                return Outcome(reply, ending, asked, own)
            if reply.state is ReplyState.WAITING:
                began, asked = time.monotonic(), reply.prompt
                answer = None if self._ask is None else self._ask(reply.prompt, _is_secret(reply))
                if answer is None:
                    ending, presses = Ending.UNANSWERED, presses + 1
                    patience = None if presses == 1 else FORCE_S
                    reply = self._stop(LATE_S if self._ask is None else patience)
                else:
                    reply = self._console.answer(answer, LOOK_S)
                until = None if until is None else until + time.monotonic() - began
            elif self._keyboard.take():
                ending = Ending.INTERRUPTED
                self._display.break_line()
                reply = self._stop(None if (presses := presses + 1) == 1 else FORCE_S)
            elif until is not None and time.monotonic() >= until and ending is not Ending.LATE:
                ending = Ending.LATE
                self._display.note(f"{self._timeout:g} s are over")
                reply = self._give_up() if self._is_script else self._stop(LATE_S)
            else:
                reply = self._console.poll(LOOK_S if len(reply.text) < FLOOD_CHARS else 0.0)

    def _stop(self, force_s: float | None) -> Reply:
        """Interrupt the request, by force after so many seconds, say what became of that, and return what is new."""
        if force_s is None:
            outcome = self._console.interrupt(INTERRUPT_S)
        else:
            outcome = self._console.interrupt(force_s, force=True)
        reply = self._wait_for_end()
        self._display.show(reply.items, reply.full_output)
        if reply.state is not ReplyState.RUNNING:
            self._display.note(REMARKS[outcome])
        elif not self._keyboard.is_pressed:
            told = "it was told, and goes on" if outcome is Interruption.DELIVERED else REMARKS[outcome]
            self._display.note(f"{told}. {AGAIN}")
        return replace(reply, items=tuple(item for item in reply.items if isinstance(item, Prompt)))

    def _give_up(self) -> Reply:
        """Stop the request for good, and say what became of that."""
        outcome, reply = give_up(self._console)
        self._display.show(reply.items, reply.full_output)
        self._display.note(KILLED if outcome is Interruption.REPLACED else REMARKS[outcome])
        return replace(reply, items=())

    def _wait_for_end(self) -> Reply:
        """Show what comes until the request is over, or has had its time, or the person has lost patience."""
        until = time.monotonic() + INTERRUPT_S
        reply = self._console.poll(LOOK_S)
        while (
            reply.state is ReplyState.RUNNING and time.monotonic() < until and not self._keyboard.is_pressed
        ):
            self._display.show(reply.items, reply.full_output)
            reply = self._console.poll(LOOK_S)
        return reply


def give_up(console: BlockingConsole) -> tuple[Interruption, Reply]:
    """Interrupt the last request of *console*, and kill the worker if the request is not over in GIVE_UP_S seconds."""
    until = time.monotonic() + GIVE_UP_S
    outcome = console.interrupt(GIVE_UP_S)
    reply = console.poll(max(0.0, until - time.monotonic()))
    if reply.state in (ReplyState.READY, ReplyState.ENDED):
        return outcome, reply
    console.abort()
    return Interruption.REPLACED, replace(reply, state=ReplyState.ENDED)


def _is_secret(reply: Reply) -> bool:
    """Tell whether the answer that *reply* waits for is not to be seen."""
    asked = [item for item in reply.items if isinstance(item, Prompt)]
    return bool(asked) and asked[-1].secret
