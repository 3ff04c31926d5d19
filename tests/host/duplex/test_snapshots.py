"""Latest per topic, rising versions, one delivery each in publish order, and a bill that nobody can run up."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from plughost_sdk.duplex import CHUNK_BYTES

from plughost.capabilities.gates import Refusal
from plughost.host.duplex.deliveries import ENTRY_COST, SnapshotLimits, Tally
from plughost.host.duplex.frame_room import PAYLOAD_LIMIT
from plughost.host.duplex.snapshots import FEW, HOST, Published, Snapshots
from tests.sdk.tripwire import Tripwire


def drained(store: Snapshots, plugin: str) -> list[tuple[str, bytes]]:
    found = []
    while (snapshot := store.take(plugin)) is not None:
        found.append((snapshot.topic, snapshot.payload))
    return found


def test_a_topic_without_a_publish_has_nothing():
    store = Snapshots()
    assert store.get("t") is None
    assert store.take("a") is None
    assert store.waiting("a") == 0
    assert store.tally("a") == Tally()


def test_the_latest_publish_is_kept_and_versions_rise_over_all_topics():
    store = Snapshots()
    versions = [
        store.publish("p", topic, payload).version
        for topic, payload in [("a", b"1"), ("b", b"2"), ("a", b"3")]
    ]
    assert versions == [1, 2, 3]
    assert (store.get("a").payload, store.get("a").version) == (b"3", 3)
    assert (store.get("b").payload, store.get("b").version) == (b"2", 2)


def test_a_refused_publish_takes_no_version_and_replaces_nothing():
    store = Snapshots(SnapshotLimits(payload=1))
    store.publish("p", "t", b"1")
    assert isinstance(store.publish("p", "t", b"12"), Refusal)
    assert store.get("t").payload == b"1"
    assert store.publish("p", "t", b"2").version == 2


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("asked", [0, 1, 2])
def test_each_publish_is_delivered_once_however_often_subscribed(declared, asked):
    store = Snapshots()
    if declared:
        store.declare("s", ["t", "t"])
    for _ in range(asked):
        assert store.subscribe("s", "t") is None
    told = store.publish("p", "t", b"x")
    assert told == Published(store.get("t"), ("s",) if declared or asked else ())
    assert told.version == 1
    assert drained(store, "s") == ([("t", b"x")] if declared or asked else [])


@pytest.mark.parametrize("before", [0, 1, FEW, FEW + 1])
@pytest.mark.parametrize("after", [0, FEW - 1, FEW, FEW + 1])
def test_what_is_declared_takes_the_place_of_what_was_however_much_it_is(before, after):
    store, topics = Snapshots(), [f"t{number}" for number in range(FEW + 1)]
    store.declare("s", topics[:before])
    store.declare("s", topics[-after:] if after else [])
    for topic in topics:
        store.publish("p", topic, b"")
    assert drained(store, "s") == [(topic, b"") for topic in (topics[-after:] if after else [])]
    store.remove("s")
    assert [store.publish("p", topic, b"").subscribers for topic in topics] == [()] * len(topics)


def test_the_publisher_hears_no_echo_of_itself_but_all_others_hear_it():
    store = Snapshots()
    for plugin in ("a", "b", "c"):
        store.subscribe(plugin, "t")
    assert store.publish("b", "t", b"x").subscribers == ("a", "c")
    assert store.waiting("b") == 0
    assert store.publish(HOST, "t", b"y").subscribers == ("a", "b", "c")


def test_topics_match_exactly_and_the_past_is_not_told():
    store = Snapshots()
    store.publish("p", "t", b"before")
    store.subscribe("s", "t")
    store.publish("p", "T", b"")
    store.publish("p", "t.x", b"")
    store.publish("p", "*", b"")
    assert store.waiting("s") == 0


def test_deliveries_are_in_publish_order_over_all_topics():
    store = Snapshots()
    store.declare("s", ["a", "b"])
    store.subscribe("s", "c")
    for number, topic in enumerate("abcabcbbca"):
        store.publish("p", topic, bytes([number]))
    assert [payload[0] for _, payload in drained(store, "s")] == list(range(10))


def test_of_a_latest_state_topic_only_the_newest_waits_and_in_its_turn():
    store = Snapshots()
    store.declare("s", ["state", "log"], latest_state=["state"])
    for topic, payload in [("state", b"1"), ("log", b"2"), ("state", b"3"), ("log", b"4")]:
        store.publish("p", topic, payload)
    assert drained(store, "s") == [("log", b"2"), ("state", b"3"), ("log", b"4")]
    assert store.tally("s") == Tally(queued=4, delivered=3, replaced=1)
    store.publish("p", "state", b"5")
    assert drained(store, "s") == [("state", b"5")]
    assert store.queued == 0


def test_what_one_declares_as_latest_state_is_nobody_elses():
    store = Snapshots()
    store.declare("s", ["t"], latest_state=["t"])
    store.declare("r", ["t"])
    for payload in (b"1", b"2"):
        store.publish("p", "t", payload)
    assert (store.waiting("s"), store.waiting("r")) == (1, 2)


def test_too_many_waiting_cost_the_slow_one_its_oldest():
    store = Snapshots(SnapshotLimits(waiting=3))
    for plugin in ("slow", "quick"):
        store.subscribe(plugin, "t")
    for number in range(5):
        store.publish("p", "t", bytes([number]))
        assert drained(store, "quick") == [("t", bytes([number]))]
    assert drained(store, "slow") == [("t", bytes([number])) for number in (2, 3, 4)]
    assert store.tally("slow") == Tally(queued=5, delivered=3, dropped=2)
    assert store.tally("quick") == Tally(queued=5, delivered=5)


def test_too_many_bytes_waiting_cost_the_oldest_but_never_the_newest():
    each = 100 + 1 + ENTRY_COST
    store = Snapshots(SnapshotLimits(queue=2 * each))
    store.subscribe("s", "t")
    for number in range(3):
        store.publish("p", "t", bytes([number]) * 100)
    assert store.queued == 2 * each
    store.publish("p", "t", b"x" * 10_000)
    assert drained(store, "s") == [("t", b"x" * 10_000)]


def test_a_process_that_goes_takes_what_it_asked_for_and_leaves_what_is_declared():
    store = Snapshots()
    store.declare("s", ["declared", "both"])
    for topic in ("asked", "both"):
        store.subscribe("s", topic)
    for topic in ("asked", "both", "declared"):
        store.publish("p", topic, b"1")
    store.left("s")
    store.publish("p", "asked", b"2")
    store.publish("p", "both", b"2")
    assert drained(store, "s") == [("both", b"1"), ("declared", b"1"), ("both", b"2")]
    assert store.tally("s") == Tally(queued=4, delivered=3, forgotten=1)
    store.left("nobody")


def test_a_removed_plugin_is_told_nothing_and_what_it_published_stays():
    store = Snapshots()
    store.declare("s", ["t"])
    store.publish("p", "t", b"1")
    store.publish("s", "own", b"2")
    store.remove("s")
    store.remove("nobody")
    assert store.publish("p", "t", b"3").subscribers == ()
    assert (store.waiting("s"), store.queued) == (0, 0)
    assert store.get("own").payload == b"2"


def test_a_new_declaration_takes_the_place_of_the_old_one():
    store = Snapshots()
    store.declare("s", ["a", "b"])
    store.declare("s", ["b", "c"])
    assert [store.publish("p", topic, b"").subscribers for topic in "abc"] == [(), ("s",), ("s",)]


def test_a_new_declaration_forgets_what_waits_of_the_old_one_alone():
    store = Snapshots()
    store.declare("s", ["a", "b"])
    store.subscribe("s", "c")
    for topic in "abc":
        store.publish("p", topic, b"")
    store.declare("s", ["b"])
    assert store.tally("s").forgotten == 1
    assert drained(store, "s") == [("b", b""), ("c", b"")]


def test_a_new_declaration_ends_what_was_asked_for_and_may_not_be_heard_any_more():
    store = Snapshots()
    for topic in "abc":
        store.subscribe("s", topic)
        store.publish("p", topic, b"")
    store.declare("s", ["d"], may=lambda topic: topic in "bd")
    assert drained(store, "s") == [("b", b"")]
    assert [store.publish("p", topic, b"").subscribers for topic in "abcd"] == [(), ("s",), (), ("s",)]


def test_the_largest_payload_fits_and_a_larger_one_is_refused():
    store = Snapshots()
    assert isinstance(store.publish("p", "t", bytes(PAYLOAD_LIMIT)), Published)
    assert isinstance(store.publish("p", "t", bytes(PAYLOAD_LIMIT + 1)), Refusal)


@pytest.mark.parametrize(
    ("topic", "fits"),
    [("x" * 512, True), ("x" * 513, False), ("ä" * 257, False), ("\ud800", False), ("", True)],
    ids=["limit", "over", "bytes", "surrogate", "empty"],
)
def test_a_topic_is_text_of_bounded_length(topic, fits):
    store = Snapshots()
    assert isinstance(store.publish("p", topic, b""), Published) is fits
    assert (store.subscribe("s", topic) is None) is fits


def test_the_store_is_bounded_by_bytes_names_included():
    each = 1 + 10 + ENTRY_COST
    store = Snapshots(SnapshotLimits(store=2 * each, publisher=10**9))
    assert isinstance(store.publish("p", "a", bytes(10)), Published)
    assert isinstance(store.publish("q", "b", bytes(10)), Published)
    assert isinstance(store.publish("q", "c", b""), Refusal)
    assert isinstance(store.publish("q", "a", bytes(11)), Refusal)
    assert isinstance(store.publish("q", "a", bytes(10)), Published)
    assert store.stored == 2 * each


def test_one_publisher_cannot_fill_the_store_for_the_others():
    each = 1 + 10 + ENTRY_COST
    store = Snapshots(SnapshotLimits(publisher=each))
    assert isinstance(store.publish("p", "a", bytes(10)), Published)
    assert isinstance(store.publish("p", "b", b""), Refusal)
    assert isinstance(store.publish("q", "b", b""), Published)
    assert isinstance(store.publish(HOST, "c", bytes(99)), Published)
    assert isinstance(store.publish("q", "a", b""), Refusal)
    assert isinstance(store.publish(HOST, "a", b""), Published)  # takes it off the bill of p
    assert isinstance(store.publish("p", "d", bytes(10)), Published)


def test_all_plugins_together_leave_a_share_of_the_store_to_the_host():
    each = 1 + ENTRY_COST
    store = Snapshots(SnapshotLimits(publisher=each, plugins=2 * each, store=3 * each))
    assert isinstance(store.publish("p", "a", b""), Published)
    assert isinstance(store.publish("q", "b", b""), Published)
    assert isinstance(store.publish("r", "c", b""), Refusal)
    assert isinstance(store.publish(HOST, "c", b""), Published)
    assert isinstance(
        store.publish("r", "c", b""), Refusal
    )  # the host's room is not given away by its own topic
    assert isinstance(store.publish("r", "a", b""), Published)  # takes the place of what p had
    assert isinstance(store.publish(HOST, "d", b""), Refusal)
    assert isinstance(store.publish(HOST, "b", b""), Published)
    assert isinstance(store.publish("p", "d", b""), Refusal)
    assert store.stored == 3 * each


def test_four_plugins_with_all_that_each_may_have_do_not_lock_the_host_out():
    limits = SnapshotLimits()
    assert limits.publisher * 3 <= limits.plugins
    assert limits.store - limits.plugins >= limits.publisher


def test_as_much_may_wait_in_chunks_of_the_usual_size_as_in_large_ones():
    limits = SnapshotLimits()
    assert limits.waiting * CHUNK_BYTES >= limits.queue


def test_subscriptions_are_bounded_and_twice_is_once():
    store = Snapshots(SnapshotLimits(subscriptions=2))
    assert [store.subscribe("s", topic) for topic in ("a", "b", "a")] == [None] * 3
    assert isinstance(store.subscribe("s", "c"), Refusal)
    store.left("s")
    assert store.subscribe("s", "c") is None


PLUGINS, TOPICS = st.sampled_from("abc"), st.sampled_from("tuv")
LIMITS = SnapshotLimits(payload=50, publisher=3000, store=5000, subscriptions=2, waiting=4, queue=2500)


class Bus(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.store = Snapshots(LIMITS)
        self.latest: dict[str, tuple[int, bytes]] = {}
        self.wanted: dict[str, dict[str, set[str]]] = {
            each: {"declared": set(), "asked": set()} for each in "abc"
        }
        self.told: dict[str, list[int]] = {each: [] for each in "abc"}
        self.due: dict[str, set[int]] = {each: set() for each in "abc"}

    @initialize()
    def begin(self):
        for plugin in "abc":
            self.declare(plugin, {"t", "u"}, {"u"})

    @rule(plugin=PLUGINS, topics=st.sets(TOPICS), state=st.sets(TOPICS))
    def declare(self, plugin, topics, state):
        self.store.declare(plugin, topics, latest_state=state & topics)
        self.wanted[plugin]["declared"] = topics

    @rule(plugin=PLUGINS, topic=TOPICS)
    def subscribe(self, plugin, topic):
        if self.store.subscribe(plugin, topic) is None:
            self.wanted[plugin]["asked"].add(topic)

    @rule(plugin=PLUGINS)
    def left(self, plugin):
        self.store.left(plugin)
        self.wanted[plugin]["asked"] = set()

    @rule(plugin=PLUGINS, topic=TOPICS, payload=st.binary(max_size=60))
    def publish(self, plugin, topic, payload):
        done = self.store.publish(plugin, topic, payload)
        if isinstance(done, Refusal):
            assert (
                len(payload) > LIMITS.payload
                or self.store.stored + len(payload) + ENTRY_COST > LIMITS.publisher
            )
            return
        assert done.version > max((version for version, _ in self.latest.values()), default=0)
        self.latest[topic] = (done.version, payload)
        expected = {
            each for each in "abc" if each != plugin and topic in set.union(*self.wanted[each].values())
        }
        assert set(done.subscribers) == expected
        for each in expected:
            self.due[each].add(done.version)

    @rule(plugin=PLUGINS, times=st.integers(1, 4))
    def take(self, plugin, times):
        for _ in range(times):
            snapshot = self.store.take(plugin)
            if snapshot is not None:
                assert snapshot.version in self.due[plugin]
                self.told[plugin].append(snapshot.version)

    @invariant()
    def each_is_told_once_and_in_order(self):
        for told in self.told.values():
            assert told == sorted(set(told))

    @invariant()
    def the_latest_is_what_was_published_last(self):
        for topic, (version, payload) in self.latest.items():
            assert (self.store.get(topic).version, self.store.get(topic).payload) == (version, payload)

    @invariant()
    def the_bill_is_right_and_bounded(self):
        held = [self.store.get(topic) for topic in self.latest]
        assert self.store.stored == sum(each.cost for each in held) <= LIMITS.store
        assert self.store.queued <= 3 * LIMITS.queue

    @invariant()
    def every_publish_is_accounted_for(self):
        for plugin in "abc":
            tally = self.store.tally(plugin)
            assert tally.queued == len(self.due[plugin])
            gone = tally.delivered + tally.replaced + tally.dropped + tally.forgotten
            assert tally.queued == gone + self.store.waiting(plugin)
            assert self.store.waiting(plugin) <= LIMITS.waiting


TestBus = Bus.TestCase
TestBus.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)


INTERRUPTED = {
    "publish": lambda store: store.publish(HOST, "t", b"w") and None,
    "publish a latest state": lambda store: store.publish(HOST, "state", b"w") and None,
    "take": lambda store: store.take("s"),
}


def take_all(store):
    return list(iter(lambda: store.take("s"), None))


def publish_both(store):
    store.publish(HOST, "t", b"h")
    store.publish(HOST, "state", b"h")
    return []


HANDLERS = {
    "publishes": publish_both,
    "takes": take_all,
    "publishes and takes": lambda store: publish_both(store) + take_all(store),
    "takes and publishes": lambda store: take_all(store) + publish_both(store),
}


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("work", INTERRUPTED)
@pytest.mark.parametrize("most", [1, 2, 100])
def test_a_signal_handler_that_comes_in_between_leaves_the_books_right(most, work, handler):
    number, has_come = 0, True
    while has_come:
        number += 1
        store = Snapshots(SnapshotLimits(waiting=most))
        store.declare("s", ["t", "state"], latest_state=["state"])
        store.publish(HOST, "t", b"1")
        store.publish("p", "state", b"1")
        taken = []
        tripwire = Tripwire(
            number,
            lambda store=store, taken=taken: taken.extend(HANDLERS[handler](store)),
            watched=("duplex/deliveries.py", "duplex/snapshots.py"),
            always=True,
        )
        taken += filter(None, [tripwire.watch(INTERRUPTED[work], store)])
        has_come = tripwire.has_come
        taken += take_all(store)
        tally = store.tally("s")
        published = 2 + (work != "take") + 2 * (has_come and "publishes" in handler)
        assert (store.version, tally.queued) == (published, published), f"step {number}"
        assert len({each.version for each in taken}) == len(taken) == tally.delivered
        versions = [each.version for each in taken]
        if work != "take" or "takes" not in handler:  # else the first of them was taken first, and noted last
            assert versions == sorted(versions), f"step {number}"
        assert tally.queued == tally.delivered + tally.replaced + tally.dropped
        assert (store.queued, store.waiting("s")) == (0, 0)
        latest = [store.get("t"), store.get("state")]
        assert store.stored == sum(each.cost for each in latest)
        assert max(each.version for each in latest) == published
    assert number > 1
