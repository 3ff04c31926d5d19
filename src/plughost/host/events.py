"""One stream of everything observable, for every face: tells, and never lets a listener harm a call."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from ..contracts.base import EndWanted, FramePassed, HandshakeDone, InputEnded, StateChanged
from ..failures import PluginFailure
from ..messages.quoting import one_line
from ..process.news import Exited, Spawned, StderrLine, SurvivorFound

QUEUE_BYTES = 16_777_216  # of frames in such a queue
QUEUE_LIMIT = 4_096  # events a slow reader may fall behind before the oldest are dropped and counted


@dataclass(frozen=True, slots=True)
class Failed:
    """A call failed."""

    failure: PluginFailure


@dataclass(frozen=True, slots=True)
class Dropped:
    """A reader was too slow: this many events are missing here."""

    count: int


@dataclass(frozen=True, slots=True)
class Logged:
    """A worker wrote a log line. *level* is one of the names of Python's logging."""

    level: str
    message: str
    context: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FileProgress:
    """A worker says how far it is: file *index* of *count*, from 1."""

    path: str
    status: str
    index: int
    count: int


@dataclass(frozen=True, slots=True)
class TreeRecovered:
    """A pass has put right what an earlier one had left: what that was, in words. It is no plugin's event."""

    told: str


@dataclass(frozen=True, slots=True)
class PluginBegun:
    """A pass begins with this plugin: *number* of *count*, over so many *files*."""

    number: int
    count: int
    files: int


@dataclass(frozen=True, slots=True)
class PluginApplied:
    """A pass is done with this plugin."""

    status: str
    files_affected: tuple[str, ...]
    error: str | None


@dataclass(frozen=True, slots=True)
class PassSettled:
    """All that a pass did is accepted and written down: whoever interrupts it from now on has nothing undone."""

    run: str


@dataclass(frozen=True, slots=True)
class PassInterrupted:
    """Something ended a pass in the middle. The tree was put back to where the last plugin left it.

    *plugins_applied* are the entries of those that were done or at work, as JSON-ready values; *put_back* counts
    the paths that were changed by then.
    """

    run: str
    plugins_applied: tuple[dict[str, Any], ...]
    put_back: int


@dataclass(frozen=True, slots=True)
class PluginState:
    """A plugin that lives on over many processes moved from one state to another. *reason* is how it failed, if so."""

    before: str
    after: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Wedged:
    """A plugin did not answer *method* in time, and has not said anything since."""

    method: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Recovered:
    """A plugin that was wedged answers again."""


@dataclass(frozen=True, slots=True)
class Denied:
    """A plugin asked for what it was not granted, the *count*-th time. Told for the first, second, fourth and so on."""

    method: str
    message: str
    count: int


@dataclass(frozen=True, slots=True)
class Unheard:
    """A message of a plugin was dropped, the *count*-th for this *reason*. Told as rarely as Denied."""

    reason: str
    detail: str
    count: int


@dataclass(frozen=True, slots=True)
class LaneDropped:
    """A plugin reads too slowly: its *count*-th key or event was dropped. Told as rarely as Denied."""

    lane: str
    count: int


@dataclass(frozen=True, slots=True)
class Published:
    """A plugin, or the host, published *size* bytes under *topic*; *subscribers* are told of it."""

    topic: str
    version: int
    size: int
    subscribers: tuple[str, ...]


What = (
    Spawned
    | StateChanged
    | HandshakeDone
    | FramePassed
    | InputEnded
    | EndWanted
    | StderrLine
    | Exited
    | SurvivorFound
    | Failed
    | Dropped
    | Logged
    | FileProgress
    | TreeRecovered
    | PluginBegun
    | PluginApplied
    | PassSettled
    | PassInterrupted
    | PluginState
    | Wedged
    | Recovered
    | Denied
    | Unheard
    | LaneDropped
    | Published
)

_NAMES: dict[type, str] = {
    Spawned: "spawned",
    StateChanged: "state",
    HandshakeDone: "handshake",
    FramePassed: "frame",
    InputEnded: "input_ended",
    EndWanted: "end_wanted",
    StderrLine: "log",
    Exited: "exited",
    SurvivorFound: "survivor",
    Failed: "failed",
    Dropped: "dropped",
    Logged: "logged",
    FileProgress: "file",
    TreeRecovered: "tree_recovered",
    PluginBegun: "plugin_begun",
    PluginApplied: "plugin_applied",
    PassSettled: "pass_settled",
    PassInterrupted: "pass_interrupted",
    PluginState: "plugin_state",
    Wedged: "wedged",
    Recovered: "recovered",
    Denied: "denied",
    Unheard: "unheard",
    LaneDropped: "lane_dropped",
    Published: "published",
}


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened to a plugin. *at* is the host's monotonic clock, in seconds."""

    plugin: str
    pid: int | None
    at: float
    what: What

    @property
    def name(self) -> str:
        return _NAMES[type(self.what)]

    def to_dict(self) -> dict[str, Any]:
        """Return the event as JSON-ready values."""
        match self.what:
            case FramePassed(direction, frame):
                detail: dict[str, Any] = {
                    "direction": direction,
                    "text": frame.decode("utf-8", "replace"),
                }
            case Failed(failure):
                detail = failure.to_dict()
            case EndWanted(rung):
                detail = {"rung": rung.value}
            case what:
                detail = asdict(what)
        return {"event": self.name, "plugin": self.plugin, "pid": self.pid, "at": self.at, **detail}


Listener = Callable[[Event], None]


class EventBus:
    """Passes events to listeners, in order. A listener that raises is reported and asked no more."""

    __slots__ = ("_listeners", "quiet")

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self.quiet = True  # nobody listens, but for the log, which wants what plugins write to stderr

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call *listener* with every event from now on; returns how to stop that."""
        self._listeners.append(listener)
        self.quiet = False

        def unsubscribe() -> None:
            self._drop(listener)

        return unsubscribe

    def _drop(self, listener: Listener) -> None:
        if listener in self._listeners:  # another thread may have been first
            self._listeners.remove(listener)
        self.quiet = not self._listeners

    def publish(self, event: Event) -> None:
        spoken = isinstance(event.what, StderrLine | Logged)
        for listener in (log_stderr, *self._listeners) if spoken else tuple(self._listeners):
            try:
                listener(event)
            except Exception as error:  # whatever an application's listener raises must not reach a session
                self._drop(listener)
                sys.excepthook(type(error), error, error.__traceback__)


class EventQueue:
    """A bounded queue of events for one reader: the oldest are dropped, and the reader is told how many."""

    __slots__ = ("_bytes", "_dropped", "_events", "_limit")

    def __init__(self, limit: int = QUEUE_LIMIT) -> None:
        self._events: deque[Event] = deque()
        self._limit = limit
        self._bytes = 0  # of the frames that are held
        self._dropped = 0

    def put(self, event: Event) -> None:
        self._events.append(event)
        self._bytes += _size(event)
        while len(self._events) > self._limit or (self._bytes > QUEUE_BYTES and len(self._events) > 1):
            self._bytes -= _size(self._events.popleft())
            self._dropped += 1

    def take(self) -> Event | None:
        """Return the next event, or None if there is none."""
        if self._dropped:
            count, self._dropped = self._dropped, 0
            return Event("", None, self._events[0].at, Dropped(count))
        if not self._events:
            return None
        event = self._events.popleft()
        self._bytes -= _size(event)
        return event


def _size(event: Event) -> int:
    return len(event.what.frame) if isinstance(event.what, FramePassed) else 0


_LEVELS = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}


def log_stderr(event: Event) -> None:
    """Pass what a plugin writes to stderr to Python's logging, as `plughost.plugin.NAME`: plain lines at level INFO."""
    match event.what:
        case StderrLine(text):
            level = _LEVELS["INFO"]
            context: dict[str, Any] = {}
        case Logged(name, text, context):
            level, text = (
                _LEVELS[name],
                one_line(text),
            )  # as of stderr: it forges no line, and reaches no terminal
        case _:
            return
    # Importing logging costs 16 ms, and an application that never did has no handler that would show INFO.
    logging = sys.modules.get("logging")
    if logging is not None:
        ours = logging.getLogger("plughost")
        if not ours.handlers:
            ours.addHandler(logging.NullHandler())  # or Python prints warnings by itself
        logger = logging.getLogger(f"plughost.plugin.{event.plugin}")
        logger.log(level, "%s", text, extra={"plugin_context": context})
