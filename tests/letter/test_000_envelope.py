"""The clauses of the envelope document, held by raw workers under our host and a raw host over our worker.

The workers under our host read and write the wire in plain Python. One pass runs them all. Our own worker is started by
a raw host, once for each way in which it can end.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.letter.raw_envelope_worker import ORDER, Passed, passed, transform, write_plugins

__all__ = ["passed"]

PLUGIN = """\
from pathlib import Path
from plughost_sdk.envelope import Plugin as Base, PluginError, PluginInputRequired


class Plugin(Base):
    name, version, supported_extensions = "ours", "1.0", [".txt"]

    def can_handle(self, path, variables):
        return True

    def transform(self, path, ctx):
        what = ctx.variables.get("what")
        paths = [isinstance(each, Path) for each in (path, ctx.dst_root, ctx.answers_file)]
        ctx.log.info("at work", paths=paths)
        if what == "fails":
            raise PluginError("no")
        if what == "asks" and not ctx.extra_inputs:
            raise PluginInputRequired([{"id": "color", "label": "Color?"}], "none given")
        if what == "crashes":
            raise RuntimeError("odd")
        path.write_text(ctx.extra_inputs.get("color", "done"))
"""


@dataclass
class Ran:
    """What our worker did with one raw request."""

    code: int
    stdout: str
    stderr: str
    text: str

    @property
    def reply(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.stdout)
        return found


def request(root: Path, **more: Any) -> dict[str, Any]:
    context = {
        "variables": more.pop("variables", {}),
        "dst_root": str(root),
        "answers_file": str(root / ".exlab-answers.yml"),
        "template_name": "t",
        "template_version": "1",
        "run_kind": "test",
        "equipment_id": "EQ1",
        "project": "P1",
        "dry_run": more.get("dry_run", False),
    }
    whole = {"context": context, "files": ["a.txt"], "dry_run": False, "extra_inputs": None, **more}
    return {name: value for name, value in whole.items() if value is not ...}


def command(home: Path) -> list[str]:
    directory = home / "ours"
    directory.mkdir(exist_ok=True)
    (directory / "__init__.py").write_text(PLUGIN)
    return [sys.executable, "-I", "-m", "plughost_sdk.envelope_worker", str(directory)]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """Our worker, told to work in each way."""
    home = tmp_path_factory.mktemp("ours")
    cases: dict[str, dict[str, Any]] = {
        "works": {},
        "fails": {"variables": {"what": "fails"}},
        "asks": {"variables": {"what": "asks"}},
        "resumed": {"variables": {"what": "asks"}, "extra_inputs": {"color": "red"}},
        "crashes": {"variables": {"what": "crashes"}},
        "dry": {"dry_run": True},
        "mistyped": {"files": [1]},
        "no context": {"context": ...},
        "no files": {"files": ...},
    }
    found = {}
    for name, more in cases.items():
        root = home / name
        root.mkdir()
        (root / "a.txt").write_text("a")
        line = json.dumps(request(root, **more)) + "\n"
        ran = subprocess.run(
            command(home), input=line, capture_output=True, text=True, cwd=root, timeout=60, check=False
        )
        found[name] = Ran(ran.returncode, ran.stdout, ran.stderr, (root / "a.txt").read_text())
    return found


def test_0_01_each_attempt_is_a_process_of_its_own(passed: Passed) -> None:
    pids = [passed.told(what)["pid"] for what in ORDER] + [passed.told("asks", 1)["pid"]]
    assert len(set(pids)) == len(pids)


def test_0_02_host_and_worker_talk_by_one_envelope_each_way(passed: Passed, ours: dict[str, Ran]) -> None:
    assert passed.verdict("modifies") == ("success", 0)
    assert (ours["works"].code, ours["works"].reply["result"]) == (0, "success")


def test_0_03_the_wire_is_the_same_on_both_sides(passed: Passed, ours: dict[str, Ran]) -> None:
    """The document names msgspec structs. Our worker is without; requests and replies have the same members."""
    assert {"context", "files", "dry_run", "extra_inputs"} <= passed.request("modifies").keys()
    assert {"result", "per_file", "log_records", "input_required"} <= ours["works"].reply.keys()


def test_0_04_wrong_types_are_caught_when_an_envelope_is_decoded(
    passed: Passed, ours: dict[str, Ran]
) -> None:
    assert passed.entries["mistyped"]["failure"]["code"] == "malformed_response"
    assert (ours["mistyped"].code, ours["mistyped"].stdout, ours["mistyped"].text) == (3, "", "a")


def test_0_05_a_success_or_a_question_without_per_file_is_malformed(passed: Passed) -> None:
    """A malformed envelope is caught at the boundary, also one that lacks what the host goes by."""
    for what in ("bare", "bare-question"):
        assert passed.entries[what]["failure"]["code"] == "malformed_response"
        assert "per_file" in passed.entries[what]["error"]
    assert len(passed.raw("bare-question")) == 1  # nobody was asked, and none resumed


def test_0_05_a_failure_without_per_file_keeps_its_own_words(passed: Passed) -> None:
    assert passed.verdict("bare-failure") == ("failed", 1)
    assert passed.entries["bare-failure"]["error"] == "no room"


def test_0_05_a_manifest_can_ask_for_lenience_with_its_worker(passed: Passed) -> None:
    assert passed.verdict("lenient") == ("skipped", 0)


@pytest.mark.parametrize("lack", ["no context", "no files"])
def test_0_05_a_request_without_context_or_files_is_malformed(lack: str, ours: dict[str, Ran]) -> None:
    assert (ours[lack].code, ours[lack].stdout, ours[lack].text) == (3, "", "a")


def test_0_06_the_request_is_one_object_on_one_line(passed: Passed) -> None:
    told = passed.told("modifies")
    assert told["line"].endswith("}\n")
    assert told["rest"] == ""


def test_0_07_the_worker_answers_when_the_line_ends(tmp_path: Path) -> None:
    """The request is terminated by a line feed: a worker need not see the end of its input."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("a")
    line = json.dumps(request(root)).encode() + b"\n"
    pipe = subprocess.PIPE
    with subprocess.Popen(command(tmp_path), stdin=pipe, stdout=pipe, stderr=pipe, cwd=root) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            worker.stdin.write(line)
            worker.stdin.flush()
            assert worker.wait(60) == 0  # its input is open still
        finally:
            worker.kill()
        assert json.loads(worker.stdout.read())["result"] == "success"
    assert (root / "a.txt").read_text() == "done"


def test_0_08_a_request_has_context_files_dry_run_and_extra_inputs(passed: Passed) -> None:
    found = passed.request("modifies")
    assert (found["dry_run"], found["extra_inputs"]) == (False, None)


def test_0_09_every_request_has_all_members(passed: Passed) -> None:
    """A worker that checks its request and knows no arguments exits with 3 otherwise."""
    for what in ORDER:
        assert {"context", "files", "dry_run", "extra_inputs"} <= passed.request(what).keys()


def test_0_10_files_are_relative_paths(passed: Passed) -> None:
    assert passed.request("modifies")["files"] == ["metadata.xlsx", "subdir/calibration.xlsx"]


def test_0_11_the_context_has_nine_members(passed: Passed) -> None:
    context = passed.request("modifies")["context"]
    assert context["variables"] == {"operator": "Ada"}
    assert (context["equipment_id"], context["project"], context["run_kind"]) == ("EQ1", "P1", "test")
    assert {"template_name", "template_version", "answers_file", "dst_root", "dry_run"} <= context.keys()


def test_0_12_the_context_names_the_log_channel(passed: Passed) -> None:
    assert passed.request("modifies")["context"]["log"] == "stderr"


def test_0_13_paths_are_text_on_the_wire(passed: Passed) -> None:
    context = passed.request("modifies")["context"]
    assert context["dst_root"] == str(passed.root)
    assert isinstance(context["answers_file"], str)


def test_0_14_the_worker_gives_paths_to_the_plugin(ours: dict[str, Ran]) -> None:
    logged = [json.loads(line) for line in ours["works"].stderr.splitlines()]
    assert [each["context"]["paths"] for each in logged if each["message"] == "at work"] == [[True] * 3]


def test_0_15_the_reply_is_one_object_on_one_line(passed: Passed, ours: dict[str, Ran]) -> None:
    assert ours["works"].stdout.count("\n") == 1
    assert passed.entries["twice"]["failure"]["code"] == "malformed_response"


def test_0_16_the_result_is_success_failed_or_input_required(ours: dict[str, Ran]) -> None:
    results = [ours[name].reply["result"] for name in ("works", "fails", "asks")]
    assert results == ["success", "failed", "input_required"]


def test_0_17_timeout_is_the_word_of_the_host_alone(passed: Passed) -> None:
    assert passed.entries["timeout"]["status"] == "failed"
    assert passed.entries["timeout"]["failure"]["code"] == "malformed_response"
    assert passed.entries["late"]["status"] == "timeout"


def test_0_18_per_file_has_path_status_and_changes(passed: Passed, ours: dict[str, Ran]) -> None:
    assert ours["works"].reply["per_file"] == [{"path": "a.txt", "status": "modified", "changes": None}]
    told = [(each["path"], each["status"]) for each in passed.entries["modifies"]["per_file"]]
    assert told == [("metadata.xlsx", "modified"), ("subdir/calibration.xlsx", "modified")]


def test_0_18_a_status_may_be_a_word_of_the_workers_own(passed: Passed) -> None:
    """The document shows one status and names no others."""
    assert passed.verdict("own-word") == ("skipped", 0)
    assert {each["status"] for each in passed.entries["own-word"]["per_file"]} == {"unchanged"}


def test_0_19_log_records_of_a_reply_are_in_the_log(passed: Passed) -> None:
    assert any("[plugin:records]" in line and "from the reply" in line for line in passed.log)


def test_0_20_input_required_is_null_otherwise(passed: Passed, ours: dict[str, Ran]) -> None:
    assert ours["works"].reply["input_required"] is None
    assert passed.entries["both"]["failure"]["code"] == "malformed_response"


def test_0_21_a_worker_that_asks_exits_non_zero(ours: dict[str, Ran]) -> None:
    assert ours["asks"].code == 2


def test_0_22_a_question_has_fields_and_a_reason(ours: dict[str, Ran]) -> None:
    asked = ours["asks"].reply["input_required"]
    assert ([each["id"] for each in asked["fields"]], asked["reason"]) == (["color"], "none given")


def test_0_24_the_worker_is_resumed_with_the_values(passed: Passed, ours: dict[str, Ran]) -> None:
    assert passed.verdict("asks") == ("success", 0)
    assert (ours["resumed"].code, ours["resumed"].text) == (0, "red")


def test_0_25_log_lines_have_level_message_and_perhaps_a_context(
    passed: Passed, ours: dict[str, Ran]
) -> None:
    assert all({"level", "message"} <= json.loads(each).keys() for each in ours["works"].stderr.splitlines())
    assert any("without context" in line for line in passed.log)


def test_0_26_standard_error_is_parsed_line_by_line(passed: Passed) -> None:
    """However the bytes come: a line in two writes is one record, two lines in one write are two."""
    mine = [line for line in passed.log if "[plugin:halves]" in line]
    assert [line.endswith("in halves") and "INFO" in line for line in mine].count(True) == 1
    assert [line.endswith("in one write") and "ERROR" in line for line in mine].count(True) == 1


def test_0_27_log_lines_are_merged_into_the_log_of_the_host(passed: Passed) -> None:
    for what in ORDER:
        assert any(f"[plugin:{what}]" in line and f"begun {what}" in line for line in passed.log)


def test_0_28_the_log_is_that_of_the_equipment(passed: Passed, tmp_path: Path) -> None:
    """Each line names the equipment; its own log is written where that is chosen."""
    assert all("[equip:EQ1]" in line for line in passed.log)
    root = tmp_path / "EQ1" / "P1" / "run"
    root.mkdir(parents=True)
    (root / "metadata.xlsx").write_text("x")
    write_plugins(tmp_path / "plugins")
    words = ["--plugin", str(tmp_path / "plugins/modifies"), "--equipment", "EQ1", "--log-of", "equipment"]
    subprocess.run([*transform(root), *words], capture_output=True, timeout=120, check=True)
    (log,) = (tmp_path / "EQ1/.exlab-wizard").glob("wizard.*.log")
    assert "begun modifies" in log.read_text()


def test_0_29_plugins_and_host_log_into_the_same_stream(passed: Passed) -> None:
    mine = [line for line in passed.log if "[plugin:modifies]" in line]
    assert "begun modifies" in mine[0]
    assert "plugin applied status=success" in mine[-1]


def test_0_31_exit_0_is_success_and_only_with_an_envelope(passed: Passed) -> None:
    assert passed.verdict("modifies") == ("success", 0)
    assert passed.verdict("silent") == ("failed", 0)


def test_0_32_exit_1_is_recorded_as_failed(passed: Passed, ours: dict[str, Ran]) -> None:
    assert passed.verdict("fails") == ("failed", 1)
    assert ours["fails"].code == 1


def test_0_33_the_remaining_plugins_run(passed: Passed) -> None:
    assert list(passed.entries) == ORDER
    assert passed.entries["last"]["status"] == "skipped"


def test_0_34_exit_2_suspends_asks_and_resumes(passed: Passed) -> None:
    assert len(passed.raw("asks")) == 2


def test_0_35_exit_3_is_an_uncaught_exception(passed: Passed, ours: dict[str, Ran]) -> None:
    assert passed.verdict("crashes") == ("failed", 3)
    assert passed.entries["crashes"]["crash"] is True
    assert (ours["crashes"].code, ours["crashes"].stdout) == (3, "")


def test_0_36_exit_124_is_a_timeout_of_the_host(passed: Passed) -> None:
    assert passed.verdict("late") == ("timeout", 124)
    assert passed.entries["own124"]["status"] == "failed"


def test_0_37_sigterm_comes_first_and_sigkill_ends_a_worker_that_stays(passed: Passed) -> None:
    """The worker writes a line at SIGTERM and stays; it could still write more if it were not killed."""
    assert passed.raw("late")[0][-1] == "TERM"
    assert not Path(f"/proc/{passed.told('late')['pid']}").exists()


def test_0_38_a_dry_run_touches_nothing(ours: dict[str, Ran]) -> None:
    assert (ours["dry"].code, ours["dry"].text) == (0, "a")
    assert ours["dry"].reply["per_file"][0]["status"] == "described"


def test_0_39_extra_inputs_are_null_at_first(passed: Passed) -> None:
    assert passed.request("asks")["extra_inputs"] is None
