"""Every example keeps its contract, in every language, and does what its neighbours do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from plughost import RemoteError, blocking
from plughost.testkit import assert_conforms

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


def test_every_example_directory_is_tested() -> None:
    assert {path.name for path in (EXAMPLES / "execute").iterdir()} == {param.values[0] for param in ALL}
