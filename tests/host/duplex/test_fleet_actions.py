"""Actions: what one plugin has another do, or the host, by way of the host."""

from __future__ import annotations

import base64
import threading
from typing import Any

import pytest

from plughost.errors import LocalProtocolError, RemoteError
from plughost.failures import FailureCode, PluginFailure
from tests.host.duplex.fleet_lab import AT_ONCE, EVERY, QUICK, Lab, b64

pytestmark = pytest.mark.thin(EVERY, "duplex fleets")


def invoke(lab: Lab, action: str, payload: bytes = b"", *, of: str = "asker", timeout_ms: int = 0) -> Any:
    """Let a plugin invoke an action; returns what came, or the code of the refusal."""
    params = {"action": action, "payload": b64(payload), "timeout_ms": timeout_ms}
    got = lab.asks("host/action/invoke", params, of=of)
    return got["error"]["code"] if "error" in got else base64.b64decode(got["result"]["payload"])


@pytest.fixture
def pair(both: Lab) -> Lab:
    both.plugin("asker", commands=("ask",))
    both.plugin("owner", commands=("act",), **AT_ONCE)
    return both


@pytest.mark.requirement("duplex:action:routed")
def test_an_action_goes_to_the_plugin_that_provides_it_and_starts_it(pair: Lab) -> None:
    fleet = pair.fleet()
    assert invoke(pair, "act", b"\x00\xff") == b"owner:\x00\xff"
    assert pair.run(fleet.invoke, "act", b"by the host") == b"owner:by the host"
    assert pair.run(fleet["owner"].invoke, "act", b"directly") == b"owner:directly"
    assert pair.status("owner").starts == 1


def test_the_owner_is_told_how_long_its_caller_waits(pair: Lab) -> None:
    pair.fleet()
    invoke(pair, "act", timeout_ms=12_345)
    assert any(b'"timeout_ms":12345' in each.what.frame for each in pair.named("frame", of="owner"))


@pytest.mark.requirement("duplex:action:routed")
def test_one_that_takes_too_long_is_a_timeout_and_its_late_answer_is_dropped(pair: Lab) -> None:
    pair.fleet()
    pair.pid("owner")
    assert invoke(pair, "act", b"hold", timeout_ms=50) == -32002
    pair.call("release", of="owner")
    pair.call("echo", of="owner")
    assert pair.status("owner").ignored == 1
    assert invoke(pair, "act", b"after") == b"owner:after"


@pytest.mark.requirement("duplex:action:routed")
def test_a_time_of_0_waits(pair: Lab) -> None:
    pair.fleet()
    params = {"action": "act", "payload": b64(b"hold")}
    ask = {"method": "host/action/invoke", "params": params}
    begun = pair.begin(pair.calling("ask", ask, of="asker"))
    pair.until(lambda: pair.status("owner").pending == 1 and pair.status("asker").unanswered == 1)
    pair.call("release", of="owner")
    (came,) = pair.wait_for(begun)
    assert came["error"]["code"] == -32603  # what was released is no answer to an action


def test_an_action_of_nobody_is_unknown(pair: Lab) -> None:
    pair.fleet()
    for action in ("nobody's", "", "owner", "ACT", "act "):
        assert invoke(pair, action) == -32601


def test_an_action_of_two_is_nobodys(pair: Lab) -> None:
    pair.plugin("rival", commands=("act",))
    fleet = pair.fleet()
    assert invoke(pair, "act") == -32601
    assert [conflict.word for conflict in fleet.routes.conflicts] == ["act"]
    with pytest.raises(LocalProtocolError):
        pair.run(fleet.invoke, "act")


def test_the_owners_own_error_reaches_the_caller_as_it_is(pair: Lab) -> None:
    fleet = pair.fleet()
    params = {"action": "act", "payload": b64(b"error")}
    error = pair.asks("host/action/invoke", params, of="asker")["error"]
    assert error == {"code": -32050, "message": "as asked", "data": {"for": "nothing"}}
    with pytest.raises(RemoteError) as caught:
        pair.run(fleet.invoke, "act", b"error")
    assert caught.value.code == "-32050"


def test_an_answer_that_is_none_is_an_error_of_the_host(pair: Lab) -> None:
    fleet = pair.fleet()
    assert invoke(pair, "act", b"wrong") == -32603
    with pytest.raises(PluginFailure) as caught:
        pair.run(fleet.invoke, "act", b"wrong")
    assert caught.value.code is FailureCode.MALFORMED_RESPONSE


def test_an_owner_that_dies_is_an_error_and_the_next_action_is_served(pair: Lab) -> None:
    fleet = pair.fleet()
    assert invoke(pair, "act", b"exit") == -32603
    assert invoke(pair, "act", b"again") == b"owner:again"
    with pytest.raises(PluginFailure) as caught:
        pair.run(fleet.invoke, "act", b"exit")
    assert caught.value.code is FailureCode.CRASHED
    assert pair.status("asker").starts == 1


def test_an_owner_that_cannot_be_started_is_an_error(both: Lab) -> None:
    both.plugin("asker")
    both.plugin("owner", commands=("act",), command=["/nonexistent/program"], backoff_s=[0.001])
    both.fleet()
    for _ in range(5):
        assert invoke(both, "act") == -32603
    assert both.status("owner").starts <= 3


def test_a_caller_that_dies_leaves_its_action_to_end_by_itself(pair: Lab) -> None:
    pair.plugin("asker", **AT_ONCE)
    pair.fleet()
    pair.pid("owner")
    params = {"action": "act", "payload": b64(b"hold")}
    begun = pair.begin(pair.calling("ask", {"method": "host/action/invoke", "params": params}, of="asker"))
    pair.until(lambda: pair.status("owner").pending == 1)
    pair.together(pair.calling("die", of="asker"))
    assert pair.wait_for(begun)[0].code is FailureCode.CRASHED
    pair.call("release", of="owner")
    assert pair.status("owner").pending == 0
    assert pair.call("echo", of="asker")


def test_a_plugin_may_invoke_its_own_action(both: Lab) -> None:
    both.plugin(commands=("act",))
    both.fleet()
    assert invoke(both, "act", b"x", of="puppet") == b"puppet:x"


def test_plugins_may_invoke_each_other_in_a_circle(pair: Lab) -> None:
    pair.fleet()
    assert invoke(pair, "act", b"via ask via act x") == b"owner>asker>owner:x"


def test_an_impatient_caller_does_no_harm_to_the_owner(pair: Lab) -> None:
    """Whoever invokes sets the time: were it held against the owner, one plugin could end another."""
    pair.fleet()
    pid = pair.pid("owner")
    for _ in range(8):
        assert invoke(pair, "act", b"hold", timeout_ms=1) == -32002
    assert pair.pid("owner") == pid
    assert not pair.status("owner").wedged
    assert pair.status("owner").failures == 0


def test_a_time_of_ages_is_for_ever(pair: Lab) -> None:
    pair.fleet(actions={"own": bytes.upper})
    assert invoke(pair, "act", b"x", timeout_ms=2**64 - 1) == b"owner:x"
    assert invoke(pair, "own", b"x", timeout_ms=2**64 - 1) == b"X"


# The host's own


def test_an_action_of_the_hosts_own_is_done_on_a_thread(both: Lab) -> None:
    both.plugin("asker")
    threads: list[Any] = []

    def own(payload: bytes) -> bytes:
        threads.append(threading.current_thread())
        return payload[::-1]

    both.fleet(actions={"reverse": own})
    assert invoke(both, "reverse", b"abc") == b"cba"
    assert threads[0] is not threading.main_thread()


@pytest.mark.parametrize(
    "own",
    [lambda payload: 1 // 0, lambda payload: None, lambda payload: 5, lambda payload: "text", bytes.fromhex],
    ids=["raises", "returns nothing", "returns a number", "returns a text", "wants something else"],
)
def test_one_that_fails_is_an_error_of_the_host_and_harms_nobody(both: Lab, own: Any) -> None:
    both.plugin("asker")
    both.fleet(actions={"own": own})
    assert invoke(both, "own") == -32603
    assert both.call("echo", of="asker")


def test_one_of_the_hosts_own_that_is_too_slow_is_a_timeout_and_answered_once(both: Lab) -> None:
    both.plugin("asker")
    release = threading.Event()

    def own(payload: bytes) -> bytes:
        release.wait(200)
        return b"late"

    both.fleet(actions={"own": own})
    assert invoke(both, "own", timeout_ms=30) == -32002
    release.set()
    assert invoke(both, "own") == b"late"
    assert both.call("echo", of="asker")
    assert both.status("asker").unanswered == 0


def test_one_that_returns_more_than_a_frame_holds_is_an_error(both: Lab) -> None:
    both.plugin("asker")
    both.fleet(actions={"own": lambda payload: bytes(13_000_000)})
    assert invoke(both, "own") == -32603
    assert both.call("echo", of="asker")


def test_deadlines_of_what_is_over_are_not_kept(both: Lab) -> None:
    both.plugin("asker")
    fleet = both.fleet(actions={"own": bytes.upper})
    params = {"action": "own", "payload": "", "timeout_ms": 86_400_000}
    ask = {"count": 1000, "method": "host/action/invoke", "params": params}
    assert both.call("ask-many", ask, of="asker") == {"answers": {"result": 1000}}
    assert len(fleet._fleet._timers) == 0
    assert len(fleet._fleet._timers._heap) < 200


def test_the_host_may_not_wait_for_ever_if_it_says_so(both: Lab) -> None:
    both.plugin("owner", commands=("act",), **QUICK)
    fleet = both.fleet()
    both.pid("owner")
    with pytest.raises(PluginFailure) as caught:
        both.run(fleet.invoke, "act", b"hold", timeout=0.05)
    assert caught.value.code is FailureCode.TIMEOUT
