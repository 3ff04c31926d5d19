"""A manifest and what the host takes away from it: what is started, under which limits, and what is left."""

from pathlib import Path

import msgspec
import pytest

from plughost.capabilities.grants import Capability
from plughost.errors import ManifestError
from plughost.manifest.binding import USUAL_ENVIRONMENT, Environment
from plughost.manifest.duplex_binding import bind
from plughost.manifest.duplex_limits import FRAME_BYTES, DuplexLimits
from plughost.manifest.duplex_manifest import Capabilities, DuplexManifest, Lifecycle
from plughost.manifest.duplex_narrowing import Narrowing

HERE = Path("/plugins/burndown")
WISHES = Capabilities(
    read_sessions=True, event_bus=("sessions.*", "ui.state"), network=("a.example", "B.example")
)
GIVEN = ("event_bus", "network")
MANIFEST = DuplexManifest(
    "burndown", "1.0.0", 2, HERE, description="d", capabilities=WISHES, lifecycle=Lifecycle("eager", 30)
)


def test_without_a_word_of_the_host_the_manifest_is_what_counts():
    binding = bind(MANIFEST)
    assert binding.name == "burndown"
    assert binding.command == ("./burndown",)
    assert binding.capabilities == WISHES
    assert binding.limits == DuplexLimits()
    assert binding.idle_reap_s == 30


def test_the_process_is_started_in_the_plugins_directory_with_the_hosts_limits():
    limits = DuplexLimits(memory_mb=64)
    said = Narrowing(("python", "plugin.py"), limits=limits, environment=Environment(set={"A": "b"}))
    process = bind(MANIFEST, said).process()
    assert (process.name, process.contract) == ("burndown", "duplex")
    assert process.command == ("python", "plugin.py")
    assert process.directory == process.cwd == HERE
    assert process.source == "/plugins/burndown/manifest.toml"
    assert process.limits is limits
    assert process.allow == ("read_sessions", "event_bus", "network")
    assert process.environment.inherit == USUAL_ENVIRONMENT
    assert process.environment.set == {"A": "b"}


@pytest.mark.parametrize(("said", "left"), [(None, 30), (0, 0), (5, 5)])
def test_the_hosts_word_on_idleness_goes_first(said, left):
    assert bind(MANIFEST, Narrowing(limits=DuplexLimits(idle_reap_s=said))).idle_reap_s == left


def test_what_is_taken_away_is_gone_and_the_rest_stays():
    left = bind(
        MANIFEST, Narrowing(capabilities={"event_bus": False, "network": ("a.example",)})
    ).capabilities
    assert left == Capabilities(read_sessions=True, event_bus=False, network=("a.example",))
    assert left.granted() == ("read_sessions", "network")


@pytest.mark.requirement("duplex:manifest:narrowed")
def test_a_binding_cannot_be_made_with_more_than_the_manifest_asks_for():
    with pytest.raises(ManifestError) as caught:
        bind(MANIFEST, Narrowing(capabilities={"spawn_subprocess": True}))
    assert caught.value.key == "capabilities.spawn_subprocess"


def test_the_usual_limits_are_those_of_the_contract():
    limits = DuplexLimits()
    assert limits.frame_bytes == FRAME_BYTES == 16_777_216
    assert (limits.handshake_s, limits.render_s, limits.write_s, limits.timeout_s) == (10, 2, 2, 60)
    assert (limits.teardown_s, limits.terminate_s) == (5, 2)
    assert limits.key_lane == 64
    assert limits.backoff_s == (1, 4, 16)
    assert (limits.failure_window_s, limits.failures_to_quarantine, limits.stable_s) == (60, 3, 60)
    assert bind(DuplexManifest("p", "1.0.0", 2, HERE)).idle_reap_s == 600


def test_limits_and_bindings_cannot_be_changed():
    binding = bind(MANIFEST)
    with pytest.raises(AttributeError):
        binding.command = ("sh",)
    with pytest.raises(AttributeError):
        binding.limits.render_s = 1.0
    with pytest.raises(AttributeError):
        binding.capabilities.network = True


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(
            (key, value)
            for key in ("render_s", "write_s", "stable_s")
            for value in (0, -1, 86_401, "2", True)
        ),
        *(("frame_bytes", value) for value in (0, -1, FRAME_BYTES + 1, 1.5)),
        *(("key_lane", value) for value in (0, 65_537, "64")),
        *(("backoff_s", value) for value in ([], [0], [1] * 17, 1, ["1"])),
        *(("failures_to_quarantine", value) for value in (0, 1.5)),
        *(("idle_reap_s", value) for value in (-1, 2**32, 1.5)),
        ("patience_s", 1),
    ],
)
def test_a_limit_that_is_none_is_refused(key, value):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({key: value}, DuplexLimits)


@pytest.mark.parametrize(
    ("key", "value"), [("frame_bytes", FRAME_BYTES), ("key_lane", 65_536), ("idle_reap_s", 2**32 - 1)]
)
def test_a_limit_may_be_as_large_as_it_says(key, value):
    assert getattr(msgspec.convert({key: value}, DuplexLimits), key) == value


def test_plugins_that_are_granted_the_same_share_what_nobody_can_change():
    one, other = (bind(MANIFEST, Narrowing(capabilities=dict.fromkeys(GIVEN, False))) for _ in range(2))
    grants = one.capabilities.grants()
    assert grants is other.capabilities.grants()
    with pytest.raises(TypeError):
        grants.given[Capability.NETWORK] = True


def test_a_list_that_is_granted_is_not_mistaken_for_a_switch():
    assert Capabilities(network=True).grants().of(Capability.NETWORK) is True
    assert Capabilities(network=1).grants() is not Capabilities(network=True).grants()
    assert Capabilities(network=("a.example",)).grants().of(Capability.NETWORK) == ("a.example",)
    assert Capabilities(network=["a.example"]).grants().has(Capability.NETWORK)  # made in code
