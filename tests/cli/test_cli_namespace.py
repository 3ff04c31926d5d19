"""`plughost cli`: commands of plugins, as if they were programs of their own."""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from plughost.failures import EXPLANATIONS, FailureCode
from plughost.frontends.cli.commands.cli import exit_status
from tests.cli.conftest import PLUGHOST
from tests.frontends.told_plugin import write_plugin

Run = Callable[..., Any]
pytestmark = pytest.mark.thin(3, "plughost cli")  # each starts two programs


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The directory where plugins are looked for if nobody says where."""
    write_plugin(tmp_path / "plugins", "teller", namespaces='["tell"]')
    return tmp_path / "plugins"


def raw(tmp_path: Path, *words: str | bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PLUGHOST, "cli", *words], cwd=tmp_path, capture_output=True, timeout=250, check=False
    )


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "words",
    [[], ["--help"], ["-x", "--root", "."], ["--"], ["--contract", "x", "--", "y"], ["", " ", "é\n"]],
    ids=["none", "help", "options", "dashes", "contract", "odd"],
)
@pytest.mark.requirement("duplex:cli:unchanged")
def test_what_follows_the_namespace_is_the_plugins_unchanged(
    root: Path, tmp_path: Path, words: list[str]
) -> None:
    ran = raw(tmp_path, "tell", *words)
    assert ran.returncode == 0
    assert json.loads(ran.stdout) == words


@pytest.mark.thin(1)
@pytest.mark.requirement("duplex:cli:unchanged")
def test_what_it_writes_is_written_byte_for_byte(root: Path, tmp_path: Path) -> None:
    ran = raw(tmp_path, "tell", "bytes")
    assert ran.stdout == b"\xff\x00\x1b[31mred\r\n"
    assert ran.stderr == b"\xfenote\n"


@pytest.mark.thin(3)
@pytest.mark.parametrize("code", [7, 1, 255])
@pytest.mark.requirement("duplex:cli:unchanged")
def test_its_exit_code_is_ours(root: Path, run: Run, code: int) -> None:
    assert run("cli", "tell", "exit", str(code)).status == code


@pytest.mark.thin(1)
@pytest.mark.parametrize(
    ("code", "status"),
    [
        (0, 0),
        (255, 255),
        (256, 255),
        (512, 255),
        (-1, 129),
        (-9, 137),
        (-127, 255),
        (-128, 255),
        (2**31 - 1, 255),
        (-(2**31), 255),
    ],
)
def test_a_code_that_no_process_can_have_is_never_0(code: int, status: int) -> None:
    assert exit_status(code) == status


def test_as_json_it_is_one_object_with_every_byte(root: Path, run: Run) -> None:
    ran = run("cli", "--json", "tell", "bytes")
    assert ran.status == 0
    assert base64.b64decode(ran.json["stdout_base64"]) == b"\xff\x00\x1b[31mred\r\n"
    assert ran.json["exit_code"] == 0


def test_alone_it_lists_the_namespaces_and_runs_nothing(root: Path, run: Run) -> None:
    write_plugin(root, "broken", "broken", namespaces='["other"]', spawn="eager")
    ran = run("cli", "--json")
    assert ran.status == 0
    assert [each["namespace"] for each in ran.json["namespaces"]] == ["other", "tell"]
    assert "teller" in run("cli").stdout


def test_where_there_are_none_it_says_so(tmp_path: Path, run: Run) -> None:
    ran = run("cli")
    assert ran.status == 0
    assert "--root" in ran.stdout


def test_a_plugin_that_cannot_be_used_hides_no_other(root: Path, run: Run) -> None:
    (write_plugin(root, "wrong") / "manifest.toml").write_text("nonsense")
    ran = run("cli", "--json")
    assert ran.status == 3
    assert [each["namespace"] for each in ran.json["namespaces"]] == ["tell"]
    assert len(ran.json["problems"]) == 1
    assert run("cli", "tell").status == 0


def test_an_unknown_namespace_names_those_there_are_and_the_nearest(root: Path, run: Run) -> None:
    ran = run("cli", "tel", "--json")
    assert ran.status == 2
    assert ran.stdout == ""
    assert "Did you mean tell?" in ran.stderr


def test_what_two_plugins_claim_is_asked_of_neither(root: Path, run: Run) -> None:
    write_plugin(root, "another", namespaces='["tell"]')
    ran = run("cli", "tell")
    assert ran.status == 2
    assert "another" in ran.stderr
    assert "teller" in ran.stderr


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["tell", "error", "--json"], 1),
        (["tell", "crash", "--json"], EXPLANATIONS[FailureCode.CRASHED].exit_status),
        (["--timeout", "0.2", "tell", "hang", "--json"], EXPLANATIONS[FailureCode.TIMEOUT].exit_status),
    ],
    ids=["error", "crash", "hang"],
)
def test_a_failure_has_the_status_of_its_code_and_the_plugins_words_do_not_change_how_it_is_told(
    root: Path, run: Run, words: list[str], status: int
) -> None:
    (root / "teller" / "narrow.toml").write_text("[limits]\nteardown_s = 0.2\nterminate_s = 0.1\n")
    ran = run("cli", *words)
    assert ran.status == status
    assert ran.stdout == ""
    assert "plughost: teller" in ran.stderr
    assert "\x1b" not in ran.stderr


def test_what_it_writes_does_not_wait_for_the_end_of_other_plugins(root: Path, tmp_path: Path) -> None:
    write_plugin(root, "stubborn", "stays", screens="[]", spawn="eager", limits="teardown_s = 3600")
    ran = subprocess.Popen([*PLUGHOST, "cli", "tell", "now"], cwd=tmp_path, stdout=subprocess.PIPE)
    assert ran.stdout is not None
    try:
        assert select.select([ran.stdout], [], [], 200) == ([ran.stdout], [], [])
        assert ran.stdout.readline() == b'["now"]\n'
        assert ran.poll() is None  # it is still there for the other
    finally:
        ran.stdout.close()
        for _ in range(1000):  # the first may come before it waits for the other; the next one ends that wait
            ran.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                ran.wait(0.2)
                break
        assert ran.wait(timeout=250) in (
            130,
            -signal.SIGINT,
        )  # by one more at its very end: a shell calls both 130


def test_a_plugin_with_wrong_settings_is_refused_with_their_reason(root: Path, run: Run) -> None:
    with (root / "teller" / "manifest.toml").open("a") as manifest:
        manifest.write('[[config]]\nkey = "pin"\nkind = "int"\nlabel = "PIN"\ndefault = "0"\n')
    assert run("cli", "--config", "teller.pin=5", "tell").status == 0
    ran = run("cli", "--json", "--config", "teller.pin=x", "tell")
    assert ran.status == 3
    assert ran.json["binding"]["key"] == "config.pin"


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "0", "-1", "86401", "soon"])
def test_a_timeout_that_is_no_time_is_a_usage_error(root: Path, run: Run, seconds: str) -> None:
    assert run("cli", "--timeout", seconds, "tell").status == 2


def test_what_list_refuses_of_a_project_is_refused_here_with_the_same_reason(
    root: Path, tmp_path: Path, run: Run
) -> None:
    outside = write_plugin(tmp_path / "elsewhere", "outside", namespaces='["out"]')
    (root / "outside").symlink_to(outside)
    write_plugin(tmp_path / "elsewhere", "other", namespaces='["other"]')
    project = 'directories = ["plugins"]\n[plugins]\nmisnamed = "elsewhere/other"\n'
    (tmp_path / "plughost.toml").write_text(project)
    listed = {each["name"]: each["problem"] for each in run("list", "--json").json["plugins"]}
    assert listed["outside"]
    assert listed["misnamed"]
    assert listed["teller"] is None
    for namespace in ("out", "other"):
        ran = run("cli", "--json", "--config", "outside.x=1", namespace)
        assert ran.status == 2
        assert ran.json["namespaces"] == ["tell"]
        assert len(ran.json["problems"]) == 2
    assert all(
        any(told.endswith(each.split(": ", 1)[1]) for told in listed.values() if told)
        for each in ran.json["problems"]
    )
    assert run("cli", "tell").status == 0
    ran = run("screen", "--json", "outside")
    assert ran.status == 3
    assert "leads out of the root" in ran.json["binding"]["problem"]


def test_a_failure_is_json_where_json_is_asked_for(root: Path, run: Run) -> None:
    assert run("cli", "--json", "tell", "crash").json["failure"]["code"] == "crashed"


def test_when_nobody_reads_it_ends_quietly(root: Path, tmp_path: Path) -> None:
    there, ours = os.pipe()
    words = [*PLUGHOST, "cli", "tell", "much", "100000"]
    ran = subprocess.Popen(words, cwd=tmp_path, stdout=ours, stderr=subprocess.PIPE)
    os.close(ours)
    assert os.read(there, 2) == b"y\n"
    os.close(there)
    assert ran.communicate(timeout=250)[1] == b""
    assert ran.returncode == 141


def test_an_argument_that_is_no_text_is_a_usage_error(root: Path, tmp_path: Path) -> None:
    assert raw(tmp_path, "tell", b"\xff").returncode == 2


def test_our_options_come_before_the_namespace(root: Path, run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run("cli", "--root", str(empty), "tell").status == 2
    assert run("cli", "--root", str(empty), "--root", str(root), "tell").status == 0
    assert run("cli", "--nonsense", "tell").status == 2


def test_with_an_error_of_the_plugins_is_shown_what_it_wrote_to_standard_error(root: Path, run: Run) -> None:
    ran = run("cli", "tell", "error")
    assert ran.status == 1
    assert "why it" in ran.stderr
    assert "\x1b" not in ran.stderr
    assert "why it" not in run("cli", "tell", "exit", "3").stderr


def test_what_plugins_log_is_shown_with_its_fields_where_a_level_is_given(root: Path, run: Run) -> None:
    ran = run("cli", "--log-level", "info", "tell", "log")
    assert '[teller] INFO: it was\\x1b[31m told  {"size": 5, "name": "é"}' in ran.stderr
    assert run("cli", "--log-level", "warn", "tell", "log").stderr == ""
    assert run("cli", "tell", "log").stderr == ""
