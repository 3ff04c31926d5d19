"""The plugin's side of the wire: serves the host's calls one after another, and calls the host from within them.

Theory of operation: one thread, one handler at a time. A handler that calls the host reads frames until its response
is there. Responses are resolved as they are read; requests and notifications that come first are queued, in order, and
handled when the handler has returned. So neither a call from any handler, nor a flood of events ahead of its
response, can lock the two up. Nor can two full pipes: while a write cannot go on, what the host sends is taken in.
Only actions nest: a handler that has invoked one serves those that come meanwhile, because whoever was invoked may
be waiting for just that, or be this very plugin.

The queue is bounded by QUEUE_LIMIT bytes. At the bound the waiting call fails with `QueueFull`, because to stop
reading would be the lock-up again, and to drop would lose events; the handler fails, and the queue is worked off.

A signal handler may come, and raise, wherever Python looks for signals (`duplex_step` says where that is). So a
message is in one place at any moment: read, queued, or in hand, from where it goes on if it was interrupted; and in one
step, of assignments only, its answer is in the outbox and it is in hand no more. Each gets one answer, whatever comes.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident

from .duplex_error import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    HostError,
    HostGone,
    PluginError,
    QueueFull,
    is_of_the_sdk,
)
from .duplex_inbox import LIMIT, QUEUE_LIMIT, READ_SIZE, Inbox
from .duplex_message import decode, decode_usual, result_of
from .duplex_outbox import CLOSED, Outbox
from .duplex_report import say, show_traceback, words
from .frames.content_length import encode, only
from .frames.errors import FrameError, FrameTooLarge
from .small_json import to_json

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from .duplex_message import Message

    Parse = Callable[[Any], tuple[Any, ...]]  # of the params, into the arguments; raises ValueError
    Methods = dict[str, tuple[Parse, Callable[..., Any]]]

INIT = "plugin/init"
ACTION = "host/action/invoke"
DEEPEST = 32  # actions within actions: more are no errand, but a circle
QUEUED_MESSAGE = (
    1_024  # bytes that a waiting message counts for beyond its body: what Python needs to hold it
)
SMALLEST_ID, LARGEST_ID = -(2**63), 2**63 - 1
LONGEST_ID = 1_024  # characters of an id that is a text
LONGEST_MESSAGE = 4_096  # characters of an error's message, where the whole could not be sent

# In place of the method of a message that cannot be handled any more, but is to be answered:
INTERRUPTED = "plughost-sdk/interrupted"
TOO_DEEP = "plughost-sdk/too_deep"

EXIT_OK = 0
EXIT_BROKEN = 1  # the host, or whatever started us, does not speak this contract


class Conversation:
    """One process's worth of calls in both directions. *methods* hold how params are read and what is done.

    What is done returns the result; or, as bytes, the result already written as JSON.

    *ready* is called once init was answered, with a result.
    """

    def __init__(
        self, methods: Methods, read: int, write: int, ready: Callable[[], Any] | None = None
    ) -> None:
        self._methods: Methods = {
            **methods,
            INTERRUPTED: (_refuse_interrupted, _nothing),
            TOO_DEEP: (_refuse_circle, _nothing),
        }
        self._ready = ready
        self._due: Callable[[], Any] | None = None  # what is ready, once it is to be called
        self._inbox = Inbox(read)
        self._outbox = Outbox(write)
        self._owes = False  # there is something in the outbox that this thread has not written yet
        self._in_hand: Message | None = None  # the one whose turn it is, until its answer is in the outbox
        self._has_begun = False  # its handler has
        self._arrived: list[tuple[int, Message]] = []  # while a handler waited, with what each counts as
        self._next: list[tuple[int, Message]] = []  # those of them whose turn it is, last first
        self._queued = 0  # bytes
        self._awaited: dict[int, Message | None] = {}  # our ids, with their responses once they are there
        self._last_id = 0
        self._depth = 0  # of actions within actions
        self._ignored = 0  # frames
        self._is_over = False  # the host has said that nothing more is to come
        self._thread = get_ident()

    def serve(self) -> int:
        """Serve calls until the host hangs up, or `finish`, and return the exit status."""
        os.register_at_fork(after_in_child=self.let_go)
        try:
            while True:
                try:
                    try:
                        return self._serve()
                    except Exception as error:
                        self._survive(error)
                        show_traceback()
                except Exception as error:  # another one, meanwhile
                    self._survive(error)
        except FrameError as error:
            return _broken(str(error))
        except (OSError, HostGone) as error:
            return _broken(f"the host is gone ({error})")

    def _serve(self) -> int:
        self._go_on()
        while not self._is_over and (message := self._take()) is not None:
            self._handle(message)
            if self._outbox.fd == CLOSED:  # whose handler has forked, and returned here in the fork too
                sys.exit(_broken("a fork of the plugin returned from its handler"))
        if self._owes:
            self._write()
        return EXIT_OK

    def finish(self) -> None:
        """End `serve` once the message in hand is answered, whether or not the host hangs up."""
        self._is_over = True

    def _survive(self, error: Exception) -> None:
        """Raise *error* again, unless a signal handler raised it between two handlers: it ends neither."""
        if self._outbox.is_lost or is_of_the_sdk(error):
            raise error

    def request(self, method: str, params: Message) -> Any:
        """Call the host and return the result. See `duplex_host` for what it raises."""
        if get_ident() != self._thread:
            raise RuntimeError(f"{method} waits for an answer: call it in the thread that runs the plugin")
        if self._inbox.is_reading or self._outbox.is_busy(self._thread):
            raise RuntimeError(
                f"{method} waits for an answer: a signal handler that interrupts the wire cannot"
            )
        mine = self._last_id = self._last_id + 1  # at once: a signal handler may call too
        self._awaited[mine] = None
        try:
            self._send({"jsonrpc": "2.0", "id": mine, "method": method, "params": params})
            return result_of(method, self._await(mine, method))
        finally:
            del self._awaited[mine]

    def notify(self, method: str, params: Message) -> None:
        """Send a notification to the host."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def let_go(self) -> None:
        """Close the wire. A fork does so at once: it must not keep it open, much less answer."""
        for fd in {self._inbox.fd, self._outbox.fd} - {CLOSED}:
            os.close(fd)
        self._inbox.fd = CLOSED
        self._outbox.let_go()

    # What comes in

    def _await(self, mine: int, method: str) -> Message:
        while (response := self._awaited[mine]) is None:
            if method == ACTION and self._serve_action():
                continue
            if self._queued > QUEUE_LIMIT:
                raise QueueFull(f"over {QUEUE_LIMIT} bytes came while {method} waited for its answer")
            if self._owes:
                self._write()
            self._inbox.is_reading = True
            try:  # a signal handler that came just now may have read the response
                more = self._awaited[mine] is not None or self._receive()
            except FrameError as error:  # which ends the conversation as soon as the handler returns
                if not is_of_the_sdk(error):
                    raise
                raise HostGone(f"the host broke off before it answered {method}: {error}") from None
            finally:
                self._inbox.is_reading = False
            if not more:
                raise HostGone(f"the host hung up before it answered {method}")
        return response

    def _serve_action(self) -> bool:
        """Serve an action that came while one of ours is awaited. Returns whether there was any."""
        for queue, oldest in ((self._next, -1), (self._arrived, 0)):
            waiting = [(at, each) for at, each in enumerate(queue) if each[1].get("method") == ACTION]
            if waiting:
                self._serve_queued(queue, *waiting[oldest])
                return True
        return False

    def _serve_queued(self, queue: list[tuple[int, Message]], at: int, entry: tuple[int, Message]) -> None:
        size, message = entry
        if queue[at : at + 1] != [entry]:
            return  # a signal handler that came just now has served it, or one before it
        outer, has_begun = self._in_hand, self._has_begun
        del queue[at]
        self._queued -= size
        self._in_hand, self._has_begun = message, False
        self._depth += 1
        try:
            if self._depth > DEEPEST:
                message["method"] = TOO_DEEP
            self._handle(message)
        finally:
            if self._in_hand is message:  # without an answer yet
                if self._has_begun:
                    message["method"] = INTERRUPTED
                queue[at:at] = (entry,)
                self._queued += size
            self._in_hand, self._has_begun = outer, has_begun
            self._depth -= 1

    def _go_on(self) -> None:
        """Do what an exception has left undone."""
        message = self._in_hand
        if message is not None:
            if self._has_begun:
                message["method"] = INTERRUPTED
            self._handle(message)
        if self._due is not None:
            self._begin()

    def _take(self) -> Message | None:
        """Take the next request or notification in hand and return it, or None after the last."""
        if self._owes:
            self._write()
        inbox = self._inbox
        inbox.is_reading = True  # until what came is where it belongs
        try:
            if inbox.is_calm or self._calms_down():
                # Nearly always whole messages come, one or several at once: then they need not be queued.
                if inbox.is_sound and inbox.frames.is_between:
                    if inbox.taken:
                        inbox.pieces, inbox.taken = [], 0
                    if inbox.fresh is None:
                        inbox.fresh = inbox.source @ READ_SIZE
                    body = only(inbox.fresh)
                    message = None if body is None else decode_usual(body)
                    if message is not None and "method" in message:
                        self._in_hand, inbox.fresh = message, None
                        return message
                    inbox.keep()
                if inbox.is_sound and inbox.fresh is None:
                    inbox.is_sound = False
                    body = inbox.frames.next_usual()
                    if body is None:
                        inbox.is_sound = True
                    else:
                        message = decode_usual(body)
                        if message is not None and "method" in message:
                            self._in_hand = message
                            inbox.taken += 1
                            inbox.is_sound = True
                            return message
                        self._put(body)
            return self._take_queued()
        finally:
            inbox.is_reading = False

    def _take_queued(self) -> Message | None:
        """Like `_take`, of what waits, or of whatever comes if nothing does."""
        while not self._next:
            if self._arrived:
                self._next, self._arrived = self._arrived[::-1], []
            elif not self._receive():
                return None
        size, message = self._next[-1]
        del self._next[-1]
        self._queued -= size
        self._in_hand = message
        return message

    def _calms_down(self) -> bool:
        self._inbox.is_calm = not (self._next or self._arrived or self._inbox.has_ended)
        return self._inbox.is_calm

    def _receive(self) -> bool:
        """Wait for one frame and put it where it belongs. False at the end of the input."""
        inbox = self._inbox
        while (body := inbox.next()) is None:
            if inbox.has_ended:
                return False
            inbox.read()
        self._put(body)
        return True

    def _put(self, body: bytes) -> None:
        """Put what *body* says where it belongs. Only then is it taken out of the inbox."""
        inbox, message = self._inbox, decode(body)
        if message is None:
            self._ignore("it is not a JSON object")
        elif "method" in message:
            size = len(body) + QUEUED_MESSAGE
            inbox.is_calm = False
            self._queued += size
            self._arrived += ((size, message),)
        else:
            mine = message.get("id")
            if type(mine) is int and self._awaited.get(mine, message) is None:
                self._awaited[mine] = message
            else:
                self._ignore(f"nobody waits for a response with the id {mine!r:.40}")
        inbox.taken += 1
        inbox.is_sound = True

    def _ignore(self, why: str) -> None:
        """Say so, less and less often: whoever sends one such frame may send a million."""
        self._ignored += 1
        if self._ignored & (self._ignored - 1) == 0:
            say(f"plughost-sdk: frame ignored: {why} ({self._ignored} so far)")

    # What is done about it

    def _handle(self, message: Message) -> None:
        """Do what *message*, which is in hand, asks for, and answer it."""
        method, mine = message["method"], message.get("id")
        if type(mine) is not int or not SMALLEST_ID <= mine <= LARGEST_ID:
            mine = _text_id(mine)
        handler = self._methods.get(method) if isinstance(method, str) else None
        frame = None
        is_done = False
        if handler is None:
            if mine is not None:
                frame = _refusal(mine, METHOD_NOT_FOUND, f"method not found: {method}")
        else:
            parse, run = handler
            try:
                given = parse(message.get("params"))
            except ValueError as error:
                if mine is None:
                    self._ignore(f"bad params of {method}: {error}")
                else:
                    frame = _refusal(mine, INVALID_PARAMS, str(error))
            else:
                try:
                    self._has_begun = True
                    result = run(*given)
                    if mine is not None:
                        written = result if type(result) is bytes else to_json(result)
                        said = b"%d" % mine if type(mine) is int else to_json(mine)
                        frame = encode(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (said, written), LIMIT)
                    is_done = True
                except Exception as error:
                    if self._outbox.is_lost and isinstance(error, OSError):
                        raise
                    frame = _failure(mine, method, error)
        # No call from here on, until it is said that the message was answered.
        self._in_hand, self._has_begun = None, False
        if is_done and method == INIT:
            self._due, self._ready = self._ready, None
        if frame is not None:
            outbox = self._outbox
            outbox.unsent += (frame,)
            self._owes = True
            outbox.write(self._thread)
            if outbox.unsent:
                self._write()
            self._owes = False
        if self._due is not None:
            self._begin()

    def _begin(self) -> None:
        import json as json  # which takes half as long as starting Python: nobody waits for it now

        due, self._due = self._due, None
        try:
            if due is not None:
                due()
        except Exception as error:
            if self._outbox.is_lost and isinstance(error, OSError):
                raise
            _failure(None, "on_ready", error)

    # What goes out

    def _send(self, message: Message) -> None:
        frame = encode(to_json(message), LIMIT)
        me, outbox = get_ident(), self._outbox
        if outbox.is_busy(me):
            outbox.hold(frame)
        elif me == self._thread:
            outbox.unsent += (frame,)
            self._owes = True
            self._write()
        else:
            outbox.is_shared = True
            outbox.unsent += (frame,)
            outbox.write(me)
            if outbox.unsent:
                outbox.drain(me, None)

    def _write(self) -> None:
        """Write what this thread has put into the outbox, and take in what the host sends while it does not read."""
        outbox = self._outbox
        outbox.write(self._thread)
        if outbox.unsent:
            outbox.drain(self._thread, None if self._inbox.is_reading else self._inbox)
        self._owes = False


def _text_id(given: Any) -> str | None:
    """Return the id of a request if it is a text that can be sent back, or None: then nobody is answered."""
    if type(given) is not str or len(given) > LONGEST_ID:
        return None
    try:
        given.encode()
    except UnicodeEncodeError:  # half a character, as "\\ud800"
        return None
    return given


def _failure(mine: int | str | None, method: str, error: Exception) -> bytes | None:
    """Return the answer that *error* is, and show it to the author unless it is what the author wants to say."""
    if isinstance(error, HostGone | FrameTooLarge | QueueFull):
        say(f"plughost-sdk: {method}: {words(error)}")
    elif not isinstance(error, PluginError):
        show_traceback()
    if mine is None:
        return None
    if isinstance(error, PluginError | HostError):
        return _refusal(mine, error.code, error.message, error.data)
    # the contract's code for whatever goes wrong in a handler
    return _refusal(mine, INVALID_PARAMS, f"{type(error).__name__}: {words(error)}")


def _refusal(mine: int | str, code: int, message: str, data: Any = None) -> bytes:
    error: Message = {"code": code, "message": message.encode("utf-8", "replace").decode()}
    try:
        extended = error if data is None else {**error, "data": data}
        return encode(to_json({"jsonrpc": "2.0", "id": mine, "error": extended}), LIMIT)
    except (ValueError, TypeError, RecursionError, FrameTooLarge):  # the code is what matters
        error["message"] = error["message"][:LONGEST_MESSAGE]
        return encode(to_json({"jsonrpc": "2.0", "id": mine, "error": error}), LIMIT)


def _refuse_interrupted(_params: Any) -> NoReturn:
    raise ValueError("a signal handler interrupted it twice")


def _refuse_circle(_params: Any) -> NoReturn:
    raise ValueError(f"over {DEEPEST} actions within one another")


def _nothing() -> None:
    """Stand where a handler would, behind params that are always refused."""


def _broken(why: str) -> int:
    say(f"plughost-sdk: {why}")
    return EXIT_BROKEN
