"""The host as a plugin sees it: each service of the contract as a method. Calls wait; publishing and logging do not.

A call raises `HostError` for an error of the host's, `HostGone` if it hangs up, `FrameTooLarge` for more than a frame
can carry (nothing is sent then), and RuntimeError outside the thread that runs the plugin. Publishing and logging are
for every thread.
"""

from __future__ import annotations

from . import duplex_fields as fields
from .duplex_error import INVALID_PARAMS, HostError

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from .duplex_conversation import Conversation

    Found = TypeVar("Found")
    Payload = bytes | bytearray | memoryview

LEVELS = ("trace", "debug", "info", "warn", "error")


class Host:
    """What the host does for its plugins. Usable from the moment the plugin runs."""

    def __init__(self) -> None:
        self._conversation: Conversation | None = None
        self.snapshot = Snapshot(self)
        self.action = Action(self)
        self.log = Log(self)
        self.fs = Files(self)
        self.network = Network(self)

    def connect(self, conversation: Conversation | None) -> None:
        """Take *conversation* as the way to the host."""
        self._conversation = conversation

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Call *method* and wait for its result, an object."""
        result = self._connected().request(method, params)
        return _checked(method, lambda: fields.members(result, "the result"))

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification, which nobody answers."""
        self._connected().notify(method, params)

    def _connected(self) -> Conversation:
        if self._conversation is None:
            raise RuntimeError("there is no host yet: call it in a handler, after plugin.run()")
        return self._conversation


class Snapshot:
    """The latest bytes of each topic."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def get(self, topic: str) -> tuple[bytes | None, int]:
        """Return the latest payload of *topic* and its version, or (None, 0)."""
        method = "host/snapshot/get"
        result = self._host.request(method, {"topic": topic})

        def read() -> tuple[bytes | None, int]:
            payload = result.get("payload")
            version = fields.integer(result, "version", fields.U64, 0)
            return None if payload is None else fields.from_wire(payload, "payload"), version

        return _checked(method, read)

    def publish(self, topic: str, payload: Payload) -> None:
        """Make *payload* the latest of *topic*. The host does not answer, not even to refuse."""
        self._host.notify("host/snapshot/publish", {"topic": topic, "payload": fields.to_wire(payload)})

    def subscribe(self, topic: str) -> None:
        """Have every later publish of *topic* delivered to `on_event`."""
        self._host.request("host/snapshot/subscribe", {"topic": topic})


class Action:
    """What other plugins offer."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def invoke(self, name: str, payload: Payload = b"", timeout_ms: int = 0) -> bytes:
        """Have the owner of the action *name* do it, within *timeout_ms* milliseconds; 0 waits."""
        method = "host/action/invoke"
        params = {"action": name, "payload": fields.to_wire(payload), "timeout_ms": timeout_ms}
        result = self._host.request(method, params)
        return _checked(method, lambda: fields.blob(result, "payload"))


class Log:
    """The host's log: `log("info", "text", key=value)` or `log.info("text", key=value)`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def __call__(self, level: str, message: str, /, **more: Any) -> None:
        """Log *message* with fields. A field that JSON cannot carry is logged as its text."""
        if level not in LEVELS:
            raise ValueError(f"a level is one of {', '.join(LEVELS)}, not {level!r}")
        params: dict[str, Any] = {"level": level, "message": _sendable(str(message))}
        if not more:
            return self._host.notify("host/log", params)
        try:
            self._host.notify("host/log", {**params, "fields": more})
        except (ValueError, TypeError, RecursionError):
            plain = {key: _sendable(str(value)) for key, value in more.items()}
            self._host.notify("host/log", {**params, "fields": plain})

    def trace(self, message: str, /, **more: Any) -> None:
        self("trace", message, **more)

    def debug(self, message: str, /, **more: Any) -> None:
        self("debug", message, **more)

    def info(self, message: str, /, **more: Any) -> None:
        self("info", message, **more)

    def warn(self, message: str, /, **more: Any) -> None:
        self("warn", message, **more)

    def error(self, message: str, /, **more: Any) -> None:
        self("error", message, **more)


class Entry:
    """One name in a directory; `size` is in bytes."""

    __slots__ = ("is_dir", "name", "size")

    def __init__(self, name: str, is_dir: bool, size: int) -> None:
        self.name, self.is_dir, self.size = name, is_dir, size

    def __repr__(self) -> str:
        return f"Entry({self.name!r}, is_dir={self.is_dir}, size={self.size})"


class Files:
    """The files that the plugin was granted."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def read_dir(self, path: str) -> list[Entry]:
        """Return what is in the directory *path*."""
        method = "host/fs/read_dir"
        result = self._host.request(method, {"path": path})

        def read() -> list[Entry]:
            listed = result.get("entries")
            if not isinstance(listed, list):
                raise ValueError("entries is not a list")
            found = [fields.members(each, "an entry") for each in listed]
            return [
                Entry(
                    fields.text(each, "name"),
                    fields.flag(each, "is_dir"),
                    fields.integer(each, "size", fields.U64, 0),
                )
                for each in found
            ]

        return _checked(method, read)

    def read_file(self, path: str) -> bytes:
        """Return the content of the file *path*."""
        method = "host/fs/read_file"
        result = self._host.request(method, {"path": path})
        return _checked(method, lambda: fields.blob(result, "bytes"))


class Response:
    """What a server answered."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body


class Network:
    """The hosts on the network that the plugin was granted."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def fetch(
        self,
        url: str,
        method: str = "GET",
        body: Payload | None = None,
        headers: Iterable[tuple[str, str]] = (),
    ) -> Response:
        """Return what the server of *url* answers, whatever its status."""
        name = "host/network/fetch"
        given = None if body is None else fields.to_wire(body)
        listed = [[key, value] for key, value in headers]
        result = self._host.request(name, {"url": url, "method": method, "body": given, "headers": listed})
        return _checked(
            name,
            lambda: Response(
                fields.integer(result, "status", fields.U16),
                fields.pairs(result, "headers"),
                fields.blob(result, "body"),
            ),
        )


def _checked(method: str, read: Callable[[], Found]) -> Found:
    """Return what *read* finds in a result, or say that the host's result is not what the contract says."""
    try:
        return read()
    except ValueError as error:
        raise HostError(INVALID_PARAMS, f"the host's result of {method} is malformed: {error}") from None


def _sendable(text: str) -> str:
    """Return *text* without lone surrogates, which no message can carry."""
    return text.encode("utf-8", "replace").decode()
