"""The example plugins that transform files do what their pages say, run by hand without a host."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont

from plughost.manifest import envelope_manifest

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "envelope"
PLUGINS = ("header-stamper", "tidy-node", "workbook-filler")
CONTEXT = {"project": "P-17", "template_name": "spectro", "template_version": "2.1", "equipment_id": "E-1"}

needs_node = pytest.mark.needs("node")


class Answer(NamedTuple):
    code: int
    reply: dict[str, Any] | None
    log: list[dict[str, Any]]

    @property
    def statuses(self) -> list[str]:
        assert self.reply is not None
        return [each["status"] for each in self.reply["per_file"]]


def run(name: str, root: Path, *files: str, mode: tuple[str, ...] = (), **request: Any) -> Answer:
    """Play the host of the plugin *name* for one request."""
    worker = [sys.executable, "-I", "-m", "plughost_sdk.envelope_worker", str(EXAMPLES / name)]
    command = ["node", str(EXAMPLES / name / "tidy.js")] if name == "tidy-node" else worker
    context = {**CONTEXT, "dst_root": str(root), "variables": request.pop("variables", {})}
    frame = json.dumps(
        {"context": context, "files": files, "dry_run": False, "extra_inputs": None, **request}
    )
    done = subprocess.run(
        [*command, *mode],
        input=frame + "\n",
        capture_output=True,
        text=True,
        timeout=250,
        cwd=root,
    )
    log = [json.loads(line) for line in done.stderr.splitlines()]
    return Answer(done.returncode, json.loads(done.stdout) if done.stdout else None, log)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    root = tmp_path / "sample-run"
    subprocess.run([sys.executable, EXAMPLES / "make_sample.py", root], check=True, timeout=250)
    return root


def contents(root: Path) -> dict[str, bytes]:
    return {str(each.relative_to(root)): each.read_bytes() for each in root.rglob("*") if each.is_file()}


# All of them


def test_every_example_is_tested_and_has_a_manifest_that_holds() -> None:
    found = {each.parent.name for each in EXAMPLES.glob("*/manifest.yml")}
    assert found == set(PLUGINS)
    for name in PLUGINS:
        manifest = envelope_manifest.read(EXAMPLES / name)
        assert manifest.name == name
        assert manifest.unknown == ()


@pytest.mark.parametrize("name", [pytest.param(each, marks=needs_node) for each in PLUGINS])
def test_an_example_says_of_itself_what_its_manifest_says(name: str, tmp_path: Path) -> None:
    manifest = envelope_manifest.read(EXAMPLES / name)
    answer = run(name, tmp_path, mode=("--mode", "validate"))
    assert answer.code == 0
    assert answer.reply == {
        "errors": [],
        "plugin": {
            "name": manifest.name,
            "version": manifest.version,
            "supported_extensions": list(manifest.supported_extensions),
            "api_version": manifest.api_version,
        },
    }


@pytest.mark.parametrize("name", [pytest.param(each, marks=needs_node) for each in PLUGINS])
def test_a_dry_run_says_what_would_change_and_changes_nothing(name: str, sample: Path) -> None:
    before = contents(sample)
    file = "run-log.xlsx" if name == "workbook-filler" else "notes.txt"
    answer = run(name, sample, file, dry_run=True)
    assert (answer.code, answer.statuses) == (0, ["described"])
    assert answer.reply is not None
    assert answer.reply["per_file"][0]["changes"]
    assert contents(sample) == before


@pytest.mark.parametrize("name", ["header-stamper", pytest.param("tidy-node", marks=needs_node)])
def test_the_readme_is_left_to_the_host(name: str, sample: Path) -> None:
    before = (sample / "README.md").read_bytes()
    assert run(name, sample, "README.md").statuses == ["skipped"]
    assert (sample / "README.md").read_bytes() == before


def test_a_sample_is_only_made_where_nothing_is_lost(sample: Path) -> None:
    before = contents(sample)
    again = subprocess.run(
        [sys.executable, EXAMPLES / "make_sample.py", sample], capture_output=True, timeout=250
    )
    assert again.returncode != 0
    assert contents(sample) == before


# workbook-filler


def test_a_workbook_is_filled_after_the_operator_was_asked(sample: Path) -> None:
    file, variables = sample / "run-log.xlsx", {"integration_ms": 20, "date": "2026-03-01"}
    file.chmod(0o640)
    before = contents(sample)
    asked = run("workbook-filler", sample, file.name, variables=variables)
    assert asked.code == 2
    assert asked.reply is not None
    assert [each["id"] for each in asked.reply["input_required"]["fields"]] == ["operator"]
    assert contents(sample) == before

    styled = load_workbook(file)["Run"]
    done = run("workbook-filler", sample, file.name, variables=variables, extra_inputs={"operator": "Ada"})
    assert (done.code, done.statuses) == (0, ["modified"])
    book = load_workbook(file)
    sheet = book["Run"]
    assert [sheet[at].value for at in ("A1", "B3", "B4", "B5", "B6", "A8")] == [
        "Run log of P-17",
        "Ada",
        datetime(2026, 3, 1),  # noqa: DTZ001 - a workbook knows no zones
        "E-1",
        20,
        "Signed: Ada, 2026-03-01",
    ]
    for row in styled.iter_rows():
        for cell in row:
            now = sheet[cell.coordinate]
            for style in ("font", "fill", "border", "alignment"):
                assert repr(getattr(now, style)) == repr(getattr(cell, style))
            assert now.number_format == cell.number_format
    assert sheet.merged_cells.ranges == styled.merged_cells.ranges
    assert book["Counts"]["B7"].value == "=SUM(B2:B6)"
    assert set(contents(sample)) == set(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_the_preview_of_a_workbook_names_every_cell_and_asks_nobody(sample: Path) -> None:
    answer = run("workbook-filler", sample, "run-log.xlsx", dry_run=True)
    assert answer.reply is not None
    cells = [each["detail"]["cell"] for each in answer.reply["per_file"][0]["changes"]]
    assert cells == ["Run!A1", "Run!B3", "Run!B4", "Run!B5", "Run!A8"]


def test_an_answer_does_not_become_a_formula(sample: Path) -> None:
    run("workbook-filler", sample, "run-log.xlsx", extra_inputs={"operator": "=1+1"})
    cell = load_workbook(sample / "run-log.xlsx")["Run"]["B3"]
    assert (cell.value, cell.data_type) == ("=1+1", "s")


def test_a_placeholder_without_a_value_stays_and_the_log_says_so(tmp_path: Path) -> None:
    book = Workbook()
    book.active["A1"] = "{{nobody}} in {{project}}"
    book.save(tmp_path / "a.xlsx")
    answer = run("workbook-filler", tmp_path, "a.xlsx")
    assert load_workbook(tmp_path / "a.xlsx").active["A1"].value == "{{nobody}} in P-17"
    assert [each["context"]["name"] for each in answer.log if each["level"] == "WARNING"] == ["nobody"]


def test_a_workbook_with_nothing_to_fill_keeps_every_byte(tmp_path: Path) -> None:
    book = Workbook()
    book.active["A1"], book.active["A2"], book.active["B2"] = "plain", "Operator:", "Grace"
    book.active["A3"], book.active["C3"] = '="{{project}}"', "Date"
    book.save(tmp_path / "a.xlsx")
    before = contents(tmp_path)
    assert run("workbook-filler", tmp_path, "a.xlsx").code == 0
    assert contents(tmp_path) == before


def test_formats_inside_a_text_stay(tmp_path: Path) -> None:
    book = Workbook()
    book.active["A1"] = CellRichText("of ", TextBlock(InlineFont(b=True), "{{project}}"))
    book.active["A2"] = CellRichText("no ", TextBlock(InlineFont(i=True), "placeholder"))
    book.save(tmp_path / "a.xlsx")
    run("workbook-filler", tmp_path, "a.xlsx")
    sheet = load_workbook(tmp_path / "a.xlsx", rich_text=True).active
    assert str(sheet["A1"].value) == "of P-17"
    assert sheet["A1"].value[1].font.b
    assert sheet["A2"].value[1].font.i


@pytest.mark.parametrize("data", [b"", b"not a workbook", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_workbook_is_a_failure_that_names_it(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(data)
    answer = run("workbook-filler", tmp_path, "a.xlsx")
    assert (answer.code, answer.statuses) == (1, ["failed"])
    assert answer.reply is not None
    assert "a.xlsx" in answer.reply["error_message"]


def test_a_date_that_is_none_is_found_before_any_file_is_touched(tmp_path: Path) -> None:
    answer = run("workbook-filler", tmp_path, mode=("--mode", "validate"), variables={"date": "tomorrow"})
    assert answer.reply is not None
    assert len(answer.reply["errors"]) == 1


# header-stamper


def stamp(root: Path, name: str, data: bytes, **variables: str) -> bytes:
    (root / name).write_bytes(data)
    assert run("header-stamper", root, name, variables={"date": "2026-03-01", **variables}).code == 0
    assert os.listdir(root) == [name]
    return (root / name).read_bytes()


def test_a_header_says_where_a_file_comes_from(tmp_path: Path) -> None:
    assert stamp(tmp_path, "a.txt", b"text\n", operator="Ada").decode() == (
        "# header-stamper: begin\n# template: spectro 2.1\n# project: P-17\n# date: 2026-03-01\n"
        "# operator: Ada\n# header-stamper: end\ntext\n"
    )


def test_without_a_date_it_is_today(tmp_path: Path) -> None:
    days = {date.today().isoformat()}  # noqa: DTZ011 - the laboratory's day, as the plugin has it
    text = stamp(tmp_path, "a.txt", b"", date="").decode()
    days.add(date.today().isoformat())  # noqa: DTZ011 - midnight may have passed
    assert any(f"# date: {day}\n" in text for day in days)


@pytest.mark.parametrize(
    ("name", "top", "rest"),
    [
        ("a.py", b"#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n", b'"""Text."""\n'),
        ("a.py", b"", b"# only a comment\nx = 1\n"),
        ("a.md", b"---\ntitle: T\n---\n", b"# T\n"),
        ("a.md", b"", b"---\nno front matter\n"),
        ("a.csv", b"\xef\xbb\xbf", b"a,b\n1,2\n"),
        ("a.txt", b"", b"not UTF-8: \xff\xfe\n"),
        ("a.TXT", b"", b"no line feed at the end"),
        ("a.txt", b"", b"one\r\ntwo\r\n"),
    ],
)
def test_a_header_is_put_where_it_may_stand_and_replaced_when_run_again(
    name: str, top: bytes, rest: bytes, tmp_path: Path
) -> None:
    once = stamp(tmp_path, name, top + rest)
    header = once.removeprefix(top).removesuffix(rest)
    assert once == top + header + rest
    assert (b"\r\n" in header) == (b"\r\n" in rest)
    assert all(line.startswith(b"<!--" if name == "a.md" else b"#") for line in header.splitlines())
    assert stamp(tmp_path, name, once) == once
    other = stamp(tmp_path, name, once, operator="Grace")
    assert (other.count(b"begin"), other.count(b"Grace")) == (1, 1)


@pytest.mark.parametrize("name", ["a.md", "a.py"])
def test_a_value_cannot_break_out_of_the_header(name: str, tmp_path: Path) -> None:
    lines = stamp(tmp_path, name, b"", operator="x\nprint(1)\u2028 ---> <script>").decode().splitlines()
    assert len(lines) == 6
    assert all(line.count("-->") == (name == "a.md") or line.startswith("# ") for line in lines)


def test_a_file_in_utf_16_is_left_alone(tmp_path: Path) -> None:
    data = "text".encode("utf-16")
    assert stamp(tmp_path, "a.txt", data) == data


# tidy-node


@needs_node
@pytest.mark.parametrize(
    ("name", "before", "after", "mode"),
    [
        ("a.txt", b"a \t\n\n b\t", b"a\n\n b\n", "both"),
        ("a.txt", b"a  \r\nb\r\n\r\n", b"a\r\nb\r\n", "both"),
        ("a.txt", b"a \n\n", b"a\n\n", "blanks"),
        ("a.txt", b"a \n\n", b"a \n", "newline"),
        ("a.txt", b"\n\n", b"", "both"),
        ("a.txt", b"\xff\xe4 \n", b"\xff\xe4\n", "both"),
        ("a.md", b"break   \nnone \n   \n", b"break  \nnone\n", "both"),
        ("a.txt", b"x" + b" " * 300_000 + b"y", b"x" + b" " * 300_000 + b"y\n", "both"),
    ],
)
def test_a_file_is_tidied(name: str, before: bytes, after: bytes, mode: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(before)
    (tmp_path / name).chmod(0o640)
    answer = run("tidy-node", tmp_path, name, variables={"tidy_mode": mode})
    assert (answer.code, answer.statuses) == (0, ["modified"])
    assert contents(tmp_path) == {name: after}
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640
    assert run("tidy-node", tmp_path, name, variables={"tidy_mode": mode}).statuses == ["skipped"]


@needs_node
def test_what_is_no_text_of_one_byte_units_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("a  ".encode("utf-16"))
    (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
    assert run("tidy-node", tmp_path, "a.txt", "b.txt").statuses == ["skipped", "skipped"]


@needs_node
def test_the_operator_is_asked_only_when_the_variable_says_so(sample: Path) -> None:
    before, variables = contents(sample), {"tidy_mode": "ask"}
    asked = run("tidy-node", sample, "notes.txt", variables=variables)
    assert (asked.code, asked.statuses) == (2, ["input_required"])
    assert asked.reply is not None
    (field,) = asked.reply["input_required"]["fields"]
    assert field["default"] in field["options"]
    assert contents(sample) == before
    done = run("tidy-node", sample, "notes.txt", variables=variables, extra_inputs={"tidy_mode": "blanks"})
    assert (done.code, done.statuses) == (0, ["modified"])
    wrong = run("tidy-node", sample, "protocol.md", variables=variables, extra_inputs={"tidy_mode": "all"})
    assert (wrong.code, wrong.statuses) == (1, ["failed"])


@needs_node
@pytest.mark.parametrize("file", ["../outside.txt", "missing.txt", "."])
def test_a_file_that_cannot_be_tidied_is_a_failure_after_those_before_it(file: str, tmp_path: Path) -> None:
    root = tmp_path / "run"
    root.mkdir()
    (root / "a.txt").write_text("a ")
    (tmp_path / "outside.txt").write_text("a ")
    answer = run("tidy-node", root, "a.txt", file)
    assert (answer.code, answer.statuses) == (1, ["modified", "failed"])
    assert (tmp_path / "outside.txt").read_text() == "a "


@needs_node
def test_the_worker_answers_when_the_line_ends_though_its_input_stays_open(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a ")
    context = {**CONTEXT, "dst_root": str(tmp_path), "variables": {}}
    frame = {"context": context, "files": ["a.txt"], "dry_run": False, "extra_inputs": None}
    command, pipe = ["node", str(EXAMPLES / "tidy-node" / "tidy.js")], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=tmp_path, text=True) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            worker.stdin.write(json.dumps(frame) + "\n")
            worker.stdin.flush()
            assert worker.wait(250) == 0
        finally:
            worker.kill()
        assert json.loads(worker.stdout.read())["result"] == "success"
    assert (tmp_path / "a.txt").read_text() == "a\n"


@needs_node
@pytest.mark.parametrize(
    "request_", [{"files": "a"}, {"context": []}, {"extra_inputs": [1]}, {"context": None}, {"files": None}]
)
def test_a_request_that_is_not_understood_is_answered_only_in_the_log(
    request_: dict[str, Any], tmp_path: Path
) -> None:
    frame = json.dumps({"context": {}, "files": [], **request_})
    command = ["node", str(EXAMPLES / "tidy-node" / "tidy.js")]
    done = subprocess.run(command, input=frame, capture_output=True, text=True, timeout=250, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert json.loads(done.stderr)["level"] == "ERROR"


@needs_node
def test_a_way_to_tidy_that_is_none_is_found_before_any_file_is_touched(tmp_path: Path) -> None:
    answer = run("tidy-node", tmp_path, mode=("--mode", "validate"), variables={"tidy_mode": "all"})
    assert answer.code == 0
    assert answer.reply is not None
    assert len(answer.reply["errors"]) == 1
