"""Standard input and output -> the streams of a server. Nothing but the protocol reaches standard output.

Theory of operation. Both descriptors are taken away: 0 becomes empty, and what anything writes to 1 goes to standard
error. Two threads move bytes, since a file, a terminal and a pipe can all be waited for that way; they are daemons,
since nobody can wake one that reads. Lines are bounded; one that is no message of the protocol is
answered with an error, and with its id where it has one.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import queue
import select
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    RequestId,
    jsonrpc_message_adapter,
)

LINE_BYTES = 67_108_864  # of one message: code of the largest size that a worker takes, however it is escaped
READ_BYTES = 65_536
REFUSALS = 64  # that wait for a client to read them; it is told of no more than that
FLUSH_S = 1.0  # for a client to take the last answers when all is over

_log = logging.getLogger(__name__)

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def standard_streams() -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Yield the streams of this process. They stay taken: it serves, and then ends."""
    source, sink = _taken(0, os.open(os.devnull, os.O_RDONLY)), _taken(1, os.dup(2))
    loop = asyncio.get_running_loop()
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)

    refuse = _Refusing(outgoing).refuse

    def deliver(line: bytes | None) -> None:
        asyncio.run_coroutine_threadsafe(_deliver(line, to_server, refuse), loop).result()

    def too_long() -> None:
        loop.call_soon_threadsafe(refuse, None, INVALID_REQUEST, f"a message of more than {LINE_BYTES} bytes")

    threading.Thread(target=_read, args=(source, deliver, too_long), name="mcp-stdin", daemon=True).start()
    writing = asyncio.ensure_future(_write_all(from_server, _Writer(sink, loop), to_server.close))
    try:
        yield incoming, outgoing
    finally:
        outgoing.close()
        await asyncio.wait({writing}, timeout=FLUSH_S)
        writing.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await writing
        for stream in (to_server, incoming, from_server):
            stream.close()


def _taken(fd: int, instead: int) -> int:
    """Return another descriptor for what *fd* is, and make *fd* mean *instead*."""
    private = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    os.dup2(instead, fd)
    os.close(instead)
    return private


async def _deliver(
    line: bytes | None,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    refuse: Callable[[RequestId | None, int, str], None],
) -> None:
    if line is None:
        to_server.close()
        return
    try:
        message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        _refuse(line, refuse)
        return
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await to_server.send(message)


def _refuse(line: bytes, refuse: Callable[[RequestId | None, int, str], None]) -> None:
    """Find out what is wrong with *line*, and whom to tell."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        refuse(None, PARSE_ERROR, "a line that is no JSON")
        return
    if isinstance(value, dict) and "method" not in value and ("result" in value or "error" in value):
        _log.warning(
            "an answer that is no message of JSON-RPC 2.0 was dropped"
        )  # its id is not one of theirs
        return
    request = value.get("id") if isinstance(value, dict) else None
    known = isinstance(request, str | int) and not isinstance(request, bool)
    refuse(request if known else None, INVALID_REQUEST, "a line that is no message of JSON-RPC 2.0")


class _Refusing:
    """Answers to what is no message. They wait for a client that reads, but not without a bound."""

    def __init__(self, outgoing: MemoryObjectSendStream[SessionMessage]) -> None:
        self._outgoing = outgoing
        self._under_way: set[asyncio.Task[None]] = set()

    def refuse(self, request: RequestId | None, code: int, problem: str) -> None:
        _log.warning("%s was refused", problem)
        if len(self._under_way) >= REFUSALS:
            return
        error = JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=f"{problem} came"))
        task = asyncio.ensure_future(self._send(SessionMessage(error)))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _send(self, message: SessionMessage) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._outgoing.send(message)


def _read(fd: int, deliver: Callable[[bytes | None], None], too_long: Callable[[], None]) -> None:
    """Deliver each line, then None. Of one that is too long it is only told that it came."""
    parts: list[bytes] = []
    size = 0
    with suppress(RuntimeError, asyncio.CancelledError):  # the loop is gone, and so is whoever would listen
        while data := _some(fd):
            *lines, rest = data.split(b"\n")
            for line in lines:
                if size + len(line) > LINE_BYTES:
                    too_long()
                elif (whole := b"".join([*parts, line])).strip():
                    deliver(whole)
                parts, size = [], 0
            size += len(rest)
            if size <= LINE_BYTES:
                parts.append(rest)
            else:
                parts.clear()
        deliver(None)


def _some(fd: int) -> bytes:
    """Return what there is to read, empty at the end; also where another process has made reading return at once."""
    while True:
        try:
            return os.read(fd, READ_BYTES)
        except BlockingIOError:
            _wait(fd, select.POLLIN)
        except OSError:
            return b""


def _wait(fd: int, event: int) -> None:
    waiting = select.poll()
    waiting.register(fd, event)
    waiting.poll()


async def _write_all(
    from_server: MemoryObjectReceiveStream[SessionMessage], writer: _Writer, hang_up: Callable[[], None]
) -> None:
    try:
        async for each in from_server:
            text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            await writer.write(f"{text}\n".encode())
    except OSError:
        from_server.close()
        hang_up()  # nobody reads any more


class _Writer:
    """A thread that writes: a client that does not read holds up nothing else."""

    def __init__(self, fd: int, loop: asyncio.AbstractEventLoop) -> None:
        self._fd = fd
        self._loop = loop
        self._work: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="mcp-stdout", daemon=True).start()

    async def write(self, data: bytes) -> None:
        """Write *data*. Raises OSError."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._work.put((data, done))
        await done

    def _run(self) -> None:
        with suppress(RuntimeError):  # the loop is gone
            while True:
                data, done = self._work.get()
                self._loop.call_soon_threadsafe(_settle, done, self._written(data))

    def _written(self, data: bytes) -> OSError | None:
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._fd, left) :]
            except BlockingIOError:
                _wait(self._fd, select.POLLOUT)
            except OSError as error:
                return error
        return None


def _settle(done: asyncio.Future[None], error: OSError | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
