"""The author's side of the `duplex` contract: handlers for what the host asks, and the host to ask back.

    from plughost_sdk import duplex

    plugin = duplex.Plugin("burndown", version="2.0.0", manifest="manifest.toml")

    @plugin.on_init
    def init(init):
        plugin.host.snapshot.subscribe("sessions.usage")

    @plugin.render
    def render(viewport):
        canvas = duplex.Canvas(viewport.width, viewport.height)
        canvas.put(0, 0, "burndown", bold=True)
        return canvas

    plugin.run()

One handler runs at a time, in the order in which the host asked. Any of them may call the host and wait for its
answer; see `duplex_conversation` for why that cannot lock up.
"""

from __future__ import annotations

import os
import sys

from . import duplex_cli, duplex_manifest, stdio
from . import duplex_fields as fields
from . import duplex_params as params
from .duplex_canvas import Canvas
from .duplex_chunks import CHUNK_BYTES, Accumulator, chunks
from .duplex_cli import CliResult
from .duplex_conversation import INIT, Conversation
from .duplex_error import MANIFEST_VALIDATION, METHOD_NOT_FOUND, HostError, HostGone, PluginError, QueueFull
from .duplex_host import Entry, Host, Response
from .duplex_inbox import LIMIT
from .duplex_key import Key
from .duplex_manifest import ABI_VERSION
from .duplex_params import Init, Viewport
from .duplex_report import say, show_traceback
from .frames.errors import FrameTooLarge

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from .duplex_conversation import Methods

    Function = Callable[..., Any]

__all__ = [
    "ABI_VERSION",
    "CHUNK_BYTES",
    "LIMIT",
    "Accumulator",
    "Canvas",
    "CliResult",
    "Entry",
    "FrameTooLarge",
    "Host",
    "HostError",
    "HostGone",
    "Init",
    "Key",
    "Plugin",
    "PluginError",
    "QueueFull",
    "Response",
    "Viewport",
    "chunks",
]

EXIT_STARTED_BY_HAND = 2
EVERY_TOPIC = ""  # in place of a topic
# Flags of generators and of what is async; importing inspect would cost 10 ms.
NOT_PLAIN = 0x20 | 0x80 | 0x200


class Plugin:
    """A plugin of the `duplex` contract.

    *manifest* is its `manifest.toml`, as text or as a path beside the file that makes the plugin.
    """

    def __init__(self, name: str, *, version: str, manifest: str | os.PathLike[str] | None = None) -> None:
        self.name = _plain("name", name)
        self.version = _plain("version", version)
        self.host = Host()
        self._manifest = manifest
        self._beside = sys._getframe(1).f_globals.get("__file__") or os.path.join(os.curdir, "")
        self._handlers: dict[tuple[str, str], Function] = {}  # by kind and name
        self._conversation: Conversation | None = None
        self._has_shut_down = False

    # The decorators

    def on_init(self, function: Function) -> Function:
        """Handle the start: `(init)`. The host waits for it, and answers calls meanwhile."""
        return self._handle("on_init", "", function)

    def on_ready(self, function: Function) -> Function:
        """Begin to work: `()`, once init is answered. Nobody waits for it; what the host sends meanwhile waits."""
        return self._handle("on_ready", "", function)

    def render(self, function: Function) -> Function:
        """Draw the screen: `(viewport) -> Canvas`, or what the wire carries: a WireBuffer, or a result with one."""
        return self._handle("render", "", function)

    def on_key(self, function: Function) -> Function:
        """Handle a key: `(screen_id, key)`."""
        return self._handle("on_key", "", function)

    def on_event(self, topic: str | Function) -> Any:
        """Handle a publish of *topic*: `(topic, payload)`. Without a topic, of all that have no other handler.

        It comes for topics that the manifest subscribes to, or `host.snapshot.subscribe` does.
        """
        if callable(topic):
            return self._handle("on_event", EVERY_TOPIC, topic)
        return self._named("on_event", _plain("topic", topic))

    def cli(self, namespace: str) -> Callable[[Function], Function]:
        """Run a command of *namespace*: `(argv) -> int | str | bytes | CliResult`. What it prints is its output."""
        return self._named("cli", _plain("namespace", namespace))

    def action(self, name: str) -> Callable[[Function], Function]:
        """Do what another plugin, or the host, invokes under *name*: `(payload) -> bytes`."""
        return self._named("action", _plain("action name", name))

    def on_shutdown(self, function: Function) -> Function:
        """Tidy up: `()`, once: when the host says so, or has hung up without."""
        return self._handle("on_shutdown", "", function)

    def _named(self, kind: str, name: str) -> Callable[[Function], Function]:
        return lambda function: self._handle(kind, name, function)

    def _handle(self, kind: str, name: str, function: Function) -> Function:
        if not callable(function):
            raise TypeError(f"{kind} is a decorator: it takes a function, not {function!r}")
        if getattr(getattr(function, "__code__", None), "co_flags", 0) & NOT_PLAIN:
            raise TypeError(f"{kind} takes a plain function: nobody awaits {function!r}, or asks it for more")
        if (kind, name) in self._handlers:
            raise ValueError(f"{kind} {name} is defined twice".replace("  ", " "))
        self._handlers[kind, name] = function
        return function

    def _names(self, kind: str) -> list[str]:
        return [name for of, name in self._handlers if of == kind and name]

    # Running

    def run(self) -> NoReturn:
        """Serve the host until it says `plugin/shutdown` or hangs up, then exit. In a terminal, say what this is."""
        if stdio.is_terminal():
            say(self._introduction())
            sys.exit(EXIT_STARTED_BY_HAND)
        sys.exit(self.serve(*stdio.claim()))

    def serve(self, read: int, write: int) -> int:
        """Serve the host over two descriptors as `run` does, close them, and return the exit status."""
        conversation = self._conversation = Conversation(
            self._methods(), read, write, lambda: self._call("on_ready")
        )
        self._has_shut_down = False  # a test may serve the same plugin again
        self.host.connect(conversation)
        try:
            status = conversation.serve()
            try:
                self._shut_down()
            except Exception:
                show_traceback()
            return status
        finally:
            self.host.connect(None)
            conversation.let_go()  # nothing may follow, not even from an exit handler

    @property
    def is_without_manifest(self) -> bool:
        """Tell whether the plugin was made without a manifest, so that one is made of its handlers."""
        return self._manifest is None

    def manifest(self) -> dict[str, Any]:
        """Return the manifest, decoded. Raises ValueError if it is not one, or is another plugin's."""
        if self._manifest is None:
            names = (self._names(kind) for kind in ("action", "cli", "on_event"))
            return duplex_manifest.make(self.name, self.version, *names)
        manifest = duplex_manifest.read(self._manifest, self._beside)
        duplex_manifest.check(manifest, self.name, self.version)
        return manifest

    def _introduction(self) -> str:
        script = os.path.basename(sys.argv[0]) or "this file"
        return (
            f"{self.name} {self.version} is a plughost plugin (contract: duplex). A host starts it; it does not\n"
            f"run by itself.\n\n"
            f"Check it:     plughost check --contract duplex -- python {script}"
        )

    # The methods of the contract: how to read the params, and what to do

    def _methods(self) -> Methods:
        return {
            INIT: (params.init, self._init),
            "plugin/shutdown": (params.nothing, self._shutdown),
            "plugin/render": (params.render, self._render),
            "plugin/handle_key": (params.key, self._key),
            "plugin/handle_event": (params.event, self._event),
            "plugin/cli_dispatch": (params.cli, self._cli),
            "host/action/invoke": (params.action, self._action),  # the owner is asked by the caller's method
        }

    def _init(self, init: Init) -> dict[str, Any]:
        if init.abi_version != ABI_VERSION:
            raise PluginError(
                MANIFEST_VALIDATION, f"the host speaks ABI {init.abi_version}, this plugin {ABI_VERSION}"
            )
        try:
            manifest = self.manifest()
        except ValueError as error:
            raise PluginError(MANIFEST_VALIDATION, str(error)) from error
        init.config = duplex_manifest.settings(manifest, init.config)
        self._call("on_init", init)
        return {
            "name": self.name,
            "version": self.version,
            "manifest": manifest,
            "abi_version": ABI_VERSION,
        }

    def _shutdown(self) -> dict[str, Any]:
        if self._conversation is not None:
            self._conversation.finish()  # first: the handler may fail, and the process is to end all the same
        self._shut_down()
        return {}

    def _shut_down(self) -> None:
        if not self._has_shut_down:
            self._has_shut_down = True
            self._call("on_shutdown")

    def _render(self, viewport: Viewport) -> dict[str, Any]:
        drawn = self._call("render", viewport)
        if drawn is None:  # a plugin without a screen
            drawn = Canvas(0, 0)
        if isinstance(drawn, Canvas):
            return {"buffer": drawn.to_wire()}
        if not isinstance(drawn, dict):
            raise TypeError(f"render returns a Canvas or a dict, not {type(drawn).__name__}")
        return drawn if "buffer" in drawn else {"buffer": drawn}

    def _key(self, screen_id: str, key: Key) -> None:
        self._call("on_key", screen_id, key)

    def _event(self, topic: str, payload: bytes) -> None:
        function = self._handlers.get(("on_event", topic)) or self._handlers.get(("on_event", EVERY_TOPIC))
        if function is not None:
            function(topic, payload)

    def _cli(self, namespace: str, argv: list[str]) -> dict[str, Any]:
        function = self._handlers.get(("cli", namespace))
        if function is None:
            return duplex_cli.not_handled(namespace).to_wire()
        return duplex_cli.run(function, argv).to_wire()

    def _action(self, name: str, payload: bytes) -> bytes:
        function = self._handlers.get(("action", name))
        if function is None:
            raise PluginError(METHOD_NOT_FOUND, f"action not found: {name}")
        return b'{"payload":"%b"}' % fields.base64(function(payload))  # base64 is JSON between quotes

    def _call(self, kind: str, *given: Any) -> Any:
        function = self._handlers.get((kind, ""))
        return None if function is None else function(*given)


def _plain(what: str, value: Any) -> str:
    if not isinstance(value, str) or not value or value != value.strip():
        raise ValueError(f"the {what} must be a non-empty string without surrounding blanks, not {value!r}")
    value.encode()  # refuse here what no message could carry: UnicodeEncodeError is a ValueError
    return value
