"""The plugin's side of the wire: serves the host's calls one after another, and calls the host from within them.

Theory of operation: one thread, one handler at a time. A handler that calls the host reads frames until its response
is there. Responses are resolved as they are read; requests and notifications that come first are queued, in order, and
handled when the handler has returned. So neither a call from any handler, nor a flood of events ahead of its
response, can lock the two up. Nor can two full pipes: while a write cannot go on, what the host sends is taken in.
Only actions nest: a handler that has invoked one serves those that come meanwhile, because whoever was invoked may
be waiting for just that, or be this very plugin.

The queue is bounded by QUEUE_LIMIT bytes. At the bound the waiting call fails with `QueueFull`, because to stop
reading would be the lock-up again, and to drop would lose events; the handler fails, and the queue is worked off.
"""

from __future__ import annotations

import os
import stat
import sys
from _thread import allocate_lock, get_ident

from .duplex_error import INVALID_PARAMS, METHOD_NOT_FOUND, HostError, HostGone, PluginError, QueueFull
from .duplex_message import decode, decode_usual, result_of
from .duplex_report import say, show_traceback, words
from .frames.content_length import ContentLengthDecoder, encode, only
from .frames.errors import FrameError, FrameTooLarge
from .small_json import to_json

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .duplex_message import Message

    Parse = Callable[[Any], tuple[Any, ...]]  # of the params, into the arguments; raises ValueError
    Methods = dict[str, tuple[Parse, Callable[..., Any]]]

INIT = "plugin/init"
ACTION = "host/action/invoke"
DEEPEST = 32  # actions within actions: more are no errand, but a circle
LIMIT = 16_777_216  # bytes of one body, either way: the contract's limit
QUEUE_LIMIT = 4 * LIMIT  # bytes of bodies that wait for a handler to return
QUEUED_MESSAGE = (
    1_024  # bytes that a waiting message counts for beyond its body: what Python needs to hold it
)
READ_SIZE = 65_536  # bytes; larger reads are served by mmap and cost twenty times as much
WRITE_SIZE = 4_096  # bytes: PIPE_BUF. A pipe that is ready takes so many without blocking
LOCK_WAIT = 0.05  # seconds between two looks at the input while another thread is writing
SMALLEST_ID, LARGEST_ID = -(2**63), 2**63 - 1
LONGEST_MESSAGE = 4_096  # characters of an error's message, where the whole could not be sent

CLOSED = -1  # in place of a descriptor

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
        self._methods = methods
        self._ready = ready
        self._read, self._write = read, write
        # What cannot be written at once is written while we read. A file or a terminal is always ready, and a
        # terminal is not ours alone to change.
        self._never_waits = stat.S_IFMT(os.fstat(write).st_mode) in (stat.S_IFIFO, stat.S_IFSOCK)
        if self._never_waits:
            os.set_blocking(write, False)
        self._frames = ContentLengthDecoder(LIMIT)
        self._is_calm = True  # nothing waits but what is in the frames, and more may come
        self._ended = False  # the host has closed our input
        self._lost = False  # it does not read any more
        self._arrived: list[tuple[int, Message]] = []  # while a handler waited, with what each counts as
        self._next: list[tuple[int, Message]] = []  # those of them whose turn it is, last first
        self._queued = 0  # bytes
        self._awaited: dict[int, Message | None] = {}  # our ids, with their responses once they are there
        self._last_id = 0
        self._depth = 0  # of actions within actions
        self._ignored = 0  # frames
        self._thread = get_ident()
        self._writing = allocate_lock()
        # A signal handler may interrupt these. What it may do then is less than usual.
        self._is_reading = False
        self._is_writing = False

    def serve(self) -> int:
        """Serve calls until the host hangs up, and return the exit status."""
        os.register_at_fork(after_in_child=self.let_go)
        try:
            while (message := self._take()) is not None:
                self._handle(message)
                if self._write == CLOSED:  # whose handler has forked, and returned here in the fork too
                    sys.exit(_broken("a fork of the plugin returned from its handler"))
            return EXIT_OK
        except FrameError as error:
            return _broken(str(error))
        except (OSError, HostGone) as error:
            return _broken(f"the host is gone ({error})")

    def request(self, method: str, params: Message) -> Any:
        """Call the host and return the result. See `duplex_host` for what it raises."""
        if get_ident() != self._thread:
            raise RuntimeError(f"{method} waits for an answer: call it in the thread that runs the plugin")
        if self._is_reading:
            raise RuntimeError(f"{method} waits for an answer: a signal handler cannot")
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
        for fd in {self._read, self._write} - {CLOSED}:
            os.close(fd)
        self._read = self._write = CLOSED
        self._writing = allocate_lock()  # in a fork, whoever held it is not there

    # What comes in

    def _await(self, mine: int, method: str) -> Message:
        while (response := self._awaited[mine]) is None:
            if method == ACTION and self._serve_action():
                continue
            if self._queued > QUEUE_LIMIT:
                raise QueueFull(f"over {QUEUE_LIMIT} bytes came while {method} waited for its answer")
            self._is_reading = True
            try:  # a signal handler that came just now may have read the response
                more = self._awaited[mine] is not None or self._receive()
            except FrameError as error:  # which ends the conversation as soon as the handler returns
                raise HostGone(f"the host broke off before it answered {method}: {error}") from None
            finally:
                self._is_reading = False
            if not more:
                raise HostGone(f"the host hung up before it answered {method}")
        return response

    def _serve_action(self) -> bool:
        """Serve an action that came while one of ours is awaited. Returns whether there was any."""
        for queue, at in ((self._next, -1), (self._arrived, 0)):  # oldest first, as each is kept
            waiting = [each for each in queue if each[1].get("method") == ACTION]
            if not waiting:
                continue
            try:
                queue.remove(waiting[at])
            except ValueError:  # a signal handler that came just now has served it
                return True
            self._queued -= waiting[at][0]
            message = waiting[at][1]
            if self._depth >= DEEPEST:
                self._refuse_circle(message)
                return True
            self._depth += 1
            try:
                self._handle(message)
            finally:
                self._depth -= 1
            return True
        return False

    def _refuse_circle(self, message: Message) -> None:
        mine = message.get("id")
        if type(mine) is int:
            self._refuse(mine, INVALID_PARAMS, f"over {DEEPEST} actions within one another")

    def _take(self) -> Message | None:
        """Return the next request or notification, or None after the last."""
        self._is_reading = True  # until what came is where it belongs
        try:
            if self._is_calm or self._calms_down():
                # Nearly always whole messages come, one or several at once: then they need not be queued.
                body = None
                if self._frames.is_between:
                    data = os.read(self._read, READ_SIZE)
                    body = only(data)
                    if body is None:
                        self._keep(data)
                if body is None:
                    body = self._frames.next_usual()
                if body is not None:
                    message = decode_usual(body)
                    if message is not None and "method" in message:
                        return message
                    self._put(body)
            return self._take_queued()
        finally:
            self._is_reading = False

    def _take_queued(self) -> Message | None:
        """Like `_take`, of what waits, or of whatever comes if nothing does."""
        while not self._next:
            if self._arrived:
                self._next, self._arrived = self._arrived[::-1], []
            elif not self._receive():
                return None
        size, message = self._next.pop()
        self._queued -= size
        return message

    def _calms_down(self) -> bool:
        self._is_calm = not (self._next or self._arrived or self._ended)
        return self._is_calm

    def _receive(self) -> bool:
        """Wait for one frame and put it where it belongs. False at the end of the input."""
        while (body := self._frames.next_frame()) is None:
            if self._ended:
                return False
            self._keep(os.read(self._read, READ_SIZE))
        self._put(body)
        return True

    def _put(self, body: bytes) -> None:
        """Put what *body* says where it belongs."""
        message = decode(body)
        if message is None:
            self._ignore("it is not a JSON object")
        elif "method" in message:
            self._is_calm = False
            size = len(body) + QUEUED_MESSAGE
            self._queued += size
            self._arrived.append((size, message))
        else:
            self._resolve(message)

    def _read_some(self) -> None:
        self._is_reading = True
        try:
            self._keep(os.read(self._read, READ_SIZE))
        finally:
            self._is_reading = False

    def _keep(self, data: bytes) -> None:
        if data:
            self._frames.receive_data(data)
        else:
            self._ended, self._is_calm = True, False
            self._frames.receive_eof()

    def _resolve(self, response: Message) -> None:
        mine = response.get("id")
        if type(mine) is int and self._awaited.get(mine, response) is None:
            self._awaited[mine] = response
        else:
            self._ignore(f"nobody waits for a response with the id {mine!r:.40}")

    def _ignore(self, why: str) -> None:
        """Say so, less and less often: whoever sends one such frame may send a million."""
        self._ignored += 1
        if self._ignored & (self._ignored - 1) == 0:
            say(f"plughost-sdk: frame ignored: {why} ({self._ignored} so far)")

    # What is done about it

    def _handle(self, message: Message) -> None:
        method, mine = message["method"], message.get("id")
        if type(mine) is not int or not SMALLEST_ID <= mine <= LARGEST_ID:
            mine = None  # what the contract does not take for an id is none: nobody could match a reply to it
        handler = self._methods.get(method) if isinstance(method, str) else None
        if handler is None:
            if mine is not None:
                self._refuse(mine, METHOD_NOT_FOUND, f"method not found: {method}")
            return
        parse, run = handler
        try:
            given = parse(message.get("params"))
        except ValueError as error:
            if mine is None:
                self._ignore(f"bad params of {method}: {error}")
            else:
                self._refuse(mine, INVALID_PARAMS, str(error))
            return
        try:
            result = run(*given)
            if mine is not None:
                written = result if type(result) is bytes else to_json(result)
                body = b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (mine, written)
                self._write_frame(encode(body, LIMIT), True)
        except Exception as error:
            if self._lost and isinstance(error, OSError):
                raise
            self._fail(mine, method, error)
            return
        if method == INIT:
            import json as json  # which takes half as long as starting Python: nobody waits for it now

            self._begin()

    def _begin(self) -> None:
        ready, self._ready = self._ready, None
        try:
            if ready is not None:
                ready()
        except Exception as error:
            if self._lost and isinstance(error, OSError):
                raise
            self._fail(None, "on_ready", error)

    def _fail(self, mine: int | None, method: str, error: Exception) -> None:
        """Answer with *error*, and show it to the author unless it is what the author wants to say."""
        if isinstance(error, HostGone | FrameTooLarge | QueueFull):
            say(f"plughost-sdk: {method}: {words(error)}")
        elif not isinstance(error, PluginError):
            show_traceback()
        if mine is None:
            return
        if isinstance(error, PluginError | HostError):
            self._refuse(mine, error.code, error.message, error.data)
        else:  # the contract's code for whatever goes wrong in a handler
            self._refuse(mine, INVALID_PARAMS, f"{type(error).__name__}: {words(error)}")

    def _refuse(self, mine: int, code: int, message: str, data: Any = None) -> None:
        error: Message = {"code": code, "message": message.encode("utf-8", "replace").decode()}
        try:
            extended = error if data is None else {**error, "data": data}
            self._send({"jsonrpc": "2.0", "id": mine, "error": extended})
        except (ValueError, TypeError, RecursionError, FrameTooLarge):  # the code is what matters
            error["message"] = error["message"][:LONGEST_MESSAGE]
            self._send({"jsonrpc": "2.0", "id": mine, "error": error})

    # What goes out

    def _send(self, message: Message) -> None:
        mine = get_ident() == self._thread
        if mine and self._is_writing:
            raise RuntimeError("a signal handler cannot write in the middle of a frame")
        self._write_frame(encode(to_json(message), LIMIT), mine)

    def _write_frame(self, frame: bytes, mine: bool) -> None:
        """Write *frame*; in the thread that serves, it is *mine*."""
        if self._write == CLOSED:
            raise HostGone("this is a fork of the plugin, which does not hold the wire")
        if mine:
            self._is_writing = True  # before the lock is taken, and until it is given back: see `_send`
        try:
            if not self._writing.acquire(False):
                self._await_turn(reads=mine and not self._is_reading)
            try:
                try:  # what the pipe takes without waiting, nearly always all of it
                    written = os.write(self._write, frame) if self._never_waits else 0
                except BlockingIOError:
                    written = 0
                if written < len(frame):
                    rest = memoryview(frame)[written:]
                    # The lock is held. Who may read takes in what the host sends meanwhile.
                    (self._write_and_read if mine and not self._is_reading else self._write_rest)(rest)
            except OSError:
                self._lost = True
                raise
            finally:
                self._writing.release()
        finally:
            if mine:
                self._is_writing = False

    def _await_turn(self, *, reads: bool) -> None:
        """Take the lock. Who holds it waits for the host to read, which may itself wait for us to read."""
        while not self._writing.acquire(timeout=LOCK_WAIT if reads else -1):
            self._read_if_ready()

    def _write_rest(self, frame: memoryview) -> None:
        """Write all of *frame*, waiting for the host to read."""
        import select

        outlet = select.poll()
        outlet.register(self._write, select.POLLOUT)
        while frame:
            outlet.poll()
            frame = frame[os.write(self._write, frame[:WRITE_SIZE]) :]

    def _write_and_read(self, frame: memoryview) -> None:
        """Write all of *frame*, and take in what the host sends while it does not read."""
        import select

        outlet, both = select.poll(), select.poll()
        outlet.register(self._write, select.POLLOUT)
        both.register(self._write, select.POLLOUT)
        both.register(self._read, select.POLLIN)
        while frame:
            full = self._ended or self._frames.pending > QUEUE_LIMIT
            ready = dict((outlet if full else both).poll())
            if self._write in ready:
                frame = frame[os.write(self._write, frame[:WRITE_SIZE]) :]
            else:
                self._read_some()

    def _read_if_ready(self) -> None:
        import select

        inlet = select.poll()
        inlet.register(self._read, select.POLLIN)
        while not self._ended and self._frames.pending <= QUEUE_LIMIT and inlet.poll(0):
            self._read_some()


def _broken(why: str) -> int:
    say(f"plughost-sdk: {why}")
    return EXIT_BROKEN
