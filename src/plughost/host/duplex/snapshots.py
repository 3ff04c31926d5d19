"""What plugins publish -> the latest of every topic, and what each subscriber is to be told, in order. Sends nothing.

Theory of operation. One counter stamps every publish, so that versions rise over all topics and a later version is a
later publish. Each subscriber has a queue of its own: one that does not read loses its own oldest deliveries and
nobody else's. Of a topic whose latest state is all that matters, a new publish takes the place of a waiting one; it
goes to the end, since order is publish order. Everything held is billed in bytes, names and book-keeping included,
because a plugin decides how many topics there are and how large. A signal's handler may publish while a publish is
under way: Python looks for signals after a call and before a repetition, so what must not be torn has neither. And
since order is publish order, it first queues what the publish under way has not yet queued.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from ...capabilities.gates import Refusal, invalid
from ...messages.quoting import is_utf8
from .deliveries import NO_TOPICS, NOTHING_YET, Deliveries, Snapshot, SnapshotLimits, Tally

FEW = 4  # topics: a tuple of so many is a fourth of the size of a set, and looked through as soon
HOST = "host"  # what the host itself publishes as; no plugin may be called so


@dataclass(frozen=True, slots=True)
class Published:
    """A publish that was stored, and the *subscribers* for whom it waits now."""

    snapshot: Snapshot
    subscribers: tuple[str, ...]

    @property
    def version(self) -> int:
        return self.snapshot.version


@dataclass(slots=True)
class _Subscriber:
    deliveries: Deliveries
    declared: Collection[str] = ()
    asked: frozenset[str] = NO_TOPICS

    @property
    def topics(self) -> frozenset[str]:
        return self.asked.union(self.declared)

    def wants(self, topic: str) -> bool:
        return topic in self.declared or topic in self.asked


def _compact(topics: Iterable[str]) -> Collection[str]:
    found = frozenset(topics)
    return tuple(found) if len(found) <= FEW else found


class Snapshots:
    """The store of one host, and the queues of its subscribers. For one thread; nothing here waits."""

    def __init__(self, limits: SnapshotLimits | None = None) -> None:
        self._limits = limits or SnapshotLimits()
        self._latest: dict[str, Snapshot] = {}
        self._version = 0
        self._under_way: Snapshot | None = None  # it has its version, and may not be in every queue yet
        self._bills: dict[str, int] = {}  # bytes of the latest of all topics, by publisher
        self._subscribers: dict[str, _Subscriber] = {}
        self._wanting: dict[str, set[str]] = {}  # names of subscribers, by topic

    @property
    def stored(self) -> int:
        """Return what the latest of all topics costs, in bytes."""
        return sum(self._bills.values())

    @property
    def queued(self) -> int:
        """Return what all waiting deliveries cost, in bytes. One payload in several queues counts in each."""
        return sum(each.deliveries.cost for each in self._subscribers.values())

    @property
    def version(self) -> int:
        """Of the latest publish of all, or 0."""
        return self._version

    def get(self, topic: str) -> Snapshot | None:
        """Return the latest publish of *topic*, or None if there was none."""
        return self._latest.get(topic)

    def publish(self, publisher: str, topic: str, payload: bytes) -> Published | Refusal:
        """Store *payload* as the latest of *topic* and queue it for its subscribers, but not for *publisher*."""
        if (refusal := self._bad_topic(topic)) is not None:
            return refusal
        while True:
            if (interrupted := self._under_way) is not None:  # we are in a signal's handler
                self._queue(interrupted)
            snapshot = Snapshot(topic, payload, self._version + 1, publisher)
            if (refusal := self._too_much(snapshot)) is not None:
                return refusal
            if snapshot.version > self._version:  # else a signal's handler has taken it
                self._version, self._under_way = snapshot.version, snapshot
                break
        self._replace(snapshot)
        told = self._queue(snapshot)
        if self._under_way is snapshot:
            self._under_way = None
        return Published(snapshot, told)

    def _queue(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Put *snapshot* into the queues of its subscribers, wherever it is not, and return who they are."""
        told = tuple(sorted(self._wanting.get(snapshot.topic, set()) - {snapshot.publisher}))
        for name in told:
            self._subscribers[name].deliveries.put(snapshot)
        return told

    def declare(
        self,
        plugin: str,
        topics: Iterable[str],
        *,
        latest_state: Iterable[str] = (),
        may: Callable[[str], bool] | None = None,
    ) -> None:
        """Subscribe *plugin* to the *topics* of its manifest until it is removed. Replaces what was declared.

        What it asked for itself and *may* not hear any more ends too, and of neither it is told what waits already.
        """
        subscriber = self._subscriber(plugin)
        before = subscriber.topics
        subscriber.declared = _compact(topics)
        if may is not None:
            subscriber.asked = frozenset(filter(may, subscriber.asked)) or NO_TOPICS
        subscriber.deliveries.keep_latest_of(latest_state)
        self._note(plugin, before | subscriber.topics)
        subscriber.deliveries.forget(lambda topic: not subscriber.wants(topic))

    def subscribe(self, plugin: str, topic: str) -> Refusal | None:
        """Subscribe the running *plugin* to *topic*, from the next publish on. Twice is once."""
        refusal = self._bad_topic(topic)
        if refusal is not None:
            return refusal
        subscriber = self._subscriber(plugin)
        if topic in subscriber.asked:
            return None
        if len(subscriber.asked) >= self._limits.subscriptions:
            return invalid(f"a plugin has {self._limits.subscriptions} subscriptions at most")
        subscriber.asked |= {topic}
        self._note(plugin, {topic})
        return None

    def left(self, plugin: str) -> None:
        """Note that the process of *plugin* is gone: what it asked for ends, what its manifest declares goes on."""
        subscriber = self._subscribers.get(plugin)
        if subscriber is None:
            return
        gone, subscriber.asked = subscriber.asked, NO_TOPICS
        self._note(plugin, gone)
        subscriber.deliveries.forget(lambda topic: not subscriber.wants(topic))

    def remove(self, plugin: str) -> None:
        """Forget the subscriptions and deliveries of *plugin*. What it has published stays."""
        subscriber = self._subscribers.pop(plugin, None)
        if subscriber is not None:
            self._note(plugin, subscriber.topics)

    def take(self, plugin: str) -> Snapshot | None:
        """Take what *plugin* is to be told next, or None if nothing waits."""
        subscriber = self._subscribers.get(plugin)
        return subscriber.deliveries.take() if subscriber else None

    def waiting(self, plugin: str) -> int:
        """Return how many deliveries wait for *plugin*."""
        subscriber = self._subscribers.get(plugin)
        return len(subscriber.deliveries) if subscriber else 0

    def tally(self, plugin: str) -> Tally:
        """Return what became of the publishes for *plugin*."""
        subscriber = self._subscribers.get(plugin)
        return subscriber.deliveries.tally if subscriber else NOTHING_YET

    def _subscriber(self, plugin: str) -> _Subscriber:
        return self._subscribers.setdefault(plugin, _Subscriber(Deliveries(self._limits)))

    def _bad_topic(self, topic: str) -> Refusal | None:
        if is_utf8(topic) and len(topic.encode()) <= self._limits.topic:
            return None
        return invalid(f"a topic is text of {self._limits.topic} bytes at most")

    def _too_much(self, snapshot: Snapshot) -> Refusal | None:
        limits, before = self._limits, self._latest.get(snapshot.topic)
        if len(snapshot.payload) > limits.payload:
            return invalid(f"a snapshot has {limits.payload} bytes at most: publish it in chunks")
        freed = before.cost if before else 0
        if self.stored - freed + snapshot.cost > limits.store:
            return invalid(f"all snapshots have {limits.store} bytes at most")
        own = self._bills.get(snapshot.publisher, 0)
        freed = before.cost if before and before.publisher == snapshot.publisher else 0
        if snapshot.publisher != HOST and own - freed + snapshot.cost > limits.publisher:
            return invalid(f"the snapshots of one plugin have {limits.publisher} bytes at most")
        if snapshot.publisher != HOST and self._plugins_bill(before) + snapshot.cost > limits.plugins:
            return invalid(f"the snapshots of all plugins have {limits.plugins} bytes at most")
        return None

    def _plugins_bill(self, freed: Snapshot | None) -> int:
        """Return what plugins have published costs, without *freed*, in bytes."""
        bill = self.stored - self._bills.get(HOST, 0)
        return bill - freed.cost if freed is not None and freed.publisher != HOST else bill

    def _replace(self, snapshot: Snapshot) -> None:
        latest, bills, topic = self._latest, self._bills, snapshot.topic
        if topic in latest:
            before = latest[topic]
            if before.version > snapshot.version:  # of a signal's handler, which came in between
                return
            bills[before.publisher] -= before.cost
            if not bills[before.publisher]:
                del bills[before.publisher]
        latest[topic] = snapshot
        if snapshot.publisher not in bills:
            bills[snapshot.publisher] = 0
        bills[snapshot.publisher] += snapshot.cost

    def _note(self, plugin: str, topics: Iterable[str]) -> None:
        """Write down anew whether *plugin* wants each of *topics*."""
        subscriber = self._subscribers.get(plugin)
        for topic in topics:
            names = self._wanting.setdefault(topic, set())
            if subscriber is not None and subscriber.wants(topic):
                names.add(plugin)
            else:
                names.discard(plugin)
            if not names:
                del self._wanting[topic]
