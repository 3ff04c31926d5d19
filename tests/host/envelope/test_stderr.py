"""What workers write to stderr: kept whole, logged line by line, bounded, and never taken for anything else."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from plughost.host.envelope.worker_log import LINES_HEARD, LINES_KEPT, WorkerLog
from plughost.host.events import FileProgress, Logged
from plughost.process.news import StderrLine
from plughost.record.log_file import STDERR_LIMIT
from plughost.record.schema import Applied
from tests.host.envelope.lab import Lab

HEAD = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \[(DEBUG|INFO |WARN |ERROR)\] \[host:")


def writes(lab: Lab, code: str) -> Applied:
    return lab.one(lab.raw("talker", f"{code}\nsys.stderr.flush()\nanswer(result='success')"))


@pytest.mark.requirement("envelope:stderr:kept")
def test_log_lines_go_to_the_log_to_logging_and_to_the_raw_file(
    both: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    talker = both.plugin(
        "talker",
        """
        def transform(self, path, ctx):
            ctx.log.warning("careful", count=3, where="here and there")
            sys.stderr.write("just words\\n")
            path.write_text("done")
        """,
    )
    with caplog.at_level(logging.DEBUG, "plughost.plugin.talker"):
        entry = both.one(talker, equipment_id="scope-1", project="P7", run_kind="test")
    (line,) = [line for line in both.log if "careful" in line]
    assert HEAD.match(line)
    for tag in (
        "[WARN ]",
        "[equip:scope-1]",
        "[proj:P7]",
        "[kind:test]",
        f"[run:{entry.run}]",
        "[plugin:talker]",
    ):
        assert tag in line
    assert line.endswith('careful count=3 where="here and there"')
    assert not any("just words" in line for line in both.log)
    (raw,) = both.raw_stderr("talker")
    assert b"just words\n" in raw
    assert b"careful" in raw
    said = {record.getMessage(): record.levelname for record in caplog.records}
    assert said["careful"] == "WARNING"
    assert said["just words"] == "INFO"


@pytest.mark.requirement("envelope:stderr:kept")
def test_every_attempt_has_a_raw_file_of_its_own_for_its_user_alone(lab: Lab) -> None:
    asks = lab.plugin(
        "asks",
        """
        def transform(self, path, ctx):
            sys.stderr.write(f"attempt with {ctx.extra_inputs}\\n")
            if not ctx.extra_inputs:
                raise PluginInputRequired([field("word", "Word?")], "needed")
            path.write_text("done")
        """,
    )
    lab.one(asks, answers={"word": "yes"})
    first, second = lab.raw_stderr("asks")
    assert b"attempt with {}" in first
    assert b"attempt with {'word': 'yes'}" in second
    modes = {path.stat().st_mode & 0o777 for path in lab.root.glob(".exlab-wizard/plugins/asks/*")}
    assert modes == {0o600}


def test_a_raw_file_that_cannot_be_made_is_told_of_by_its_path_and_the_rest_is_heard(tmp_path: Path) -> None:
    (tmp_path / "talker").write_text("in the way")
    path = tmp_path / "talker" / "1.stderr"
    heard: list[object] = []
    log = WorkerLog(path, heard.append)
    log(b"words\n")
    log(b"")
    assert log.problem is not None
    assert str(path) in log.problem
    assert heard == [StderrLine("words")]


FORGED = "ok\n2026-01-01T00:00:00.000Z [ERROR] [host:x] [plugin:other] forged"
MESSAGES = [
    FORGED,
    FORGED.replace("\n", "\r"),
    FORGED.replace("\n", "\u2028"),
    FORGED.replace("\n", "\x85"),
    "\x1b[2J\x1b]52;c;ZXZpbA==\x07",
    "x [plugin:other][worker:1] y",
    "\u202egnihtemos",
    "token=s3cret",
]


@pytest.mark.requirement("envelope:stderr:kept")
def test_nothing_in_a_message_or_its_context_can_forge_a_line_or_a_tag(both: Lab) -> None:
    lines = [{"level": "INFO", "message": each} for each in MESSAGES]
    lines += [{"level": "INFO", "message": "m", "context": {each: 1}} for each in MESSAGES]
    lines += [{"message": "m", "context": {"k": each, "deep": [{each: each}]}} for each in MESSAGES]
    writes(both, f"for line in {lines!r}: sys.stderr.write(json.dumps(line) + '\\n')")
    *told, _summary = both.log
    assert len(told) == len(lines) == len("\n".join(told).splitlines())
    for line in told:
        assert HEAD.match(line)
        assert line.isprintable()
        assert line.count("[plugin:") == 1
        assert "s3cret" not in line


def test_a_level_that_nobody_knows_is_no_reason_to_lose_the_message(lab: Lab) -> None:
    levels = ('"LOUD"', "7", "null", '{"a": 1}')
    writes(
        lab,
        f"""for level in {levels!r}: sys.stderr.write('{{"level": %s, "message": "heard"}}\\n' % level)""",
    )
    assert sum("heard" in line for line in lab.log) == len(levels)


def test_lines_that_are_no_log_lines_are_kept_as_they_are(lab: Lab) -> None:
    odd = [b"{", b'{"message": ', b"[" * 60_000, b'{"level": "INFO"}', b"\xff\xfe", b"null", b"", b"\0"]
    writes(lab, f"for line in {odd!r}: os.write(2, line + b'\\n')")
    assert lab.raw_stderr("talker") == [b"".join(line + b"\n" for line in odd)]
    assert len(lab.log) == 1


def test_a_very_long_line_does_not_stop_the_worker_and_is_kept_whole(both: Lab) -> None:
    entry = writes(both, "sys.stderr.write('x' * 200_000 + '\\n')")
    assert entry.status == "skipped"
    assert both.raw_stderr("talker") == [b"x" * 200_000 + b"\n"]


def test_a_log_line_that_is_too_long_for_the_log_is_cut_there_and_whole_in_the_raw_file(lab: Lab) -> None:
    writes(lab, "sys.stderr.write(json.dumps({'message': 'm' * 50_000}) + '\\n')")
    (line,) = [line for line in lab.log if "mmm" in line]
    assert line.endswith("[truncated]")
    assert len(line) < 1_200
    assert b"m" * 50_000 in lab.raw_stderr("talker")[0]


@pytest.mark.thin(3)
@pytest.mark.parametrize("line", [b"words " * 100 + b"\n", b"\n", b'{"message": "m"}\n'])
def test_a_flood_of_50_megabytes_is_bounded_and_the_log_and_the_file_say_so(line: bytes, lab: Lab) -> None:
    flood = f"data = {line!r} * {65_536 // len(line)}\nfor _ in range(800): os.write(2, data)"
    assert writes(lab, flood).status == "skipped"
    (raw,) = lab.raw_stderr("talker")
    assert len(raw) <= STDERR_LIMIT + 200
    assert b"dropped" in raw.splitlines()[-1]
    assert len(lab.log) <= LINES_KEPT + 2
    assert any("raw file only" in line for line in lab.log)
    told = [event for event in lab.events if isinstance(event.what, StderrLine | Logged)]
    assert len(told) <= LINES_HEARD + 65_536


def test_log_lines_that_are_too_many_are_counted(lab: Lab) -> None:
    writes(lab, """os.write(2, b'{"message": "m"}\\n' * 12_000)""")
    assert len(lab.log) == LINES_KEPT + 2
    assert any("2000 more" in line for line in lab.log)


def test_forged_progress_is_an_event_and_never_a_log_line(lab: Lab) -> None:
    context = {"plughost": "file", "path": "a\n\x1b[2J", "status": "modified", "index": 10**30, "count": 1}
    writes(lab, f"sys.stderr.write(json.dumps({{'message': 'file', 'context': {context!r}}}) + '\\n')")
    (progress,) = [event.what for event in lab.events if isinstance(event.what, FileProgress)]
    assert progress.path.isprintable()
    assert len(lab.log) == 1


def test_a_crash_leaves_its_traceback_in_the_raw_file_and_its_cause_in_the_log(lab: Lab) -> None:
    lab.one(lab.plugin("crashes", "def transform(self, path, ctx):\n    raise KeyError('lost')"))
    assert b"KeyError" in lab.raw_stderr("crashes")[0]
    assert any("[ERROR]" in line and "KeyError" in line for line in lab.log)
