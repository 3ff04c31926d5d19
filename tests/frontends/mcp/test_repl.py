"""The tool `repl` as an agent sees it: the official client in memory, in both eras, with real workers."""

from __future__ import annotations

import asyncio
import base64
import sys

import pytest

from plughost.frontends.mcp import call, repl
from tests.frontends.mcp.agent import (
    ENDLESS,
    MODES,
    PATIENCE_MS,
    PATIENCE_S,
    Named,
    agent,
    appears,
    makes,
    waits_for,
)

pytestmark = [pytest.mark.usefixtures("leak_check"), pytest.mark.thin(4, "sessions by mcp")]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE = f"import base64\nclass P:\n    def _repr_png_(self): return base64.b64decode('{PNG}')\nP()"


async def test_state_stays_between_calls_and_a_final_expression_is_shown(tmp_path):
    async with agent(tmp_path) as it:
        assert (await it.repl("x = 20")).blocks == ["[idle]"]
        answer = await it.repl("print('hello')\nx + 1")
        assert answer.blocks == ["hello\n21\n", "[idle]"]
        assert not answer.is_error
        assert (answer.state, answer.meta["plughost/session"]) == ("idle", "main")
        assert answer.structured is None  # some clients would show it instead of the pictures


@pytest.mark.parametrize("mode", MODES)
async def test_code_that_raises_is_an_error_that_shows_the_traceback(tmp_path, mode):
    async with agent(tmp_path, mode=mode) as it:
        answer = await it.repl("1 / 0")
        assert answer.is_error
        assert "ZeroDivisionError" in answer.text
        assert answer.last == "[idle]"
        assert not (await it.repl("1")).is_error


async def test_a_picture_is_a_picture(tmp_path):
    async with agent(tmp_path) as it:
        answer = await it.repl(PICTURE)
        assert ("image/png", PNG) in answer.blocks
        assert answer.last == "[idle]"


async def test_two_sessions_share_nothing(tmp_path):
    async with agent(tmp_path) as it:
        await it.repl("x = 1")
        other = await it.repl("x", session="other")
        assert other.is_error
        assert "NameError" in other.text
        assert other.meta["plughost/session"] == "other"
        assert (await it.repl("x")).text == "1\n"


async def test_code_that_takes_longer_goes_on_and_an_empty_input_gets_the_rest(tmp_path):
    go = tmp_path / "go"
    async with agent(tmp_path) as it:
        answer = await it.repl(f"print('begun', flush=True)\n{waits_for(go)}print('done')", timeout_ms=0)
        assert answer.state == "busy"
        assert not answer.is_error
        go.touch()
        rest = await it.repl("")
        assert answer.text + rest.text == "begun\ndone\n"
        assert rest.state == "idle"
        assert (await it.repl("")).blocks == ["[idle]"]


async def test_input_while_code_runs_is_refused_and_nothing_is_lost(tmp_path):
    go = tmp_path / "go"
    async with agent(tmp_path) as it:
        begun = await it.repl(f"{waits_for(go)}print('done')", timeout_ms=0)
        refused = await it.repl("lost = 1")
        assert refused.is_error
        assert refused.state == "busy"
        go.touch()
        rest = await it.repl("")
        assert begun.text + refused.text + rest.text == "done\n"
        assert "NameError" in (await it.repl("lost")).text


@pytest.mark.parametrize("mode", MODES)
async def test_where_code_reads_stdin_the_next_input_is_the_line(tmp_path, mode):
    async with agent(tmp_path, mode=mode) as it:
        asked = await it.repl("name = input('name? ')\nprint('hello', name)")
        assert asked.state == "waiting"
        assert asked.last == "[waiting for input: 'name? ']"
        assert not asked.is_error
        assert (await it.repl("Ada")).blocks == ["hello Ada\n", "[idle]"]


async def test_polling_answers_no_question(tmp_path):
    async with agent(tmp_path) as it:
        await it.repl("line = input('? ')")
        assert (await it.repl("")).state == "waiting"
        assert (await it.repl("\n")).state == "idle"  # an empty line is one
        assert (await it.repl("line")).text == "''\n"


async def test_what_was_meant_as_code_answers_no_question_that_came_up_meanwhile(tmp_path):
    go = tmp_path / "go"
    async with agent(tmp_path) as it:
        answer = await it.repl(f"{waits_for(go)}line = input('? ')", timeout_ms=0)
        assert answer.state == "busy"
        go.touch()
        async with asyncio.timeout(PATIENCE_S):
            while answer.state == "busy":
                answer = await it.repl("x = 1")
                assert answer.is_error
        assert answer.state == "waiting"
        assert (await it.repl("x = 2")).state == "idle"
        assert (await it.repl("line")).text == "'x = 2'\n"


async def test_an_interrupt_stops_what_runs_and_keeps_the_state_and_runs_the_rest(tmp_path):
    begun = tmp_path / "begun"
    async with agent(tmp_path) as it:
        await it.repl(f"x = 7\n{makes(begun)}{ENDLESS}", timeout_ms=0)
        await appears(begun)
        stopped = await it.repl("\x03")
        assert "KeyboardInterrupt" in stopped.text
        assert stopped.last.splitlines() == ["[interrupted]", "[idle]"]
        assert not stopped.is_error  # it is what was wanted
        assert (await it.repl("\x03\nx")).text == "7\n"


async def test_an_interrupt_of_nothing_says_so(tmp_path):
    async with agent(tmp_path) as it:
        before = await it.repl("\x03")
        await it.repl("x = 1")
        after = await it.repl("\x03")
        assert before.last.splitlines()[0] == after.last.splitlines()[0] == "[nothing was running]"
        assert (await it.repl("x")).text == "1\n"


async def test_a_restart_loses_the_state_says_so_and_runs_the_rest(tmp_path):
    async with agent(tmp_path) as it:
        await it.repl("x = 1")
        answer = await it.repl("\x04print('x' in globals())")
        assert answer.text.endswith("False\n")
        assert "".join(answer.blocks).count("in-memory state lost") == 1
        assert answer.meta["plughost/generation"] == 2
        assert "lost" not in "".join((await it.repl("1")).blocks)


async def test_a_restart_of_a_new_session_starts_one_worker(tmp_path):
    async with agent(tmp_path) as it:
        answer = await it.repl("\x04print(1)")
        assert answer.blocks == ["1\n", "[idle]"]
        assert answer.meta["plughost/generation"] == 1


async def test_a_worker_that_dies_is_reported_and_replaced(tmp_path):
    async with agent(tmp_path) as it:
        died = await it.repl("import os\nprint('last words', flush=True)\nos._exit(3)")
        assert died.is_error
        assert died.state == "ended"
        assert "last words\n" in died.text
        assert "exit status 3" in died.text
        assert "".join(died.blocks).count("in-memory state lost") == 1
        again = await it.repl("1 + 1")
        assert again.text == "2\n"
        assert again.last == "[idle]"
        assert not again.is_error


async def test_output_of_10_mb_is_shown_at_both_ends_and_whole_in_a_file(tmp_path):
    async with agent(tmp_path) as it:
        answer = await it.repl("print('begin' + 'x' * 10_000_000 + 'end')")
        assert len(answer.text) < 2 * (repl.HEAD_CHARS + repl.TAIL_CHARS)
        assert answer.text.startswith("beginx")
        assert answer.text.endswith("xend\n")
        file = Named(answer.text)
        assert file.data() == b"begin" + b"x" * 10_000_000 + b"end\n"
    assert not file.is_there()  # it goes with the server


async def test_no_escape_sequence_of_code_reaches_the_agent(tmp_path):
    async with agent(tmp_path) as it:
        answer = await it.repl(r"print('\x1b[31mred\x1b[0m \x1b]0;title\x07 \x00 a\r\nb\rc', end='')")
        assert answer.text == "red \\x1b]0;title\\x07 \\x00 a\nb\nc"


@pytest.mark.parametrize("mode", MODES)
async def test_cancelling_a_call_interrupts_the_code_and_keeps_the_state(tmp_path, mode):
    begun = tmp_path / "begun"
    async with agent(tmp_path, mode=mode) as it:
        running = asyncio.ensure_future(it.repl(f"x = 7\nprint('shown')\n{makes(begun)}{ENDLESS}"))
        await appears(begun)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        answer = await it.repl("x")
        assert answer.text.startswith("shown\n")  # also what the cancelled call would have shown
        assert "KeyboardInterrupt" in answer.text
        assert answer.text.endswith("7\n")
        assert not answer.is_error


async def test_cancelling_a_poll_interrupts_too(tmp_path, monkeypatch):
    monkeypatch.setattr(call, "PROGRESS_S", 0.01)
    begun = tmp_path / "begun"
    async with agent(tmp_path, mode="legacy") as it:
        await it.repl(f"x = 7\n{makes(begun)}{ENDLESS}", timeout_ms=0)
        await appears(begun)
        arrived = asyncio.Event()

        async def hear(*_: object) -> None:
            arrived.set()

        polling = asyncio.ensure_future(
            it.call("repl", {"input": "", "timeout_ms": PATIENCE_MS}, progress_callback=hear)
        )
        async with asyncio.timeout(PATIENCE_S):
            await arrived.wait()
        polling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await polling
        answer = await it.repl("x")
        assert "KeyboardInterrupt" in answer.text
        assert answer.text.endswith("7\n")


@pytest.mark.parametrize("mode", MODES)
async def test_progress_is_reported_to_who_asks(tmp_path, mode, monkeypatch):
    monkeypatch.setattr(call, "PROGRESS_S", 0.01)
    go = tmp_path / "go"
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)
        assert message
        if len(heard) == 3:
            go.touch()

    async with agent(tmp_path, mode=mode) as it:
        answer = await it.call(
            "repl", {"input": waits_for(go), "timeout_ms": PATIENCE_MS}, progress_callback=hear
        )
        assert answer.state == "idle"
    assert heard == sorted(heard)


async def test_beside_a_call_that_waits_only_a_sign_is_taken(tmp_path):
    begun = tmp_path / "begun"
    async with agent(tmp_path) as it:
        waiting = asyncio.ensure_future(it.repl(f"{makes(begun)}{ENDLESS}"))
        await appears(begun)
        assert (await it.repl("x = 1")).is_error
        assert (await it.repl("")).is_error
        assert (await it.repl("1", session="other")).text == "1\n"
        sign = await it.repl("\x03")
        assert not sign.is_error
        assert sign.last.splitlines()[0] == "[interrupted]"
        stopped = await waiting
        assert "KeyboardInterrupt" in stopped.text
        assert stopped.state == "idle"
        assert "NameError" in (await it.repl("x")).text


async def test_a_restart_beside_a_call_that_waits_is_told_to_that_call(tmp_path):
    begun = tmp_path / "begun"
    async with agent(tmp_path) as it:
        waiting = asyncio.ensure_future(it.repl(f"{makes(begun)}{ENDLESS}"))
        await appears(begun)
        beside = await it.repl("\x04")
        assert not beside.is_error
        assert beside.last.startswith("[restarted: in-memory state lost]")
        stopped = await waiting
        assert stopped.is_error
        assert "".join(stopped.blocks).count("in-memory state lost") == 1
        answer = await it.repl("1")
        assert answer.blocks == ["1\n", "[idle]"]


async def test_of_long_output_whole_lines_are_shown_at_both_ends_and_what_is_left_out_is_counted(tmp_path):
    async with agent(tmp_path) as it:
        answer = await it.repl("for number in range(5000): print('line', number)")
        lines = answer.text.splitlines()
        at = next(index for index, line in enumerate(lines) if "left out" in line)
        first, last = at, 5000 - (len(lines) - at - 1)
        assert lines[:at] == [f"line {number}" for number in range(first)]
        assert lines[at + 1 :] == [f"line {number}" for number in range(last, 5000)]
        assert lines[at].startswith(f"[{last - first} lines, ")
        assert Named(answer.text).data() == "".join(f"line {number}\n" for number in range(5000)).encode()


async def test_stdout_and_stderr_of_one_cell_are_in_order_and_told_apart(tmp_path):
    async with agent(tmp_path) as it:
        answer = await it.repl("import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')")
        assert answer.blocks == ["a\n[stderr]\nb\n[stdout]\nc\n", "[idle]"]


WRONG = {
    "nothing": {},
    "no text": {"input": 5},
    "null": {"input": None},
    "a list": {"input": ["1"]},
    "a negative time": {"input": "1", "timeout_ms": -1},
    "half a millisecond": {"input": "1", "timeout_ms": 0.5},
    "a time as text": {"input": "1", "timeout_ms": "1000"},
    "true as a time": {"input": "1", "timeout_ms": True},
    "no time": {"input": "1", "timeout_ms": None},
    "two days": {"input": "1", "timeout_ms": 2 * 86_400_000},
    "an unknown argument": {"input": "1", "timeout": 5},
    "a number as session": {"input": "1", "session": 1},
    "no name": {"input": "1", "session": ""},
    "a path as name": {"input": "1", "session": "../x"},
    "a line feed in a name": {"input": "1", "session": "x\n"},
    "a letter from afar": {"input": "1", "session": "é"},
    "a long name": {"input": "1", "session": "x" * 65},
}


async def test_wrong_arguments_are_errors_that_run_nothing(tmp_path):
    async with agent(tmp_path) as it:
        for what, arguments in WRONG.items():
            answer = await it.call("repl", arguments)
            assert answer.is_error, what
            assert answer.meta.get("plughost/state") is None, what
        assert (await it.repl("1", timeout_ms=60_000.0)).text == "1\n"  # JSON has one kind of number


async def test_an_unknown_tool_is_an_error(tmp_path):
    async with agent(tmp_path) as it:
        assert (await it.call("nope", {})).is_error
        assert await it.tools() == ["repl"]


async def test_sessions_are_bounded_and_a_look_at_one_that_is_not_there_takes_no_place(tmp_path, monkeypatch):
    monkeypatch.setattr(repl, "SESSIONS", 2)
    async with agent(tmp_path) as it:
        for number in range(5):
            assert (await it.repl("", session=f"look-{number}")).last == "[idle]"
        assert not (await it.repl("1", session="a")).is_error
        assert not (await it.repl("1", session="b")).is_error
        assert (await it.repl("1", session="c")).is_error
        assert (await it.repl("2", session="a")).text == "2\n"


@pytest.mark.long
async def test_a_first_call_that_is_cancelled_before_its_worker_is_there_takes_no_session(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(repl, "SESSIONS", 1)
    started = tmp_path / "started"
    started.mkdir()
    never_ready = f"import os, time; open({str(started)!r} + f'/{{os.getpid()}}', 'w'); time.sleep(3600)"
    async with agent(tmp_path, command=[sys.executable, "-I", "-c", never_ready]) as it:
        for number in (1, 2):
            running = asyncio.ensure_future(it.repl("1", session=f"session-{number}"))
            while len(list(started.iterdir())) < number:
                if running.done():  # refused: the server has not heard of the end of the other call yet
                    assert running.result().is_error
                    running = asyncio.ensure_future(it.repl("1", session=f"session-{number}"))
                await asyncio.sleep(0.01)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running


async def test_a_worker_that_cannot_be_started_is_an_error_with_its_code_and_a_next_step(tmp_path):
    async with agent(tmp_path, command=[sys.executable, "-I", "-c", "raise SystemExit(4)"]) as it:
        for _ in range(2):  # it is tried again
            answer = await it.repl("1")
            assert answer.is_error
            assert "[crashed]" in answer.last
            assert "exit status 4" in answer.last
            assert "next step" in answer.last


async def test_large_pictures_are_files_that_the_answer_names(tmp_path, monkeypatch):
    from plughost.frontends.mcp import content

    monkeypatch.setattr(content, "IMAGE_BYTES", 10)
    async with agent(tmp_path) as it:
        answer = await it.repl(PICTURE)
        file = Named(answer.text)
        assert file.data() == base64.b64decode(PNG)
        assert all(isinstance(block, str) for block in answer.blocks)
    assert not file.is_there()


async def test_the_tool_says_what_it_takes_and_what_it_may_do(tmp_path):
    async with agent(tmp_path) as it:
        (tool,) = (await it.client.list_tools()).tools
        assert set(tool.input_schema["properties"]) == {"input", "timeout_ms", "session"}
        assert tool.input_schema["required"] == ["input"]
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is False
        assert tool.annotations.destructive_hint is True
        for word in ("[idle]", "[busy", "[waiting for input", "U+0003", "U+0004"):
            assert word in (tool.description or "")
