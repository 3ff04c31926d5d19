"""What a plugin asks of its host in a test, to answers, and to a record of everything. Reaches no network.

The gates, the snapshots and the files are the host's own, so what is denied here is denied by a real host, in the same
words. Actions and fetches are answered by functions of the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Raw

from ..capabilities.gates import Gates, Refusal, Root, invalid
from ..capabilities.grants import Grants
from ..contracts.duplex import host as contract
from ..contracts.duplex import messages
from ..contracts.duplex.messages import (
    HOST_METHODS,
    ActionInvokeParams,
    ActionInvokeResult,
    FsPath,
    FsReadDirResult,
    FsReadFileResult,
    LogParams,
    NetworkFetchParams,
    NetworkFetchResult,
    SnapshotGetResult,
    SnapshotPublishParams,
    SnapshotSubscribeResult,
    Topic,
)
from ..errors import RemoteProtocolError
from ..host.duplex.files import GrantedFiles
from ..host.duplex.services import LOG_BYTES
from ..host.duplex.snapshots import Published, Snapshots
from ..messages.jsonrpc import (
    ACTION_TIMEOUT,
    CAPABILITY_DENIED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
)
from ..messages.quoting import quote

Action = Callable[[bytes], bytes]
Fetch = Callable[[NetworkFetchParams], NetworkFetchResult | bytes]

OK = 200  # HTTP status of a fetch that is answered with a body alone


class Services:
    """The host of one plugin, *name*. Everything it is asked and told is in the lists."""

    def __init__(self, name: str, grants: Grants, roots: Iterable[Root] = (), home: str = "") -> None:
        self.snapshots = Snapshots()
        self.publishes: list[tuple[str, bytes]] = []
        self.logs: list[LogParams] = []
        self.subscriptions: list[str] = []
        self.denied: list[tuple[str, str]] = []  # method and reason
        self.ignored: list[str] = []
        self.actions: dict[str, Action] = {}
        self.fetch: Fetch | None = None
        self.gates = Gates(grants, tuple(roots), home)
        self._name = name
        self._files = GrantedFiles(self.gates)

    def declare(self, topics: Iterable[str], latest_state: Iterable[str] = ()) -> None:
        """Subscribe the plugin to the *topics* of its manifest, as far as it is granted them."""
        allowed = [topic for topic in topics if self.gates.topic(topic) is None]
        self.snapshots.declare(self._name, allowed, latest_state=latest_state)
        self.subscriptions += [topic for topic in allowed if topic not in self.subscriptions]

    def tell(self, method: str, params: Raw) -> None:
        """Take a notification of the plugin."""
        known = HOST_METHODS.get(method)
        if known is None or known.result is not None:
            self.ignored.append(f"{method}: no notification of the contract")
            return
        if method == "host/log" and memoryview(params).nbytes > LOG_BYTES:
            self.ignored.append(f"{method}: a log of over {LOG_BYTES} bytes")
            return
        try:
            said = messages.decode(known.params, params)
        except RemoteProtocolError as error:
            self.ignored.append(f"{method}: {error}")
            return
        refusal = self.gates.judge(method, said)
        if refusal is None and isinstance(said, SnapshotPublishParams):
            stored = self.snapshots.publish(self._name, said.topic, said.payload)
            if isinstance(stored, Published):
                self.publishes.append((said.topic, said.payload))
            else:
                refusal = stored
        elif isinstance(said, LogParams):
            self.logs.append(said)
        if refusal is not None:
            self.denied.append((method, refusal.message))

    def call(self, method: str, params: Raw) -> Any | Refusal:
        """Return what a call of the plugin is answered with. An exception of the test's own function is raised."""
        known = HOST_METHODS.get(method)
        if known is None or known.result is None:
            return Refusal(METHOD_NOT_FOUND, f"method not found: {quote(method)}")
        try:
            asked = messages.decode(known.params, params)
        except RemoteProtocolError as error:
            return Refusal(INVALID_PARAMS, str(error))
        refusal = self.gates.judge(method, asked)
        answer = self._served(method, asked) if refusal is None else refusal
        if isinstance(answer, Refusal) and answer.code == CAPABILITY_DENIED:
            self.denied.append((method, answer.message))
        return answer

    def _served(self, method: str, asked: object) -> Any | Refusal:
        match asked:
            case Topic(topic) if method == "host/snapshot/get":
                found = self.snapshots.get(topic)
                return SnapshotGetResult(found.payload, found.version) if found else SnapshotGetResult()
            case Topic(topic):
                return self._subscribe(topic)
            case FsPath(path) if method == "host/fs/read_dir":
                listing = self._files.read_dir(path)
                return listing if isinstance(listing, Refusal) else FsReadDirResult(listing)
            case FsPath(path):
                content = self._files.read_file(path)
                return content if isinstance(content, Refusal) else FsReadFileResult(content)
            case ActionInvokeParams():
                return self._act(asked)
            case NetworkFetchParams():
                return self._fetched(asked)
            case _:
                return Refusal(INTERNAL_ERROR, f"the testkit does not serve {method}")

    def _subscribe(self, topic: str) -> SnapshotSubscribeResult | Refusal:
        refusal = self.snapshots.subscribe(self._name, topic)
        if refusal is not None:
            return refusal
        if topic not in self.subscriptions:
            self.subscriptions.append(topic)
        return SnapshotSubscribeResult()

    def _act(self, asked: ActionInvokeParams) -> ActionInvokeResult | Refusal:
        action = self.actions.get(asked.action)
        if action is None:
            return Refusal(METHOD_NOT_FOUND, f"unknown action: {quote(asked.action)}")
        try:
            return ActionInvokeResult(contract.octets(action(asked.payload)))
        except TimeoutError:  # how a test plays an action that takes too long
            return Refusal(ACTION_TIMEOUT, f"action timed out: {quote(asked.action)}")

    def _fetched(self, asked: NetworkFetchParams) -> NetworkFetchResult | Refusal:
        if self.fetch is None:
            return invalid(f"fetch {asked.url}: this test serves no fetch; see serve_fetch")
        try:
            answer = self.fetch(asked)
        except OSError as error:  # how a test plays a network that is down
            return invalid(f"fetch {asked.url}: {error}")
        return answer if isinstance(answer, NetworkFetchResult) else NetworkFetchResult(OK, (), answer)
