"""What the host takes away from a plugin's wishes: it may narrow them, and never widen them."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plughost.errors import ManifestError
from plughost.manifest import duplex_narrowing
from plughost.manifest.binding import Environment
from plughost.manifest.duplex_limits import DuplexLimits
from plughost.manifest.duplex_manifest import CAPABILITIES, Capabilities
from plughost.manifest.duplex_narrowing import Narrowing, apply

WHOLE = """
command = ["python", "plugin.py"]
[capabilities]
event_bus = false
network = ["a.example"]
[limits]
render_s = 1
backoff_s = [0.5, 2]
[environment]
pass = ["HOME"]
set = { COLOUR = "never" }
"""


def test_every_key_comes_through(tmp_path):
    expected = {
        "command": ("python", "plugin.py"),
        "capabilities": {"event_bus": False, "network": ("a.example",)},
        "limits": DuplexLimits(render_s=1.0, backoff_s=(0.5, 2.0)),
        "environment": Environment(inherit=("HOME",), set={"COLOUR": "never"}),
    }
    assert duplex_narrowing.parse(WHOLE) == Narrowing(**expected, source="narrow.toml")
    (tmp_path / "narrow.toml").write_text(WHOLE)
    file = tmp_path / "narrow.toml"
    assert duplex_narrowing.read(file) == Narrowing(**expected, source=str(file))


def test_an_empty_file_takes_nothing_away():
    everything = Capabilities(**dict.fromkeys(CAPABILITIES, True))
    assert apply(duplex_narrowing.parse(""), everything) is everything


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("command", 'command = "plugin.py"'),
        ("command[0]", "command = [1]"),
        ("command", 'command = [""]'),
        ("command", 'command = [" ", "x"]'),
        ("command", 'command = ["a\\u0000b"]'),
        ("commands", 'commands = ["a"]'),
        ("capabilities", "capabilities = true"),
        ("capabilities.network", '[capabilities]\nnetwork = "a.example"'),
        ("capabilities.network", "[capabilities]\nnetwork = [1]"),
        ("capabilities.network", '[capabilities]\nnetwork = ["http://a.example"]'),
        ("capabilities.event_bus", "[capabilities]\nevent_bus = 0"),
        ("capabilities.networks", "[capabilities]\nnetworks = false"),
        ("capabilities.read_paths", "[capabilities]\nread_paths = false"),
        ("limits.render_s", "[limits]\nrender_s = 0"),
        ("limits.render_s", '[limits]\nrender_s = "1"'),
        ("limits.frame_bytes", "[limits]\nframe_bytes = 16777217"),
        ("limits.patience_s", "[limits]\npatience_s = 1"),
        ("environment.set", '[environment]\nset = "A=b"'),
        ("environment.set", '[environment]\nset = { "A=B" = "c" }'),
        ("environment.set", '[environment]\nset = { A = "b\\u0000" }'),
        ("environment.set", '[environment]\nset = { "" = "b" }'),
        ("environment.unset", "[environment]\nunset = []"),
        ("", "[limits"),
    ],
    ids=lambda value: repr(value[-24:]),
)
def test_each_key_is_refused_by_its_name(key, text):
    with pytest.raises(ManifestError) as caught:
        duplex_narrowing.parse(text, "the file")
    assert (caught.value.source, caught.value.key) == ("the file", key)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("command", {"command": ("",)}),
        ("command", {"command": ("a\0",)}),
        ("command", {"command": "python plugin.py"}),
        ("command", {"command": ""}),
        ("command", {"command": b"plugin.py"}),
        ("command", {"command": {"python": 1}}),
        ("command", {"command": None}),
        ("command[1]", {"command": ("python", 1)}),
        ("command[0]", {"command": [Path("plugin.py")]}),
        ("capabilities.network", {"capabilities": {"network": "a.example"}}),
        ("capabilities.network", {"capabilities": {"network": None}}),
        ("capabilities.all", {"capabilities": {"all": False}}),
        ("limits.render_s", {"limits": DuplexLimits(render_s=-1.0)}),
        ("limits.key_lane", {"limits": DuplexLimits(key_lane="64")}),
        ("limits", {"limits": {"key_lane": 64}}),
        ("environment.set[...]", {"environment": Environment(set={"A": 1})}),
        ("environment", {"environment": {"A": "1"}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_made_in_code_is_held_to_the_same_rules(key, said):
    with pytest.raises(ManifestError) as caught:
        Narrowing(**said)
    assert caught.value.key == key


def test_a_command_that_was_a_list_in_code_is_frozen():
    words = ["python", "plugin.py"]
    narrowing = Narrowing(command=words)
    words.append("more")
    assert narrowing.command == ("python", "plugin.py")
    with pytest.raises(ManifestError):
        msgspec.structs.replace(narrowing, command="plugin.py")


GIVEN = [False, True, (), ("a",), ("a", "b")]


@pytest.mark.parametrize("given_", GIVEN, ids=str)
@pytest.mark.parametrize("wanted", [*GIVEN, ("c",), ("a", "c")], ids=str)
def test_a_capability_is_narrowed_or_refused_by_its_name_and_never_widened(given_, wanted):
    inside = not wanted or given_ is True or (wanted is not True and given_ and set(wanted) <= set(given_))
    for name in CAPABILITIES:
        narrowing = Narrowing(capabilities={name: wanted})
        asked = Capabilities(**{name: given_})
        if inside:
            assert apply(narrowing, asked) == Capabilities(**{name: wanted})
            continue
        with pytest.raises(ManifestError) as caught:
            apply(narrowing, asked)
        assert caught.value.key == f"capabilities.{name}"
        assert name in caught.value.problem
        assert caught.value.source == "(given in code)"


@pytest.mark.parametrize(
    ("given_", "wanted", "inside"),
    [
        ("sessions.*", "sessions.usage", True),
        ("sessions.*", "sessions.u*", True),
        ("sessions.*", "sessions.*", True),
        ("sessions.*", "sessions*", False),
        ("sessions.*", "session", False),
        ("sessions.*", "*", False),
        ("*", "anything", True),
        ("*", "*", True),
        ("sessions.usage", "sessions.*", False),
        ("a*b", "axb", False),
    ],
)
def test_a_list_of_topics_is_narrowed_by_prefix(given_, wanted, inside):
    narrowing = Narrowing(capabilities={"event_bus": (wanted,)})
    asked = Capabilities(event_bus=(given_,))
    if inside:
        assert apply(narrowing, asked).event_bus == (wanted,)
    else:
        with pytest.raises(ManifestError):
            apply(narrowing, asked)


@pytest.mark.parametrize("name", ["read_sessions", "read_claude_logs", "read_codex_logs"])
@pytest.mark.parametrize(
    ("given_", "wanted", "inside"),
    [
        ("a", "a/b", True),
        ("a/", "a", True),
        ("a/b", "a", False),
        ("a", "ab", False),
        ("a", "A", False),
        ("a*", "ab", False),
        ("/", "etc", False),
    ],
)
def test_a_list_of_paths_is_narrowed_to_what_is_below(name, given_, wanted, inside):
    narrowing = Narrowing(capabilities={name: (wanted,)})
    asked = Capabilities(**{name: (given_,)})
    if inside:
        assert getattr(apply(narrowing, asked), name) == (wanted,)
    else:
        with pytest.raises(ManifestError):
            apply(narrowing, asked)


@pytest.mark.parametrize(
    ("given_", "wanted"),
    [
        ("api.example", "API.Example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("[::1]", "0:0:0:0:0:0:0:1"),
    ],
)
def test_a_host_is_the_same_however_it_is_spelled(given_, wanted):
    left = apply(Narrowing(capabilities={"network": (wanted,)}), Capabilities(network=(given_,)))
    assert left.network == (wanted,)


def test_a_host_is_not_narrowed_to_another_below_it():
    with pytest.raises(ManifestError):
        apply(Narrowing(capabilities={"network": ("a.example",)}), Capabilities(network=("example",)))


grants = st.booleans() | st.lists(st.sampled_from(["a", "b", "a*", "ab", "*"]), max_size=3).map(tuple)


def matches(grant, topic):
    if isinstance(grant, bool):
        return grant
    return any(topic.startswith(each[:-1]) if each.endswith("*") else each == topic for each in grant)


@settings(max_examples=25)
@given(grants, grants, st.sampled_from(["", "a", "b", "ab", "abc", "c"]))
def test_no_topic_is_reached_after_narrowing_that_was_not_before(asked, wanted, topic):
    try:
        left = apply(Narrowing(capabilities={"event_bus": wanted}), Capabilities(event_bus=asked)).event_bus
    except ManifestError:
        return
    assert left == wanted
    assert matches(asked, topic) or not matches(left, topic)
