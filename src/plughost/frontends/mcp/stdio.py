"""Standard input and output -> the streams of a server. Nothing but the protocol reaches standard output.

Theory of operation. Both descriptors are taken away: 0 becomes empty, and what anything writes to 1 goes to standard
error. Two threads move bytes, since a file, a terminal and a pipe can all be waited for that way; they are daemons,
since nobody can wake one that reads. Lines are bounded; one that is not JSON is passed on as an error, and skipped.
"""

from __future__ import annotations

import asyncio
import fcntl
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
from mcp_types import jsonrpc_message_adapter

LINE_BYTES = 67_108_864  # of one message: code of the largest size that a worker takes, however it is escaped
READ_BYTES = 65_536
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

    def deliver(line: bytes | None) -> None:
        asyncio.run_coroutine_threadsafe(_deliver(line, to_server), loop).result()

    threading.Thread(target=_read, args=(source, deliver), name="mcp-stdin", daemon=True).start()
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


async def _deliver(line: bytes | None, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    if line is None:
        to_server.close()
        return
    try:
        message: SessionMessage | Exception = SessionMessage(
            jsonrpc_message_adapter.validate_json(line, by_name=False)
        )
    except ValueError as error:
        message = error
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await to_server.send(message)


def _read(fd: int, deliver: Callable[[bytes | None], None]) -> None:
    """Deliver each line, then None. One that is too long is dropped: it does not say whom to answer."""
    parts: list[bytes] = []
    size = 0
    with suppress(RuntimeError, asyncio.CancelledError):  # the loop is gone, and so is whoever would listen
        while data := _some(fd):
            *lines, rest = data.split(b"\n")
            for line in lines:
                if size + len(line) > LINE_BYTES:
                    _log.warning("a message of more than %d bytes was dropped", LINE_BYTES)
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
