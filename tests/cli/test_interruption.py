"""A command that a signal ends tells what it did and undid, whenever that comes, and leaves nothing behind."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_transform import FAILS, PLUGHOST, WAITS
from tests.host.envelope.lab import Lab, outcome


def interrupted(lab: Lab, number: signal.Signals, *words: str | Path) -> tuple[int, str, str]:
    """Send a signal when a plugin says that it is at work, and return status, output and errors."""
    command = [*PLUGHOST, lab.root, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            while "at work" not in (line := process.stderr.readline()):
                assert line, "it ended before it was interrupted"
            process.send_signal(number)
            output, errors = process.communicate(timeout=250)
        finally:
            process.kill()
    return process.returncode, output, errors


ENDING = pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda each: each.name
)


@ENDING
def test_an_interrupted_pass_tells_a_program_what_it_did_and_undid(number: signal.Signals, lab: Lab) -> None:
    done, waits = lab.plugin("done"), lab.plugin("waits", WAITS)
    status, output, _ = interrupted(lab, number, "--plugin", done, "--plugin", waits, "--json")
    assert status == 128 + number
    told = json.loads(output)
    assert (told["ok"], told["problem"], told["aborted"], told["put_back"]) == (False, "interrupted", True, 1)
    assert [(each["plugin"], outcome(each)) for each in told["plugins_applied"]] == [
        ("done", "success"),
        ("waits", "aborted"),
    ]
    assert told["plugins_applied"] == lab.entries
    assert lab.text("a.txt") == "a\ndone\n"


@ENDING
def test_an_interrupted_pass_tells_a_person_whom_it_hit(number: signal.Signals, lab: Lab) -> None:
    status, output, errors = interrupted(lab, number, "--plugin", lab.plugin("waits", WAITS))
    assert status == 128 + number
    assert re.search("^plughost: .*waits", errors, re.M)
    assert re.search("^waits +aborted", output, re.M)
    assert "Traceback" not in errors


def test_an_interrupted_dry_run_tells_who_was_at_work(lab: Lab) -> None:
    body = WAITS.replace("transform", "describe_changes").replace("path.write_text", "str")
    waits = lab.plugin("waits", body)
    _, output, _ = interrupted(lab, signal.SIGTERM, "--plugin", waits, "--dry-run", "--json")
    told = json.loads(output)
    assert [(each["plugin"], outcome(each)) for each in told["plugins_applied"]] == [("waits", "aborted")]
    assert told["put_back"] == 0


@pytest.mark.parametrize("confine", [[], ["--no-confine"]], ids=["confined", "unconfined"])
def test_a_pass_that_is_interrupted_before_it_has_begun_has_applied_nothing(
    confine: list[str], lab: Lab
) -> None:
    body = WAITS.replace("transform(self, path, ctx)", "validate_variables(self, variables)")
    looks = lab.plugin("looks", body.replace("path.write_text", "str"))
    status, output, _ = interrupted(lab, signal.SIGTERM, "--plugin", looks, "--json", *confine)
    assert status == 128 + signal.SIGTERM
    told = json.loads(output)
    assert (told["plugins_applied"], told["aborted"], told["put_back"]) == ([], True, 0)


# Runs the command, and sends it a signal as it is about to make, or to remove, the directory that the words name.
SIGNALLED = """
import os, sys
number, what, name = int(sys.argv.pop(1)), sys.argv.pop(1), sys.argv.pop(1)

def hook(event, arguments):
    if event == what and os.path.basename(os.fspath(arguments[0])).startswith(name):
        os.kill(os.getpid(), number)

sys.addaudithook(hook)
from plughost.frontends.cli.main import run
run()
"""


def signalled(number: signal.Signals, what: str, name: str, *words: str) -> tuple[int, dict[str, Any]]:
    """Return the status and what is told of a command that gets a signal at that moment."""
    command = [sys.executable, "-c", SIGNALLED, str(int(number)), what, name, "transform", *words, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    return ran.returncode, json.loads(ran.stdout)


@ENDING
def test_a_signal_that_comes_while_the_temporary_directory_is_made_leaves_none_behind(
    number: signal.Signals, lab: Lab
) -> None:
    hello = str(lab.plugin("hello"))
    status, told = signalled(number, "os.mkdir", "tmp", str(lab.root), "--plugin", hello)  # the one in it
    assert (status, told["plugins_applied"]) == (128 + number, [])
    assert not lab.left_behind()
    assert lab.text("a.txt") == "a\n"


@ENDING
@pytest.mark.parametrize("name", [".tree.plughost", "plughost-pass-"], ids=["store", "scratch"])
@pytest.mark.parametrize("words", [[], ["--dry-run"], ["--fatal"]], ids=str)
def test_a_signal_that_comes_when_all_is_done_hides_nothing_of_it(
    number: signal.Signals, name: str, words: list[str], lab: Lab
) -> None:
    plugins = [lab.plugin("a-done"), lab.plugin("b-fails", FAILS), lab.plugin("c-done")]
    named = [word for plugin in plugins for word in ("--plugin", str(plugin))]
    status, told = signalled(
        number, "os.rmdir", name, str(lab.root), *named, *words
    )  # all is written down by then
    applied = [(each["plugin"], outcome(each)) for each in told["plugins_applied"]]
    assert status in (told["ok"] is not True, 128 + number)
    if "--dry-run" in words:
        assert [plugin for plugin, _ in applied] == ["a-done", "b-fails", "c-done"]
        return
    done = [("a-done", "success"), ("b-fails", "failed"), ("c-done", "success")]
    assert applied == done[: 2 if words else 3]
    assert told["plugins_applied"] == lab.entries


# Runs the command as its script does, or as a module, and interrupts it as it is about to import what the words name.
BEGUN = """
import os, runpy, signal, sys
from importlib.metadata import EntryPoint
how, name = sys.argv.pop(1), sys.argv.pop(1)

def hook(event, arguments):
    if event == "import" and arguments[0] == name:
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(hook)
if how == "module":
    runpy.run_module("plughost", run_name="__main__")
else:
    EntryPoint("plughost", how, "console_scripts").load()()
"""


@pytest.mark.parametrize("how", ["script", "module"])
@pytest.mark.parametrize("name", ["plughost.frontends.cli.main", "click", "plughost.errors"])
def test_a_command_that_is_interrupted_while_it_is_loaded_ends_without_a_word(
    name: str, how: str, tmp_path: Path
) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    way = project["scripts"]["plughost"] if how == "script" else how
    ran = subprocess.run(
        [sys.executable, "-c", BEGUN, way, name, "list"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")
