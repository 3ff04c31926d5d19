"""What a running plugin asks of its host: served, refused or denied, and never more than it was granted."""

from __future__ import annotations

import base64
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.host.duplex.fleet_lab import EVERY, Lab, b64, frame, written
from tests.host.duplex.web import OK, serving

pytestmark = pytest.mark.thin(EVERY, "duplex fleets")

READERS = ("read_sessions", "read_claude_logs", "read_codex_logs")


# Methods and parameters


@pytest.mark.requirement("duplex:rpc:served")
@pytest.mark.parametrize("method", ["", "host/nonsense", "host/log", "host/snapshot/publish", "plugin/init"])
def test_a_call_of_what_is_no_call_is_answered_with_method_not_found(both: Lab, method: str) -> None:
    both.plugin(caps={"event_bus": True})
    both.fleet()
    params = {"level": "info", "message": "m", "topic": "t", "payload": ""}
    assert both.refused(method, params)[0] == -32601
    assert both.run(both._fleet.snapshot, "t") is None


@pytest.mark.parametrize(
    "method",
    [
        "host/snapshot/get",
        "host/snapshot/subscribe",
        "host/action/invoke",
        "host/fs/read_dir",
        "host/fs/read_file",
        "host/network/fetch",
        "host/nonsense",
        "",
    ],
    ids=["get", "subscribe", "invoke", "read_dir", "read_file", "fetch", "nonsense", "empty"],
)
def test_a_notification_of_a_calls_method_is_counted_and_does_nothing(both: Lab, method: str) -> None:
    both.plugin("puppet", caps={"event_bus": True}, commands=("act",))
    fleet = both.fleet()
    both.tells(method, {"topic": "t", "action": "act", "payload": "", "path": "/", "url": "http://x"})
    both.publishes("t", b"x")
    assert both.status().ignored == 1
    assert both.told() == []
    assert both.run(fleet.snapshot, "t").version == 1


WRONG_PARAMS: dict[str, tuple[str, Any]] = {
    "none": ("host/snapshot/get", None),
    "a list": ("host/snapshot/get", []),
    "a text": ("host/snapshot/get", "t"),
    "a topic that is a number": ("host/snapshot/get", {"topic": 5}),
    "no topic": ("host/snapshot/subscribe", {}),
    "no path": ("host/fs/read_file", {"paths": "x"}),
    "a url that is null": ("host/network/fetch", {"url": None}),
    "headers that are no pairs": ("host/network/fetch", {"url": "http://x", "headers": [["a"]]}),
    "a time below 0": ("host/action/invoke", {"action": "a", "payload": "", "timeout_ms": -1}),
    "a time that is a fraction": ("host/action/invoke", {"action": "a", "payload": "", "timeout_ms": 1.5}),
    "a payload that is no base64": ("host/action/invoke", {"action": "a", "payload": "%"}),
}


@pytest.mark.requirement("duplex:rpc:served")
@pytest.mark.parametrize(("method", "params"), WRONG_PARAMS.values(), ids=WRONG_PARAMS.keys())
def test_wrong_parameters_are_answered_as_such(both: Lab, method: str, params: Any) -> None:
    both.plugin(caps={"event_bus": True, "network": True})
    both.fleet()
    body = frame(id=77, method=method, params=params)
    both.call("write", written(body))
    answers = [each for each in both.named("frame") if each.what.direction == "out"]
    assert any(b'"id":77,"error":{"code":-32602,' in each.what.frame for each in answers)


def test_a_call_under_the_id_of_one_that_is_not_answered_is_dropped(both: Lab) -> None:
    both.plugin(caps={"event_bus": True}, commands=("act",))
    both.fleet()
    invoke = {"action": "act", "payload": b64(b"hold"), "timeout_ms": 0}
    both.call("write", written(frame(id=5, method="host/action/invoke", params=invoke)))
    both.call("write", written(frame(id=5, method="host/snapshot/get", params={"topic": "t"})))
    assert (both.status().ignored, both.status().unanswered) == (1, 1)
    both.call("release")
    both.until(lambda: both.status().unanswered == 0)


@pytest.mark.parametrize("id", [0, 2**53 + 1, 2**64 - 1])
def test_ids_are_taken_up_to_64_bits(both: Lab, id: int) -> None:
    both.plugin(caps={"event_bus": True})
    both.fleet()
    answer = both.call("ask", {"method": "host/snapshot/get", "params": {"topic": "t"}, "id": id})
    assert answer == {"result": {"payload": None, "version": 0}}


@pytest.mark.requirement("duplex:rpc:flood")
def test_five_thousand_calls_at_once_are_each_answered_or_refused(both: Lab) -> None:
    both.plugin(caps={"event_bus": True}, commands=("act",))
    both.fleet()
    got = both.call("ask-many", {"count": 5000, "method": "host/snapshot/get", "params": {"topic": "t"}})
    assert sum(got["answers"].values()) == 5000
    assert set(got["answers"]) <= {"result", "-32603"}


# Capabilities

GATED = {
    "get": ("host/snapshot/get", {"topic": "t"}, "event_bus"),
    "subscribe": ("host/snapshot/subscribe", {"topic": "t"}, "event_bus"),
    "fetch": ("host/network/fetch", {"url": "http://example.org/"}, "network"),
}


@pytest.mark.requirement("duplex:capability:denied")
@pytest.mark.parametrize(("method", "params", "capability"), GATED.values(), ids=GATED.keys())
@pytest.mark.parametrize("how", ["absent", "false", "empty", "narrowed"])
def test_a_call_without_its_capability_is_denied_by_name(
    both: Lab, method: str, params: Any, capability: str, how: str
) -> None:
    caps: dict[str, Any] = {"absent": {}, "false": {capability: False}, "empty": {capability: []}}.get(
        how, {capability: True}
    )
    both.plugin(caps=caps, narrowed={capability: False} if how == "narrowed" else {})
    both.fleet()
    assert both.refused(method, params) == (-32001, f"capability denied: {capability}")
    assert both.status().denied == 1
    assert [each.what.method for each in both.named("denied")] == [method]


@pytest.mark.requirement("duplex:capability:denied")
@pytest.mark.parametrize("capability", READERS)
@pytest.mark.parametrize("method", ["host/fs/read_dir", "host/fs/read_file"], ids=["dir", "file"])
def test_a_file_is_denied_by_the_name_of_the_capability_that_would_give_it(
    both: Lab, tmp_path: Path, capability: str, method: str
) -> None:
    (tmp_path / "logs").mkdir()
    both.plugin(caps={each: True for each in READERS if each != capability})
    both.fleet(roots={capability: [str(tmp_path / "logs")]})
    path = {"path": f"{tmp_path}/logs/file"}
    assert both.refused(method, path) == (-32001, f"capability denied: {capability}")


@pytest.mark.requirement("duplex:capability:denied")
def test_a_publish_without_the_event_bus_is_dropped_and_counted(both: Lab) -> None:
    both.plugin("other", caps={"event_bus": True}, hears=("t",), life={"spawn": "eager"})
    both.plugin()
    fleet = both.fleet()
    both.publishes("t", b"x")
    both.publishes("t", b"y")
    assert both.run(fleet.snapshot, "t") is None
    assert both.status().denied == 2
    assert both.heard(of="other") == []


def test_what_is_listed_is_granted_and_the_rest_denied(both: Lab) -> None:
    both.plugin(caps={"event_bus": ["sessions.*", "exact"]})
    fleet = both.fleet()
    for topic in ("sessions.", "sessions.x", "exact", "exactly", "session", "Exact"):
        both.publishes(topic, b"x")
    kept = {topic for topic in ("sessions.", "sessions.x", "exact", "exactly", "session", "Exact")
            if both.run(fleet.snapshot, topic)}  # fmt: skip
    assert kept == {"sessions.", "sessions.x", "exact"}
    assert both.status().denied == 3


def test_what_init_lists_is_what_is_left_after_narrowing(both: Lab) -> None:
    both.plugin(caps={"event_bus": True, "network": ["a.example", "b.example"], "read_sessions": True},
                narrowed={"event_bus": False, "network": ["a.example"]})  # fmt: skip
    both.fleet()
    both.call("echo")
    init = next(each.what.frame for each in both.named("frame") if b"plugin/init" in each.what.frame)
    assert b'"granted_capabilities":["read_sessions","network"]' in init
    assert both.refused("host/network/fetch", {"url": "http://b.example/"})[0] == -32001


# Logs


@pytest.mark.requirement("duplex:log:threshold")
@pytest.mark.parametrize(
    ("threshold", "kept"),
    [("trace", 5), ("debug", 4), ("info", 3), ("warn", 2), ("error", 1)],
)
def test_logs_below_the_threshold_are_dropped(both: Lab, threshold: str, kept: int) -> None:
    both.plugin()
    both.fleet(log_level=threshold)
    for level in ("trace", "debug", "info", "warn", "error"):
        both.tells("host/log", {"level": level, "message": level, "fields": {"n": 1}})
    logged = [each.what for each in both.named("logged")]
    assert [each.message for each in logged] == ["trace", "debug", "info", "warn", "error"][5 - kept :]
    assert all(each.context == {"n": 1} for each in logged)


@pytest.mark.parametrize(
    "params",
    [{}, None, [], {"level": "loud", "message": "m"}, {"level": "info"}, {"level": "info", "message": 5}],
    ids=["empty", "null", "a list", "an unknown level", "no message", "a message that is a number"],
)
def test_a_log_that_is_none_is_counted_and_costs_nothing(both: Lab, params: Any) -> None:
    both.plugin()
    both.fleet()
    both.call("write", written(frame(method="host/log", params=params)))
    assert both.status().ignored == 1
    assert both.named("logged") == []


@pytest.mark.parametrize(
    ("more", "kept"), [(0, 1), (1, 0), (15_000_000, 0)], ids=["a MiB", "a byte more", "much more"]
)
def test_a_log_of_over_a_mib_is_counted_and_not_read(both: Lab, more: int, kept: int) -> None:
    both.plugin()
    both.fleet()
    both.call("log-large", {"size": 1_048_576 + more})
    assert (len(both.named("logged")), both.status().ignored) == (kept, 1 - kept)


def test_the_fields_of_a_log_may_be_anything(both: Lab) -> None:
    both.plugin()
    both.fleet()
    for fields in (None, 5, [1], {"a": {"b": 1}}, "text"):
        both.tells("host/log", {"level": "error", "message": "m", "fields": fields})
    assert len(both.named("logged")) == 5


# Files


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A directory that is granted, with what may be in it, beside one that is not."""
    root = tmp_path / "granted"
    (root / "sub").mkdir(parents=True)
    (root / "b.txt").write_bytes(b"\x00\xff content")
    (root / "a.txt").write_bytes(b"a")
    (root / "sub" / "deep").write_bytes(b"deep")
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "granted-not").mkdir()
    (tmp_path / "granted-not" / "file").write_bytes(b"secret")
    os.symlink(tmp_path / "secret", root / "absolute")
    os.symlink("../secret", root / "relative")
    os.symlink("..", root / "up")
    os.symlink("/proc/self/root", root / "top")
    os.symlink(root / "a.txt", root / "inside")
    os.mkfifo(root / "fifo")
    with open(root / "sparse", "wb") as file:
        file.truncate(2**40)
    return root


@pytest.mark.requirement("duplex:fs:guard", "duplex:fs:bounded")
def test_files_and_listings_of_a_granted_directory_are_read(both: Lab, files: Path) -> None:
    both.plugin(caps={"read_sessions": True})
    both.fleet(roots={"read_sessions": [files]})
    got = both.asks("host/fs/read_file", {"path": f"{files}/b.txt"})
    assert base64.b64decode(got["result"]["bytes"]) == b"\x00\xff content"
    listing = both.asks("host/fs/read_dir", {"path": str(files)})["result"]["entries"]
    names = [each["name"] for each in listing]
    assert names == sorted(names)
    assert {"a.txt", "b.txt", "sub"} <= set(names)
    assert [each["is_dir"] for each in listing if each["name"] == "sub"] == [True]


OUTSIDE = {
    "dots": "{root}/../secret",
    "dots behind a name": "{root}/sub/../../secret",
    "absolute": "/etc/passwd",
    "a look-alike": "{root}-not/file",
    "a link to a file": "{root}/absolute",
    "a relative link": "{root}/relative",
    "a linked directory": "{root}/up/secret",
    "the top through a link": "{root}/top/etc/passwd",
    "nothing": "",
    "relative": "a.txt",
    "a NUL": "{root}/a.txt\x00",
    "a name of 300 letters": "{root}/" + "x" * 300,
    "a pipe": "{root}/fifo",
    "a terabyte of nothing": "{root}/sparse",
    "a directory": "{root}/sub",
    "what is not there": "{root}/nowhere",
    "a path of a million": "{root}/" + "x/" * 500_000,
}


@pytest.mark.requirement("duplex:fs:guard", "duplex:fs:bounded")
@pytest.mark.parametrize("path", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_what_is_not_a_small_file_of_a_granted_directory_is_refused_and_never_blocks(
    both: Lab, files: Path, path: str
) -> None:
    both.plugin(caps={"read_sessions": True})
    both.fleet(roots={"read_sessions": [files]})
    code, _ = both.refused("host/fs/read_file", {"path": path.replace("{root}", str(files))})
    assert code in (-32001, -32602, -32603)
    assert both.call("echo")


def test_a_hundred_reads_of_a_pipe_that_nobody_fills_hold_nothing_up(both: Lab, files: Path) -> None:
    both.plugin(caps={"read_sessions": True})
    both.fleet(roots={"read_sessions": [files]})
    params = {"path": f"{files}/fifo"}
    got = both.call("ask-many", {"count": 100, "method": "host/fs/read_file", "params": params})
    assert sum(got["answers"].values()) == 100
    assert "result" not in got["answers"]


# The network


@pytest.mark.requirement("duplex:network:guard")
def test_a_granted_address_is_fetched(both: Lab) -> None:
    with serving() as web:
        both.plugin(caps={"network": ["127.0.0.1"]})
        both.fleet()
        got = both.asks("host/network/fetch", {"url": web.url(host="127.0.0.1")})["result"]
        assert (got["status"], base64.b64decode(got["body"])) == (200, b"ok")
        assert len(web.requests) == 1


ELSEWHERE = {
    "another host": (["a.example"], "http://127.0.0.1:{port}/", -32001),
    "the same by its name": (["127.0.0.1"], "http://localhost:{port}/", -32001),
    "a number for an address": (["a.example"], "http://2130706433:{port}/", None),
    "an address in hexadecimal": (["a.example"], "http://0x7f000001:{port}/", None),
    "mapped into the other kind": (["a.example"], "http://[::ffff:127.0.0.1]:{port}/", None),
    "somebody before an at": (["a.example"], "http://a.example@127.0.0.1:{port}/", None),
    "a private address under any": (True, "http://127.0.0.1:{port}/", -32001),
    "its name under any": (True, "http://localhost:{port}/", -32001),
    "a file": (True, "file:///etc/passwd", -32602),
    "another kind": (["127.0.0.1"], "ftp://127.0.0.1:{port}/", -32602),
    "no address": (["127.0.0.1"], "nonsense", -32602),
    "line ends in it": (["127.0.0.1"], "http://127.0.0.1:{port}/\r\nX: y", -32602),
}


@pytest.mark.requirement("duplex:network:guard")
@pytest.mark.parametrize(("grant", "url", "code"), ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_what_is_not_granted_is_not_asked(both: Lab, grant: Any, url: str, code: int | None) -> None:
    with serving() as web:
        both.plugin(caps={"network": grant})
        both.fleet()
        got, _ = both.refused("host/network/fetch", {"url": url.replace("{port}", str(web.port))})
        assert got in ((code,) if code else (-32001, -32602))
        assert web.requests == []


def test_a_redirect_to_what_is_not_granted_is_not_followed(both: Lab) -> None:
    with serving() as other:
        target = other.url(host="localhost").encode()
        moved = b"HTTP/1.1 302 Found\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % target
        with serving(moved) as web:
            both.plugin(caps={"network": ["127.0.0.1"]})
            both.fleet()
            url = web.url(host="127.0.0.1")
            assert both.refused("host/network/fetch", {"url": url})[0] == -32001
            assert len(web.requests) == 1
            assert other.requests == []


def test_slow_servers_of_one_plugin_hold_up_no_other(both: Lab, files: Path) -> None:
    release = threading.Event()

    def late(request: bytes) -> bytes:
        release.wait(200)
        return OK

    with serving(late) as web:
        both.plugin("slow", caps={"network": ["127.0.0.1"]})
        both.plugin("quick", caps={"read_sessions": True})
        both.fleet(roots={"read_sessions": [files]})
        url = web.url(host="127.0.0.1")
        asks = b"".join(frame(id=n, method="host/network/fetch", params={"url": url}) for n in range(1, 41))
        both.call("write", written(asks), of="slow")
        got = both.asks("host/fs/read_file", {"path": f"{files}/a.txt"}, of="quick")
        assert base64.b64decode(got["result"]["bytes"]) == b"a"
        assert both.status("slow").unanswered == 40
        both.close()
        release.set()


@pytest.mark.requirement("duplex:frame:sending")
def test_a_result_that_does_not_fit_a_frame_is_an_error(both: Lab, files: Path) -> None:
    (files / "large").write_bytes(b"x" * 4000)
    both.plugin(caps={"read_sessions": True}, frame_bytes=4096)
    both.fleet(roots={"read_sessions": [files]})
    assert both.refused("host/fs/read_file", {"path": f"{files}/large"})[0] == -32603
    assert both.call("echo")


@pytest.mark.parametrize("size", [500, 700, 1000])
def test_a_refusal_fits_however_small_a_frame_is(both: Lab, size: int) -> None:
    both.plugin(frame_bytes=size)
    both.fleet()
    long = size // 6 - 30
    for method, stretch in (("host/fs/read_file", long), ("\x01" * long, 0)):
        got = both.call("ask", {"method": method, "stretch": stretch})
        assert got["code"] in (-32001, -32601)
    assert both.call("echo")
