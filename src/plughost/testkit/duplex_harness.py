"""A plugin of `plughost_sdk.duplex` in memory, with a host that a test speaks for. Starts no process, and never hangs.

    with DuplexHarness(plugin) as harness:
        harness.event("sessions.usage_data", payload)
        harness.key("2")
        harness.assert_renders("By project")

Frames, messages, gates and snapshots are the real ones. What a plugin is answered by other plugins, by files and by
the network is what the test says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from msgspec import Raw

from ..capabilities.gates import Refusal
from ..capabilities.grants import Capability, Grant
from ..contracts.duplex import host as contract
from ..contracts.duplex.keys import KeyEvent
from ..contracts.duplex.lanes import Lane
from ..contracts.duplex.messages import (
    ActionInvokeResult,
    CliDispatchResult,
    HandleEventParams,
    LogParams,
    RenderResult,
)
from ..contracts.duplex.screen import WireBuffer
from ..errors import RemoteError, RemoteProtocolError
from ..host.duplex import painting
from ..host.duplex.snapshots import HOST
from ..manifest import duplex_binding, duplex_config
from ..messages.jsonrpc import METHOD_NOT_FOUND
from .duplex_driver import Driver
from .duplex_key import key_event
from .duplex_services import Action, Fetch
from .duplex_setting import Setting, grants_of, manifest_of

if TYPE_CHECKING:
    from plughost_sdk.duplex import Plugin

Payload = bytes | Callable[[bytes], bool]

TIMEOUT_S = (
    10.0  # for one answer of the plugin: far more than any takes, so that only one that hangs meets it
)
NO_METHOD = "plughost/settle"  # that no plugin has: each answers that, after all that came before
SHOWN_BYTES = 200  # of a payload in a message


def screen_text(buffer: WireBuffer) -> str:
    """Return the text of a screen, without colours, as a terminal would show it."""
    return painting.text(buffer)


class DuplexHarness:
    """Drives *plugin* from `with` to its end; init is done on entry.

    *manifest* is the text of a manifest, or the path of one or of its directory; without it, the plugin's own. *grants*
    are what the plugin may do, by capability; without them, what its manifest asks for, and `event_bus` if it was made
    without a manifest. *files* are contents by path, such as `~/.claude/projects/a/1.jsonl`; *roots* are other
    directories for a capability that reads, real ones too. *snapshots* were published before it started. *config* is
    what the user has set. A plugin that takes longer than *timeout_s* seconds for anything fails the test.

    Raises RemoteError where the plugin answers with an error, AssertionError where it hangs, ends or breaks the
    contract, and ManifestError for its manifest.
    """

    def __init__(
        self,
        plugin: Plugin,
        *,
        manifest: str | os.PathLike[str] | None = None,
        grants: Mapping[str, Grant | Sequence[str]] | None = None,
        files: Mapping[str, bytes] | None = None,
        roots: Mapping[str, Sequence[str]] | None = None,
        snapshots: Mapping[str, bytes] | None = None,
        config: Mapping[str, Any] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.manifest = manifest_of(plugin, manifest)
        if grants is None and manifest is None and plugin.is_without_manifest:
            grants = {Capability.EVENT_BUS: True}
        setting = Setting(
            self.manifest,
            grants_of(self.manifest, grants),
            dict(files or {}),
            {Capability(name): tuple(paths) for name, paths in (roots or {}).items()},
            dict(snapshots or {}),
        )
        self._start = partial(
            Driver, plugin, setting, duplex_config.resolve(self.manifest, config), timeout_s
        )
        self._binding = duplex_binding.bind(self.manifest)
        self._generation = 0

    def __enter__(self) -> Self:
        self._driver = self._start()
        self._services = self._driver.services
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._driver.close(error)

    # What a host does

    def render(self, width: int = 80, height: int = 24) -> RenderResult:
        """Return the screen of *width* × *height*. Raises LocalProtocolError, as a host does, for a wrong size."""
        result: RenderResult = self._asked(contract.render(self._binding, width, height, None))
        return result

    def key(self, key: str | KeyEvent, *, screen: str | None = None) -> None:
        """Press a key: a name such as `q`, `esc`, `f7`, `ctrl+c`, or an event. The first screen is the default.

        Raises ValueError for a name of none, and LocalProtocolError, as a host does, for an event that is no key.
        """
        event = key_event(key) if isinstance(key, str) else key
        screens = (*self.manifest.provides.screens, self.manifest.name)
        name = screens[0] if screen is None else screen
        params = contract.key(name, event, self._generation)
        self._generation += 1
        self._driver.tell("plugin/handle_key", params, Lane.KEY)

    def event(self, topic: str, payload: bytes) -> None:
        """Publish *payload*, and wait until the plugin has heard it. Raises AssertionError if it has not subscribed."""
        self.settle()  # it may be about to subscribe
        stored = self._services.snapshots.publish(HOST, topic, payload)
        if isinstance(stored, Refusal):
            raise AssertionError(stored.message)
        if self.manifest.name not in stored.subscribers:
            known = ", ".join(self.subscriptions) or "nothing"
            raise AssertionError(
                f"{self.manifest.name} would not hear of {topic}: it has subscribed to {known}"
            )
        while (told := self._services.snapshots.take(self.manifest.name)) is not None:
            self._driver.tell("plugin/handle_event", HandleEventParams(told.topic, told.payload))
        self.settle()  # a key would overtake it, and a test means what it says in its order

    def cli(self, namespace: str, argv: Sequence[str] = ()) -> CliDispatchResult:
        """Run a command. Its output and exit code are in the result.

        Raises LocalProtocolError, as a host does, for words that are no list of texts.
        """
        result: CliDispatchResult = self._asked(contract.cli(self._binding, namespace, argv, None))
        return result

    def invoke(self, action: str, payload: bytes = b"") -> bytes:
        """Have the plugin do *action*, as another plugin would.

        Raises LocalProtocolError, as a host does, for a payload that is not bytes.
        """
        result: ActionInvokeResult = self._asked(contract.invoke(action, payload, None))
        return result.payload

    def call(self, method: str, params: Any = None) -> Any:
        """Call any method, and return what it answers, decoded from JSON."""
        return self._asked(contract.call(self._binding, method, params, None))

    def settle(self) -> None:
        """Wait until the plugin has handled everything that it was sent, and what it said of it has been heard."""
        try:
            self._driver.ask(NO_METHOD, {})
        except RemoteError as error:
            if error.code != str(METHOD_NOT_FOUND):
                raise

    # What a host is asked

    def serve_action(self, name: str, function: Action) -> None:
        """Answer the plugin's calls of the action *name*. One that raises TimeoutError took too long."""
        self._services.actions[name] = function

    def serve_fetch(self, function: Fetch) -> None:
        """Answer the plugin's granted fetches, with a NetworkFetchResult or a body. OSError is a network that fails."""
        self._services.fetch = function

    @property
    def stderr(self) -> str:
        """What the SDK wrote to standard error: tracebacks of handlers, and frames that it ignored."""
        return self._driver.stderr.text

    @property
    def publishes(self) -> list[tuple[str, bytes]]:
        """Topic and payload of each publish that was taken, in order."""
        return self._services.publishes

    @property
    def logs(self) -> list[LogParams]:
        """What was logged, at every level, in order."""
        return self._services.logs

    @property
    def subscriptions(self) -> list[str]:
        """The topics that the plugin hears of, by its manifest or by call."""
        return self._services.subscriptions

    @property
    def denied(self) -> list[tuple[str, str]]:
        """Method and reason of each call that was denied, and of each publish that was not taken."""
        return self._services.denied

    @property
    def ignored(self) -> list[str]:
        """What the plugin said that is nothing of the contract."""
        return self._services.ignored

    # What a test claims

    def assert_published(self, topic: str, payload: Payload | None = None) -> bytes:
        """Return the first publish of *topic* whose payload equals *payload*, or fulfils it. Raises AssertionError."""
        self.settle()
        for name, found in self.publishes:
            if name == topic and (
                payload is None or (payload(found) if callable(payload) else payload == found)
            ):
                return found
        listed = [f"  {name}: {_shown(found)}" for name, found in self.publishes] or ["  nothing"]
        wanted = f"with {_shown(payload)}" if isinstance(payload, bytes) else "as wanted" if payload else ""
        raise AssertionError(
            self._driver.explained(
                "\n".join([f"it did not publish {topic} {wanted}".rstrip() + ", but:", *listed])
            )
        )

    def assert_logged(self, level: str, part: str = "") -> None:
        """Raise AssertionError unless a line of *level* with *part* in it was logged."""
        self.settle()
        if not any(line.level == level and part in line.message for line in self.logs):
            listed = [f"  {line.level}: {line.message}" for line in self.logs] or ["  nothing"]
            raise AssertionError(
                self._driver.explained("\n".join([f"it did not log {part!r} at {level}, but:", *listed]))
            )

    def assert_renders(self, text: str, width: int = 80, height: int = 24) -> str:
        """Return the screen's text. Raises AssertionError unless *text* is in it."""
        shown = screen_text(self.render(width, height).buffer)
        if text not in shown:
            raise AssertionError(
                self._driver.explained(f"{text!r} is not on the screen of {width}x{height}:\n{shown}")
            )
        return shown

    def assert_stable_render(self, width: int = 80, height: int = 24) -> RenderResult:
        """Return the screen. Raises AssertionError unless it has the asked size and is the same bytes again."""
        ask = contract.render(self._binding, width, height, None)
        first, second = (self._driver.ask(ask.method, ask.params) for _ in range(2))
        result: RenderResult = self._read(ask, first)
        if first != second:
            again = self._read(ask, second)
            both = f"{screen_text(result.buffer)}\n--- and then:\n{screen_text(again.buffer)}"
            raise AssertionError(self._driver.explained(f"the same screen was rendered in two ways:\n{both}"))
        size = (result.buffer.width, result.buffer.height)
        if size != (width, height):
            raise AssertionError(
                self._driver.explained(f"asked for {width}x{height}, it rendered {size[0]}x{size[1]}")
            )
        return result

    # Within

    def _asked(self, ask: contract.Ask) -> Any:
        """Return what the plugin answers to *ask*. It is asked, and its answer judged, as by a host."""
        return self._read(ask, self._driver.ask(ask.method, ask.params))

    def _read(self, ask: contract.Ask, answer: Raw) -> Any:
        try:
            return contract.answer(ask, answer)
        except RemoteProtocolError as error:
            raise AssertionError(
                self._driver.explained(f"{ask.method} was answered with something else: {error}")
            ) from error


def _shown(payload: bytes) -> str:
    return (
        repr(payload) if len(payload) <= SHOWN_BYTES else f"{payload[:SHOWN_BYTES]!r}… ({len(payload)} bytes)"
    )
