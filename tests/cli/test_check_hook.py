"""`check`, `describe` and `doctor` for plugins of the `hook` contract."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plughost.conformance.canaries import execute as execute_canaries
from plughost.conformance.canaries import hook as canaries

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples" / "hook"
CANARY = [sys.executable, "-E", "-s", "-B", str(canaries.PROGRAM)]
WELL = ("--contract", "hook", "--json", "--", *CANARY, "well-behaved")

Run = Callable[..., Any]

PROVIDER = """\
from plughost_sdk import hook

provider = hook.Provider("provider/notes", version="1.2.3", capabilities=["provider:notes"], requires=["lang:any"])


@provider.generate
def generate(request):
    yield hook.fragment("notes.txt", "A note.\\n")


provider.run()
"""
BINDING = """\
[plugin]
name = "provider/notes"
contract = "hook"
command = ["python", "provider.py"]
description = "Writes notes"

[capabilities]
allow = ["provider:notes"]

[limits]
handshake_s = 10
teardown_s = 10
"""
SCHEMA = "jobs:\n  ship:\n    workflow: release\n    steps:\n      - run: make ship\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A small provider, to be looked at or spoiled."""
    directory = tmp_path / "notes"
    directory.mkdir()
    (directory / "provider.py").write_text(PROVIDER)
    (directory / "plugin.toml").write_text(BINDING)
    return directory


def axes(ran: Any, status: str) -> dict[str, str]:
    return {axis["id"]: axis["detail"] for axis in ran.json["axes"] if axis["status"] == status}


# check


@pytest.mark.thin(2)
@pytest.mark.parametrize("name", ["github-actions", "woodpecker"])
@pytest.mark.long
def test_every_example_keeps_its_contract(name: str, run: Run) -> None:
    ran = run("check", str(EXAMPLES / name), "--json")
    assert ran.status == 0, ran.stdout
    assert ran.json["contract"] == "hook"
    assert axes(ran, "skipped") == {}


@pytest.mark.skipif(
    not (EXAMPLES / "gitlab-rust" / "provider").exists(), reason="examples/build has not built it"
)
def test_a_compiled_provider_keeps_its_contract(run: Run) -> None:
    ran = run("check", str(EXAMPLES / "gitlab-rust"), "--json")
    assert ran.status == 0, ran.stdout
    assert list(axes(ran, "skipped")) == ["hook:round:chosen"]


def test_a_provider_of_the_sdk_keeps_its_contract_about_a_pipeline_of_its_own(
    notes: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "ci.yml").write_text(SCHEMA)
    ran = run("check", str(notes), "--schema", "ci.yml", "--junit", "report.xml", "--json")
    assert ran.status == 0, ran.stdout
    assert axes(ran, "skipped") == {}
    assert '<testcase classname="hook" name="hook:exit:eof"/>' in (tmp_path / "report.xml").read_text()


def test_check_of_a_bad_plugin_is_exit_1_and_names_the_clause(run: Run) -> None:
    words = ("--contract", "hook", "--no-large")
    ran = run("check", *words, "--json", "--", *CANARY, "dotted-path")
    assert ran.status == 1
    assert list(axes(ran, "failed")) == ["hook:result:paths"]
    assert "hook:frame:large-request" in axes(ran, "skipped")
    shown = run("check", *words, "--", *CANARY, "exits-at-once")
    assert shown.status == 1
    assert "FAIL  hook:handshake:reply" in shown.stdout


def test_check_of_a_plugin_that_cannot_start_is_launch_failed(run: Run) -> None:
    ran = run("check", "--contract", "hook", "--json", "--", "./nowhere")
    assert ran.json["failure"]["code"] == "launch_failed"


def test_a_pipeline_file_that_is_wrong_is_named_and_nothing_is_started(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ci.yml").write_text("jobs: [1, 2]\n")
    for file in ("ci.yml", "nowhere.yml"):
        ran = run(
            "check", "--contract", "hook", "--schema", file, "--json", "--", "touch", str(tmp_path / "ran")
        )
        assert ran.status == 3
        assert file in ran.json["binding"]["file"]
        assert ran.json["binding"]["remedy"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    ("plugin", "options"),
    [
        ("notes", ("--tool", "greet")),
        ("notes", ("--no-call",)),
        ("notes", ("--var", "a=b")),
        ("notes", ("--against", ".")),
        ("greeter", ("--schema", "ci.yml")),
        ("greeter", ("--no-large",)),
    ],
)
def test_options_that_make_no_sense_are_usage_errors(
    plugin: str, options: tuple[str, ...], run: Run, notes: Path, greeter: Path
) -> None:
    assert run("check", str(notes if plugin == "notes" else greeter), *options).status == 2


# describe


def test_describe_shows_what_a_provider_says_about_itself(notes: Path, run: Run) -> None:
    ran = run("describe", str(notes), "--json")
    assert ran.status == 0
    assert ran.json["info"] == {
        "name": "provider/notes",
        "version": "1.2.3",
        "protocol": 1,
        "capabilities": ["provider:notes"],
        "requires": ["lang:any"],
        "conflicts_with": [],
        "metadata": {"plughost.matrix": "expanded", "plughost.phases": "generate"},
    }
    assert (ran.json["phases"], ran.json["phases_declared"]) == (["generate"], True)
    assert ran.json["matrix"] == "expanded"
    assert {"launch", "handshake", "teardown"} <= ran.json["timings_ms"].keys()
    shown = run("describe", str(notes)).stdout
    for word in ("provider/notes 1.2.3", "Writes notes", "lang:any", "protocol 1", "expanded"):
        assert word in shown


def test_describe_tells_declared_phases_from_usual_ones(run: Run) -> None:
    words = ("describe", "--contract", "hook", "--json", "--", *CANARY)
    assert run(*words, "well-behaved").json["phases"] == [
        "detect",
        "plan",
        "generate",
        "validate",
        "preflight",
    ]
    usual = run(*words, "declares-nothing").json
    assert (usual["phases"], usual["phases_declared"]) == (["plan", "generate"], False)
    shown = run("describe", "--contract", "hook", "--", *CANARY, "declares-nothing").stdout
    assert "plan, generate (usual)" in shown


def test_describe_of_a_bare_command_takes_its_capabilities_as_they_are(run: Run) -> None:
    ran = run("describe", *WELL)
    assert ran.status == 0
    assert ran.json["info"]["capabilities"] == [canaries.CAPABILITY]


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("exits-at-once", "crashed"),
        ("wrong-version", "protocol_version_mismatch"),
        ("no-name", "handshake_failed"),
        ("prints-first", "malformed_response"),
    ],
)
def test_describe_of_a_plugin_that_fails_names_the_failure(fault: str, code: str, run: Run) -> None:
    ran = run("describe", "--contract", "hook", "--json", "--", *CANARY, fault)
    assert ran.json["failure"]["code"] == code


def test_describe_says_how_a_plugin_ended_badly(run: Run) -> None:
    ran = run("describe", "--contract", "hook", "--json", "--", *CANARY, "exit-7")
    assert ran.status == 0
    assert len(ran.json["warnings"]) == 1


def test_control_characters_of_a_plugin_do_not_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    body = b"\x0a\x05\x1b[1mx\x18\x01"
    ran = run("describe", "--contract", "hook", "--", *answering(tmp_path, body))
    assert ran.status == 0
    assert "\x1b" not in ran.stdout


def test_variables_are_nothing_for_a_handshake(notes: Path, run: Run) -> None:
    assert run("describe", str(notes), "--var", "a=b").status == 2


# doctor


def answering(tmp_path: Path, body: bytes, *, prefix: str = ">I", size: int | None = None) -> list[str]:
    """Return a command that answers any greeting with *body* behind its length, and then waits for its end."""
    script = tmp_path / "answering.py"
    head = f"struct.pack({prefix!r}, {len(body) if size is None else size})" if prefix else "b''"
    script.write_text(
        f"import os, struct, sys\nos.read(0, 65536)\nos.write(1, {head} + {body!r})\nsys.stdin.read()\n"
    )
    return [sys.executable, "-I", str(script)]


INTRODUCTION = b"\x0a\x06canary\x12\x011\x18\x01"


def test_doctor_of_a_healthy_plugin_finds_nothing(notes: Path, run: Run) -> None:
    ran = run("doctor", str(notes), "--json")
    assert ran.status == 0, ran.stdout
    assert len(ran.json["findings"]) == 5
    assert run("doctor", *WELL).status == 0


def edit(file: str, old: str, new: str) -> Callable[[Path], None]:
    def spoil(plugin: Path) -> None:
        text = (plugin / file).read_text()
        assert old in text
        (plugin / file).write_text(text.replace(old, new))

    return spoil


FIRST = "from plughost_sdk import hook\n"
SPOILT = {
    "line 2": edit("provider.py", FIRST, "x = 1\ndef oops(:\n"),
    "no_such_module": edit("provider.py", FIRST, "import no_such_module\n"),
    "protobuf": edit("provider.py", FIRST, "raise ModuleNotFoundError(\"No module named 'google'\")\n"),
    "prints": edit("provider.py", FIRST, "import os; os.write(1, b'Starting up...\\n')\n" + FIRST),
    "handshake_failed": edit("plugin.toml", 'name = "provider/notes"', 'name = "provider/other"'),
    "capability_not_allowed": edit("plugin.toml", 'allow = ["provider:notes"]', "allow = []"),
    "capability_not_declared": edit("provider.py", 'capabilities=["provider:notes"], ', ""),
    "notes.txt": edit("provider.py", '"notes.txt"', '"/notes.txt"'),
    "exit status 9": edit(
        "provider.py", "provider.run()", "import atexit, os\natexit.register(os._exit, 9)\nprovider.run()"
    ),
    "no_such_program": edit("plugin.toml", '["python", "provider.py"]', '["./no_such_program"]'),
}


@pytest.mark.thin(4)
@pytest.mark.parametrize("expected", SPOILT)
def test_doctor_says_what_is_wrong(expected: str, run: Run, notes: Path) -> None:
    SPOILT[expected](notes)
    ran = run("doctor", str(notes), "--json")
    assert ran.status == 1, ran.stdout
    problem = next(found for found in ran.json["findings"] if not found["ok"])
    assert expected in problem["what"] + problem["advice"]
    assert problem["advice"]


def test_doctor_of_a_program_that_is_not_executable_says_so(run: Run, notes: Path) -> None:
    edit("plugin.toml", '["python", "provider.py"]', '["./provider.py"]')(notes)
    (notes / "provider.py").chmod(0o644)
    ran = run("doctor", str(notes), "--json")
    assert "executable" in ran.json["findings"][-1]["what"]


ODD_FRAMES: dict[str, Callable[[Path], list[str]]] = {
    "lowest byte first": lambda tmp: answering(tmp, INTRODUCTION, prefix="<I"),
    "varint": lambda tmp: answering(tmp, INTRODUCTION, prefix="B"),
    "without a length": lambda tmp: answering(tmp, INTRODUCTION, prefix=""),
    "Content-Length": lambda tmp: answering(tmp, b"Content-Length: 2\r\n\r\n{}", prefix=""),
    "JSON": lambda tmp: answering(tmp, b'{"type": "handshake"}\n', prefix=""),
    "10485761 bytes": lambda tmp: answering(tmp, INTRODUCTION, size=10_485_761),
    "the rest": lambda tmp: answering(tmp, INTRODUCTION, size=100),
    "PluginInfo": lambda tmp: answering(tmp, b"\xff\xff"),
}


@pytest.mark.thin(4)
@pytest.mark.parametrize("expected", ODD_FRAMES)
def test_doctor_recognises_other_framings(expected: str, run: Run, notes: Path, tmp_path: Path) -> None:
    command = ODD_FRAMES[expected](tmp_path)
    edit("plugin.toml", '["python", "provider.py"]', str(command).replace("'", '"'))(notes)
    edit("plugin.toml", "handshake_s = 10", "handshake_s = 1")(notes)
    ran = run("doctor", str(notes), "--json")
    assert ran.status == 1
    problem = ran.json["findings"][-1]
    assert expected in problem["what"]
    assert problem["advice"]


@pytest.mark.thin(4)
@pytest.mark.parametrize("fault", ["silent", "takes-nothing", "reads-to-the-end", "closes-its-output"])
@pytest.mark.long
def test_doctor_tells_one_silence_from_another(fault: str, run: Run, notes: Path) -> None:
    command = {
        "takes-nothing": ["sleep", "60"],
        "reads-to-the-end": ["sh", "-c", r"cat >/dev/null; printf '\0\0\0\0'"],
    }.get(fault, [*CANARY, fault])
    words = ", ".join('"' + word.replace("\\", "\\\\") + '"' for word in command)
    edit("plugin.toml", '["python", "provider.py"]', f"[{words}]")(notes)
    edit("plugin.toml", "handshake_s = 10", "handshake_s = 2")(notes)
    ran = run("doctor", str(notes), "--json")
    assert ran.status == 1
    what = ran.json["findings"][-1]["what"]
    expected = {
        "silent": "wrote nothing",
        "takes-nothing": "does not read",
        "reads-to-the-end": "only when its input ends",
        "closes-its-output": "closes its standard output",
    }
    assert expected[fault] in what


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("fault", "expected"),
    [("answers-in-json", "malformed_response"), ("lingers", "brought down"), ("wrong-version", "mismatch")],
)
def test_doctor_lets_a_host_judge_a_round_and_the_end(
    fault: str, expected: str, run: Run, notes: Path
) -> None:
    words = ", ".join(f'"{word}"' for word in [*CANARY, fault])
    edit("plugin.toml", '["python", "provider.py"]', f"[{words}]")(notes)
    edit("plugin.toml", '"provider/notes"', f'"{canaries.NAME}"')(notes)
    edit("plugin.toml", '"provider:notes"', f'"{canaries.CAPABILITY}"')(notes)
    edit("plugin.toml", "teardown_s = 10", "teardown_s = 0.5")(notes)
    ran = run("doctor", str(notes), "--json")
    assert ran.status == 1
    assert expected in ran.json["findings"][-1]["what"]


def test_doctor_shows_a_refusal_of_our_version(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "old.sh"
    script.write_text("#!/bin/sh\necho 'Error: Protocol version mismatch: core=1, plugin=0' >&2\nexit 1\n")
    script.chmod(0o755)
    ran = run("doctor", "--contract", "hook", "--json", "--", str(script))
    assert ran.status == 1
    assert "plugin=0" in ran.json["findings"][-1]["advice"]


def test_doctor_suspects_another_contract(run: Run) -> None:
    words = [sys.executable, "-I", str(execute_canaries.__file__), "prints-first"]
    ran = run("doctor", "--contract", "hook", "--json", "--", *words)
    assert ran.status == 1
    assert ran.json["findings"][-1]["advice"]


def test_doctor_of_a_plugin_that_reports_an_error_is_no_problem(run: Run, notes: Path) -> None:
    edit(
        "provider.py",
        "    yield hook.fragment",
        '    yield hook.error("NO", "not today")\n    yield hook.fragment',
    )(notes)
    ran = run("doctor", str(notes), "--json")
    assert ran.status == 0
    assert "not today" in ran.json["findings"][-1]["what"]
