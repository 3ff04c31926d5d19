"""The two Python plugins of `duplex` read logs, publish, listen and draw; whatever odd data they are given."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plughost_sdk import duplex

from plughost.manifest import duplex_registry
from plughost.testkit import DuplexHarness, screen_text

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "duplex"
LOGS = EXAMPLES / "sample-logs"
USAGE, PROGRESS, REFRESH = "sessions.usage_data", "sessions.scan_progress", "sessions.refresh_request"
PACKAGES = {"session-reader": "session_reader", "burndown": "dashboard"}
HOME = "~/.claude/projects"
MANY = 13_000_000  # bytes: more than a host hands out of one file

Load = Callable[[str], Any]


@pytest.fixture
def load() -> Iterator[Load]:
    """Return the module of an example's program, made anew, as `python NAME` would find its parts."""
    added: list[str] = []

    def make(name: str) -> Any:
        folder = EXAMPLES / name
        sys.path.insert(0, str(folder))
        added.append(name)
        loader = importlib.machinery.SourceFileLoader(f"main_of_{PACKAGES[name]}", str(folder / name))
        spec = importlib.util.spec_from_loader(loader.name, loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        return module

    yield make
    for name in added:
        sys.path.remove(str(EXAMPLES / name))
        package = PACKAGES[name]
        for each in [module for module in sys.modules if module.partition(".")[0] == package]:
            del sys.modules[each]


@pytest.fixture
def reader(load: Load) -> duplex.Plugin:
    plugin: duplex.Plugin = load("session-reader").plugin
    return plugin


@pytest.fixture
def burndown(load: Load) -> duplex.Plugin:
    plugin: duplex.Plugin = load("burndown").plugin
    return plugin


def answer(
    day: str = "2026-01-05", *, cwd: str = "/home/sample/shop", model: Any = "m", **usage: Any
) -> dict[str, Any]:
    tokens = {"input_tokens": 10, "output_tokens": 1, **usage}
    return {"timestamp": f"{day}T12:00:00Z", "cwd": cwd, "message": {"model": model, "usage": tokens}}


def log(*lines: Any) -> bytes:
    made = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines]
    return b"".join(line + b"\n" for line in made)


def row(day: str = "2026-01-05", project: str = "shop", model: str = "m", **numbers: int) -> dict[str, Any]:
    return {"day": day, "project": project, "model": model, "calls": 1, "input": 10, "output": 1, **numbers}


def call(row: Any) -> Any:
    """Return *row* as the schema has a call."""
    if not isinstance(row, dict):
        return row
    tokens = {"input": "input_tokens", "output": "output_tokens", "cached": "cache_read_tokens"}
    made = {tokens.get(key, key): value for key, value in row.items() if key not in ("day", "calls")}
    return {**made, "timestamp": f"{row['day']}T12:00:00Z"} if "day" in row else made


def published(*rows: Any, size: int = 2_000_000, version: int = 3, ns: int = 1) -> list[bytes]:
    """Return what session-reader would publish for *rows*."""
    calls = [call(each) for each in rows]
    told = {"version": version, "published_ns": ns, "data": lambda index, some: {"calls": some}}
    return list(duplex.chunks(calls, msgspec.msgpack.encode, size, **told))  # type: ignore[arg-type]


def found(harness: DuplexHarness) -> list[dict[str, Any]]:
    """Return the usage that was published last, by day, project and model."""
    accumulator = duplex.Accumulator(3, msgspec.msgpack.decode)
    whole: list[Any] = []
    for topic, payload in harness.publishes:
        if topic == USAGE and (data := accumulator.receive(payload)) is not None:
            whole = data
    return rows_of(each for data in whole for each in data["calls"])


def rows_of(calls: Iterable[Any]) -> list[dict[str, Any]]:
    sums: dict[tuple[str, str, str], list[int]] = {}
    for each in calls:
        fresh = each["input_tokens"] + each["cache_creation_tokens"]
        numbers = (1, fresh, each["output_tokens"], each["cache_read_tokens"])
        before = sums.setdefault((each["timestamp"][:10], each["project"], each["model"]), [0] * 4)
        before[:] = [one + other for one, other in zip(before, numbers, strict=True)]
    columns = ("day", "project", "model", "calls", "input", "output", "cached")
    return [dict(zip(columns, (*names, *numbers), strict=True)) for names, numbers in sorted(sums.items())]


def summary(harness: DuplexHarness) -> dict[str, Any]:
    result = harness.cli("sessions", ["summary", "--json"])
    assert (result.exit_code, result.stderr) == (0, b"")
    decoded: dict[str, Any] = json.loads(result.stdout)
    return decoded


def usage(harness: DuplexHarness, *argv: str) -> dict[str, Any]:
    result = harness.cli("usage", ["--json", *argv])
    assert (result.exit_code, result.stderr) == (0, b"")
    decoded: dict[str, Any] = json.loads(result.stdout)
    return decoded


# As they lie there


def test_a_host_finds_them_without_a_flaw() -> None:
    registry = duplex_registry.discover(EXAMPLES)
    assert {"burndown", "session-reader"} <= {binding.name for binding in registry.loaded}
    assert not [each for each in registry.rejected if each.name in PACKAGES]
    for name in PACKAGES:
        assert os.access(EXAMPLES / name / name, os.X_OK)


# session-reader


def test_the_sample_logs_are_read_and_published_in_chunks(reader: duplex.Plugin) -> None:
    roots = {"read_claude_logs": [f"{LOGS}/claude"], "read_codex_logs": [f"{LOGS}/codex"]}
    config = {"claude_logs": f"{LOGS}/claude", "codex_logs": f"{LOGS}/codex", "chunk_bytes": 1000}
    with DuplexHarness(reader, roots=roots, config=config) as harness:
        told = summary(harness)
        assert (told["files_read"], told["projects"], told["bad_lines"]) == (7, 3, 1)
        rows = found(harness)
        assert sum(each["calls"] for each in rows) == told["calls"]
        assert sum(each["input"] for each in rows) == told["input"]
        assert len({each["day"] for each in rows}) == told["days"] == 10
        assert rows == sorted(rows, key=lambda each: (each["day"], each["project"], each["model"]))
        chunks = [msgspec.msgpack.decode(payload) for topic, payload in harness.publishes if topic == USAGE]
        assert len(chunks) > 3
        assert [each["chunk_index"] for each in chunks] == list(range(len(chunks)))
        assert [each["is_final"] for each in chunks] == [False] * (len(chunks) - 1) + [True]
        assert len({each["published_ns"] for each in chunks}) == 1
        assert chunks[0]["data"]["grand_total"]["call_count"] == told["calls"]
        assert {each["version"] for each in chunks} == {3}
        assert [len(each["data"]["daily"]) > 0 for each in chunks] == [True] + [False] * (len(chunks) - 1)
        assert all(len(payload) <= 1000 for topic, payload in harness.publishes[2:] if topic == USAGE)
        told_last = msgspec.msgpack.decode(harness.assert_published(PROGRESS))
        assert (told_last["scanned"], told_last["total"]) == (7, 7)
        assert harness.denied == []
        harness.assert_logged("info", "read")


def test_init_is_answered_before_the_logs_are_read(reader: duplex.Plugin) -> None:
    with DuplexHarness(reader, files={f"{HOME}/a/1.jsonl": log(answer())}) as harness:
        assert harness.publishes == []
        harness.settle()
        assert [each["calls"] for each in found(harness)] == [1]


def test_nothing_to_read_is_published_too(reader: duplex.Plugin) -> None:
    with DuplexHarness(reader) as harness:
        assert summary(harness)["calls"] == 0
        assert found(harness) == []
        harness.assert_published(USAGE)


BAD_LINES = {
    "no JSON": b"{",
    "not UTF-8": b'{"a": "\xff"}',
    "an array": b"[1]",
    "nested deep": b"[" * 100_000,
    "a huge number": b'{"message": {"usage": {"input_tokens": 1' + b"0" * 5000 + b"}}}",
    "tokens of no number": log(answer(input_tokens="5")).strip(),
    "tokens of a bool": log(answer(output_tokens=True)).strip(),
    "tokens below zero": log(answer(output_tokens=-1)).strip(),
    "more than there are": log(answer(input_tokens=10**12 + 1)).strip(),
    "usage of no object": log({"timestamp": "2026-01-05T12:00:00Z", "message": {"usage": 5}}).strip(),
    "no timestamp": log({"message": {"usage": {}}}).strip(),
    "no day": log(answer("2026-02-30")).strip(),
    "before all days": log({**answer(), "timestamp": "0001-01-01T00:00:00+14:00"}).strip(),
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_is_counted_and_costs_only_itself(line: bytes, reader: duplex.Plugin) -> None:
    content = log(answer(), line, answer())
    with DuplexHarness(reader, files={f"{HOME}/a/1.jsonl": content}) as harness:
        told = summary(harness)
        assert (told["calls"], told["bad_lines"]) == (2, 1)
        assert harness.stderr == ""


OTHER_LINES = {
    "empty": b"",
    "of a user": log({"type": "user", "message": {"content": "hello"}}).strip(),
    "made up": log(answer(model="<synthetic>")).strip(),
    "a text as message": log({"message": "hello"}).strip(),
}


@pytest.mark.parametrize("line", OTHER_LINES.values(), ids=OTHER_LINES)
def test_a_line_without_usage_is_no_bad_line(line: bytes, reader: duplex.Plugin) -> None:
    with DuplexHarness(reader, files={f"{HOME}/a/1.jsonl": log(answer(), line)}) as harness:
        told = summary(harness)
        assert (told["calls"], told["bad_lines"]) == (1, 0)


@given(
    st.lists(
        st.binary(max_size=60) | st.sampled_from([*BAD_LINES.values(), log(answer()).strip()]), max_size=8
    )
)
def test_no_content_of_a_log_is_fatal(lines: list[bytes]) -> None:
    folder = str(EXAMPLES / "session-reader")
    sys.path.insert(0, folder)
    try:
        from session_reader import logs
    finally:
        sys.path.remove(folder)
    for kind in ("claude", "codex"):
        calls, bad = logs.read(kind, b"\n".join(lines), "a")
        assert len(calls) + bad <= len(b"\n".join(lines).split(b"\n"))


def test_a_line_that_is_being_written_is_waited_for(reader: duplex.Plugin) -> None:
    whole = log(answer(), answer())
    with DuplexHarness(reader, files={f"{HOME}/a/1.jsonl": whole[:-9]}) as harness:
        told = summary(harness)
        assert (told["calls"], told["bad_lines"]) == (1, 0)


def test_of_lines_with_the_same_id_the_last_one_counts(reader: duplex.Plugin) -> None:
    first, last = answer(output_tokens=1), answer(output_tokens=7)
    first["message"]["id"] = last["message"]["id"] = "msg"
    with DuplexHarness(reader, files={f"{HOME}/a/1.jsonl": log(first, last)}) as harness:
        told = summary(harness)
        assert (told["calls"], told["output"]) == (1, 7)


def test_days_are_those_of_utc_and_projects_those_of_the_directory(reader: duplex.Plugin) -> None:
    late = {**answer(), "timestamp": "2026-01-05T23:30:00-02:00"}
    nameless = {**answer(), "cwd": None}
    with DuplexHarness(reader, files={f"{HOME}/-work-shop/1.jsonl": log(late, nameless)}) as harness:
        harness.settle()
        assert [(each["day"], each["project"]) for each in found(harness)] == [
            ("2026-01-05", "-work-shop"),
            ("2026-01-06", "shop"),
        ]


def test_names_are_kept_to_one_line_of_bounded_length(reader: duplex.Plugin) -> None:
    odd = answer(cwd="/x/日本\n語\t" + "y" * 500, model="\ud800")
    with DuplexHarness(reader, files={f"{HOME}/a/1.jsonl": log(odd, answer(model=5))}) as harness:
        harness.settle()
        names = [(each["project"], each["model"]) for each in found(harness)]
        assert names[0] == ("shop", "unknown")
        assert names[1] == (("日本 語 " + "y" * 500)[:200], "?")


def test_a_log_that_the_host_does_not_hand_out_is_reported(reader: duplex.Plugin) -> None:
    files = {f"{HOME}/a/1.jsonl": log(answer()), f"{HOME}/a/2.jsonl": bytes(MANY)}
    with DuplexHarness(reader, files=files) as harness:
        told = summary(harness)
        assert (told["calls"], told["files_read"]) == (1, 1)
        assert f"{HOME}/a/2.jsonl" in told["skipped"]
        harness.assert_logged("warn", "left out")


def test_what_was_not_granted_is_not_asked_for(reader: duplex.Plugin) -> None:
    grants = {"event_bus": True, "read_codex_logs": True}
    with DuplexHarness(reader, grants=grants, files={f"{HOME}/a/1.jsonl": log(answer())}) as harness:
        assert summary(harness)["files_found"] == 0
        assert harness.denied == []


def test_logs_of_codex_take_project_and_model_from_the_lines_before(reader: duplex.Plugin) -> None:
    def count(**usage: Any) -> dict[str, Any]:
        info = {"last_token_usage": usage}
        return {"timestamp": "2026-01-05T12:00:00Z", "payload": {"type": "token_count", "info": info}}

    content = log(
        {"payload": {"cwd": "/home/sample/shop"}},
        {"payload": {"model": "m1"}},
        count(input_tokens=10, cached_input_tokens=4, output_tokens=2),
        {"payload": {"model": "m2"}},
        count(input_tokens=1, cached_input_tokens=5, output_tokens=3),
        count(input_tokens=None),
        {"payload": {"type": "token_count", "info": None}},
        {"payload": []},
    )
    with DuplexHarness(reader, files={"~/.codex/sessions/2026/01/05/r.jsonl": content}) as harness:
        assert summary(harness)["bad_lines"] == 1
        assert [
            (each["project"], each["model"], each["input"], each["cached"]) for each in found(harness)
        ] == [
            ("shop", "m1", 6, 4),
            ("shop", "m2", 0, 5),
        ]


def test_a_refresh_reads_what_is_new_and_publishes_the_whole(reader: duplex.Plugin, tmp_path: Path) -> None:
    place = tmp_path / "a.jsonl"
    place.write_bytes(log(answer()))
    config, roots = {"claude_logs": str(tmp_path)}, {"read_claude_logs": [str(tmp_path)]}
    with DuplexHarness(reader, roots=roots, config=config) as harness:
        harness.event(REFRESH, b"{}")
        place.write_bytes(log(answer(), answer("2026-01-06")))
        harness.event(REFRESH, b"\xff anything")
        harness.settle()
        assert [each["day"] for each in found(harness)] == ["2026-01-05", "2026-01-06"]
        assert len([topic for topic, _ in harness.publishes if topic == USAGE]) == 3
        place.unlink()
        harness.event(REFRESH, b"")
        harness.settle()
        assert found(harness) == []


def test_the_action_gives_everything_in_one_envelope(reader: duplex.Plugin) -> None:
    with DuplexHarness(reader, files={f"{HOME}/a/1.jsonl": log(answer())}) as harness:
        envelope = msgspec.msgpack.decode(harness.invoke("sessions.usage"))
        assert (envelope["chunk_index"], envelope["is_final"]) == (0, True)
        assert rows_of(envelope["data"]["calls"]) == found(harness)


@pytest.mark.parametrize("argv", [(), ("fly",), ("summary", "--fly")], ids=["none", "unknown", "option"])
def test_a_wrong_command_line_is_explained(argv: tuple[str, ...], reader: duplex.Plugin) -> None:
    with DuplexHarness(reader) as harness:
        result = harness.cli("sessions", argv)
        assert result.exit_code == 2
        assert result.stderr.startswith(b"usage: sessions")


def test_the_summary_is_for_people_too(reader: duplex.Plugin) -> None:
    with DuplexHarness(reader, files={f"{HOME}/a/1.jsonl": log(answer(), b"?")}) as harness:
        lines = harness.cli("sessions", ["summary"]).stdout.decode().splitlines()
        assert (
            len(lines) == 4
        )  # two of numbers, one of bad lines, one of the logs of codex, which are not there


# burndown


def test_the_screen_says_that_nothing_was_published_and_asks_for_it(burndown: duplex.Plugin) -> None:
    with DuplexHarness(burndown) as harness:
        harness.assert_published(REFRESH)
        harness.assert_renders("nothing was published yet")


def test_what_was_published_before_the_start_is_shown_at_once(burndown: duplex.Plugin) -> None:
    (only,) = published(row(project="weather"))
    with DuplexHarness(burndown, snapshots={USAGE: only}) as harness:
        harness.key("2")
        harness.assert_renders("weather")
        assert harness.publishes == []


def test_the_last_chunk_of_a_publish_is_not_taken_for_the_whole(burndown: duplex.Plugin) -> None:
    *_, last = published(*[row(project=f"p{number}") for number in range(20)], size=300)
    with DuplexHarness(burndown, snapshots={USAGE: last}) as harness:
        harness.assert_published(REFRESH)
        harness.assert_renders("nothing was published yet")


def test_chunks_are_put_together(burndown: duplex.Plugin) -> None:
    chunks = published(*[row(project=f"p{number}") for number in range(20)], size=300)
    assert len(chunks) > 5
    with DuplexHarness(burndown) as harness:
        for chunk in chunks[:-1]:
            harness.event(USAGE, chunk)
        harness.assert_renders("more is on its way")
        harness.event(USAGE, chunks[-1])
        harness.assert_renders("up to date")
        assert list(usage(harness, "--by", "project")) == sorted(f"p{number}" for number in range(20))


def test_a_lost_chunk_is_noticed_and_what_was_known_stays(burndown: duplex.Plugin) -> None:
    chunks = published(*[row(project=f"p{number}") for number in range(20)], size=300, ns=2)
    with DuplexHarness(burndown) as harness:
        harness.event(USAGE, published(row(project="old"))[0])
        for chunk in chunks[:2] + chunks[3:]:
            harness.event(USAGE, chunk)
        harness.key("2")
        assert "lost" in harness.assert_renders("old")
        assert list(usage(harness, "--by", "project")) == ["old"]
        for chunk in chunks:
            harness.event(USAGE, chunk)
        harness.assert_renders("up to date")
        assert "old" not in usage(harness, "--by", "project")


def test_another_version_is_shown_and_not_read(burndown: duplex.Plugin) -> None:
    with DuplexHarness(burndown) as harness:
        harness.event(USAGE, published(row(), version=2)[0])
        harness.assert_renders("another version")
        harness.event(USAGE, published(row())[0])
        harness.assert_renders("up to date")


ODD_ROWS = {
    "a number": 5,
    "no day": {"project": "p", "model": "m"},
    "an empty name": row(project=""),
    "a long name": row(project="x" * 201),
    "a name of no text": {**row(), "model": 5},
    "tokens of a text": {**row(), "input": "5"},
    "tokens of a bool": {**row(), "input": True},
    "tokens below zero": row(input=-1),
    "tokens of 16 digits": row(input=10**15 + 1),
    "tokens of 64 bits": row(input=2**64 - 1),
}


@pytest.mark.parametrize("odd", ODD_ROWS.values(), ids=ODD_ROWS)
def test_an_odd_row_is_left_out_and_told(odd: Any, burndown: duplex.Plugin) -> None:
    with DuplexHarness(burndown) as harness:
        harness.event(USAGE, published(row(), odd)[0])
        harness.assert_renders("odd rows left out: 1")
        assert json.loads(harness.invoke("usage.total"))["total"] == 11


@pytest.mark.parametrize("payload", [b"", b"{", b"\xff", b"[]", b"null", b"{}", b"[" * 100_000])
def test_what_is_no_chunk_is_left_out(payload: bytes, burndown: duplex.Plugin) -> None:
    with DuplexHarness(burndown) as harness:
        harness.event(USAGE, published(row())[0])
        harness.event(USAGE, payload)
        harness.assert_renders("2026-01-05")
        assert harness.stderr == ""


@pytest.mark.parametrize("data", [None, 5, [], {"calls": 5}, {"calls": None}, {}], ids=str)
def test_data_without_rows_are_no_rows(data: Any, burndown: duplex.Plugin) -> None:
    chunk = {"version": 3, "published_ns": 1, "chunk_index": 0, "is_final": True, "data": data}
    with DuplexHarness(burndown) as harness:
        harness.event(USAGE, msgspec.msgpack.encode(chunk))
        harness.assert_renders("No usage")


SIZES = [
    (0, 0),
    (1, 0),
    (0, 1),
    (1, 1),
    (2, 2),
    (1, 24),
    (80, 1),
    (9, 3),
    (59, 5),
    (60, 5),
    (80, 24),
    (300, 90),
]


@pytest.mark.parametrize(("width", "height"), SIZES, ids=lambda value: str(value))
def test_every_view_is_drawn_at_every_size(width: int, height: int, burndown: duplex.Plugin) -> None:
    rows = [
        row(f"2026-01-{day:02}", project, input=day * 10**14)
        for day in range(1, 31)
        for project in ("a", "日本語" * 9)
    ]
    with DuplexHarness(burndown) as harness:
        harness.assert_stable_render(width, height)
        harness.event(USAGE, published(*rows)[0])
        for key in ("1", "end", "2", "enter", "esc", "3", "?"):
            harness.key(key)
            cells = harness.assert_stable_render(width, height).buffer.cells
            assert all(place.x < width and place.y < height for place, _ in cells)


def test_the_tabs_are_turned_by_numbers_and_arrows(burndown: duplex.Plugin) -> None:
    with DuplexHarness(burndown) as harness:
        harness.event(USAGE, published(row("2026-01-05", "shop", "large"))[0])
        for key, shown in [
            ("1", "2026-01-05"), ("2", "shop"), ("3", "large"), ("right", "2026-01-05"), ("left", "large"),
            ("tab", "2026-01-05"), ("back_tab", "large"), ("left", "shop"),
        ]:  # fmt: skip
            harness.key(key)
            assert shown in screen_text(harness.render(80, 5).buffer).splitlines()[2]


def test_a_line_is_opened_and_left_again(burndown: duplex.Plugin) -> None:
    rows = [row("2026-01-05", "big", input=99), row("2026-01-06", "small"), row("2026-01-07", "big")]
    with DuplexHarness(burndown) as harness:
        harness.event(USAGE, published(*rows)[0])
        for key in ("2", "enter"):
            harness.key(key)
        shown = harness.assert_renders("project: big")
        assert "2026-01-07" in shown
        assert "2026-01-06" not in shown
        harness.key("?")
        harness.assert_renders("go back")
        harness.key("esc")
        harness.assert_renders("project: big")
        for _ in range(3):
            harness.key("esc")
        harness.assert_renders("2 projects")


def test_the_chosen_line_is_always_to_be_seen(burndown: duplex.Plugin) -> None:
    rows = [row(f"2026-01-{day:02}") for day in range(1, 31)]
    with DuplexHarness(burndown) as harness:
        harness.event(USAGE, published(*rows)[0])
        for key, day in [
            ("end", 30), ("up", 29), ("page_up", 19), ("home", 1), ("up", 1), ("page_down", 11), ("down", 12),
            ("q", 12), ("ctrl+down", 12),
        ]:  # fmt: skip
            harness.key(key)
            assert f"▌2026-01-{day:02}" in harness.assert_renders("2026", 60, 7)
        harness.event(USAGE, published(row("2026-01-01"), ns=2)[0])  # there is less than before
        harness.assert_renders("▌2026-01-01", 60, 7)
        harness.key("up")
        harness.assert_renders("▌2026-01-01", 60, 7)


def test_r_asks_for_a_refresh(burndown: duplex.Plugin) -> None:
    with DuplexHarness(burndown, snapshots={USAGE: published(row())[0]}) as harness:
        harness.key("r")
        harness.assert_published(REFRESH)


def test_bars_are_as_long_as_their_share_and_the_largest_is_red(burndown: duplex.Plugin) -> None:
    rows = [
        row("2026-01-01", input=1000, output=0),
        row("2026-01-02", input=500, output=0),
        row("2026-01-03", input=1, output=0),
    ]
    with DuplexHarness(burndown) as harness:
        harness.event(USAGE, published(*rows)[0])
        result = harness.render(101, 10)
        lines = screen_text(result.buffer).splitlines()[2:5]
        lengths = [sum(each in "█▏▎▍▌▋▊▉" for each in line.lstrip("▌")) for line in lines]
        assert lengths[0] == 2 * lengths[1]
        assert lengths[2] == 1
        colours = {place.y: cell.fg for place, cell in result.buffer.cells if cell.symbol in "█▏"}
        assert len(set(colours.values())) == 3


def test_a_wide_name_pushes_no_column_out_of_its_place(burndown: duplex.Plugin) -> None:
    rows = [
        row(project="日本語" * 20, input=989),
        row(project="é" * 90, input=989),
        row(project="x", input=989),
    ]
    with DuplexHarness(burndown) as harness:
        harness.event(USAGE, published(*rows)[0])
        harness.key("2")
        buffer = harness.render(80, 10).buffer
        ends = [
            max(place.x for place, cell in buffer.cells if place.y == y and cell.symbol == "0")
            for y in (2, 3, 4)
        ]
        assert len(set(ends)) == 1


def test_the_command_lists_by_day_project_or_model(burndown: duplex.Plugin) -> None:
    rows = [row("2026-01-06", "a", "x"), row("2026-01-05", "b", "x", input=99)]
    with DuplexHarness(burndown) as harness:
        harness.event(USAGE, published(*rows)[0])
        assert list(usage(harness)) == ["2026-01-05", "2026-01-06"]
        assert list(usage(harness, "--by", "project")) == ["b", "a"]
        assert usage(harness, "--by", "model")["x"] == {
            "calls": 2, "input": 109, "output": 2, "cached": 0, "total": 111,
        }  # fmt: skip
        text = harness.cli("usage").stdout.decode().splitlines()
        assert [line.split()[0] for line in text] == ["2026-01-05", "2026-01-06", "total"]
        assert harness.cli("usage", ["--by", "colour"]).exit_code == 2


def test_the_command_asks_the_other_plugin_for_what_was_not_heard(burndown: duplex.Plugin) -> None:
    asked: list[bytes] = []

    def all_usage(payload: bytes) -> bytes:
        asked.append(payload)
        return published(row(project="asked"))[0]

    with DuplexHarness(burndown) as harness:
        harness.serve_action("sessions.usage", all_usage)
        for _ in range(2):
            assert list(usage(harness, "--by", "project")) == ["asked"]
        assert len(asked) == 1


def test_the_command_fails_plainly_if_nobody_tells_the_usage(burndown: duplex.Plugin) -> None:
    def late(_: bytes) -> bytes:
        raise TimeoutError

    with DuplexHarness(burndown) as harness:
        assert harness.cli("usage").exit_code == 1
        harness.assert_logged("warn")
        harness.serve_action("sessions.usage", late)
        assert harness.cli("usage", ["--json"]).exit_code == 1
        harness.serve_action("sessions.usage", lambda payload: b"no envelope")
        assert harness.cli("usage").exit_code == 1


def test_one_plugin_shows_what_the_other_publishes(load: Load) -> None:
    roots, config = (
        {"read_claude_logs": [f"{LOGS}/claude"]},
        {"claude_logs": f"{LOGS}/claude", "chunk_bytes": 1000},
    )
    with DuplexHarness(load("session-reader").plugin, roots=roots, config=config) as reader:
        reader.settle()
        with DuplexHarness(load("burndown").plugin) as screen:
            for topic, payload in reader.publishes:
                if topic == USAGE:
                    screen.event(topic, payload)
            screen.key("2")
            shown = screen.assert_renders("up to date")
            assert all(name in shown for name in ("shop", "weather-map", "notes"))
            total = json.loads(screen.invoke("usage.total"))
            told = summary(reader)
            assert {key: total[key] for key in ("calls", "input", "output")} == {
                key: told[key] for key in ("calls", "input", "output")
            }


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (999, "999"), (1000, "1.0k"), (1999, "1.9k"), (99_999, "99.9k"), (100_000, "100k"),
        (999_999, "999k"), (1_000_000, "1.0M"), (10**18, "1.0E"), (10**21 - 1, "999E"), (10**21, "1e+21"),
        (10**4000, "1e+4000"),
    ],
)  # fmt: skip
def test_a_number_is_told_in_few_characters(number: int, text: str, load: Load) -> None:
    load("burndown")
    assert sys.modules["dashboard.numbers"].short(number) == text
