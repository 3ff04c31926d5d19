"""The clauses of document 003 (duplex) about `UsageDataEvent`, one test each: the bundled publisher and screen.

The schema is written down here from the document: msgpack, named members, version 3.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from plughost_sdk import duplex

from plughost import blocking
from tests.letter.raw_duplex_host import INIT, RawHost, hosted

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "duplex"
LOGS = EXAMPLES / "sample-logs"
USAGE = "sessions.usage_data"
FRAME_BYTES = 2_831_156  # about 2.7 MiB


class Bucket(msgspec.Struct, forbid_unknown_fields=True):
    input_tokens: int
    cache_creation_tokens: int
    cache_read_tokens: int
    output_tokens: int
    reasoning_tokens: int
    session_count: int
    project_count: int
    call_count: int
    cost_usd: float | None


class Call(msgspec.Struct, forbid_unknown_fields=True):
    id: int
    provider: str
    model: str
    session_id: str
    project: str
    project_path: str
    timestamp: datetime
    input_tokens: int
    cache_creation_tokens: int
    cache_read_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_usd: float | None
    tools: list[str]
    bash_commands: list[str]
    user_message: str
    branch: str | None


class Data(msgspec.Struct, forbid_unknown_fields=True):
    daily: list[tuple[str, Bucket]]
    weekly: list[tuple[str, Bucket]]
    projects: list[dict[str, Any]]
    grand_total: Bucket
    calls: list[Call]
    sessions: list[dict[str, Any]]
    models: list[dict[str, Any]]
    activities: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    mcp_servers: list[dict[str, Any]]
    shell_commands: list[dict[str, Any]]
    branches: list[dict[str, Any]]
    model_project_counts: list[tuple[str, list[tuple[str, int]]]]


class Event(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    published_ns: int
    partial: bool
    chunk_index: int
    is_final: bool
    data: Data


ZERO = Bucket(0, 0, 0, 0, 0, 0, 0, 0, None)
EMPTY = Data([], [], [], ZERO, [], [], [], [], [], [], [], [], [])


@pytest.fixture(scope="module")
def publishes() -> list[list[bytes]]:
    """What session-reader publishes of the sample logs: when it is ready, and when it is asked to read again."""
    roots = {"read_claude_logs": [f"{LOGS}/claude"], "read_codex_logs": [f"{LOGS}/codex"]}
    config = {
        "session-reader": {
            "claude_logs": f"{LOGS}/claude",
            "codex_logs": f"{LOGS}/codex",
            "chunk_bytes": 2_000,
        }
    }
    heard: list[list[bytes]] = []
    with blocking.Host() as host:
        fleet = host.fleet(EXAMPLES / "session-reader", roots=roots, config=config)
        fleet.subscribe(USAGE, lambda each: heard[-1].append(each.payload))
        for topic in ("unrelated", "sessions.refresh_request"):
            heard.append([])
            fleet.publish(topic, b"")
            fleet.cli("sessions", ["summary"])  # answered after what is published before it
    return heard


@pytest.fixture(scope="module")
def payloads(publishes: list[list[bytes]]) -> list[bytes]:
    return publishes[0]


@pytest.fixture(scope="module")
def events(payloads: list[bytes]) -> list[Event]:
    return [msgspec.msgpack.decode(each, type=Event) for each in payloads]


@pytest.fixture(scope="module")
def again(publishes: list[list[bytes]]) -> list[Event]:
    return [msgspec.msgpack.decode(each, type=Event) for each in publishes[1]]


def test_3_077_and_3_081_the_publisher_speaks_version_3_in_msgpack_with_the_documents_members(
    events: list[Event],
) -> None:
    assert {each.version for each in events} == {3}
    assert len(events) > 2


def test_3_082_whole_data_are_not_partial_in_any_chunk(events: list[Event]) -> None:
    assert {each.partial for each in events} == {False}


def test_3_083_one_publish_has_one_time_and_the_next_a_later_one(
    events: list[Event], again: list[Event]
) -> None:
    first, second = ({each.published_ns for each in publish} for publish in (events, again))
    assert (len(first), len(second)) == (1, 1)
    assert min(second) > max(first)


def test_3_084_chunk_0_has_the_aggregates_and_the_others_only_calls(events: list[Event]) -> None:
    first, *others = events
    assert first.data.daily
    assert first.data.calls
    assert first.data.grand_total.call_count == sum(len(each.data.calls) for each in events)
    assert all(msgspec.structs.replace(each.data, calls=[]) == EMPTY for each in others)


def test_3_085_only_the_last_chunk_is_final(events: list[Event]) -> None:
    assert [each.chunk_index for each in events] == list(range(len(events)))
    assert [each.is_final for each in events] == [False] * (len(events) - 1) + [True]


def test_3_085_a_publish_of_one_chunk_is_chunk_0_and_final() -> None:
    (only,) = duplex.chunks([1], msgspec.msgpack.encode)
    assert {"chunk_index": 0, "is_final": True}.items() <= msgspec.msgpack.decode(only).items()


def test_3_080_and_3_086_what_is_large_is_cut_so_that_each_frame_is_under_2_7_mib() -> None:
    made = list(duplex.chunks(["x" * 1_000] * 5_000, msgspec.msgpack.encode, 2_097_152))
    assert len(made) > 1
    assert all(len(base64.b64encode(each)) < FRAME_BYTES for each in made)


@pytest.fixture
def burndown() -> Iterator[RawHost]:
    with hosted(sys.executable, EXAMPLES / "burndown" / "burndown") as host:
        host.ask("plugin/init", INIT)
        yield host


def tell(host: RawHost, *payloads: bytes) -> None:
    for each in payloads:
        host.tell("plugin/handle_event", {"topic": USAGE, "payload": base64.b64encode(each).decode()})


def total(host: RawHost) -> int:
    answer = host.ask("host/action/invoke", {"action": "usage.total", "payload": ""})
    found: int = json.loads(base64.b64decode(answer["result"]["payload"]))["calls"]
    return found


def screen(host: RawHost) -> str:
    cells = host.ask("plugin/render", {"viewport": {"width": 80, "height": 24}})["result"]["buffer"]["cells"]
    return "".join(cell["symbol"] for _, cell in sorted(cells, key=lambda each: (each[0]["y"], each[0]["x"])))


def test_3_076_a_subscriber_shows_another_version_instead_of_reading_it(
    burndown: RawHost, payloads: list[bytes]
) -> None:
    other = {**msgspec.msgpack.decode(payloads[0]), "version": 4, "is_final": True}
    tell(burndown, msgspec.msgpack.encode(other))
    assert "another version than 3" in screen(burndown)
    assert total(burndown) == 0


def test_3_077_a_subscriber_reads_the_documents_event(burndown: RawHost, payloads: list[bytes]) -> None:
    tell(burndown, *payloads)
    assert "up to date" in screen(burndown)
    assert total(burndown) > 0


def test_3_087_a_follow_on_chunk_without_chunk_0_is_dropped(burndown: RawHost, payloads: list[bytes]) -> None:
    tell(burndown, *payloads[1:])
    assert total(burndown) == 0


def test_3_088_a_new_chunk_0_discards_what_was_put_together(
    burndown: RawHost, payloads: list[bytes], events: list[Event]
) -> None:
    tell(burndown, *payloads[:2], *payloads)
    assert total(burndown) == sum(len(each.data.calls) for each in events)
