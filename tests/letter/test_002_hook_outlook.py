"""The clauses of document 002 (hook) on untrusted providers and on what a run may cost, with raw providers.

Costs are processor time of the host, and of the provider where the document counts it. Other programs on the machine
do not change processor time; the benchmarks measure elapsed time.
"""

from __future__ import annotations

import resource
import socket
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from plughost_sdk.hook import messages

import plughost
from plughost import blocking
from tests.letter.raw_hook_provider import ORDINARY, Generate, bound, generate

__all__ = ["generate"]
GENERATE_ALONE = '[hook]\nphases = ["generate"]'  # the conversation of the document
ROUNDS = 200  # round trips over which the cost of a message is taken
JOBS = "jobs:\n" + "".join(f"  job-{at}:\n    steps:\n      - run: make {at}\n" for at in range(20))
REPOSITORY = Path(__file__).parent.parent.parent


# Untrusted providers: the document's future


def test_2_36_a_provider_is_a_native_program_and_a_wasm_module_is_refused(generate: Generate) -> None:
    """WASM sandbox (future): a module is no program, and no runtime is put beneath it in silence."""
    outcome = generate("", files={"raw.wasm": b"\0asm\1\0\0\0"}, command='["./raw.wasm"]')
    assert outcome.code == "launch_failed"
    assert outcome.frames == []


def test_2_37_capabilities_are_declared_and_checked_and_not_enforced_on_the_process(
    generate: Generate,
) -> None:
    """Capability-based permissions (future): a provider without any can still use the network, as SECURITY.md says."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        dial = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]})).close()\n"
        assert generate(dial + ORDINARY).made == "made"
        server.settimeout(0)  # the connection is there already
        server.accept()[0].close()
    assert "Capabilities are a contract check, not an enforcement." in security()


def test_2_38_a_provider_can_write_wherever_its_user_can(generate: Generate) -> None:
    """Read-only filesystem access (future): a write beside the output succeeds, as SECURITY.md says."""
    outcome = generate("open('../beside', 'w').close()\n" + ORDINARY)
    assert outcome.made == "made"
    assert (outcome.directory.parent / "beside").exists()
    assert "No kernel keeps a provider from writing" in security()


def security() -> str:
    return " ".join((REPOSITORY / "SECURITY.md").read_text(encoding="utf-8").split())


# Performance targets


@dataclass
class Costs:
    """Milliseconds of processor time that parts of a conversation took."""

    spawn: float
    handshake: float
    message: float


def spent(who: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(who)
    return 1_000 * (used.ru_utime + used.ru_stime)


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> Costs:
    """The costs of a raw provider under a host that has run one before, and so has loaded what it needs."""
    home = tmp_path_factory.mktemp("costs")
    answering = "greet()\nwhile read() is not None: send(b'')"
    marks: list[tuple[str, float]] = []
    with blocking.Host(on_event=lambda event: marks.append((event.name, spent()))) as host:
        with host.connect(bound(home / "first", answering, GENERATE_ALONE)):
            pass
        directory = bound(home / "second", answering, GENERATE_ALONE)
        marks[:] = [("asked", spent())]
        with host.connect(directory) as provider:
            stages = [at for name, at in marks if name in ("asked", "spawned", "handshake")]
            request = messages.GenerateRequest(target="raw")
            before = spent()
            for _ in range(ROUNDS):
                provider.generate(request)
            message = (spent() - before) / (2 * ROUNDS)
    assert (directory / "log").stat().st_size > 4 * ROUNDS  # it was asked so often
    spawn, handshake = (after - before for before, after in pairwise(stages))
    return Costs(spawn, handshake, message)


def test_2_39_a_handshake_costs_less_than_100_ms(costs: Costs) -> None:
    """Handshake: <100ms."""
    assert 0 < costs.handshake < 100


def test_2_40_generating_a_typical_workflow_costs_less_than_a_second(tmp_path: Path) -> None:
    """Generate hook: <1s for typical workflow, with the time of the provider for GitHub itself."""
    (tmp_path / "pipeline.yml").write_text(JOBS)
    github = Path(plughost.__file__).parent / "bundled" / "hook" / "github-actions"
    before = spent() + spent(resource.RUSAGE_CHILDREN)
    with blocking.Host() as host:
        generation = host.generate([github], tmp_path / "pipeline.yml", tmp_path)
    assert spent() + spent(resource.RUSAGE_CHILDREN) - before < 1_000
    assert (tmp_path / generation.outputs[0].path).read_text().count("make ") >= 20


def test_2_41_a_message_costs_less_than_a_millisecond(costs: Costs) -> None:
    """Message overhead: <1ms per message, sent or received."""
    assert 0 < costs.message < 1


def test_2_42_a_spawn_costs_less_than_50_ms(costs: Costs) -> None:
    """Plugin spawn: <50ms."""
    assert 0 < costs.spawn < 50


def test_2_39_to_2_42_each_run_reports_its_own_times(generate: Generate) -> None:
    """Whoever wants to hold a provider to the targets finds the time of each stage in the report."""
    clock = "began = time.monotonic_ns()\n"
    work = f"{clock}while time.process_time() < 0.2: pass\n"
    told = "open('took', 'w').write(str(time.monotonic_ns() - began))\n"
    outcome = generate(f"greet(); read(); send(b''); read()\n{work}{told}send(file('a.txt', 'made')); read()")
    (report,) = outcome.generation.providers
    assert list(report.timings_ms) == ["launch", "handshake", "plan", "generate", "teardown"]
    assert report.timings_ms["generate"] >= int((outcome.directory / "took").read_text()) / 1e6
