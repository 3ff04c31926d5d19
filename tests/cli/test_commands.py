"""Every command by hand: text for people, one JSON object for programs, and errors that name the next step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from plughost import FailureCode, __version__
from plughost.frontends.cli.main import COMMANDS

ROOT = Path(__file__).parent.parent.parent
Run = Callable[..., Any]


def test_without_arguments_it_says_what_it_can_do(run: Run) -> None:
    ran = run()
    assert ran.status == 0
    assert all(name in ran.stdout for name in COMMANDS)


def test_version_is_the_packages(run: Run) -> None:
    assert __version__ in run("--version").stdout


def test_a_usage_error_is_json_when_json_is_asked_for(run: Run) -> None:
    ran = run("call", "--json")
    assert ran.status == 2
    assert ran.json["ok"] is False
    assert ran.json["usage"]


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_json(name: str, run: Run) -> None:
    ran = run(name, "--help")
    assert ran.status == 0
    assert ("--json" in ran.stdout) is (name != "mcp")  # which speaks JSON, and nothing else


def test_an_unknown_command_names_those_there_are(run: Run) -> None:
    ran = run("cal")
    assert ran.status == 2
    assert "call" in ran.stderr


def test_demo_runs_the_bundled_plugins_and_shows_a_generated_workflow_and_a_screen(run: Run) -> None:
    ran = run("demo")
    assert ran.status == 0
    assert "Hello Ada" in ran.stdout
    assert "  | " in ran.stdout
    shown = run("demo", "--json").json["contracts"]
    assert shown["execute"]["output"] == {"text": "Hello Ada"}
    assert shown["hook"]["up_to_date"] is True
    assert "on" in YAML(typ="safe", pure=True).load(shown["hook"]["workflow"])
    assert shown["duplex"]["exit_code"] == 0
    assert "weather-map" in shown["duplex"]["stdout"]
    assert "2026-01-01" in shown["duplex"]["screen"]


def test_call_prints_the_output(run: Run, greeter: Path) -> None:
    ran = run("call", str(greeter), "greet", '{"name": "Ada"}')
    assert (ran.status, json.loads(ran.stdout), ran.stderr) == (0, {"text": "Hello Ada"}, "")


def test_call_json_prints_exactly_one_object(run: Run, greeter: Path) -> None:
    answer = run("call", str(greeter), "greet", '{"name": "Ada"}', "--json").json
    assert set(answer) == {"ok", "output", "metadata", "timings_ms", "warnings"}
    assert answer["ok"] is True
    assert set(answer["timings_ms"]) == {"launch", "handshake", "execute", "teardown", "total"}


def test_call_takes_its_input_from_stdin_or_a_file(run: Run, greeter: Path, tmp_path: Path) -> None:
    assert "Hello Bob" in run("call", str(greeter), "greet", "-", stdin='{"name": "Bob"}').stdout
    (tmp_path / "input.json").write_text('{"name": "Eve"}')
    assert "Hello Eve" in run("call", str(greeter), "greet", "@input.json").stdout
    assert run("call", str(greeter), "greet", "@nowhere.json").status == 2


def test_call_with_a_bare_command_needs_no_file(run: Run, greeter: Path) -> None:
    words = (
        "call",
        "--contract",
        "execute",
        "greet",
        '{"name": "Ada"}',
        "--",
        "python",
        str(greeter / "greeter.py"),
    )
    assert json.loads(run(*words).stdout) == {"text": "Hello Ada"}


def test_call_with_the_plugins_own_error_is_exit_1(run: Run, greeter: Path) -> None:
    ran = run("call", str(greeter), "greet", "{}", "--json")
    assert ran.status == 1
    assert ran.json == {
        "ok": False,
        "error": {"code": "invalid_input", "message": 'give a name: {"name": "Ada"}'},
    }
    assert run("call", str(greeter), "greet", "{}").status == 1


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "words", [(), ("p",), ("p", "t", "{}", "x"), ("p", "t", "{nonsense"), ("p", "t", "--context", "x")]
)
def test_call_with_wrong_words_is_a_usage_error(words: tuple[str, ...], run: Run, greeter: Path) -> None:
    ran = run("call", *(str(greeter) if word == "p" else word for word in words))
    assert ran.status == 2
    assert "Error" in ran.stderr


def test_call_shows_the_plugins_stderr_beside_the_output(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "noisy.py"
    script.write_text(
        "from plughost_sdk import execute\nplugin = execute.Plugin('noisy', version='1')\n"
        "@plugin.tool\ndef hi(input, context):\n    print('printed \\x1b[31m')\n    return 1\nplugin.run()\n"
    )
    ran = run("call", "--contract", "execute", "hi", "--", "python", str(script))
    assert ran.stdout == "1\n"
    assert "printed \\x1b[31m" in ran.stderr
    assert run("call", "--contract", "execute", "hi", "--quiet", "--", "python", str(script)).stderr == ""


def test_an_unknown_plugin_names_what_is_known(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plughost.toml").write_text('[plugins]\nother = "somewhere"\n')
    ran = run("call", "nowhere", "t")
    assert ran.status == 3
    assert "other" in ran.stderr


def test_a_wrong_binding_is_exit_3_with_file_key_and_remedy(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plugin.toml").write_text(
        '[plugin]\nname = "x"\ncontract = "execute"\ncommand = "python x.py"\n'
    )
    ran = run("describe", ".", "--json")
    assert ran.status == 3
    assert ran.json["binding"]["key"] == "plugin.command"
    assert ran.json["binding"]["remedy"]
    assert run("describe", ".").status == 3


def test_describe_shows_manifest_and_binding(run: Run, greeter: Path) -> None:
    assert "greet" in run("describe", str(greeter)).stdout
    assert run("describe", str(greeter), "--json").json["manifest"]["exposed_tools"] == ["greet", "add"]


def test_list_shows_good_and_broken_plugins(run: Run, tmp_path: Path, greeter: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/plugin.toml").write_text("nonsense")
    (tmp_path / "plughost.toml").write_text(f'directories = ["."]\n[plugins]\ngreeter = "{greeter}"\n')
    ran = run("list", "--json")
    assert ran.status == 3
    found = {each["name"]: each for each in ran.json["plugins"]}
    assert found["greeter"]["problem"] is None
    assert "TOML" in found["broken"]["problem"]
    assert "broken" in run("list").stdout


def test_list_shows_of_several_directories_what_a_pass_would_take_from_them(run: Run, tmp_path: Path) -> None:
    needed = 'version: "1"\napi_version: "1"\nsupported_extensions: [.txt]\n'
    for where, text in {
        "a/one": "name: same\n",
        "a/two": "name: same\n",
        "a/net": "name: net\nisolation: {network: true}\n",
        "a/old": "name: old\n",
        "b/new": "name: old\n",
    }.items():
        (tmp_path / where).mkdir(parents=True)
        (tmp_path / where / "manifest.yml").write_text(text + needed)
    ran = run("list", "a", "b", "--json")
    assert ran.status == 3
    assert ran.json["sources"] == ["a", "b"]
    found = {each["path"]: each for each in ran.json["plugins"]}
    assert [path for path, each in found.items() if each["problem"]] == ["a/net", "a/one", "a/two"]
    assert {path: each["shadowed_by"] for path, each in found.items() if each["shadowed_by"]} == {
        "a/old": "b/new"
    }
    shown = run("list", "a", "b", "--allow-network", "--json").json
    assert [each["path"] for each in shown["plugins"] if each["problem"]] == ["a/one", "a/two"]


def test_list_in_an_empty_directory_says_how_to_begin(run: Run) -> None:
    ran = run("list")
    assert ran.status == 0
    assert "plughost new" in ran.stdout


@pytest.mark.long
def test_new_writes_a_plugin_that_passes_check_and_its_own_tests(run: Run, tmp_path: Path) -> None:
    assert run("new", "execute", "my-tool").status == 0
    assert json.loads(run("call", "my-tool", "hello", '{"name": "Ada"}').stdout)["text"].startswith(
        "Hello Ada"
    )
    checked = run("check", "my-tool", "--json", "--junit", "report.xml")
    assert checked.status == 0
    assert {axis["status"] for axis in checked.json["axes"]} == {"passed"}
    suite = ElementTree.parse(tmp_path / "report.xml").getroot()[0]
    assert int(suite.attrib["tests"]) == len(checked.json["axes"])
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "my-tool"],
        cwd=tmp_path,
        capture_output=True,
        timeout=250,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", ["../x", "Upper", "", "a b", "x" * 64, "1st"])
def test_new_refuses_names_that_could_do_harm(name: str, run: Run, tmp_path: Path) -> None:
    assert run("new", "execute", name).status == 2
    assert list(tmp_path.iterdir()) == []


def test_new_overwrites_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/precious").write_text("x")
    assert run("new", "execute", "mine").status == 2
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["precious"]


def test_check_of_a_bad_plugin_is_exit_1_and_names_the_clause(run: Run) -> None:
    canary = ROOT / "src/plughost/conformance/canaries/execute.py"
    ran = run("check", "--contract", "execute", "--json", "--", sys.executable, str(canary), "answer-id")
    assert ran.status == 1
    failed = [axis["id"] for axis in ran.json["axes"] if axis["status"] == "failed"]
    assert failed == ["execute:response:id"]


def test_check_of_something_that_cannot_start_is_launch_failed(run: Run) -> None:
    assert (
        run("check", "--contract", "execute", "--json", "--", "./nowhere").json["failure"]["code"]
        == "launch_failed"
    )


@pytest.mark.thin(3)
@pytest.mark.parametrize("code", FailureCode)
def test_explain_knows_every_code(code: FailureCode, run: Run) -> None:
    found = run("explain", code, "--json").json["codes"][0]
    assert found["code"] == code
    assert found["causes"]
    assert code in run("explain", code).stdout


def test_explain_of_an_unknown_code_lists_the_codes(run: Run) -> None:
    ran = run("explain", "oops")
    assert ran.status == 2
    assert "launch_failed" in ran.stderr
    assert len(run("explain", "--json").json["codes"]) == 9


DOCTOR = {
    "missing": (["./nowhere"], "does not exist"),
    "bare word": (["no-such-program-anywhere"], "PATH"),
    "crash": (["python", "-c", "import no_such_module"], "ModuleNotFoundError"),
    "content-length": (["printf", r"Content-Length: 5\r\n\r\nhello"], "Content-Length"),
    "length prefix": (["printf", r"\000\000\000\005hello"], "length prefix"),
    "prints first": (["printf", r"Hello\n{}\n"], "before the handshake"),
    "reads to the end": (["python", "-c", "import sys; sys.stdin.read(); print('{}')"], "input ends"),
    "does not read": (["sleep", "60"], "standard input"),
    "no manifest": (["printf", r'{"type":"handshake"}\n'], "handshake_failed"),
    "other version": (
        ["printf", r'{"type":"handshake","manifest":{"protocol_version":"other.v9"}}\n'],
        "protocol_version_mismatch",
    ),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("case", DOCTOR)
def test_doctor_says_what_is_wrong(case: str, run: Run) -> None:
    command, expected = DOCTOR[case]
    ran = run("doctor", "--contract", "execute", "--json", "--", *command)
    assert ran.status == 1
    problem = next(found for found in ran.json["findings"] if not found["ok"])
    assert expected in problem["what"]
    assert problem["advice"]


def test_doctor_finds_a_syntax_error_without_running_the_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("x = 1\ndef oops(:\n")
    ran = run("doctor", "--contract", "execute", "--json", "--", "python", "bad.py")
    assert any("line 2" in found["what"] for found in ran.json["findings"])


def test_doctor_of_a_healthy_plugin_finds_nothing(run: Run, greeter: Path) -> None:
    assert run("doctor", str(greeter)).status == 0
    assert run("doctor", "--json").json["ok"] is True


@pytest.mark.thin(3)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_for_three_shells(shell: str, run: Run) -> None:
    assert "_PLUGHOST_COMPLETE" in run("completion", shell).stdout


def test_completion_offers_commands_names_and_codes(run: Run, tmp_path: Path) -> None:
    def complete(words: str, at: int) -> str:
        env = {"_PLUGHOST_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        return run(env=env).stdout

    (tmp_path / "plughost.toml").write_text('[plugins]\ngreeter = "x"\n')
    assert "plain,describe" in complete("plughost des", 1)
    assert "plain,greeter" in complete("plughost describe gr", 2)
    assert "plain,timeout" in complete("plughost explain ti", 2)


@pytest.mark.thin(3)
@pytest.mark.parametrize("text", ['"\\ud800"', "NaN", "[" * 100_000, "{"])
@pytest.mark.parametrize("command", ["call", "check"])
def test_input_that_cannot_be_sent_is_a_usage_error(command: str, text: str, run: Run, greeter: Path) -> None:
    words = ["greet", "-"] if command == "call" else ["--input", "-"]
    ran = run(command, str(greeter), *words, "--json", stdin=text)
    assert ran.status == 2
    assert ran.json["usage"]


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("redirect", "status"), [(">&-", 0), (">/dev/full", 70), ("<&-", 2), ("2>&-", 0), ("| true", 141)]
)
def test_streams_that_are_closed_or_full_are_no_traceback(redirect: str, status: int, greeter: Path) -> None:
    command = f"set -o pipefail; {sys.executable} -m plughost call {greeter} greet {{}} --json".replace(
        "{}", "-" if redirect == "<&-" else '\'{"name": "Ada"}\''
    )
    done = subprocess.run(
        ["bash", "-c", f"{command} {redirect}"], capture_output=True, text=True, timeout=250, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (status, 0 if redirect == "| true" else status)


def test_a_plugins_words_cannot_forge_a_line_or_colour_of_ours(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(
        "from plughost_sdk import execute\nplugin = execute.Plugin('p', version='1')\n"
        "@plugin.tool\ndef t(input, context):\n"
        "    raise execute.PluginError('x', 'no\\nplughost: all is well\\x1b[1m bold')\nplugin.run()\n"
    )
    ran = run("call", "--contract", "execute", "t", "--", "python", "p.py")
    assert ran.status == 1
    assert len(ran.stderr.splitlines()) == 1
    assert "\x1b" not in ran.stderr


def test_a_reader_that_goes_away_is_no_traceback(greeter: Path) -> None:
    command = f"{sys.executable} -m plughost explain | head -c 1 >/dev/null"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=250, check=False)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("check", ""),
        ("describe", " "),
        ("doctor", ""),
        ("call", "", "tool"),
        ("lint", ""),
        ("screen", "", "--once"),
        ("new", "execute", "one", "--into", ""),
    ],
    ids=" ".join,
)
def test_an_empty_word_is_not_the_directory_we_are_in(
    words: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("new", "execute", "here", "--into", str(tmp_path)).status == 0
    monkeypatch.chdir(tmp_path / "here")
    before = sorted(os.listdir())
    ran = run(*words)
    assert (ran.status, ran.stdout) == (2, "")
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "words",
    [
        "transform . --plugin one",
        "transform --recover .",
        "list",
        "check one",
        "check .",
        "describe one",
        "describe .",
        "doctor .",
        "call . tool",
        "lint .",
        "lint one",
        "screen .",
        "new envelope one",
    ],
)
def test_a_command_in_a_directory_that_is_gone_says_so(words: str, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    ran = subprocess.run(
        ["/bin/sh", "-c", f'rmdir "{gone}" && exec "$0" -P -m plughost {words}', sys.executable],
        cwd=gone,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 3, ran.stderr
    assert "directory is gone" in ran.stderr
