"""Every example keeps its contract, in every language, and does what its neighbours do."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plughost import RemoteError, blocking
from plughost.manifest import binding as bindings
from plughost.testkit import assert_conforms

LEAST_S = 0.2  # a little less than a plugin waits; on a busy machine it is there for longer, never for less
EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def example(name: str, *tools: str) -> pytest.param:  # type: ignore[valid-type]
    return pytest.param(name, marks=pytest.mark.needs(*tools), id=name)


ALL = [
    example("greeter", "python3"),
    example("greeter-node", "node"),
    example("greeter-go", "go"),
    example("greeter-rust", "rustc"),
    example("greeter-c", "cc"),
    example("greeter-shell", "sh", "awk"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples with the compiled ones built; whichever test process comes first builds them."""
    import fcntl

    lock = tmp_path_factory.getbasetemp().parent / "examples.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        names = ("greeter-c", "greeter-go", "greeter-rust")
        subprocess.run([EXAMPLES / "build", *names], check=True, capture_output=True, timeout=600)
    return EXAMPLES / "execute"


@pytest.mark.timeout(660)
@pytest.mark.parametrize("name", ALL)
def test_an_example_keeps_its_contract(name: str, built: Path) -> None:
    assert_conforms(built / name, tool="greet", input={"name": "Ada"})


@pytest.mark.timeout(660)
@pytest.mark.parametrize("name", ALL)
def test_an_example_greets_and_adds_like_its_neighbours(name: str, built: Path) -> None:
    odd = 'Ä "quoted" \\ back\n\t\x01 😀 \u2028'
    with blocking.Host() as host:
        plugin = host.add(built / name)
        assert plugin.call("greet", {"name": odd}, timeout=250) == {"text": f"Hello {odd}"}
        assert plugin.call("add", {"numbers": [1, 2, 39]}, timeout=250) == {"sum": 42}
        with pytest.raises(RemoteError) as caught:
            plugin.call("greet", {}, timeout=250)
        assert caught.value.code == "invalid_input"


@pytest.mark.timeout(660)
@pytest.mark.requirement("execute:exit:waits")
@pytest.mark.parametrize("name", ALL)
def test_an_example_waits_for_its_host_to_read_the_answer(name: str, built: Path) -> None:
    """The host keeps the input open. A plugin that exits at once could be gone before its answer is read."""
    handshake = {"type": "handshake", "protocol_version": "rterm.plugin.v1"}
    request = {"type": "request", "request_id": "r", "tool_name": "greet", "input": {"name": "Ada"}}
    binding = bindings.read(built / name)
    program = sys.executable if binding.command[0] == "python" else binding.command[0]
    with subprocess.Popen(
        [program, *binding.command[1:]],
        cwd=binding.cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{json.dumps(handshake)}\n".encode())
        process.stdin.flush()
        process.stdout.readline()
        asked = time.monotonic()
        process.stdin.write(f"{json.dumps(request)}\n".encode())
        process.stdin.flush()
        assert b"Hello Ada" in process.stdout.readline()
        assert process.wait(30) == 0  # by itself, though its input is still open
        assert time.monotonic() - asked >= LEAST_S


def test_every_example_directory_is_tested() -> None:
    assert {path.name for path in (EXAMPLES / "execute").iterdir()} == {param.values[0] for param in ALL}
