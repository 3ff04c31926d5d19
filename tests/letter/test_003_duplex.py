"""The clauses of document 003 (duplex), one test each: the host's side, under raw plugins.

The plugin is `raw_duplex_plugin`, which follows the document alone. `test_003_duplex_plugin` has the plugin's side.
"""

from __future__ import annotations

import base64
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from plughost import KeyCode, KeyEvent, LocalProtocolError, PluginFailure, RemoteError, blocking
from plughost.testkit import screen_text
from tests.letter.raw_duplex_fleet import Raw, manifest, raw, stage

__all__ = ["raw"]
NOT_FOUND, INVALID, DENIED, TIMEOUT = -32601, -32602, -32001, -32002


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def code(answer: dict[str, Any]) -> int:
    found: int = answer["error"]["code"]
    return found


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def header_of(size: int) -> bytes:
    """Return a whole frame whose header block has *size* bytes."""
    return b"Content-Length:" + b" " * (size - 20) + b"2\r\n\r\n{}"


def failing(raw: Raw, tmp_path: Path, data: bytes) -> str:
    """Return how a plugin fails that writes *data* and ends with 0, in a fleet of its own."""
    stage(tmp_path, "lone", manifest("lone"))
    with blocking.Host() as host:
        with pytest.raises(PluginFailure) as failed:
            host.fleet(tmp_path).cli("lone", ["die", json.dumps(b64(data)), "0"])
    return failed.value.code.value


def refused(tmp_path: Path, text: str, directory: str = "lone") -> str:
    """Return why a manifest is refused, or nothing."""
    stage(tmp_path, directory, text)
    with blocking.Host() as host:
        fleet = host.fleet(tmp_path)
        return "; ".join(each.reason for each in fleet.rejected)


# 0 to 1: architecture and manifest


def test_3_002_a_plugin_is_an_executable_that_runs_as_a_child(raw: Raw) -> None:
    raw.run("granted", "sleep", 0)
    assert (
        Path(f"/proc/{raw.fleet['granted'].status.pid}/status").read_text().count(f"PPid:\t{os.getpid()}\n")
    )


def test_3_003_they_speak_json_rpc_2_over_frames(raw: Raw) -> None:
    assert json.loads(raw.run("granted", "first"))["jsonrpc"] == "2.0"


def test_3_004_stdin_has_requests_and_stdout_answers_and_reverse_calls(raw: Raw) -> None:
    assert "result" in raw.ask("granted", "host/snapshot/get", {"topic": "raw.none"})


def test_3_005_stderr_is_the_hosts_log(raw: Raw) -> None:
    raw.run("granted", "stderr", "a line for the log")
    raw.events.until(
        lambda: "a line for the log" in [each.text for each in raw.events.of("StderrLine", "granted")]
    )


def test_3_006_a_caller_who_waits_is_answered_when_the_process_dies(raw: Raw, tmp_path: Path) -> None:
    assert failing(raw, tmp_path, b"") == "crashed"


def test_3_007_a_publish_is_fanned_out_to_every_subscriber(raw: Raw) -> None:
    raw.ask("granted", "host/snapshot/subscribe", {"topic": "fan.out"})
    raw.ask("listener", "host/snapshot/subscribe", {"topic": "fan.out"})
    raw.fleet.publish("fan.out", b"x")
    for name in ("granted", "listener"):
        assert [each["params"]["topic"] for each in raw.heard(name, "plugin/handle_event")].count(
            "fan.out"
        ) == 1


def test_3_008_and_the_defaults_of_the_manifest_are_the_documents(raw: Raw) -> None:
    known = raw.fleet["denied"].manifest
    assert (known.description, known.capabilities.granted(), known.subscribes.snapshots) == ("", (), ())


@pytest.mark.parametrize("key", ["name", "version", "abi_version"])
def test_3_009_name_version_and_abi_version_are_required(tmp_path: Path, key: str) -> None:
    lines = [line for line in manifest("lone").splitlines() if not line.startswith(f"{key} =")]
    assert f"plugin.{key}" in refused(tmp_path, "\n".join(lines))


def test_3_010_the_name_is_that_of_the_directory(tmp_path: Path) -> None:
    assert "lone" in refused(tmp_path, manifest("lone"), "other")


def test_3_011_and_of_the_program_in_it(tmp_path: Path) -> None:
    stage(tmp_path, "lone", manifest("lone"))
    (tmp_path / "lone" / "lone").unlink()
    with blocking.Host() as host:
        assert "program" in host.fleet(tmp_path).rejected[0].reason


def test_3_012_the_version_is_semver(tmp_path: Path) -> None:
    assert "plugin.version" in refused(tmp_path, manifest("lone").replace("1.0.0", "1.0"))


@pytest.mark.parametrize("value", ["3", '"2"', "2.0"])
def test_3_013_the_abi_version_is_the_integer_2(tmp_path: Path, value: str) -> None:
    assert "plugin.abi_version" in refused(tmp_path, manifest("lone").replace("= 2", f"= {value}"))


def test_3_014_a_description_may_be_given(tmp_path: Path) -> None:
    text = manifest("lone").replace("abi_version", 'description = "one line"\nabi_version')
    assert refused(tmp_path, text) == ""
    with blocking.Host() as host:
        assert host.fleet(tmp_path)["lone"].manifest.description == "one line"


def test_3_016_the_seven_capabilities_are_told_at_init(raw: Raw) -> None:
    assert sorted(json.loads(raw.run("granted", "first"))["params"]["granted_capabilities"]) == sorted(
        [
            "read_sessions",
            "write_plugin_data",
            "event_bus",
            "network",
            "spawn_subprocess",
            "read_claude_logs",
            "read_codex_logs",
        ]
    )


def test_3_015_and_what_the_manifest_leaves_out_is_not_granted(raw: Raw) -> None:
    assert json.loads(raw.run("denied", "first"))["params"]["granted_capabilities"] == []


@pytest.mark.parametrize(
    ("grant", "is_wrong"), [("true", False), ('["a.b"]', False), ("1", True), ('"a"', True)]
)
def test_3_017_and_3_023_a_grant_is_a_boolean_or_a_list(tmp_path: Path, grant: str, is_wrong: bool) -> None:
    assert bool(refused(tmp_path, manifest("lone", f"[capabilities]\nnetwork = {grant}\n"))) == is_wrong


def test_3_018_a_plugin_that_provides_no_screen_can_be_drawn_all_the_same(tmp_path: Path) -> None:
    text = manifest("lone")
    stage(tmp_path, "lone", text[: text.index("[provides]")])
    with blocking.Host() as host:
        assert host.fleet(tmp_path)["lone"].render(4, 1).buffer.width == 4


def test_3_019_and_3_025_a_declared_topic_is_pushed_without_a_call(raw: Raw) -> None:
    raw.fleet.publish("decl.topic", b"pushed")
    heard = raw.heard("listener", "plugin/handle_event")
    assert {"topic": "decl.topic", "payload": b64(b"pushed")} in [each["params"] for each in heard]


@pytest.mark.requirement("duplex:manifest:unheard")
def test_3_026_a_declared_topic_without_event_bus_is_reported(raw: Raw) -> None:
    assert [each.method for each in raw.events.of("Denied", "deaf")] == ["subscribes.snapshots"]
    assert "decl.topic" in raw.events.of("Denied", "deaf")[0].message


def test_3_027_and_3_060_subscribing_by_call_has_the_same_effect_and_delivers_once(raw: Raw) -> None:
    assert raw.ask("listener", "host/snapshot/subscribe", {"topic": "decl.topic"})["result"] == {}
    raw.fleet.publish("decl.topic", b"twice?")
    heard = [each["params"]["payload"] for each in raw.heard("listener", "plugin/handle_event")]
    assert heard.count(b64(b"twice?")) == 1


# 2: framing


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (header_of(8_193), "malformed_response"),
        (header_of(8_192), "crashed"),
        (b"Content-Length: 16777217\r\n\r\n", "malformed_response"),
        (b"Content-Length: 2\r\nContent-Type: x\r\n\r\n{}", "malformed_response"),
        (b"Content-Length: 2\n\n{}", "malformed_response"),
        (b"Content-Le", "crashed"),
        (b"Content-Length: 9\r\n\r\n{}", "crashed"),
        (b"", "crashed"),
    ],
    ids=[
        "3.30 header",
        "3.30 longest header",
        "3.31 body",
        "3.32 other header",
        "3.33 LF",
        "3.34 head",
        "3.34 body",
        "3.34 clean",
    ],
)
def test_3_030_to_3_034_what_is_no_frame_ends_the_process(
    raw: Raw, tmp_path: Path, data: bytes, told: str
) -> None:
    assert failing(raw, tmp_path, data) == told


def test_3_031_a_body_of_16_mib_is_taken_and_one_byte_more_is_not_sent(raw: Raw) -> None:
    raw.run("granted", "pad", 16_777_216)
    assert "padded" in [each.message for each in raw.events.of("Logged", "granted")]
    with pytest.raises(LocalProtocolError, match="16777216"):
        raw.fleet.cli("granted", ["x" * 16_777_216])


def test_3_035_a_body_that_is_no_envelope_is_dropped_and_counted(raw: Raw) -> None:
    before = raw.fleet["granted"].status.ignored
    raw.run("granted", "raw", b64(frame(b"[]") + frame(b"{")))
    assert raw.fleet["granted"].status.ignored == before + 2


# 3: JSON-RPC


@pytest.mark.parametrize("id", [0, 7, 2**53, "abc", "", "é"])
def test_3_036_a_reverse_call_is_answered_under_its_id_be_it_a_text(raw: Raw, id: Any) -> None:
    assert raw.ask("granted", "host/snapshot/get", {"topic": "raw.none"}, id)["id"] == id


@pytest.mark.parametrize("method", ["host/snapshot/publish", "host/log"])
def test_3_037_a_notification_that_is_asked_as_a_request_is_not_found(raw: Raw, method: str) -> None:
    assert code(raw.ask("granted", method, {})) == NOT_FOUND


def test_3_038_both_directions_are_multiplexed_even_during_init(raw: Raw) -> None:
    assert raw.ask("granted", "host/snapshot/get", {"topic": "raw.during"})["result"]["payload"] == b64(
        b"init"
    )


def test_3_039_an_unknown_method_is_minus_32601(raw: Raw) -> None:
    assert code(raw.ask("granted", "host/nothing", {})) == NOT_FOUND


def test_3_040_wrong_params_are_minus_32602(raw: Raw) -> None:
    assert code(raw.ask("granted", "host/snapshot/get", {"topic": 5})) == INVALID


GATED = [
    ("host/snapshot/get", {"topic": "t"}, "event_bus"),
    ("host/snapshot/subscribe", {"topic": "t"}, "event_bus"),
    ("host/network/fetch", {"url": "http://listed.example/"}, "network"),
    ("host/action/invoke", {"action": "own.write", "payload": ""}, "write_plugin_data"),
    ("host/action/invoke", {"action": "own.spawn", "payload": ""}, "spawn_subprocess"),
]


@pytest.mark.parametrize(("method", "params", "capability"), GATED, ids=[each[2] for each in GATED])
def test_3_024_3_041_and_3_100_to_3_104_a_call_without_its_capability_is_denied(
    raw: Raw, method: str, params: Any, capability: str
) -> None:
    error = raw.ask("denied", method, params)["error"]
    assert (error["code"], error["message"]) == (DENIED, f"capability denied: {capability}")


@pytest.mark.parametrize(("action", "answer"), [("own.write", b"written"), ("own.spawn", b"spawned")])
def test_3_100_and_3_103_an_action_of_the_host_is_run_for_who_has_its_capability(
    raw: Raw, action: str, answer: bytes
) -> None:
    assert raw.ask("granted", "host/action/invoke", {"action": action, "payload": ""})["result"] == {
        "payload": b64(answer)
    }


@pytest.mark.parametrize("capability", ["read_sessions", "read_claude_logs", "read_codex_logs"])
def test_3_067_and_3_097_to_3_099_files_are_gated_by_the_root_of_the_path(raw: Raw, capability: str) -> None:
    params = {"path": str(raw.home / capability / "below" / "a.txt")}
    error = raw.ask("denied", "host/fs/read_file", params)["error"]
    assert (error["code"], error["message"]) == (DENIED, f"capability denied: {capability}")
    assert (
        base64.b64decode(raw.ask("granted", "host/fs/read_file", params)["result"]["bytes"])
        == capability.encode()
    )


def test_3_042_and_3_061_an_action_over_its_time_is_minus_32002(raw: Raw) -> None:
    params = {"action": "eager.slow", "payload": "", "timeout_ms": 100}
    assert code(raw.ask("granted", "host/action/invoke", params)) == TIMEOUT


def test_3_061_an_action_with_no_time_limit_is_waited_for(raw: Raw) -> None:
    params = {"action": "eager.slow", "payload": b64(b"x"), "timeout_ms": 0}
    assert raw.ask("granted", "host/action/invoke", params)["result"] == {"payload": b64(b"x")}


def test_3_061_an_action_is_also_routed_by_a_namespace(raw: Raw) -> None:
    params = {"action": "eager", "payload": b64(b"x")}
    assert raw.ask("granted", "host/action/invoke", params)["result"] == {"payload": b64(b"x")}


def test_3_043_another_abi_at_init_is_minus_32003(tmp_path: Path) -> None:
    home = stage(tmp_path, "lone", manifest("lone"))
    program = home / "lone"
    program.write_text(
        program.read_text().replace('"abi_version": 2,', '"abi_version": 3,'), encoding="utf-8"
    )
    with blocking.Host() as host, pytest.raises(PluginFailure) as failed:
        host.fleet(tmp_path)["lone"].start()
    assert failed.value.code.value == "handshake_failed"


def test_3_044_an_error_of_the_plugin_reaches_its_caller_with_code_and_message(raw: Raw) -> None:
    with pytest.raises(RemoteError) as failed:
        raw.run("granted", "refuse")
    assert (failed.value.code, failed.value.message) == ("-32601", "method not found")


# 4: methods


def test_3_045_and_3_051_init_is_the_first_method_with_its_params(raw: Raw) -> None:
    first = json.loads(raw.run("granted", "first"))
    assert first["method"] == "plugin/init"
    assert first["params"]["abi_version"] == 2
    assert first["params"]["manifest_path"].endswith("dist/plugins/granted/manifest.toml")


def test_3_052_a_manifest_and_an_abi_version_are_answer_enough(raw: Raw) -> None:
    assert raw.fleet["granted"].start().abi_version == 2


def test_3_047_3_068_and_3_069_a_render_is_a_sparse_buffer_whose_cells_outside_are_clipped(raw: Raw) -> None:
    buffer = raw.fleet["granted"].render(10, 2).buffer
    assert (buffer.width, buffer.height) == (10, 2)
    painted = [(place.x, place.y, cell.symbol, cell.modifier) for place, cell in buffer.cells]
    assert painted[:2] == [(0, 0, "H", 1), (1, 0, "i", 0)]
    assert screen_text(buffer).split() == ["Hi"]  # the plugin painted a `!` at column 15 too
    assert raw.heard("granted", "plugin/render")[-1]["params"]["viewport"] == {"width": 10, "height": 2}


def test_3_048_and_3_055_events_are_notifications_in_their_order(raw: Raw) -> None:
    for number in range(20):
        raw.fleet.publish("decl.topic", b"%d" % number)
    heard = raw.heard("listener", "plugin/handle_event")[-20:]
    assert [base64.b64decode(each["params"]["payload"]) for each in heard] == [b"%d" % n for n in range(20)]
    assert all("id" not in each for each in heard)


def test_3_049_3_071_and_3_072_keys_are_tagged_by_type_in_snake_case(raw: Raw) -> None:
    raw.fleet["granted"].render(1, 1)
    for each in (
        KeyEvent(KeyCode("esc")),
        KeyEvent(KeyCode("page_up"), mods=2),
        KeyEvent(KeyCode("char", ch="é")),
    ):
        assert raw.fleet["granted"].key("granted", each)
    heard = [each["params"]["key"] for each in raw.heard("granted", "plugin/handle_key")]
    assert heard == [
        {"code": {"type": "esc"}, "mods": 0, "kind": "press"},
        {"code": {"type": "page_up"}, "mods": 2, "kind": "press"},
        {"code": {"type": "char", "ch": "é"}, "mods": 0, "kind": "press"},
    ]


def test_3_050_a_commands_bytes_and_exit_code_pass_unchanged(raw: Raw) -> None:
    result = raw.fleet.cli("granted", ["bytes"])
    assert (result.stdout, result.stderr, result.exit_code) == (bytes(range(256)), b"\xff", 7)


def test_3_058_and_3_079_the_latest_publish_of_a_topic_is_kept(raw: Raw) -> None:
    assert raw.ask("granted", "host/snapshot/get", {"topic": "raw.none"})["result"] == {
        "payload": None,
        "version": 0,
    }
    raw.fleet.publish("latest", b"1")
    raw.fleet.publish("latest", b"2")
    assert raw.ask("granted", "host/snapshot/get", {"topic": "latest"})["result"]["payload"] == b64(b"2")


def test_3_059_a_publish_is_served_even_before_init(raw: Raw) -> None:
    assert raw.ask("granted", "host/snapshot/get", {"topic": "raw.early"})["result"]["payload"] == b64(
        b"before init"
    )


def test_3_062_logs_below_the_threshold_are_dropped(raw: Raw) -> None:
    for level in ("trace", "debug", "info", "warn", "error"):
        raw.run(
            "granted", "tell", "host/log", {"level": level, "message": f"level {level}", "fields": {"n": 1}}
        )
    kept = [each.message for each in raw.events.of("Logged", "granted") if each.message.startswith("level ")]
    assert kept == ["level warn", "level error"]


def test_3_063_a_directory_is_listed(raw: Raw) -> None:
    entries = raw.ask("granted", "host/fs/read_dir", {"path": str(raw.home / "read_sessions")})["result"][
        "entries"
    ]
    assert [(each["name"], each["is_dir"]) for each in entries] == [("below", True)]


def test_3_064_a_path_that_climbs_is_denied_and_one_that_is_missing_invalid(raw: Raw) -> None:
    inside = raw.home / "read_sessions"
    assert code(raw.ask("granted", "host/fs/read_file", {"path": f"{inside}/../../x"})) == DENIED
    assert code(raw.ask("granted", "host/fs/read_file", {"path": f"{inside}/x"})) == INVALID


class Page(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("X-Asked", self.headers["X-Asked"])
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_3_065_and_3_102_a_host_that_is_listed_is_fetched_from(raw: Raw) -> None:
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        serving = threading.Thread(target=server.handle_request)
        serving.start()
        url = f"http://127.0.0.1:{server.server_port}/"
        params = {"url": url, "method": "POST", "headers": [["X-Asked", "yes"]], "body": b64(b"sent")}
        result = raw.ask("granted", "host/network/fetch", params)["result"]
        serving.join()
    assert (result["status"], base64.b64decode(result["body"])) == (201, b"sent")
    assert "yes" in [value for name, value in result["headers"] if name.lower() == "x-asked"]


def test_3_066_a_host_that_is_not_listed_is_denied(raw: Raw) -> None:
    assert code(raw.ask("granted", "host/network/fetch", {"url": "http://other.example/"})) == DENIED


def test_3_066_a_refused_fetch_says_which_rule_it_is(tmp_path: Path) -> None:
    stage(tmp_path, "lone", manifest("lone", "[capabilities]\nnetwork = true\n"))
    with blocking.Host() as host:
        fleet = Raw(host.fleet(tmp_path), tmp_path)
        private = fleet.ask("lone", "host/network/fetch", {"url": "http://127.0.0.1:18765/"})["error"]
        port = fleet.ask("lone", "host/network/fetch", {"url": "http://example.com:22/"})["error"]
    assert private["code"] == DENIED
    assert private["message"].startswith("capability denied: network")
    assert "127.0.0.1 is a private address" in private["message"]
    assert (port["code"], "port 22" in port["message"]) == (INVALID, True)


def test_3_057_keys_overtake_the_events_that_wait(raw: Raw, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    busy = threading.Thread(target=raw.run, args=("listener", "wait", str(tmp_path / "pipe")))
    busy.start()
    with (tmp_path / "pipe").open("wb"):  # it reads this now, and not its input
        for _ in range(300):
            raw.fleet.publish("decl.topic", b"x" * 4_000)
        assert raw.fleet["listener"].key("listener", KeyEvent(KeyCode("esc")))
    busy.join()
    messages = json.loads(raw.run("listener", "order"))[-301:]
    assert messages.index("plugin/handle_key") < 100


# 5: wire types


def test_3_073_and_3_075_bytes_are_written_as_base64(raw: Raw) -> None:
    raw.run("granted", "tell", "host/snapshot/publish", {"topic": "array", "payload": [104, 105]})
    assert raw.ask("granted", "host/snapshot/get", {"topic": "array"})["result"]["payload"] == b64(b"hi")


def test_3_074_the_older_arrays_are_read(raw: Raw) -> None:
    assert raw.fleet.cli("granted", ["array"]).stdout == b"hi"
