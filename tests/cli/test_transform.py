"""`plughost transform` as its users meet it: tables, JSON, questions at a terminal, and nothing a plugin has forged."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from plughost.host.envelope.plugin_flow import UNANSWERED
from tests.host.envelope.lab import Lab, outcome

Run = Callable[..., Any]
PLUGHOST = [sys.executable, "-m", "plughost", "transform"]
FAILS = "def transform(self, path, ctx):\n    path.write_text('x'); raise PluginError('no room')"
WAITS = """
def transform(self, path, ctx):
    path.write_text("half of it")
    print("at work", file=sys.stderr, flush=True)
    time.sleep(1_000)
"""
ASKS = """
def transform(self, path, ctx):
    if not ctx.extra_inputs:
        fields = [field("word", "Word?", hint="any"), field("day", "Day?", "date"),
                  field("colour", "Colour?", "choice", options=["red", "green"], default="red")]
        raise PluginInputRequired(fields, "needed")
    path.write_text(json.dumps(ctx.extra_inputs))
"""


def test_a_pass_is_shown_as_a_table_and_as_json(lab: Lab, run: Run) -> None:
    hello = str(lab.plugin("hello"))
    ran = run(
        "transform", "tree", "--plugin", hello, "--template", "t@2", "--project", "P", "--run-kind", "test"
    )
    assert ran.status == 0
    assert re.search(r"^hello +success +1 +\d+ ms +a.txt$", ran.stdout, re.M)
    assert lab.record["template"] == {"name": "t", "version": "2", "source_path": ""}
    shown = run("transform", "tree", "--plugin", hello, "--json").json
    assert shown["ok"] is True
    assert shown["plugins_applied"] == lab.entries[1:]


@pytest.mark.parametrize(
    "words", [("",), ("tree", "--logs", ""), ("tree", "--record", ""), ("tree", "--root", " ")]
)
def test_an_empty_word_is_not_the_directory_we_are_in(words: tuple[str, ...], lab: Lab, run: Run) -> None:
    hello = str(lab.plugin("hello"))
    before = sorted(os.listdir(lab.home))
    assert run("transform", *words, "--plugin", hello).status == 2
    assert sorted(os.listdir(lab.home)) == before
    assert lab.text("a.txt") == "a\n"


def test_a_directory_that_is_named_as_a_file_is_refused(lab: Lab, run: Run) -> None:
    lab.write({"sub/c.txt": ""})
    ran = run("transform", "tree", "--plugin", str(lab.plugin("hello")), "--file", "sub")
    assert ran.status != 0
    assert "directory" in ran.stderr


def test_a_failure_is_told_with_its_cause_and_the_exit_status(lab: Lab, run: Run) -> None:
    fails, crashes = (
        lab.plugin("fails", FAILS),
        lab.plugin("zz-crashes", "def transform(self, path, ctx):\n    os.abort()"),
    )
    ran = run("transform", "tree", "--plugin", str(fails), "--plugin", str(crashes))
    assert ran.status == 1
    assert "no room" in ran.stdout
    assert "SIGABRT" in ran.stdout
    assert lab.text("a.txt") == "a\n"
    shown = run("transform", "tree", "--plugin", str(fails), "--plugin", str(crashes), "--json", "--fatal")
    assert shown.status == 1
    assert shown.json["ok"] is False
    assert shown.json["aborted"] is True


def test_a_dry_run_shows_a_preview_and_changes_nothing(lab: Lab, run: Run) -> None:
    body = "def describe_changes(self, path, ctx):\n    return [FileChange(path, 'rename', 'to b' + '!' * 500_000)]"
    before = lab.portrait()
    ran = run("transform", "tree", "--plugin", str(lab.plugin("plans", body)), "--dry-run")
    assert ran.status == 0
    assert re.search(r"^plans +rename +a.txt +to b!+ …$", ran.stdout, re.M)
    assert len(ran.stdout) < 10_000
    assert lab.portrait() == before
    assert not (lab.root / ".exlab-wizard").exists()


def test_plugins_come_from_roots_and_what_is_broken_there_is_told_and_hides_nothing(
    lab: Lab, run: Run
) -> None:
    root = lab.plugin("good").parent
    for name, text in {
        "words": "isolation: {timeout_seconds: abc}",
        "null": "isolation: {timeout_seconds: null}",
        "infinite": "isolation: {timeout_seconds: .inf}",
        "list": "[]",
        "yaml": "a: [",
        "net": "isolation: {network: true}",
        "new\nplughost: forged": "name: 1",
    }.items():
        (root / name).mkdir()
        needed = 'name: broken\nversion: "1"\napi_version: "1"\nsupported_extensions: [.txt]\n'
        (root / name / "manifest.yml").write_text(text if name in ("list", "yaml") else needed + text)
    (root / "bytes").mkdir()
    (root / "bytes/manifest.yml").write_bytes(b"\xff\xfe")
    (root / "net/manifest.yml").write_text(
        (root / "good/manifest.yml").read_text().replace("good", "net")[:-1]
        + ', "isolation": {"network": true}}'
    )
    ran = run("transform", "tree", "--root", str(root))
    assert ran.status == 0, ran.stderr
    assert len(re.findall("not used", ran.stderr)) == 8
    assert not re.search("^plughost: forged", ran.stderr, re.M)
    assert lab.text("a.txt") == "a\ngood\n"
    assert run("transform", "tree", "--root", str(root), "--plugin", "good").status == 0
    assert run("transform", "tree", "--root", str(root), "--plugin", "words").status != 0
    shown = run("transform", "tree", "--root", str(lab.home / "nowhere"))
    assert shown.status == 2


def test_a_later_root_wins_and_the_order_is_the_users(lab: Lab, run: Run) -> None:
    first = lab.plugin("one").parent
    lab.plugin("two")
    second = lab.home / "second"
    (second / "one").mkdir(parents=True)
    for name in ("manifest.yml", "__init__.py"):
        (second / "one" / name).write_text((first / "one" / name).read_text().replace("self.name", "'other'"))
    ran = run("transform", "tree", "--root", str(first), "--root", str(second), "--order", "two,one")
    assert ran.status == 0, ran.stderr
    assert lab.text("a.txt") == "a\ntwo\nother\n"


def test_variables_files_and_answers_are_given_by_words(lab: Lab, run: Run) -> None:
    lab.write({"b.txt": "b\n"})
    body = """
    def transform(self, path, ctx):
        if not ctx.extra_inputs:
            raise PluginInputRequired([field("w", "W?")], "needed")
        path.write_text(json.dumps([ctx.variables, ctx.extra_inputs]))
    """
    plugin = str(lab.plugin("shows", body))
    ran = run(
        "transform",
        "tree",
        "--plugin",
        plugin,
        "--var",
        "t=x=y",
        "--var",
        "n:=[1, null]",
        "--answer",
        "w=said",
        "--file",
        "b.txt",
    )
    assert ran.status == 0, ran.stderr
    given = {"t": "x=y", "n": [1, None], "__extra_inputs__": {"w": "said"}}
    assert json.loads(lab.text("b.txt")) == [given, {"w": "said"}]
    assert lab.text("a.txt") == "a\n"
    for name in ("--var", "--answer"):
        for value in ("x:=nope", "x:=nan", "x:=@missing"):
            refused = run("transform", "tree", "--plugin", plugin, name, value)
            assert (refused.status, f"{name} x" in refused.stderr) == (2, True)
    for words in (
        ["--var", "x"],
        ["--jobs", "0"],
        ["--order", "nobody"],
        ["--file", "../x"],
    ):
        refused = run("transform", "tree", "--plugin", plugin, *words)
        assert refused.status not in (0, 1)
        assert refused.stderr
    assert run("transform", "tree").status == 2


def test_where_nobody_can_be_asked_the_missing_answer_is_named(lab: Lab, run: Run) -> None:
    ran = run("transform", "tree", "--plugin", str(lab.plugin("asks", ASKS)))
    assert ran.status == 1
    assert "word" in ran.stdout
    assert lab.text("a.txt") == "a\n"


def test_objections_are_told_and_nothing_is_begun(lab: Lab, run: Run) -> None:
    body = "def validate_variables(self, variables):\n    return ['bad\\nplughost: forged', 'x' * 100_000]"
    ran = run("transform", "tree", "--plugin", str(lab.plugin("objects", body)))
    assert ran.status == 1
    assert ran.stderr.count("\n") == 2
    assert len(ran.stderr) < 2_000
    assert sorted(os.listdir(lab.root)) == ["a.txt"]


def test_a_tree_or_record_that_cannot_be_worked_on_is_an_error_with_a_remedy(lab: Lab, run: Run) -> None:
    hello = str(lab.plugin("hello"))
    for directory in ("missing", "tree/a.txt"):
        ran = run("transform", directory, "--plugin", hello)
        assert ran.status not in (0, 1)
        assert "plughost: " in ran.stderr
        assert "Traceback" not in ran.stderr
    lab.write({".exlab-wizard/creation.json": "{"})
    ran = run("transform", "tree", "--plugin", hello, "--json")
    assert ran.status not in (0, 1)
    assert ran.json["ok"] is False
    assert lab.text("a.txt") == "a\n"


def test_there_may_be_nothing_to_recover(lab: Lab, run: Run) -> None:
    assert run("transform", "tree", "--recover").status == 0
    assert run("transform", "tree", "--recover", "--json").json == {"ok": True, "recovered": None}
    assert run("transform", "missing", "--recover").status not in (0, 1)


def test_record_and_logs_may_be_put_elsewhere_and_workers_be_left_unconfined(lab: Lab, run: Run) -> None:
    hello = str(lab.plugin("hello"))
    ran = run(
        "transform",
        "tree",
        "--plugin",
        hello,
        "--record",
        "r/c.json",
        "--logs",
        "l",
        "--no-confine",
        "--json",
    )
    assert ran.json["confined"] is False
    assert sorted(os.listdir(lab.root)) == ["a.txt"]
    assert json.loads((lab.home / "r/c.json").read_text())["plugins_applied"] == ran.json["plugins_applied"]
    assert list((lab.home / "l").glob("wizard.*.log"))


EVIL = "\x1b]0;owned\x07\x1b[2J\nplughost: forged\r\u202e\u2028"


def test_nothing_that_a_plugin_says_reaches_the_terminal_as_anything_but_text(lab: Lab, run: Run) -> None:
    body = f"""
    def transform(self, path, ctx):
        ctx.log.error({EVIL!r}, k={EVIL!r})
        sys.stderr.write({EVIL!r} + chr(10))
        (ctx.dst_root / {EVIL!r}).touch()
        (ctx.dst_root.parent / {EVIL[:9]!r}).touch()

    def post_transform_all(self, ctx):
        raise PluginError({EVIL!r} + "x" * 100_000)

    def describe_changes(self, path, ctx):
        return [FileChange({EVIL!r}, "modify", {EVIL!r})]
    """
    plugin = str(lab.plugin("evil", body))
    for words in (["--no-confine"], ["--no-confine", "--keep-partial"], ["--dry-run"]):
        ran = run("transform", "tree", "--plugin", plugin, *words)
        for text in (ran.stdout, ran.stderr):
            assert all(char.isprintable() or char == "\n" for char in text)
            assert not re.search("^plughost: forged", text, re.M)
            assert len(text) < 20_000


# At a terminal


class Session:
    """`plughost transform` with a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self.master, slave = pty.openpty()
        command = [*PLUGHOST, *words]
        self.process = subprocess.Popen(command, stdin=slave, stderr=slave, stdout=subprocess.PIPE)
        os.close(slave)
        self.seen = ""

    def expect(self, text: str) -> None:
        """Read until *text* has come, at most 20 seconds for each piece of it."""
        while text not in self.seen:
            assert select.select([self.master], [], [], 200)[0], self.seen
            try:
                self.seen += os.read(self.master, 65_536).decode()
            except OSError:  # how a terminal tells that nobody is left at its other side
                pytest.fail(f"{text} never came: {self.seen}")
        self.seen = self.seen.partition(text)[2]

    def send(self, text: str) -> None:
        os.write(self.master, text.encode())

    def end(self) -> int:
        assert self.process.stdout is not None
        try:
            self.output = self.process.communicate(timeout=250)[0].decode()
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self.master)
        return self.process.returncode


def test_a_person_is_asked_for_what_a_plugin_is_missing_until_it_fits(lab: Lab) -> None:
    session = Session(str(lab.root), "--plugin", str(lab.plugin("asks", ASKS)))
    session.expect("asks asks: needed")
    for field, answer in (("Word?", "one"), ("Day?", "yesterday"), ("[red]", "")):
        session.expect(field)
        session.send(f"{answer}\n")
    session.expect("yesterday' is no date")
    session.expect("Day?")
    session.send("2026-01-31\n")
    assert session.end() == 0
    assert json.loads(lab.text("a.txt")) == {"word": "one", "day": "2026-01-31", "colour": "red"}


def test_a_person_is_not_asked_for_what_was_answered_beforehand(lab: Lab) -> None:
    asks = str(lab.plugin("asks", ASKS))
    session = Session(str(lab.root), "--plugin", asks, "--answer", "word=given", "--answer", "day=2026-01-31")
    session.expect("needed\r\n  Colour?")
    session.send("green\n")
    assert session.end() == 0
    assert json.loads(lab.text("a.txt")) == {"word": "given", "day": "2026-01-31", "colour": "green"}


@pytest.mark.parametrize(("key", "status"), [("\x04", 1), ("\x03", None)], ids=["Ctrl-D", "Ctrl-C"])
def test_a_person_may_give_up(key: str, status: int | None, lab: Lab) -> None:
    other = lab.plugin("zz-other")
    session = Session(str(lab.root), "--plugin", str(lab.plugin("asks", ASKS)), "--plugin", str(other))
    session.expect("Word?")
    if status is None:
        session.process.send_signal(signal.SIGINT)
    else:
        session.send(key)
    ended = session.end()
    assert ended not in (0, -signal.SIGINT)
    assert status in (None, ended)
    assert lab.text("a.txt") == "a\n"
    assert [outcome(entry) for entry in lab.entries] == ["aborted"]


@pytest.mark.parametrize("others", [[], ["b-other", "c-other"]], ids=["the last", "not the last"])
def test_who_gives_up_is_told_whom_that_kept_from_running(others: list[str], lab: Lab) -> None:
    plugins = [lab.plugin("a-first"), lab.plugin("asks", ASKS), *map(lab.plugin, others)]
    words = [word for plugin in plugins for word in ("--plugin", str(plugin))]
    session = Session(str(lab.root), *words, "--order", "a-first,asks")
    session.expect("Word?")
    session.send("\x04")
    assert session.end() == 1
    below = session.output.splitlines()[3:]  # the table: its head, and two that were begun
    assert len(below) == len(others[:1])
    assert [each for each in ("a-first", "asks", "b-other", "c-other") if each in "".join(below)] == others


def test_a_default_is_shown_as_it_would_be_typed(lab: Lab) -> None:
    body = ASKS.replace(
        'field("word", "Word?", hint="any")', 'field("sure", "Sure?", "boolean", default=False)'
    )
    session = Session(str(lab.root), "--plugin", str(lab.plugin("asks", body)))
    session.expect("Sure? (yes or no) [no]: ")
    session.send("\x04")
    assert session.end() == 1


def test_a_person_who_is_late_has_not_given_up(lab: Lab) -> None:
    asks = str(lab.plugin("asks", ASKS))
    session = Session(str(lab.root), "--plugin", asks, "--input-timeout", "0.1")
    session.expect("Word?")
    assert session.end() == 1
    (entry,) = lab.entries
    assert (outcome(entry), entry["error"]) == ("aborted", UNANSWERED)


def test_a_question_cannot_pretend_to_be_ours(lab: Lab) -> None:
    asked = {"id": "p", "hint": EVIL, "label": EVIL, "type": "choice", "default": EVIL, "options": [EVIL]}
    question = {"reason": EVIL, "fields": [asked]}
    liar = lab.raw("liar", f"answer(2, result='input_required', input_required={question!r})")
    session = Session(str(lab.root), "--plugin", str(liar))
    session.expect("liar asks:")
    before = session.seen
    session.expect("]: ")
    session.send("\x04")
    assert session.end() == 1
    assert "\x1b" not in before + session.seen


def test_progress_is_shown_at_a_terminal(lab: Lab) -> None:
    session = Session(str(lab.root), "--plugin", str(lab.plugin("hello")))
    session.expect("[1/1] hello: 1 files")
    session.expect("1/1 a.txt: modified")
    assert session.end() == 0


def test_a_terminal_that_goes_away_leaves_the_directory_put_back(lab: Lab) -> None:
    session = Session(str(lab.root), "--plugin", str(lab.plugin("waits", WAITS)))
    session.expect("at work")
    os.close(session.master)
    session.process.send_signal(signal.SIGHUP)
    session.process.communicate(timeout=250)
    assert session.process.returncode == 128 + signal.SIGHUP
    assert lab.text("a.txt") == "a\n"
