"""A turn as an agent sees it: everything in order, nothing too large, nothing left out silently."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from mcp_types import CallToolResult, ImageContent, TextContent

from plughost.contracts.sideband.items import Image, Notice, Omitted, Prompt, Stream, Text
from plughost.frontends.mcp import content
from plughost.frontends.mcp.bounded import bounded
from plughost.frontends.mcp.output_files import OutputFiles
from plughost.frontends.mcp.session import Refusal, Turn
from plughost.host.sideband.reply import Interruption, Reply, ReplyState
from tests.frontends.mcp.agent import Named


def text(words: str, stream: Stream = Stream.STDOUT) -> Text:
    return Text(stream, words, 1)


def image(data: bytes = b"picture", mime_type: str = "image/png") -> Image:
    return Image("1", mime_type, data, True, 1)


def reply(*items, state=ReplyState.READY, prompt="", full_output=None, elapsed_ms=1.0) -> Reply:
    return Reply(items, state, prompt, 1, 1, False, elapsed_ms, full_output)


def shown(files: OutputFiles, *replies: Reply, **told) -> list:
    result = content.result(Turn(replies, **told), "main", files)
    return [each.text if each.type == "text" else each.mime_type for each in result.content]


@pytest.fixture
def files(tmp_path):
    made = OutputFiles(tmp_path / "files")
    yield made
    made.close()


def test_text_and_pictures_stay_in_order(files):
    items = [
        text("a\n"),
        text("e\n", Stream.STDERR),
        image(),
        text("b\n"),
        image(mime_type="image/jpeg"),
        Notice("n", 1),
    ]
    assert shown(files, reply(*items)) == [
        "a\n[stderr]\ne\n",
        "image/png",
        "[stdout]\nb\n",
        "image/jpeg",
        "[n]\n",
        "[idle]",
    ]


def test_stderr_is_told_apart_from_stdout_wherever_the_stream_changes(files):
    items = [text("a"), text("e", Stream.STDERR), text("f\n", Stream.STDERR), text("b\n")]
    assert shown(files, reply(*items))[0] == "a\n[stderr]\nef\n[stdout]\nb\n"


def test_the_stream_is_named_also_where_it_changes_from_one_reply_to_the_next(files):
    first, second = reply(text("e\n", Stream.STDERR)), reply(text("a\n"))
    assert shown(files, first, second) == ["[stderr]\ne\n", "[stdout]\na\n", "[idle]"]


def test_a_remark_has_a_line_of_its_own(files):
    assert shown(files, reply(text("a"), Notice("n\nm", 1), text("b"))) == ["a\n[n\\x0am]\nb", "[idle]"]


def test_a_question_that_waits_is_in_the_last_line_and_an_earlier_one_in_its_place(files):
    waiting = reply(
        Prompt("one? ", 1), text("x\n"), Prompt("two? ", 1), state=ReplyState.WAITING, prompt="two? "
    )
    assert shown(files, waiting) == ["one? \nx\n", "[waiting for input: 'two? ']"]


@pytest.mark.parametrize("prompt", ["]\n[idle", "\x1b[2J", "x" * 1000])
def test_no_question_looks_like_a_line_of_ours(files, prompt):
    (line,) = shown(files, reply(state=ReplyState.WAITING, prompt=prompt))
    assert "\n" not in line
    assert "\x1b" not in line
    assert len(line) < 200


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (ReplyState.READY, "idle"),
        (ReplyState.RUNNING, "busy, 12 s"),
        (ReplyState.WAITING, "waiting for input"),
        (ReplyState.ENDED, "worker ended"),
    ],
)
def test_the_last_line_says_how_things_are(files, state, word):
    assert shown(files, reply(state=state, elapsed_ms=12_345.0))[-1].startswith(f"[{word}")


@pytest.mark.parametrize("outcome", Interruption)
def test_every_outcome_of_an_interrupt_is_told(files, outcome):
    lines = shown(files, reply(), interruption=outcome)[-1].splitlines()
    assert len(lines) == 2
    assert lines[1] == "[idle]"


@pytest.mark.parametrize("refusal", Refusal)
def test_every_refusal_is_an_error(files, refusal):
    result = content.result(Turn((reply(state=ReplyState.RUNNING),), refusal=refusal), "main", files)
    assert result.is_error
    assert "was not" in result.content[-1].text


def test_what_is_left_out_is_counted_and_the_file_is_named(files):
    items = [text("head"), Omitted(7, 0, 0, 0, True), text("tail")]
    whole = Path("whole.txt")
    (said, _) = shown(files, reply(*items, full_output=whole))
    assert said.splitlines()[0] == "head"
    assert "7 characters" in said
    assert "whole.txt" in said
    assert said.endswith("\ntail")


def test_lines_that_are_left_out_are_counted(files):
    (said, _) = shown(files, reply(Omitted(700, 0, 0, 0, True, lines=35), full_output=Path("whole.txt")))
    assert "35 lines, 700 characters" in said
    (said, _) = shown(files, reply(Omitted(7, 2, 3, 99, False)))
    assert "not kept" in said
    assert "3 pictures" in said


def test_a_kind_of_picture_that_models_do_not_take_is_a_file(files):
    (said, _) = shown(files, reply(image(b"<svg/>", "image/svg+xml")))
    path = Path(said.strip().removesuffix("]").split(" is in ")[1])
    assert path.read_bytes() == b"<svg/>"


@pytest.mark.parametrize("over", [0, 1])
def test_pictures_up_to_the_bound_are_shown_and_the_rest_are_files(files, monkeypatch, over):
    monkeypatch.setattr(content, "IMAGES", 2)
    monkeypatch.setattr(content, "IMAGE_BYTES", 8)
    monkeypatch.setattr(content, "IMAGES_BYTES", 12)
    assert shown(files, reply(image(b"x" * (8 + over)))).count("image/png") == 1 - over
    assert shown(files, reply(image(b"x" * 8), image(b"x" * (4 + over)))).count("image/png") == 2 - over
    assert shown(files, reply(*[image(b"x")] * (2 + over))).count("image/png") == 2


def test_several_replies_are_one_answer_with_one_last_line(files):
    both = shown(files, reply(text("old\n"), state=ReplyState.RUNNING), reply(text("new\n")), replaced=True)
    assert both == ["old\n", "new\n", "[worker replaced: in-memory state lost]\n[idle]"]


def test_files_that_nobody_asked_to_keep_go_oldest_first_and_in_the_end(monkeypatch, tmp_path):
    from plughost.frontends.mcp import output_files

    monkeypatch.setattr(output_files.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(output_files, "MOST_BYTES", 10)
    files = OutputFiles()
    first, second, third = (files.keep(b"x" * 5, ".txt") for _ in range(3))
    assert first is not None
    assert [path.exists() for path in (first, second, third)] == [False, True, True]
    assert files.keep(b"x" * 11, ".txt") is None
    files.close()
    assert list(tmp_path.iterdir()) == []


def test_files_in_a_directory_of_the_user_stay(tmp_path):
    files = OutputFiles(tmp_path / "mine")
    path = files.keep(b"x", ".txt")
    files.close()
    assert path is not None
    assert path.read_bytes() == b"x"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_directory_that_cannot_be_made_loses_the_file_and_says_so(tmp_path):
    (tmp_path / "file").touch()
    files = OutputFiles(tmp_path / "file" / "below")
    assert files.keep(b"x", ".txt") is None
    (said, _) = shown(files, reply(image(b"x", "image/svg+xml")))
    assert "could not be kept: 'Not a directory'" in said


def test_a_file_of_an_earlier_server_is_not_touched(tmp_path):
    first = OutputFiles(tmp_path).keep(b"old", ".txt")
    second = OutputFiles(tmp_path).keep(b"new", ".txt")
    assert first is not None
    assert second is not None
    assert (first.read_bytes(), second.read_bytes()) == (b"old", b"new")


def size(result) -> int:
    return len(json.dumps(result.model_dump(mode="json", by_alias=True, exclude_none=True)))


def mixed(*blocks: str | bytes) -> CallToolResult:
    content = [
        TextContent(text=each)
        if isinstance(each, str)
        else ImageContent(data=base64.b64encode(each).decode(), mime_type="image/png")
        for each in blocks
    ]
    return CallToolResult(content=content, _meta={"plughost/state": "idle"})


@pytest.mark.parametrize(
    "blocks",
    [
        [b"x" * 1_000_000, "[idle]"],
        [b"x" * 500_000, "a\n", b"y" * 500_001, "[idle]"],
        ["é" * 400_000, "[idle]"],
        ["a", "\U0001f600" * 100_000, b"x" * 300_000, "[idle]"],
        [*["z" * 3_000] * 1_000, "[idle]"],
        [b"p" * 10_000] * 200 + ["[idle]"],
    ],
    ids=["picture", "two pictures", "text", "both", "many texts", "many pictures"],
)
def test_an_answer_over_http_is_within_what_clients_take(files, blocks):
    result = bounded(mixed(*blocks), files)
    assert size(result) <= 1_048_576
    assert result.content[-1].text == "[idle]"
    assert result.meta == {"plughost/state": "idle"}


def test_only_the_largest_picture_gives_way_and_its_file_is_whole(files):
    result = bounded(mixed("a\n", b"x" * 500_000, "b\n", b"y" * 500_010, "[idle]"), files)
    assert [each.type for each in result.content] == ["text", "image", "text", "text", "text"]
    assert Named(result.content[3].text).data() == b"y" * 500_010


def test_an_answer_that_fits_is_not_touched(files):
    result = mixed("a\n", b"x" * 500_000, "[idle]")
    assert bounded(result, files) == result


def test_structured_content_gives_way_to_the_text_that_says_the_same(files):
    values = {"x": "é" * 100_000}
    result = CallToolResult(content=[TextContent(text=json.dumps(values))], structured_content=values)
    assert bounded(result, files).structured_content is None
    assert size(bounded(result, files)) <= 1_048_576


@pytest.mark.parametrize("restarted", [True, False])
def test_a_restart_beside_a_waiting_call_says_what_became_of_it(files, restarted):
    (said,) = shown(files, restarted=restarted)
    assert "restarted" in said.splitlines()[0]
    assert "idle" not in said
    assert ("in-memory state lost" in said) is restarted
