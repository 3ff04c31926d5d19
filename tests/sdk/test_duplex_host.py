"""The host as a plugin calls it: the params on the wire, what is made of the result, and results that are wrong."""

import pytest
from plughost_sdk import duplex

from tests.sdk.duplex_wire import key, notification, request, result, serve

INVALID = -32602


def ask(call, answer=None):
    """Make *call* in a handler, with *answer* as its result. Return what it returned or raised, and what was sent."""
    plugin, told = duplex.Plugin("probe", version="1.0.0"), []

    @plugin.on_key
    def key_(screen_id, key):
        try:
            told.append(call(plugin.host))
        except Exception as error:
            told.append(error)

    status, said = serve(plugin, key(), *([] if answer is None else [result(1, answer)]))
    assert status == 0
    (only,) = told
    return only, said


def sent(method, params):
    return [request(1, method, params)]


def test_get_returns_the_payload_and_its_version():
    told, said = ask(lambda host: host.snapshot.get("t"), {"payload": "aGk=", "version": 2**64 - 1})
    assert told == (b"hi", 2**64 - 1)
    assert said == sent("host/snapshot/get", {"topic": "t"})


@pytest.mark.parametrize("answer", [{"payload": None, "version": 0}, {"payload": None}, {}], ids=str)
def test_get_of_a_topic_without_a_payload_returns_none(answer):
    assert ask(lambda host: host.snapshot.get("t"), answer)[0] == (None, 0)


def test_an_empty_payload_is_not_the_same_as_none():
    assert ask(lambda host: host.snapshot.get("t"), {"payload": "", "version": 1})[0] == (b"", 1)


@pytest.mark.parametrize(
    "payload", [b"hi", bytearray(b"hi"), memoryview(b"hi")], ids=lambda each: type(each).__name__
)
def test_publish_is_a_notification_with_base64(payload):
    told, said = ask(lambda host: host.snapshot.publish("t", payload))
    assert told is None
    assert said == [notification("host/snapshot/publish", {"topic": "t", "payload": "aGk="})]


@pytest.mark.parametrize("payload", ["hi", None, 5, [1]], ids=repr)
def test_a_payload_that_is_not_bytes_is_refused_and_not_sent(payload):
    told, said = ask(lambda host: host.snapshot.publish("t", payload))
    assert isinstance(told, TypeError)
    assert said == []


def test_a_topic_that_no_message_can_carry_is_refused_and_not_sent():
    told, said = ask(lambda host: host.snapshot.get("\ud800"))
    assert isinstance(told, ValueError)
    assert said == []


def test_subscribe_waits_for_the_host():
    told, said = ask(lambda host: host.snapshot.subscribe("t"), {})
    assert told is None
    assert said == sent("host/snapshot/subscribe", {"topic": "t"})


def test_invoke_returns_the_payload_of_the_owner():
    told, said = ask(lambda host: host.action.invoke("act", b"hi", timeout_ms=50), {"payload": "aG8="})
    assert told == b"ho"
    assert said == sent("host/action/invoke", {"action": "act", "payload": "aGk=", "timeout_ms": 50})


def test_invoke_waits_for_ever_unless_it_is_told():
    _, (said,) = ask(lambda host: host.action.invoke("act"), {"payload": ""})
    assert said["params"] == {"action": "act", "payload": "", "timeout_ms": 0}


@pytest.mark.parametrize("level", ["trace", "debug", "info", "warn", "error"])
def test_each_level_is_a_method_and_a_word(level):
    def call(host):
        host.log(level, "low", free=12, level="x", message="y")
        getattr(host.log, level)("low")

    more = {"free": 12, "level": "x", "message": "y"}
    assert ask(call)[1] == [
        notification("host/log", {"level": level, "message": "low", "fields": more}),
        notification("host/log", {"level": level, "message": "low"}),
    ]


def test_another_level_is_refused_and_not_sent():
    told, said = ask(lambda host: host.log("fatal", "low"))
    assert isinstance(told, ValueError)
    assert said == []


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), b"x", "\ud800", object], ids=repr)
def test_a_field_that_json_cannot_carry_is_logged_as_text(value):
    _, (said,) = ask(lambda host: host.log.info("low \ud800", value=value))
    assert said["params"]["message"] == "low ?"
    assert isinstance(said["params"]["fields"]["value"], str)


def test_read_dir_returns_the_entries():
    answer = {"entries": [{"name": "a", "is_dir": False, "size": 5}, {"name": "b", "is_dir": True}]}
    told, said = ask(lambda host: host.fs.read_dir("/d"), answer)
    assert [(each.name, each.is_dir, each.size) for each in told] == [("a", False, 5), ("b", True, 0)]
    assert said == sent("host/fs/read_dir", {"path": "/d"})


def test_read_file_returns_the_bytes():
    told, said = ask(lambda host: host.fs.read_file("/d/a"), {"bytes": "aGk="})
    assert told == b"hi"
    assert said == sent("host/fs/read_file", {"path": "/d/a"})


def test_fetch_returns_what_the_server_answered():
    told, said = ask(
        lambda host: host.network.fetch("https://h/", "POST", b"hi", [("A", "b")]),
        {"status": 404, "headers": [["C", "d"]], "body": "aG8="},
    )
    assert (told.status, told.headers, told.body) == (404, [("C", "d")], b"ho")
    assert said == sent(
        "host/network/fetch", {"url": "https://h/", "method": "POST", "body": "aGk=", "headers": [["A", "b"]]}
    )


def test_fetch_gets_without_a_body_unless_it_is_told():
    _, (said,) = ask(
        lambda host: host.network.fetch("https://h/"), {"status": 200, "headers": [], "body": ""}
    )
    assert said["params"] == {"url": "https://h/", "method": "GET", "body": None, "headers": []}


MALFORMED = [
    (lambda host: host.snapshot.subscribe("t"), [None, []]),
    (lambda host: host.action.invoke("act"), [{}, {"payload": None}, {"payload": "a"}]),
    (
        lambda host: host.fs.read_dir("/"),
        [
            {},
            {"entries": {}},
            {"entries": ["a"]},
            {"entries": [{"name": "a"}]},
            {"entries": [{"is_dir": True}]},
        ],
    ),
    (lambda host: host.fs.read_file("/"), [{}, {"bytes": 5}]),
    (
        lambda host: host.network.fetch("u"),
        [
            {},
            {"status": 200, "headers": []},
            {"status": 65_536, "body": ""},
            {"status": 200, "body": "", "headers": {"a": "b"}},
            {"status": 200, "body": "", "headers": [["a"]]},
            {"status": 200, "body": "", "headers": [["a", 1]]},
            {"status": 200, "body": "", "headers": ["ab"]},
        ],
    ),
]


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        pytest.param(call, each, id=f"{at} {each}")
        for at, (call, all_) in enumerate(MALFORMED)
        for each in all_
    ],
)
def test_a_result_that_is_not_the_contracts_fails_that_call(call, answer):
    plugin, told = duplex.Plugin("probe", version="1.0.0"), []

    @plugin.on_key
    def key_(screen_id, key):
        with pytest.raises(duplex.HostError) as raised:
            call(plugin.host)
        told.append(raised.value.code)

    assert serve(plugin, key(), result(1, answer))[0] == 0
    assert told == [INVALID]


@pytest.mark.parametrize("when", ["before", "after"])
def test_there_is_no_host_unless_the_plugin_runs(when):
    plugin = duplex.Plugin("probe", version="1.0.0")
    if when == "after":
        serve(plugin)
    with pytest.raises(RuntimeError):
        plugin.host.snapshot.publish("t", b"")
