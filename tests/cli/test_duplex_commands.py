"""What the commands for every contract make of `duplex` plugins: list, describe, doctor, and call refuses them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plughost.failures import EXPLANATIONS, FailureCode

Run = Callable[..., Any]
Put = Callable[..., Path]

SCRIPT = """\
from plughost_sdk import duplex

plugin = duplex.Plugin("{name}", version="1.2.0", manifest="manifest.toml")
{rest}
plugin.run()
"""
MANIFEST = '[plugin]\nname = "{name}"\nversion = "1.2.0"\nabi_version = 2\n{rest}'
NARROW = 'command = ["python", "{name}.py"]\n{rest}'


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Write a plugin whose program is Python, and return its directory."""

    def write(name: str, manifest: str = "", script: str = "", narrow: str = "") -> Path:
        directory = tmp_path / name
        directory.mkdir()
        (directory / "manifest.toml").write_text(MANIFEST.format(name=name, rest=manifest))
        (directory / f"{name}.py").write_text(SCRIPT.format(name=name, rest=script))
        (directory / "narrow.toml").write_text(NARROW.format(name=name, rest=narrow))
        return directory

    return write


def problem(ran: Any) -> dict[str, Any]:
    """Return the finding that is none."""
    assert ran.status == 1
    found: dict[str, Any] = next(each for each in ran.json["findings"] if not each["ok"])
    return found


PROVIDES = '[provides]\nscreens = ["{s}"]\ncli_namespaces = ["{n}"]\ncommands = ["{c}"]\n'


def test_list_shows_what_duplex_plugins_provide_and_why_others_cannot_be_used(run: Run, put: Put) -> None:
    put("good", PROVIDES.format(s="board", n="cards", c="cards.add") + '[lifecycle]\nspawn = "eager"\n')
    put("bad", "[capabilities]\nevent_bus = 5\n")
    ran = run("list", "--json")
    assert ran.status == 3
    found = {each["name"]: each for each in ran.json["plugins"]}
    assert found["good"]["contract"] == "duplex"
    assert found["good"]["duplex"] == {
        "version": "1.2.0",
        "spawn": "eager",
        "screens": ["board"],
        "namespaces": ["cards"],
        "actions": ["cards.add"],
        "publishes": [],
        "subscribes": [],
    }
    assert "capabilities.event_bus" in found["bad"]["problem"]
    assert found["bad"]["duplex"] is None
    assert ran.json["conflicts"] == []
    text = run("list").stdout
    assert all(word in text for word in ("1.2.0", "eager", "board", "cards.add", "capabilities.event_bus"))


def test_list_of_a_plugins_own_directory_says_that_it_is_one(run: Run, put: Put) -> None:
    ran = run("list", str(put("alone")))
    assert ran.status == 0
    assert "plughost describe" in ran.stdout


def test_list_names_the_words_that_two_plugins_claim(run: Run, put: Put) -> None:
    put("one", PROVIDES.format(s="a", n="same", c="one.add"))
    put("two", PROVIDES.format(s="b", n="same", c="two.add"))
    ran = run("list", "--json")
    assert ran.status == 0
    assert {"kind": "namespace", "word": "same", "plugins": ["one", "two"]} in ran.json["conflicts"]
    assert "claimed by one and two" in run("list").stdout


def test_describe_shows_manifest_introduction_grants_and_timings(run: Run, put: Put) -> None:
    wishes = '[capabilities]\nevent_bus = true\nnetwork = ["api.example.org"]\n'
    put(
        "board",
        wishes + PROVIDES.format(s="board", n="cards", c="cards.add"),
        narrow="[capabilities]\nnetwork = false\n",
    )
    found = run("describe", "board", "--json").json
    assert (found["ok"], found["contract"]) == (True, "duplex")
    assert found["manifest"]["capabilities"]["network"] == ["api.example.org"]
    assert found["granted"]["network"] is False
    assert found["granted"]["event_bus"] is True
    introduction = found["introduction"]
    assert (introduction["name"], introduction["version"], introduction["abi_version"]) == (
        "board",
        "1.2.0",
        2,
    )
    assert introduction["manifest"]["plugin"]["name"] == "board"
    assert set(found["timings_ms"]) == {"init", "shutdown", "total"}
    text = run("describe", "board").stdout
    assert all(word in text for word in ("board 1.2.0", "api.example.org", "cards.add"))


@pytest.mark.parametrize("words", [("list",), ("describe", "board")], ids=["list", "describe"])
def test_what_a_manifest_says_cannot_forge_a_line_or_colour_of_ours(
    words: tuple[str, ...], run: Run, put: Put
) -> None:
    put("board", 'description = "nice\\nforged  duplex\\u001b[1m"\n')
    ran = run(*words)
    assert ran.status == 0
    assert "\x1b" not in ran.stdout
    assert not any(line.startswith("forged") for line in ran.stdout.splitlines())


def test_describe_of_a_plugin_that_does_not_answer_init_is_its_failure(run: Run, put: Put) -> None:
    put("board", script="raise SystemExit(3)")
    ran = run("describe", "board", "--json")
    assert ran.json["failure"]["code"] == FailureCode.CRASHED
    assert ran.status == EXPLANATIONS[FailureCode.CRASHED].exit_status


def test_describe_of_a_bare_command_asks_for_its_directory(run: Run) -> None:
    ran = run("describe", "--contract", "duplex", "--json", "--", "cat")
    assert (ran.status, ran.json["ok"]) == (2, False)


@pytest.mark.parametrize("word", ["describe", "doctor"])
def test_a_wrong_manifest_is_exit_3_and_names_the_key(word: str, run: Run, put: Put) -> None:
    put("board", "[lifecycle]\nspawn = 'sometimes'\n")
    ran = run(word, "board", "--json")
    assert ran.status == 3
    assert ran.json["binding"]["key"] == "lifecycle.spawn"


def test_call_names_the_commands_that_a_duplex_plugin_is_used_by(run: Run, put: Put) -> None:
    put("board")
    ran = run("call", "board", "cards")
    assert ran.status == 2
    assert "plughost cli" in ran.stderr
    assert "plughost screen" in ran.stderr


def test_doctor_of_a_healthy_plugin_draws_its_screen(run: Run, put: Put) -> None:
    draw = "@plugin.render\ndef draw(viewport):\n    return duplex.Canvas(viewport.width, viewport.height)\n"
    put("board", '[provides]\nscreens = ["board"]\n', draw)
    ran = run("doctor", "board", "--json")
    assert ran.status == 0
    assert any("80x24" in each["what"] for each in ran.json["findings"])


BEHAVIOUR = {
    "prints": (["printf", r"hello\n"], "stdout"),
    "bare JSON": (["printf", r"{}\n"], "without a frame"),
    "length prefix": (["printf", r"\000\000\000\002{}\n"], "length prefix"),
    "no CR": (["printf", r"Content-Length: 2\n\n{}"], "without CR"),
    "crash": (["python", "-c", "import no_such_module"], "ModuleNotFoundError"),
    "closes its output": (["sh", "-c", "exec >&-; exec sleep 60"], "closes"),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("case", BEHAVIOUR)
def test_doctor_says_what_came_in_place_of_a_frame(case: str, run: Run) -> None:
    command, expected = BEHAVIOUR[case]
    found = problem(run("doctor", "--contract", "duplex", "--json", "--", *command))
    assert expected in found["what"]
    assert found["advice"]


@pytest.mark.parametrize(
    ("name", "script", "narrow", "expected"),
    [
        ("reads", "import time; time.sleep(60)", "[limits]\nhandshake_s = 0.3\n", "standard input"),
        ("says", "plugin.name = 'other'", "", "other"),
        ("syntax", "def oops(:", "", "not Python"),
        (
            "wants",
            "@plugin.on_init\ndef init(init):\n    plugin.host.snapshot.publish('a.b', b'')\n",
            "",
            "capability denied: event_bus",
        ),
    ],
    ids=["does-not-read", "another-name", "syntax-error", "lacks-a-capability"],
)
def test_doctor_says_why_a_plugin_does_not_work(
    name: str, script: str, narrow: str, expected: str, run: Run, put: Put
) -> None:
    put(name, script=script, narrow=narrow)
    assert expected in problem(run("doctor", name, "--json"))["what"]


def test_doctor_says_which_logs_are_not_there(run: Run, put: Put, tmp_path: Path) -> None:
    put("reader", "[capabilities]\nread_codex_logs = true\n")
    found = run("doctor", "reader", "--json", env={"HOME": str(tmp_path)}).json["findings"]
    assert any("~/.codex/sessions" in each["what"] and "--logs" in each["advice"] for each in found)
    os.makedirs(tmp_path / ".codex/sessions")
    found = run("doctor", "reader", "--json", env={"HOME": str(tmp_path)}).json["findings"]
    assert not any("~/.codex/sessions" in each["what"] for each in found)
