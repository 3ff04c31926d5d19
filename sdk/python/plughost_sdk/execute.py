"""The author's side of the `execute` contract: tools as functions, one call per process.

Theory of operation: a call is answered before anything is imported that costs time, and the json module costs
half as much as starting Python. Messages that are small and plain, as most are, are read and written by
`small_json`; json is imported for the others, or ahead of time in a spare that has nothing else to do.
"""

from __future__ import annotations

import gc
import os
import sys

from . import stdio
from .frames.errors import FrameError, FrameTooLarge
from .frames.lines import LineDecoder, encode
from .small_json import from_json, to_json

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn

    Tool = Callable[[Any, "Context"], Any]

__all__ = ["Context", "Plugin", "PluginError"]

PROTOCOL_VERSION = "rterm.plugin.v1"
LINE_LIMIT = 1_048_576  # bytes of one line, either way: the contract's limit
READ_SIZE = 65_536  # larger reads are served by mmap and cost twenty times as much

READ_WAIT_MS = 250  # for the host to have read the answer: half of the time that it gives for the exit
IDLE_MS = 5  # a request that belongs to the handshake comes sooner; a spare's comes much later

EXIT_OK = 0
EXIT_CONTRACT_BROKEN = 1  # the host, or whatever started us, does not speak this contract
EXIT_STARTED_BY_HAND = 2


class PluginError(Exception):
    """Raise it in a tool to answer with an error of your own: a code for programs, a message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = str(code)
        self.message = str(message) or self.code


class Context:
    """What the host says about a call. `values` holds all of it; the usual ones are attributes.

    Put into `metadata` whatever should travel beside the output.
    """

    __slots__ = ("metadata", "request_id", "tool_name", "values")

    def __init__(self, request_id: str, tool_name: str, values: dict[str, Any]) -> None:
        self.request_id = request_id
        self.tool_name = tool_name
        self.values = values
        self.metadata: dict[str, Any] = {}

    @property
    def workspace_id(self) -> str:
        return str(self.values.get("workspace_id", ""))

    @property
    def widget_id(self) -> str:
        return str(self.values.get("widget_id", ""))

    @property
    def repo_root(self) -> str:
        return str(self.values.get("repo_root", ""))

    @property
    def role_id(self) -> str:
        return str(self.values.get("role_id", ""))

    @property
    def mode_id(self) -> str:
        return str(self.values.get("mode_id", ""))

    def get(self, key: str, default: Any = None) -> Any:
        return self.values.get(key, default)


class Plugin:
    """A plugin of the `execute` contract.

    *capabilities* are what this plugin asks for. The host's binding decides what it gets.
    """

    def __init__(self, name: str, *, version: str, capabilities: Iterable[str] = ()) -> None:
        self.name = _plain("name", name)
        self.version = _plain("version", version)
        self.capabilities = [_plain("capability", each) for each in capabilities]
        self.tools: dict[str, Tool] = {}
        if len(set(self.capabilities)) != len(self.capabilities):
            raise ValueError("a capability is listed twice")

    def tool(self, function: Tool | str) -> Any:
        """Expose a function `(input, context) -> output` under its own name, or as `@plugin.tool("name")`."""
        if isinstance(function, str):
            return lambda actual: self._expose(function, actual)
        return self._expose(function.__name__, function)

    def _expose(self, name: str, function: Tool) -> Tool:
        if _plain("tool name", name) in self.tools:
            raise ValueError(f"the tool {name!r} is defined twice")
        self.tools[name] = function
        return function

    def run(self) -> NoReturn:
        """Serve one call over stdin and stdout, then exit. Started in a terminal, say what this is instead."""
        if not self.tools:
            raise ValueError(
                f"the plugin {self.name!r} exposes no tools: decorate a function with @plugin.tool"
            )
        if stdio.is_terminal():
            sys.stderr.write(self._introduction())
            sys.exit(EXIT_STARTED_BY_HAND)
        status = _Conversation(self, *stdio.claim()).serve()
        # The host waits for our exit. Python would collect garbage once more before it ends, which takes longer
        # than the call; exit handlers and threads are waited for all the same.
        gc.disable()
        gc.freeze()
        sys.exit(status)

    def manifest(self) -> dict[str, Any]:
        """Return what the handshake says about this plugin."""
        manifest: dict[str, Any] = {
            "plugin_id": self.name,
            "plugin_version": self.version,
            "protocol_version": PROTOCOL_VERSION,
            "exposed_tools": list(self.tools),
        }
        if self.capabilities:
            manifest["capabilities"] = self.capabilities
        return manifest

    def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one decoded request with the response to send: the whole plugin without its wire."""
        context = Context(
            str(request.get("request_id", "")),
            str(request.get("tool_name", "")),
            request.get("context") or {},
        )
        function = self.tools.get(context.tool_name)
        if function is None:
            return _error(
                context.request_id, "unknown_tool", f"{self.name} has no tool {context.tool_name!r}"
            )
        try:
            output = function(request.get("input", {}), context)
        except PluginError as error:
            return _error(context.request_id, error.code, error.message)
        except Exception as error:
            _print_traceback()
            return _error(context.request_id, "tool_failed", _words(error))
        response = {
            "type": "response",
            "request_id": context.request_id,
            "status": "ok",
            "output": output,
        }
        if context.metadata:
            response["metadata"] = context.metadata
        return response

    def _introduction(self) -> str:
        script = os.path.basename(sys.argv[0]) or "this file"
        return (
            f"{self.name} {self.version} is a plughost plugin (contract: execute). A host starts it; it does not\n"
            f"run by itself. Tools: {', '.join(self.tools)}.\n\n"
            f"Call one:     plughost call --contract execute {next(iter(self.tools))} '{{}}' -- python {script}\n"
            f"Check it:     plughost check --contract execute -- python {script}\n"
        )


class _Conversation:
    """The two lines in and the two lines out."""

    def __init__(self, plugin: Plugin, read: int, write: int) -> None:
        self._plugin = plugin
        self._read, self._write = read, write
        self._lines = LineDecoder(LINE_LIMIT)

    def serve(self) -> int:
        try:
            return self._exchange()
        except FrameError as error:
            return _broken(str(error))
        except OSError as error:
            return _broken(f"the host is gone ({error})")

    def _exchange(self) -> int:
        line = self._next_line()
        if line is None:
            return EXIT_OK
        problem = _not_a_handshake(line)
        if problem:
            return _broken(problem)
        self._send(to_json({"type": "handshake", "manifest": self._plugin.manifest()}))
        self._use_idle_time()
        line = self._next_line()
        if line is None:
            return EXIT_OK  # a spare that was not needed
        try:
            request = from_json(line)
        except (ValueError, RecursionError) as error:
            return _broken(f"the request is not JSON: {error}")
        if not isinstance(request, dict) or request.get("type") != "request":
            return _broken("the line after the handshake is not a request")
        self._respond(self._plugin.handle(request))
        self._wait_until_read()
        return EXIT_OK

    def _use_idle_time(self) -> None:
        """Import json if no request comes at once: this is a spare then, and its request may need it."""
        import select

        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        if not self._lines.pending and not poll.poll(IDLE_MS):
            import json as json

    def _wait_until_read(self) -> None:
        """Wait, for READ_WAIT_MS at most, until the host closes our input: it has read the answer then.

        A host that stops reading when the process is gone would lose an answer that is still in the pipe.
        """
        import select

        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        poll.poll(READ_WAIT_MS)

    def _respond(self, response: dict[str, Any]) -> None:
        try:
            body = to_json(response)
        except (ValueError, TypeError, RecursionError) as error:
            _print_traceback()
            body = to_json(
                _error(
                    response["request_id"],
                    "output_not_json",
                    f"the output cannot be sent as JSON: {error}",
                )
            )
        try:
            self._send(body)
        except FrameTooLarge as error:
            self._send(to_json(_error(response["request_id"], "output_too_large", str(error))))

    def _next_line(self) -> bytes | None:
        while (line := self._lines.next_frame()) is None:
            data = os.read(self._read, READ_SIZE)
            if data:
                self._lines.receive_data(data)
                continue
            self._lines.receive_eof()
            return self._lines.next_frame()
        return line

    def _send(self, body: bytes) -> None:
        stdio.write_all(self._write, encode(body, LINE_LIMIT))


def _plain(what: str, value: str) -> str:
    if not value or value != value.strip():
        raise ValueError(f"the {what} must be a non-empty string without surrounding blanks, not {value!r}")
    return value


def _not_a_handshake(line: bytes) -> str | None:
    """Say what is wrong with the host's first line, or None."""
    try:
        message = from_json(line)
    except ValueError as error:
        return f"the first line is not JSON: {error}"
    if not isinstance(message, dict) or message.get("type") != "handshake":
        return "the first line is not a handshake"
    # Another protocol version is the host's to judge: it compares it with the one in the reply.
    return None


def _error(request_id: str, code: str, message: str) -> dict[str, Any]:
    text = next((each for each in (message, code) if each.strip()), "the plugin gave no reason")
    return {
        "type": "response",
        "request_id": request_id,
        "status": "error",
        # An exception's text may hold lone surrogates, which no UTF-8 line can carry.
        "error": {"code": code, "message": text.encode("utf-8", "replace").decode()},
    }


def _words(error: Exception) -> str:
    try:
        text = str(error)
    except Exception:
        text = "(it cannot be shown)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _print_traceback() -> None:
    import traceback

    try:
        traceback.print_exc()
    except (OSError, ValueError):
        pass  # stderr is closed: there is nobody to tell


def _broken(why: str) -> int:
    sys.stderr.write(f"plughost-sdk: {why}\n")
    return EXIT_CONTRACT_BROKEN
