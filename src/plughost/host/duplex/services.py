"""What a `duplex` plugin asks of its host -> answered, refused, or done elsewhere and answered later. Never waits.

Every call passes the same three doors: is there such a method, are these its parameters, may this plugin do it. What
needs a disk or a network is done on a thread; the answer goes to the process that asked, or to nobody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from msgspec import Raw, Struct

from ...capabilities.gates import Refusal
from ...capabilities.grants import Capability
from ...contracts.duplex import host as contract
from ...contracts.duplex.messages import (
    HOST_METHODS,
    ActionInvokeParams,
    ActionInvokeResult,
    FsPath,
    FsReadDirResult,
    FsReadFileResult,
    LogLevel,
    LogParams,
    NetworkFetchParams,
    SnapshotGetResult,
    SnapshotPublishParams,
    SnapshotSubscribeResult,
    Topic,
    decode,
)
from ...contracts.duplex.news import Called, Told, worth_telling
from ...errors import PlughostError, RemoteProtocolError
from ...failures import FailureCode, PluginFailure
from ...messages.jsonrpc import (
    ACTION_TIMEOUT,
    CAPABILITY_DENIED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    NULL,
    ErrorResponse,
)
from ...messages.quoting import quote
from ..events import Denied, Logged, Unheard
from .asked import Asked
from .errands import Errands
from .fair_queues import FairQueues, IsUnwritten
from .files import GrantedFiles
from .host_action import Function, HostAction
from .member import DuplexLink, Member
from .network import Fetcher
from .snapshots import Snapshots
from .ticket import Ticket

LEVELS = tuple(LogLevel)  # rising
LOGGED = {
    LogLevel.TRACE: "DEBUG",
    LogLevel.DEBUG: "DEBUG",
    LogLevel.INFO: "INFO",
    LogLevel.WARN: "WARNING",
    LogLevel.ERROR: "ERROR",
}
CARRIED_BYTES = 33_554_432  # 32 MiB of parameters of calls that are not answered: two of the largest
LOG_BYTES = (
    1_048_576  # of one log: 16 MiB of empty lists in its fields would keep everybody waiting for a second
)
NAME_BYTES = 65_536  # of parameters that are a topic or a path: far more than any has
_NAMING = ("host/snapshot/get", "host/snapshot/subscribe", "host/fs/read_dir", "host/fs/read_file")
GLANCE_BYTES = (
    1_024  # of a log: of a larger one the fields are not looked at before it is known that it is kept
)
RELENT_S = 0.1  # for which a plugin that owns an action may answer none before it is asked for more
LONGEST_ACTION_S = 86_400.0 * 365  # what a caller calls longer is for ever


class _LogHead(Struct, frozen=True):
    level: LogLevel
    message: str


@dataclass(frozen=True, slots=True)
class Surface:
    """What the services of one fleet rest on. Its functions are the fleet's: who owns an action, how to ask."""

    snapshots: Snapshots
    errands: Errands
    owner: Callable[[str], Member | None]
    ask: Callable[[Member, Ticket], None]
    go_on_soon: Callable[[DuplexLink], None]
    publish: Callable[[Member, str, bytes], Refusal | None]
    after: Callable[
        [float, Callable[[], None]], Callable[[], None]
    ]  # so many seconds; returns how to end that
    actions: Mapping[str, HostAction] = field(default_factory=dict)  # the host's own
    log_level: LogLevel = LogLevel.INFO
    fetcher: Fetcher = field(default_factory=Fetcher)


class Services:
    """Serves the plugins of one fleet."""

    def __init__(self, surface: Surface) -> None:
        self._on = surface
        self._queues: defaultdict[str, FairQueues] = defaultdict(FairQueues)  # of actions, by their owners
        self._relenting: set[str] = set()  # owners that are looked at again in a while
        self._threshold = LEVELS.index(surface.log_level)
        self._carried: dict[tuple[str, int], int] = {}  # bytes of calls that are not answered, by process
        self._calls: dict[str, Callable[[Asked, Any], None]] = {
            "host/snapshot/get": self._snapshot_get,
            "host/snapshot/subscribe": self._snapshot_subscribe,
            "host/action/invoke": self._action_invoke,
            "host/fs/read_dir": self._fs_read_dir,
            "host/fs/read_file": self._fs_read_file,
            "host/network/fetch": self._network_fetch,
        }
        self._notices: dict[str, Callable[[Member, Any], None]] = {
            "host/snapshot/publish": self._publish,
            "host/log": self._log,
        }

    def serve(self, member: Member, link: DuplexLink, news: Called | Told) -> None:
        """Serve a call, or take a notification."""
        if isinstance(news, Called):
            asked = Asked(member, link, news.id)
            if self._carry(asked, memoryview(news.params).nbytes):
                self._call(asked, news)
            else:
                asked.refuse(Refusal(INTERNAL_ERROR, "too much is asked at once"))
        else:
            self._told(member, news)

    def left(self, member: Member) -> None:
        """A process of *member* is gone: what it asked for is owed to nobody."""
        self._carried.pop((member.name, member.starts), None)
        for queues in tuple(self._queues.values()):
            queues.forget(member.name)

    def _carry(self, asked: Asked, size: int) -> bool:
        """Note what is held of a call until it is answered. Returns whether that is not too much."""
        life = (asked.member.name, asked.member.starts)
        held = self._carried.get(life, 0)
        if held and held + size > CARRIED_BYTES:
            return False
        self._carried[life] = held + size

        def put_down() -> None:
            if life in self._carried:
                self._carried[life] -= size

        asked.put_down = put_down
        return True

    def _call(self, asked: Asked, news: Called) -> None:
        serve = self._calls.get(news.method)
        if serve is None:
            asked.refuse(Refusal(METHOD_NOT_FOUND, f"method not found: {quote(news.method)}"))
            return
        if news.method in _NAMING and memoryview(news.params).nbytes > NAME_BYTES:
            asked.refuse(Refusal(INVALID_PARAMS, f"{news.method}: parameters of over {NAME_BYTES} bytes"))
            return
        try:
            params = decode(HOST_METHODS[news.method].params, news.params)
        except RemoteProtocolError as error:
            asked.refuse(Refusal(INVALID_PARAMS, str(error)))
            return
        refusal = asked.member.gates.judge(news.method, params)
        if refusal is not None:
            self._deny(asked.member, news.method, refusal)
            asked.refuse(refusal)
            return
        serve(asked, params)

    def _told(self, member: Member, news: Told) -> None:
        take = self._notices.get(news.method)
        if take is None:
            self._ignore(member, "unknown_notification", f"nobody hears {quote(news.method)}")
            return
        size = memoryview(news.params).nbytes if news.method == "host/log" else 0
        if size > LOG_BYTES:
            self._ignore(member, "too_large", f"a log of over {LOG_BYTES} bytes")
            return
        try:
            if size > GLANCE_BYTES and not self._is_kept(decode(_LogHead, news.params).level):
                return
            params = decode(HOST_METHODS[news.method].params, news.params)
        except RemoteProtocolError as error:
            self._ignore(member, "wrong_params", f"{news.method}: {error}")
            return
        refusal = member.gates.judge(news.method, params)
        if refusal is not None:
            self._deny(member, news.method, refusal)
            return
        take(member, params)

    def _deny(self, member: Member, method: str, refusal: Refusal) -> None:
        if refusal.code == CAPABILITY_DENIED:
            member.denied += 1
            if worth_telling(member.denied):
                member.herald.tell(Denied(method, refusal.message, member.denied))

    def _ignore(self, member: Member, reason: str, detail: str) -> None:
        member.ignored[reason] += 1
        if worth_telling(member.ignored[reason]):
            member.herald.tell(Unheard(reason, detail, member.ignored[reason]))

    # Notifications

    def _publish(self, member: Member, params: SnapshotPublishParams) -> None:
        refusal = self._on.publish(member, params.topic, params.payload)
        if refusal is not None:
            self._ignore(member, "publish_refused", refusal.message)

    def _log(self, member: Member, params: LogParams) -> None:
        if self._is_kept(params.level):
            fields = params.fields
            context = fields if isinstance(fields, dict) else {} if fields is None else {"fields": fields}
            member.herald.log(Logged(LOGGED[params.level], params.message, context))

    def _is_kept(self, level: LogLevel) -> bool:
        return LEVELS.index(level) >= self._threshold

    # Calls

    def _snapshot_get(self, asked: Asked, params: Topic) -> None:
        found = self._on.snapshots.get(params.topic)
        if found is None:
            asked.answer(SnapshotGetResult())
        else:
            asked.answer(SnapshotGetResult(found.payload, found.version))

    def _snapshot_subscribe(self, asked: Asked, params: Topic) -> None:
        refusal = self._on.snapshots.subscribe(asked.member.name, params.topic)
        asked.conclude(SnapshotSubscribeResult() if refusal is None else refusal)

    def _fs_read_dir(self, asked: Asked, params: FsPath) -> None:
        files = GrantedFiles(asked.member.gates)

        def read() -> FsReadDirResult | Refusal:
            entries = files.read_dir(params.path)
            return entries if isinstance(entries, Refusal) else FsReadDirResult(entries)

        self._elsewhere(asked, "host/fs/read_dir", read)

    def _fs_read_file(self, asked: Asked, params: FsPath) -> None:
        files = GrantedFiles(asked.member.gates)

        def read() -> FsReadFileResult | Refusal:
            content = files.read_file(params.path)
            return content if isinstance(content, Refusal) else FsReadFileResult(content)

        self._elsewhere(asked, "host/fs/read_file", read)

    def _network_fetch(self, asked: Asked, params: NetworkFetchParams) -> None:
        grant = asked.member.gates.grants.of(Capability.NETWORK)
        self._elsewhere(asked, "host/network/fetch", lambda: self._on.fetcher.fetch(params, grant))

    def _elsewhere(self, asked: Asked, method: str, work: Callable[[], Any]) -> None:
        def done(came: Any) -> None:
            if isinstance(came, Refusal):
                self._deny(asked.member, method, came)
            asked.conclude(came)

        self._on.errands.add((asked.member.name, asked.member.starts), work, done)

    # Actions

    def _action_invoke(self, asked: Asked, params: ActionInvokeParams) -> None:
        seconds = params.timeout_ms / 1000 if params.timeout_ms else None
        if seconds is not None and seconds > LONGEST_ACTION_S:
            seconds = None
        own = self._on.actions.get(params.action)
        if own is not None:
            self._do_own(asked, params, own.function, seconds)
            return
        owner = self._on.owner(params.action)
        if owner is None:
            asked.refuse(Refusal(METHOD_NOT_FOUND, f"unknown action: {quote(params.action)}"))
            return
        if seconds is None and owner is asked.member:
            seconds = owner.binding.limits.timeout_s  # it waits for itself: let it not wait for ever
        ask = contract.Ask(
            "host/action/invoke", params, seconds, ActionInvokeResult, contract.CALLERS_LIMIT, in_all=True
        )

        def over(ticket: Ticket) -> None:
            try:
                self._answer_action(asked, owner, params, ticket)
            finally:
                self._queues[owner.name].over(asked.member.name)
                self.go_on(owner)

        def start() -> IsUnwritten | None:
            if not asked.is_open:  # it has waited as long as it may
                return None
            ticket = Ticket(ask, over)
            self._on.ask(owner, ticket)
            return partial(_is_unwritten, owner, ticket)

        if seconds is not None:
            asked.until = self._on.after(seconds, lambda: asked.refuse(_timed_out(params)))
        self._queues[owner.name].add(asked.member.name, start, len(params.payload))
        self.go_on(owner)

    def go_on(self, owner: Member) -> None:
        """Ask *owner* for the actions whose turn it is: what was asked before is written, or over."""
        queues = self._queues[owner.name]
        while queues.go_on():
            if (
                owner.link is not None
            ):  # it reads as fast as we write: others have their turn before the next few
                self._on.go_on_soon(owner.link)
                break
        owner.has_actions = bool(queues)
        if owner.has_actions and owner.link is not None and owner.link.conversation.has_to_say:
            self._on.go_on_soon(owner.link)  # it is written soon, and nobody is told of that
        if queues.is_held_back and owner.name not in self._relenting:
            self._relenting.add(owner.name)
            self._on.after(RELENT_S, partial(self._relent, owner))

    def _relent(self, owner: Member) -> None:
        self._relenting.discard(owner.name)
        self._queues[owner.name].relent()
        self.go_on(owner)

    def _answer_action(self, asked: Asked, owner: Member, params: ActionInvokeParams, ticket: Ticket) -> None:
        match ticket.outcome:
            case Raw() as result:
                try:
                    asked.answer(decode(ActionInvokeResult, result))
                except RemoteProtocolError as error:
                    owner.malformed(ticket, error)
                    message = f"{owner.name} gave no proper answer to {quote(params.action)}"
                    asked.refuse(Refusal(INTERNAL_ERROR, message))
            case ErrorResponse(code=code, message=message, data=data):
                asked.refuse_with(code, message, None if data == NULL else data)
            case PluginFailure() as failure:
                late = failure.code is FailureCode.TIMEOUT and failure.autopsy.limit == contract.CALLERS_LIMIT
                if late:
                    asked.refuse(_timed_out(params))
                else:
                    asked.refuse(Refusal(INTERNAL_ERROR, f"{owner.name} failed: {failure.message}"))
            case PlughostError() as error:
                asked.refuse(Refusal(INTERNAL_ERROR, f"{owner.name}: {error}"))
            case None:
                pass

    def _do_own(
        self, asked: Asked, params: ActionInvokeParams, action: Function, seconds: float | None
    ) -> None:
        def work() -> ActionInvokeResult:
            return ActionInvokeResult(contract.octets(action(params.payload)))

        self._elsewhere(asked, "host/action/invoke", work)
        if seconds is not None:
            asked.until = self._on.after(seconds, lambda: asked.refuse(_timed_out(params)))


def _is_unwritten(owner: Member, ticket: Ticket) -> bool:
    """Tell whether *owner* could not have read the call of *ticket* yet."""
    if ticket.call_id is None or owner.link is None:
        return ticket in owner.waiting
    return owner.link.conversation.lanes.holds(ticket.call_id)


def _timed_out(params: ActionInvokeParams) -> Refusal:
    return Refusal(ACTION_TIMEOUT, f"action timed out: {quote(params.action)}")
