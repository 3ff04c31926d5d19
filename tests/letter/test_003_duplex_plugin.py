"""The clauses of document 003 (duplex), one test each: the plugin's side and the tools, under a raw host.

The host is `raw_duplex_host`, which follows the document alone; the plugins are the SDK's and the bundled ones.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plughost_sdk import duplex

from plughost import blocking
from plughost.conformance.canaries import duplex as canaries
from plughost.testkit import DuplexHarness
from tests.letter.raw_duplex_fleet import manifest, stage
from tests.letter.raw_duplex_host import INIT, WAIT_S, RawHost, frame, hosted

NOT_FOUND, INVALID, MANIFEST_INVALID = -32601, -32602, -32003
SCRIPT = """
from plughost_sdk import duplex

MANIFEST = '''
[plugin]
name = "sdk"
version = "1.0.0"
abi_version = 2
[[config]]
key = "colour"
kind = "string"
default = "red"
[[config]]
key = "size"
kind = "int"
default = "7"
'''
plugin = duplex.Plugin("sdk", version="1.0.0", manifest=MANIFEST)
heard = []

@plugin.on_init
def init(init):
    heard.append(["config", init.config])

@plugin.on_event
def event(topic, payload):
    heard.append([topic, payload.decode()])
    if topic == "ask":
        heard.append(["got", plugin.host.snapshot.get("x")[1]])

@plugin.on_key
def key(screen, key):
    heard.append([screen, str(key)])

@plugin.cli("sdk")
def cli(argv):
    import json
    return json.dumps(heard)

@plugin.render
def render(viewport):
    canvas = duplex.Canvas(viewport.width, viewport.height)
    canvas.put(0, 0, "Hi", bold=True)
    return canvas

plugin.run()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "sdk.py"
    file.write_text(SCRIPT, encoding="utf-8")
    return file


@pytest.fixture
def sdk(script: Path) -> Iterator[RawHost]:
    with hosted(sys.executable, script) as host:
        yield host


def noted(host: RawHost) -> list[Any]:
    """Return what the handlers noted, by a command: all that was told before it is handled then."""
    answer = host.ask("plugin/cli_dispatch", {"namespace": "sdk", "argv": []})
    found: list[Any] = json.loads(base64.b64decode(answer["result"]["stdout"]))
    return found


def plughost(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "plughost", *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=4 * WAIT_S)


def test_3_052_the_plugin_replies_with_its_manifest_and_abi_version(sdk: RawHost) -> None:
    result = sdk.ask("plugin/init", INIT)["result"]
    assert (result["abi_version"], result["manifest"]["plugin"]["name"]) == (2, "sdk")


def test_3_043_another_abi_is_refused_with_minus_32003(sdk: RawHost) -> None:
    assert sdk.ask("plugin/init", {**INIT, "abi_version": 3})["error"]["code"] == MANIFEST_INVALID


def test_3_039_and_3_040_unknown_methods_and_wrong_params_are_refused(sdk: RawHost) -> None:
    assert sdk.ask("plugin/nothing", {})["error"]["code"] == NOT_FOUND
    assert sdk.ask("plugin/render", {"viewport": 5})["error"]["code"] == INVALID


@pytest.mark.parametrize("id", [0, 7, "abc"])
def test_3_036_a_request_is_answered_under_its_id_be_it_a_text(sdk: RawHost, id: Any) -> None:
    assert sdk.ask("plugin/init", INIT, id)["id"] == id


def test_3_053_asked_to_shut_down_it_answers_and_exits_with_0_though_its_input_is_open(sdk: RawHost) -> None:
    sdk.ask("plugin/init", INIT)
    assert sdk.ask("plugin/shutdown", {})["result"] == {}
    assert sdk.read() is None
    assert sdk.end() == 0


def test_3_053_told_to_shut_down_it_exits_with_0_though_its_input_is_open(sdk: RawHost) -> None:
    sdk.ask("plugin/init", INIT)
    sdk.tell("plugin/shutdown", {})
    assert sdk.read() is None
    assert sdk.end() == 0


def test_3_034_the_end_of_its_input_between_frames_is_a_clean_end(sdk: RawHost) -> None:
    sdk.ask("plugin/init", INIT)
    assert sdk.process.stdin is not None
    sdk.process.stdin.close()
    assert sdk.end() == 0


@pytest.mark.parametrize(
    "data", [b"Content-Length: 2\n\n{}", b"Content-Length: 16777217\r\n\r\n", b"Content-Le"]
)
def test_3_030_to_3_034_what_is_no_frame_ends_it_with_1(sdk: RawHost, data: bytes) -> None:
    sdk.send(data)
    assert sdk.process.stdin is not None
    sdk.process.stdin.close()
    assert sdk.end() == 1


def test_3_047_and_3_068_it_renders_a_sparse_buffer_of_the_size_asked_for(sdk: RawHost) -> None:
    buffer = sdk.ask("plugin/render", {"viewport": {"width": 9, "height": 2}, "generation": 0})["result"][
        "buffer"
    ]
    assert (buffer["width"], buffer["height"]) == (9, 2)
    assert [(place["x"], cell["symbol"], cell["modifier"]) for place, cell in buffer["cells"]] == [
        (0, "H", 1),
        (1, "i", 1),
    ]


def test_3_055_3_056_and_3_074_notifications_are_handled_in_order_and_read_in_both_spellings(
    sdk: RawHost,
) -> None:
    sdk.ask("plugin/init", INIT)
    for number in range(5):
        sdk.tell("plugin/handle_event", {"topic": "t", "payload": [48 + number]})
    key = {"code": {"type": "esc"}, "mods": 0, "kind": "press"}
    sdk.tell("plugin/handle_key", {"screen_id": "s", "key": key, "generation": 0})
    assert noted(sdk)[1:] == [*(["t", str(number)] for number in range(5)), ["s", "esc"]]


def test_3_038_a_reverse_call_from_a_notifications_handler_is_answered(sdk: RawHost) -> None:
    sdk.tell("plugin/handle_event", {"topic": "ask", "payload": ""})
    assert noted(sdk) == [["ask", ""], ["got", 0]]
    assert [each["method"] for each in sdk.asked] == ["host/snapshot/get"]


def test_3_110_a_host_that_brings_no_settings_leaves_the_manifests_defaults(sdk: RawHost) -> None:
    sdk.ask("plugin/init", {**INIT, "unknown": 1})
    assert noted(sdk) == [["config", {"colour": "red", "size": 7}]]


def test_3_110_a_setting_that_the_host_brings_goes_before_its_default(sdk: RawHost) -> None:
    sdk.ask("plugin/init", {**INIT, "config": {"colour": "blue"}})
    assert noted(sdk) == [["config", {"colour": "blue", "size": 7}]]


def test_3_050_a_namespace_that_it_does_not_have_ends_with_2(sdk: RawHost) -> None:
    assert sdk.ask("plugin/cli_dispatch", {"namespace": "x", "argv": []})["result"]["exit_code"] == 2


def test_3_035_a_body_that_is_no_object_is_ignored(sdk: RawHost) -> None:
    sdk.send(frame(b"[]") + frame(b"\xff"))
    assert "result" in sdk.ask("plugin/init", INIT)


def test_3_029_a_frame_is_a_content_length_a_blank_line_and_exactly_that_many_bytes(sdk: RawHost) -> None:
    two = frame(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "plugin/init", "params": INIT}).encode()) * 2
    for at in range(0, len(two), 7):  # in pieces that respect no border
        sdk.send(two[at : at + 7])
    assert [sdk.read() is not None for _ in range(2)] == [True, True]


def test_3_078_the_abi_version_is_2(sdk: RawHost) -> None:
    assert sdk.ask("plugin/init", INIT)["result"]["manifest"]["plugin"]["abi_version"] == 2


# The tools


def test_3_108_the_testkit_drives_a_plugin_in_this_process_over_the_real_frames() -> None:
    plugin = duplex.Plugin("sdk", version="1.0.0")
    plugin.cli("pid")(lambda argv: str(os.getpid()))
    with DuplexHarness(plugin) as harness:
        assert harness.cli("pid", []).stdout == f"{os.getpid()}".encode()


def test_3_054_a_plugin_that_is_deaf_to_everything_is_killed_after_its_grace(tmp_path: Path) -> None:
    deaf = "[limits]\nteardown_s = 0.05\nterminate_s = 0.05\n"
    home = stage(tmp_path, "lone", manifest("lone"), deaf)
    program = (home / "lone").read_text(encoding="utf-8")
    stubborn = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    ignoring = program.replace("HERE =", f"{stubborn}HERE =", 1).replace("sys.exit(0)", "time.sleep(600)")
    (home / "lone").write_text(ignoring, encoding="utf-8")
    with blocking.Host() as host:
        lone = host.fleet(tmp_path)["lone"]
        lone.start()
        pid = lone.status.pid
    assert not Path(f"/proc/{pid}").exists()


def test_3_022_plugins_are_found_in_dist_plugins(tmp_path: Path) -> None:
    stage(tmp_path / "dist" / "plugins", "lone", manifest("lone"))
    ran = plughost("cli", "lone", "array", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "hi")


def test_3_018_a_plugin_that_lists_no_screen_is_drawn_under_its_name(tmp_path: Path) -> None:
    text = manifest("lone")
    stage(tmp_path, "lone", text[: text.index("[provides]")])
    ran = plughost("screen", "--root", tmp_path, "lone", "--once", "--size", "8x2")
    assert (ran.returncode, ran.stdout.split("\n")[0].strip()) == (0, "Hi")


@pytest.mark.parametrize(
    "words",
    [("cli", "--timeout", "3", "lone", "sleep", "600"), ("screen", "lone", "--once")],
    ids=["cli", "screen"],
)
def test_3_042_a_command_over_its_time_does_not_wait_for_the_plugins_grace(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    grace = "[limits]\nteardown_s = 600\nterminate_s = 600\n"  # longer than this test may take
    home = stage(tmp_path, "lone", manifest("lone"), grace)
    program = (home / "lone").read_text(encoding="utf-8")
    stuck = program.replace("def render(params):\n", "def render(params):\n    time.sleep(600)\n")
    (home / "lone").write_text(stuck, encoding="utf-8")
    ran = plughost(words[0], "--root", tmp_path, *words[1:])
    assert ran.returncode == 12
    assert "timeout" in ran.stderr


def test_3_005_a_plugin_is_told_that_its_log_shows_no_colours(tmp_path: Path) -> None:
    home = stage(tmp_path, "lone", manifest("lone"))
    program = (home / "lone").read_text(encoding="utf-8")
    told = "os.write(2, repr([os.environ.get(each) for each in ('NO_COLOR', 'TERM')]).encode() + b'\\n')\n"
    (home / "lone").write_text(program.replace("HERE =", f"{told}HERE =", 1), encoding="utf-8")
    events: list[Any] = []
    with blocking.Host(on_event=events.append) as host:
        host.fleet(tmp_path).cli("lone", ["array"])
    assert "['1', 'dumb']" in [each.what.text for each in events if hasattr(each.what, "text")]


def examined(home: Path) -> dict[str, str]:
    """Return the status of each axis that `plughost check` looks at."""
    axes = json.loads(plughost("check", home, "--json").stdout)["axes"]
    return {each["id"].removeprefix("duplex:"): each["status"] for each in axes}


def test_3_001_3_070_3_105_and_3_107_a_raw_plugin_passes_the_axes_of_what_it_offers(tmp_path: Path) -> None:
    """Also the axis of its screen, which has a cell outside; axes of what it does not offer are skipped."""
    axes = examined(stage(tmp_path, "lone", manifest("lone")))
    assert len(axes) == 14
    assert [axis for axis, status in axes.items() if status == "failed"] == []
    assert (axes["render-determinism"], axes["cli-dispatch"]) == ("passed", "passed")
    assert (axes["log-filtering"], axes["fs-path-guard"]) == ("skipped", "skipped")


def test_3_001_and_3_106_each_axis_has_canaries_and_a_plugin_that_breaks_one_fails_it_alone(
    tmp_path: Path,
) -> None:
    home = stage(tmp_path, "lone", manifest("lone"))
    program = (home / "lone").read_text(encoding="utf-8")
    assert program.count('{"symbol": "i"}') == 1
    fickle = program.replace('{"symbol": "i"}', '{"symbol": os.urandom(8).hex()}')
    (home / "lone").write_text(fickle, encoding="utf-8")
    axes = examined(home)
    assert [axis for axis, status in axes.items() if status == "failed"] == ["render-determinism"]
    assert canaries.BY_AXIS.keys() == axes.keys()
    assert all(canaries.BY_AXIS.values())


def test_3_026_describe_doctor_and_check_name_a_subscription_that_is_never_delivered(tmp_path: Path) -> None:
    home = stage(tmp_path, "lone", manifest("lone", '[subscribes]\nsnapshots = ["decl.topic"]\n'))
    assert "decl.topic: event_bus does not cover it" in plughost("describe", home).stdout
    assert "never told of decl.topic" in plughost("doctor", home).stdout
    axes = {each["id"]: each for each in json.loads(plughost("check", home, "--json").stdout)["axes"]}
    assert "without event_bus" in axes["duplex:snapshot-pub-sub"]["detail"]
