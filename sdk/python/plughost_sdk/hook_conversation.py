"""The provider's side of the wire: a handshake, then rounds of requests and replies until the host hangs up.

Theory of operation: a frame carries no name, so what a request is follows from its place, and both ends must agree on
what a round is: the phases that PLUGHOST_HOOK_ROUND lists, or, if it says `declared`, those that the provider declares.
A host that does not set it asks for plan and generate in turns, or for generate alone: its requests are told apart by
their shape, and by their place where the shape does not tell. A phase of these that the provider does not have is
answered with nothing. A request that cannot be read, and an end of input inside a frame, end the process with a
message.
"""

from __future__ import annotations

import os
import sys

from . import stdio
from .frames.errors import FrameError
from .frames.length_prefix import LengthPrefixDecoder, encode
from .hook_handshake import LIMIT, PROTOCOL, Hello

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .hook import Provider

    Handlers = dict[str, Callable[..., Any]]

PHASES = ("detect", "plan", "generate", "validate", "preflight")
PREFLIGHT = "preflight"  # asked when a job starts, in a process of its own, and never in a round with others
ROUND = "PLUGHOST_HOOK_ROUND"  # the variable in which the host lists the phases of its rounds
DECLARED = "declared"  # its value where the host asks for whatever the provider declares
USUAL = ("plan", "generate")  # the round of a host that does not set it

CLOSED = -1  # in place of a descriptor
READ_SIZE = 65_536  # bytes; larger reads are served by mmap and cost twenty times as much

EXIT_OK = 0
EXIT_FAILED = (
    1  # the host, or whatever started us, does not speak this contract; or there is nothing to answer with
)


class Conversation:
    """One process's worth of rounds."""

    def __init__(self, provider: Provider, handlers: Handlers, read: int, write: int) -> None:
        self._provider = provider
        self._handlers = handlers
        self._read, self._write = read, write
        self._round: tuple[str, ...] = ()
        self._is_agreed = False  # the host has said which phases a round has
        self._frames = LengthPrefixDecoder(LIMIT)

    def serve(self) -> int:
        """Talk until the host hangs up, and return the exit status."""
        os.register_at_fork(after_in_child=self._let_go)
        try:
            return self._greet() or self._answer_all()  # 0 means: go on
        except FrameError as error:
            return _broken(str(error))
        except OSError as error:
            return _broken(f"the host is gone ({error})")
        finally:  # nothing may follow the last reply, not even from an exit handler
            self._let_go()

    def _greet(self) -> int:
        frame = self._next_frame()
        if frame is None:
            return _broken("the input ended before the host said Hello")
        try:
            hello = Hello(frame)
        except ValueError as error:
            return _broken(f"the first frame is not a Hello: {error}")
        if hello.core_protocol != PROTOCOL:
            say(f"Error: Protocol version mismatch: core={hello.core_protocol}, plugin={PROTOCOL}")
            return EXIT_FAILED
        self._provider.env = hello.env
        if not _is_installed("google", "protobuf"):
            return _broken('the hook contract needs protobuf: pip install "plughost-sdk[hook]"')
        # It says which phases there are: a host that wants others is not left guessing.
        self._send(self._provider.encode_info())
        try:
            agreed = os.environ.get(ROUND) or hello.env.get(ROUND, "")
            self._round, self._is_agreed = _round(agreed, self._provider.phases), bool(agreed)
        except ValueError as error:
            return _broken(str(error))
        return EXIT_OK

    def _answer_all(self) -> int:
        from . import hook_reply  # and protobuf with it, while the host prepares its request

        due = 0
        while (frame := self._next_frame()) is not None:
            phase = self._round[due] if self._is_agreed else _told(frame) or self._round[due]
            due = (self._round.index(phase) + 1) % len(self._round)
            try:
                request = hook_reply.decode(phase, frame)
            except ValueError as error:
                return _broken(str(error))
            try:
                reply = hook_reply.answer(phase, self._handlers.get(phase, _nothing), request)
            except Exception:  # only preflight raises: its result has no room for a diagnostic
                _print_traceback()
                return EXIT_FAILED
            self._send(reply)
        return self._close()

    def _close(self) -> int:
        try:
            self._provider.close()
        except Exception:
            _print_traceback()
            return EXIT_FAILED
        return EXIT_OK

    def _next_frame(self) -> bytes | None:
        while (frame := self._frames.next_frame()) is None:
            data = os.read(self._read, READ_SIZE)
            if data:
                self._frames.receive_data(data)
                continue
            self._frames.receive_eof()
            return self._frames.next_frame()
        return frame

    def _send(self, body: bytes) -> None:
        stdio.write_all(self._write, encode(body, LIMIT))

    def _let_go(self) -> None:
        """Close the wire. A fork does so at once: it must not keep it open, much less answer."""
        for fd in {self._read, self._write} - {CLOSED}:
            os.close(fd)
        self._read = self._write = CLOSED


def _told(frame: bytes) -> str | None:
    """Return plan or generate, if the shape of *frame* tells which of them it is."""
    from .hook_shape import tell  # only for hosts that do not say what a round is

    return tell(frame)


def _nothing(request: object) -> None:
    """Answer a phase that the provider does not have."""


def say(text: str) -> None:
    """Write a line to standard error, if there is one."""
    try:
        sys.stderr.write(f"{text}\n")
    except (OSError, ValueError, AttributeError):
        pass  # closed, or replaced by something of the plugin's: there is nobody to tell


def _round(listed: str, declared: tuple[str, ...]) -> tuple[str, ...]:
    """Return the phases of a round: those *listed*, or all that are *declared*; preflight only if it is alone."""
    if not listed:
        return USUAL
    if listed == DECLARED:
        return tuple(phase for phase in declared if phase != PREFLIGHT) or declared
    phases = tuple(listed.split(","))
    unknown = [phase for phase in phases if phase not in declared]
    if unknown:
        raise ValueError(f"{ROUND} lists {unknown[0]!r}; the phases are {', '.join(declared)}")
    if phases != tuple(phase for phase in PHASES if phase in phases):
        raise ValueError(f"{ROUND} is {listed!r}: phases come once each, in the order {', '.join(PHASES)}")
    if PREFLIGHT in phases and phases != (PREFLIGHT,):
        raise ValueError(f"{ROUND} is {listed!r}: {PREFLIGHT} is asked in a process of its own")
    return phases


def _is_installed(package: str, module: str) -> bool:
    """Tell whether *package*.*module* can be found, without importing it or the machinery that would tell."""
    name, path = package, None
    for below in (f"{package}.{module}", ""):
        found = next(filter(None, (finder.find_spec(name, path) for finder in sys.meta_path)), None)
        if found is None:
            return False
        name, path = below, found.submodule_search_locations
    return True


def _print_traceback() -> None:
    import traceback

    say(traceback.format_exc().rstrip())


def _broken(why: str) -> int:
    say(f"plughost-sdk: {why}")
    return EXIT_FAILED
