"""Every `host/*` method against every grant: default deny, by name, and never by looking alike."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plughost.capabilities.gates import PATH_LIMIT, ROOTS, Gates, Place, Refusal, Root
from plughost.capabilities.grants import Capability, Grants
from plughost.contracts.duplex.messages import HOST_METHODS
from plughost.messages.jsonrpc import CAPABILITY_DENIED, INVALID_PARAMS, METHOD_NOT_FOUND

SESSIONS, CLAUDE, CODEX = Capability.READ_SESSIONS, Capability.READ_CLAUDE_LOGS, Capability.READ_CODEX_LOGS
BUS, NETWORK = Capability.EVENT_BUS, Capability.NETWORK
HOME = "/home/u"
SAMPLE = {"topic": "t", "path": f"{HOME}/.claude/projects/p", "url": "http://example.com/", "action": "a"}
ROOT_LIST = tuple(
    Root(capability, path.replace("~", HOME), (path.replace("~", HOME),))
    for capability, paths in ROOTS.items()
    for path in paths
)


def gates(given=None, **options):
    return Gates(Grants(given or {}), ROOT_LIST, HOME, **options)


def code(refusal):
    return refusal.code if isinstance(refusal, Refusal) else None


def call(method, given=None, **params):
    return gates(given).judge(method, SimpleNamespace(**{**SAMPLE, **params}))


@pytest.mark.parametrize(
    ("method", "capability"),
    [
        ("host/snapshot/get", BUS),
        ("host/snapshot/publish", BUS),
        ("host/snapshot/subscribe", BUS),
        ("host/fs/read_dir", CLAUDE),
        ("host/fs/read_file", CLAUDE),
        ("host/network/fetch", NETWORK),
    ],
)
def test_a_gated_method_needs_its_own_capability_and_no_other(method, capability):
    others = {each: True for each in Capability if each is not capability}
    for granted in ({}, {capability: False}, {capability: ()}, others):
        refusal = call(method, granted)
        assert refusal.code == CAPABILITY_DENIED
        assert refusal.message == f"capability denied: {capability}"
    assert call(method, {capability: True}) is None


@pytest.mark.parametrize("method", ["host/log", "host/action/invoke"])
def test_a_log_line_and_another_plugins_action_are_free(method):
    assert call(method) is None


@pytest.mark.parametrize("method", sorted(HOST_METHODS))
def test_every_method_of_the_contract_is_known_to_the_gates(method):
    assert code(call(method, dict.fromkeys(Capability, True))) is None


@pytest.mark.parametrize(
    "method",
    ["", "host/", "host/snapshot/got", "plugin/init", "HOST/LOG", "host/log ", "x" * 99_999],
    ids=["empty", "bare", "typo", "theirs", "case", "blank", "huge"],
)
def test_an_unknown_method_is_unknown_whatever_is_granted(method):
    refusal = call(method, dict.fromkeys(Capability, True))
    assert refusal.code == METHOD_NOT_FOUND
    assert len(refusal.message) < 5000


@pytest.mark.parametrize("method", sorted(set(HOST_METHODS) - {"host/log"}))
@pytest.mark.parametrize("value", [None, 5, b"t", ["t"]], ids=repr)
def test_parameters_of_another_type_are_invalid(method, value):
    asked = SimpleNamespace(topic=value, path=value, url=value, action=value)
    assert code(gates(dict.fromkeys(Capability, True)).judge(method, asked)) == INVALID_PARAMS
    assert code(gates().judge(method, object())) == INVALID_PARAMS


def test_a_plugin_is_told_of_its_grants_in_the_contracts_order():
    given = {CODEX: True, NETWORK: ("example.com",), SESSIONS: True, BUS: (), CLAUDE: False}
    assert Grants(given).names() == ["read_sessions", "network", "read_codex_logs"]


@pytest.mark.parametrize(
    ("grant", "topic", "allowed"),
    [
        (("a.b",), "a.b", True),
        (("a.b",), "a.bc", False),
        (("a.b",), "A.b", False),
        (("a.b",), "a.b.c", False),
        (("a.*",), "a.b", True),
        (("a.*",), "a.", True),
        (("a.*",), "a", False),
        (("a.*",), "b.a.b", False),
        (("*",), "", True),
        (("*",), "anything", True),
        (("a*c",), "abc", False),
        (("a*c",), "a*c", True),
        (("", "b"), "a", False),
        (("a", "b"), "b", True),
    ],
)
def test_a_list_of_topics_grants_names_and_beginnings(grant, topic, allowed):
    assert (gates({BUS: grant}).topic(topic) is None) is allowed


P = f"{HOME}/.claude/projects"


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (P, ()),
        (f"{P}/", ()),
        (f"{P}/a", ("a",)),
        (f"{P}//a/./b/", ("a", "b")),
        (f"{P}/a/../b", ("b",)),
        (f"{P}/..a/b..", ("..a", "b..")),
        (f"//{P}/a", ("a",)),
        ("~/.claude/projects/a", ("a",)),
        (f"{P}/../projects/a", ("a",)),
        (f"{P}/~/a", ("~", "a")),
    ],
)
def test_a_path_beneath_a_granted_root_has_its_place_there(path, names):
    assert gates({CLAUDE: True}).place(path) == Place(P, names)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        ".",
        "a",
        "~",
        "~root/.claude/projects",
        "~u/.claude/projects/a",
        f"{P}/..",
        f"{P}/../secret",
        f"{P}/a/../../secret",
        f"{P}-evil/a",
        f"{P}evil",
        f"{HOME}/.claude",
        f"{HOME}/.Claude/projects/a",
        "/etc/passwd",
        "/proc/self/root",
        f"..{P}",
        f" {P}/a",
        "~/.claude/projects/../../x",
        "file:///home/u/.claude/projects/a",
        f"{HOME}/.codex/sessions/a",
    ],
)
def test_a_path_beneath_no_granted_root_is_denied(path):
    assert code(gates({CLAUDE: True}).place(path)) == CAPABILITY_DENIED


@pytest.mark.parametrize(
    "path", [f"{P}/a\0b", f"{P}/\ud800", P + "/" + "x" * PATH_LIMIT], ids=["nul", "surrogate", "long"]
)
def test_what_is_no_path_is_invalid(path):
    refusal = gates({CLAUDE: True}).place(path)
    assert refusal.code == INVALID_PARAMS
    refusal.message.encode()


def test_a_path_as_long_as_the_limit_is_a_path():
    path = f"{P}/".ljust(PATH_LIMIT, "x")
    assert code(gates({CLAUDE: True}).place(path)) is None
    assert code(gates({CLAUDE: True}).place(path + "x")) == INVALID_PARAMS


def test_both_places_of_the_sessions_are_read_by_the_same_capability():
    for path in ("~/.agents-in-a-box/sessions/s", "~/.claude/agents-in-a-box/sessions/s"):
        assert isinstance(gates({SESSIONS: True}).place(path), Place)
        assert gates({CLAUDE: True}).place(path).message == "capability denied: read_sessions"


def test_a_denial_names_the_capability_that_would_have_helped():
    assert gates().place("~/.codex/sessions/x").message == "capability denied: read_codex_logs"
    assert gates().place("/etc/passwd").message == "capability denied: fs.read"


def test_one_granted_root_is_enough_where_two_overlap():
    outer, inner = Root(SESSIONS, "/r", ("/r",)), Root(CLAUDE, "/r/in", ("/r/in",))
    for roots in ((outer, inner), (inner, outer)):
        assert Gates(Grants({CLAUDE: True}), roots).place("/r/in/x") == Place("/r/in", ("x",))
        assert code(Gates(Grants({CLAUDE: True}), roots).place("/r/x")) == CAPABILITY_DENIED


def test_a_root_may_have_several_spellings_and_the_top_is_one():
    assert Gates(Grants({CLAUDE: True}), (Root(CLAUDE, "/r", ("/a", "/r")),)).place("/a/x") == Place(
        "/r", ("x",)
    )
    assert Gates(Grants({CLAUDE: True}), (Root(CLAUDE, "/", ("/",)),)).place("/a/x") == Place("/", ("a", "x"))


@pytest.mark.parametrize(
    ("grant", "below", "allowed"),
    [
        (("p",), "p", True),
        (("p",), "p/q/r", True),
        (("p/",), "p/q", True),
        (("p/q",), "p/q/r", True),
        (("p/q",), "p/x", False),
        (("p",), "", False),
        (("p",), "pq", False),
        (("*",), "p", False),
        (("",), "p", False),
        (("/",), "p", False),
        ((".",), "p", False),
        (("..",), "p", False),
        (("p/../..",), "p", False),
        ((f"{P}/p",), "p", False),
    ],
)
def test_a_list_for_a_root_grants_what_lies_beneath_its_entries(grant, below, allowed):
    assert isinstance(gates({CLAUDE: grant}).place(f"{P}/{below}"), Place) is allowed


def test_without_a_home_a_tilde_is_only_a_name():
    assert code(Gates(Grants({CLAUDE: True}), ROOT_LIST).place("~/.claude/projects/a")) == CAPABILITY_DENIED


@pytest.mark.parametrize(
    ("grant", "url", "expected"),
    [
        (True, "https://example.com/x", None),
        (("example.com",), "https://EXAMPLE.com.:8443/x", None),
        (("EXAMPLE.COM",), "http://example.com", None),
        (("bücher.example",), "http://xn--bcher-kva.example/", None),
        (("xn--bcher-kva.example",), "http://BÜCHER.example/", None),
        (("example.com",), "http://www.example.com/", CAPABILITY_DENIED),
        (("www.example.com",), "http://example.com/", CAPABILITY_DENIED),
        (("*.example.com",), "http://example.com/", CAPABILITY_DENIED),
        (("*.example.com",), "http://a.example.com/", CAPABILITY_DENIED),
        (("*",), "http://a.example.com/", CAPABILITY_DENIED),
        (("example.com:80",), "http://example.com/", CAPABILITY_DENIED),
        (("http://example.com",), "http://example.com/", CAPABILITY_DENIED),
        (("",), "http://example.com/", CAPABILITY_DENIED),
        (("example.com",), "http://example.com.evil/", CAPABILITY_DENIED),
        (("example.com",), "http://examp1e.com/", CAPABILITY_DENIED),
        (("127.0.0.1",), "http://127.0.0.1:8080/", None),
        (("::1",), "http://[0:0::1]:8080/", None),
        (("[::1]",), "http://[::1]:8080/", None),
        (("127.0.0.1",), "http://[::ffff:127.0.0.1]/", CAPABILITY_DENIED),
        (("example.com",), "http://example.com@evil.com/", INVALID_PARAMS),
        (("example.com",), "http://evil.com\\@example.com/", INVALID_PARAMS),
        (("example.com",), "ftp://example.com/", INVALID_PARAMS),
        (True, "file:///etc/passwd", INVALID_PARAMS),
        (False, "file:///etc/passwd", CAPABILITY_DENIED),
        ((), "http://example.com/", CAPABILITY_DENIED),
    ],
)
def test_a_url_is_judged_by_its_host_alone_and_exactly(grant, url, expected):
    assert code(gates({NETWORK: grant}).url(url)) == expected


def test_the_hosts_own_action_that_starts_a_child_needs_the_capability_for_it():
    actions = {"run": Capability.SPAWN_SUBPROCESS, "save": Capability.WRITE_PLUGIN_DATA}
    assert gates(actions=actions).action("run").message == "capability denied: spawn_subprocess"
    assert gates({Capability.SPAWN_SUBPROCESS: True}, actions=actions).action("run") is None
    assert (
        code(gates({Capability.SPAWN_SUBPROCESS: True}, actions=actions).action("save")) == CAPABILITY_DENIED
    )
    assert gates(actions=actions).action("theirs") is None


@pytest.mark.parametrize(
    "grant", [True, ("host.*",), ("host.config",), False], ids=["all", "those", "it", "none"]
)
def test_a_topic_of_the_hosts_own_is_published_by_no_plugin_whatever_is_granted(grant):
    refusal = call("host/snapshot/publish", {BUS: grant}, topic="host.config")
    assert refusal.code == CAPABILITY_DENIED
    assert refusal.data == {"topic": "host.config"}
    for method in ("host/snapshot/get", "host/snapshot/subscribe"):
        assert (call(method, {BUS: grant}, topic="host.config") is None) is bool(grant)


PARTS = st.lists(
    st.sampled_from(["..", ".", "", "a", "projects", "~", ".claude", "u", "home", "..."]), max_size=8
)


@settings(max_examples=25)
@given(PARTS, st.sampled_from(["/", "~/", "", f"{P}/"]))
def test_no_place_ever_climbs(parts, start):
    found = gates(dict.fromkeys(Capability, True)).place(start + "/".join(parts))
    if isinstance(found, Place):
        assert found.root in [root.path for root in ROOT_LIST]
        assert not {"", ".", ".."} & set(found.names)
