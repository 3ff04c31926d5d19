"""The clauses of document 003 (duplex) on lifecycle, budgets and stability, one test each, under raw plugins."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plughost import DuplexLimits, KeyCode, KeyEvent, PluginFailure, blocking
from tests.letter.raw_duplex_fleet import Events, Raw, manifest, raw, stage

__all__ = ["raw"]
WAIT_S = 60.0
HASTY = "[limits]\nbackoff_s = [0.001]\n"
ONCE = ["spawning", "running"]


def simulated(*words: str) -> list[tuple[float, str]]:
    """Return when a plugin that is idle from the beginning reaches each state, by an injected clock."""
    command = [sys.executable, "-m", "plughost", "simulate", "--json", *words, "idle"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=True)
    return [(each["at_s"], each["state"]) for each in json.loads(ran.stdout)["timeline"]]


# 1 and 7: the lifecycle


def test_3_020_and_3_028_eager_plugins_start_with_the_host_and_lazy_ones_when_asked(tmp_path: Path) -> None:
    stage(tmp_path, "lone", manifest("lone"))
    stage(tmp_path, "early", manifest("early", '[lifecycle]\nspawn = "eager"\n'))
    with blocking.Host() as host:
        fleet = host.fleet(tmp_path)
        fleet["early"].start()  # waits for the start that is under way
        assert (fleet["early"].status.starts, fleet["lone"].status.starts) == (1, 0)
        fleet.cli("lone", ["sleep", "0"])
        assert fleet["lone"].status.starts == 1


def test_3_021_and_3_091_an_idle_plugin_is_shut_down_and_idle_reap_secs_0_keeps_it(tmp_path: Path) -> None:
    """idle_reap_secs: 0 disables reaping. The one that is kept has been idle for longer than the other."""
    for name, seconds in (("kept", 0), ("brief", 1)):
        stage(tmp_path, name, manifest(name, f"[lifecycle]\nidle_reap_secs = {seconds}\n"))
    events = Events()
    with blocking.Host(on_event=events) as host:
        fleet = host.fleet(tmp_path)
        for name in ("kept", "brief"):
            fleet.cli(name, ["sleep", "0"])
        events.until(lambda: events.states("brief") == [*ONCE, "shutting down", "idle"])
        asked = [each.frame for each in events.of("FramePassed", "brief") if each.direction == "out"]
        assert b'"plugin/shutdown"' in asked[-1]
        assert (events.states("kept"), fleet["kept"].status.starts) == (ONCE, 1)
        fleet.cli("brief", ["sleep", "0"])  # the next request starts it again
        assert fleet["brief"].status.starts == 2


def test_3_021_600_s_are_the_default_and_0_is_never(raw: Raw) -> None:
    assert raw.fleet["granted"].manifest.lifecycle.idle_reap_secs == 600
    assert (600.0, "shutting down") in simulated()
    assert simulated("--idle-reap", "0")[-1] == (0.0, "running")


def test_3_089_to_3_094_a_plugin_goes_through_the_states_of_the_table(tmp_path: Path) -> None:
    stage(tmp_path, "lone", manifest("lone"), HASTY)
    events = Events()
    with blocking.Host(on_event=events) as host:
        fleet = Raw(host.fleet(tmp_path), tmp_path, events)
        fleet.run("lone", "sleep", 0)
        for starts in (1, 2, 3):
            events.until(lambda starts=starts: events.states("lone").count("running") == starts)
            with pytest.raises(PluginFailure):
                fleet.run("lone", "die", "", 1)
        with pytest.raises(PluginFailure) as failed:
            fleet.run("lone", "sleep", 0)
        assert failed.value.code.value == "launch_failed"
        fleet.fleet["lone"].reload()
        fleet.run("lone", "sleep", 0)
        fleet.fleet["lone"].stop()
    states = events.states("lone")
    assert states[:9] == [*ONCE, "backoff", *ONCE, "backoff", *ONCE, "quarantined"]
    assert states[-2:] == ["shutting down", "idle"]


def test_3_092_a_lazy_plugin_is_started_again_when_its_backoff_is_over(tmp_path: Path) -> None:
    stage(tmp_path, "lone", manifest("lone"), HASTY)
    events = Events()
    with blocking.Host(on_event=events) as host:
        fleet = Raw(host.fleet(tmp_path), tmp_path, events)
        with pytest.raises(PluginFailure):
            fleet.run("lone", "die", "", 1)
        events.until(lambda: events.states("lone") == [*ONCE, "backoff", *ONCE])


def test_3_046_and_3_095_shutdown_is_a_request_and_the_process_is_gone_after_it(tmp_path: Path) -> None:
    stage(tmp_path, "lone", manifest("lone"))
    events = Events()
    with blocking.Host(on_event=events) as host:
        lone = host.fleet(tmp_path)["lone"]
        lone.start()
        pid = lone.status.pid
        lone.stop()
    last = json.loads(events.of("FramePassed", "lone")[-2].frame)
    assert (last["method"], last["params"], "id" in last) == ("plugin/shutdown", {}, True)
    assert pid is not None
    assert not Path(f"/proc/{pid}").exists()


# 8: resource budgets. 3.30 and 3.31 have those of a frame, 3.42 has that of an action.

LINGERING = """
import signal
def lingers(_):
    began = time.monotonic()
    def tell(*_):
        with open(os.path.join(HERE, "lingered"), "w") as file:
            file.write(str(time.monotonic() - began))
        os._exit(0)
    signal.signal(signal.SIGTERM, tell)
    say(id=message["id"], result={})
    while True: signal.pause()
METHODS["plugin/shutdown"] = lingers
say(method="""


def test_3_096_a_plugin_has_5_s_to_exit_after_shutdown(tmp_path: Path) -> None:
    """Shutdown grace: 5 s. The plugin answers, stays, and measures how long it is left alone."""
    home = stage(tmp_path, "lone", manifest("lone"))
    program = (home / "lone").read_text(encoding="utf-8")
    assert program.count("\nsay(method=") == 1
    (home / "lone").write_text(program.replace("\nsay(method=", LINGERING), encoding="utf-8")
    with blocking.Host() as host:
        lone = host.fleet(tmp_path)["lone"]
        lone.start()
        lone.stop()
    assert float((home / "lingered").read_text()) >= 5
    assert DuplexLimits().teardown_s == 5


# 11: the stability promise

SENT = {  # by the host: what the document names a request has an id, a notification has none
    "plugin/init": ({"manifest_path", "granted_capabilities", "abi_version"}, True),
    "plugin/render": ({"viewport"}, True),
    "plugin/cli_dispatch": ({"namespace", "argv"}, True),
    "plugin/handle_event": ({"topic", "payload"}, False),
    "plugin/handle_key": ({"screen_id", "key"}, False),
    "host/action/invoke": ({"action", "payload"}, True),
}


@pytest.fixture(scope="module")
def sent(raw: Raw) -> dict[str, dict[str, Any]]:
    """The last message of each method that a plugin of version 2 was sent."""
    raw.fleet["listener"].render(4, 1)
    raw.fleet["listener"].key("listener", KeyEvent(KeyCode("esc")))
    raw.fleet.publish("decl.topic", b"x")
    params = {"action": "listener.act", "payload": ""}
    raw.ask("granted", "host/action/invoke", params)
    return {method: raw.heard("listener", method)[-1] for method in SENT}


@pytest.mark.parametrize("method", SENT)
def test_3_109_what_the_host_sends_has_the_members_of_version_2(
    sent: dict[str, dict[str, Any]], method: str
) -> None:
    """No rename, removal or change of a signature: members may be added, none goes."""
    members, is_request = SENT[method]
    assert sent[method]["params"].keys() >= members
    assert ("id" in sent[method]) == is_request


@pytest.mark.parametrize(
    ("method", "params", "members"),
    [
        ("host/snapshot/get", {"topic": "raw.early"}, {"payload": str, "version": int}),
        ("host/snapshot/subscribe", {"topic": "raw.v2"}, {}),
        ("host/action/invoke", {"action": "own.write", "payload": "", "timeout_ms": 0}, {"payload": str}),
        ("host/fs/read_dir", {"path": "{home}/read_sessions"}, {"entries": list}),
        ("host/fs/read_file", {"path": "{home}/read_sessions/below/a.txt"}, {"bytes": str}),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_3_109_what_the_host_answers_has_the_members_of_version_2(
    raw: Raw, method: str, params: dict[str, Any], members: dict[str, type]
) -> None:
    """Requests with the params of the document, and no others, are served. 3.65 has `host/network/fetch`."""
    params = {
        name: str(value).format(home=raw.home) if name == "path" else value for name, value in params.items()
    }
    result = raw.ask("granted", method, params)["result"]
    assert {name: type(result[name]) for name in members} == members


def test_3_109_notifications_of_version_2_are_served(raw: Raw) -> None:
    payload = base64.b64encode(b"v2").decode()
    raw.run("granted", "tell", "host/snapshot/publish", {"topic": "raw.told", "payload": payload})
    raw.run("granted", "tell", "host/log", {"level": "error", "message": "version 2"})
    assert raw.ask("granted", "host/snapshot/get", {"topic": "raw.told"})["result"]["payload"] == payload
    assert "version 2" in [each.message for each in raw.events.of("Logged", "granted")]


def test_3_110_unknown_keys_and_capabilities_are_read_and_not_granted(tmp_path: Path) -> None:
    """New manifest fields, new members of messages (its init reply has one) and new flags stay in version 2."""
    more = "[capabilities]\nfly = true\nevent_bus = true\n[later]\nx = 1\n"
    stage(tmp_path, "lone", manifest("lone", more))
    with blocking.Host() as host:
        fleet = Raw(host.fleet(tmp_path), tmp_path)
        assert fleet.fleet.rejected == ()
        first = json.loads(fleet.run("lone", "first"))
    assert first["params"]["granted_capabilities"] == ["event_bus"]


def test_3_111_a_topic_of_the_hosts_own_cannot_be_forged(raw: Raw) -> None:
    raw.run("granted", "tell", "host/snapshot/publish", {"topic": "host.word", "payload": ""})
    assert raw.ask("granted", "host/snapshot/get", {"topic": "host.word"})["result"]["version"] == 0


def test_3_112_a_plugin_of_version_3_is_refused_by_its_manifest_and_one_of_version_2_beside_it_served(
    tmp_path: Path,
) -> None:
    """A new version ships beside this one; this host speaks version 2, and says so of any other."""
    stage(tmp_path, "lone", manifest("lone"))
    stage(tmp_path, "next", manifest("next").replace("abi_version = 2", "abi_version = 3"))
    with blocking.Host() as host:
        fleet = Raw(host.fleet(tmp_path), tmp_path)
        (rejection,) = fleet.fleet.rejected
        first = json.loads(fleet.run("lone", "first"))
    assert rejection.name == "next"
    assert "abi_version: this version does not speak 3" in rejection.reason
    assert first["params"]["abi_version"] == 2
