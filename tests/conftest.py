"""What every test may use: real plugins by fault, leak checks, both event loops, and the `--all` switch."""

from __future__ import annotations

import asyncio
import compileall
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop
from hypothesis import HealthCheck, settings

from plughost.files.removal import remove
from plughost.manifest import binding as bindings
from plughost.manifest.binding import Binding, Environment, ExecuteOptions, Limits

ROOT = Path(__file__).parent.parent
NOBODY = 65_534  # the user that owns nothing
HOSTILE = Path(__file__).parent / "process" / "hostile.py"

for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    if (
        signal.getsignal(number) is signal.SIG_IGN
    ):  # started in the background, or by nohup: children would inherit it
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)
uvloop.new_event_loop().close()  # its first loop opens descriptors that it keeps: not a leak of ours
sys.dont_write_bytecode = False  # where the environment forbids it, each worker would rewrite every test anew
settings.register_profile("all", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("everyday", settings.get_profile("all"), max_examples=25)


# These start whole programs, dozens of times each: of the tests in each such file one in so many runs every day.
SLOW = {
    "tests/cli/": 8,
    "tests/conformance/test_duplex": 8,
    "tests/conformance/test_envelope": 8,
    "tests/conformance/test_execute.py": 4,
    "tests/conformance/test_hook": 8,
    "tests/docs/test_examples.py": 100,
    "tests/examples/": 6,
    "tests/files/test_restore.py": 3,
    "tests/frontends/": 5,
    "tests/host/envelope/": 8,
    "tests/host/hook/": 6,
    "tests/host/sideband/": 6,
    "tests/process/test_hostile_plugins.py": 6,
    "tests/sdk/test_envelope_worker.py": 3,
    "tests/sdk/test_sideband": 6,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="also run what takes minutes")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("all" if config.getoption("--all") else "everyday")
    if not hasattr(config, "workerinput"):  # once, before there are workers
        for folder in ("src", "sdk/python"):  # or hundreds of children would each compile us for themselves
            compileall.compile_dir(ROOT / folder, quiet=2)


def pytest_report_header(config: pytest.Config) -> str | None:
    return (
        None if config.getoption("--all") else "a part of the tests runs every day: ./dev test --all runs all"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--all"):
        _leave_out(config, items)
    for item in items:
        for marker in item.iter_markers("needs"):
            missing = [tool for tool in marker.args if shutil.which(tool) is None]
            if missing:
                reason = f"needs {', '.join(missing)}: install it, or let ./dev test --all do so"
                item.add_marker(pytest.mark.skip(reason=reason))


def _leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out of *items* what takes minutes, and most of what takes seconds. What was asked for by name stays."""
    kept, left_out = [], []
    seen: Counter[str] = Counter()
    wanted = {arg for arg in config.args if Path(arg).resolve() not in (ROOT, ROOT / "tests")}
    by_name = any("::" in arg for arg in wanted)
    for item in items:
        stays = by_name or item.get_closest_marker("long") is None
        if not wanted:
            name, every = _thinned(item)
            stays = stays and seen[name] % every == 0
            seen[name] += 1
        (kept if stays else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


def _thinned(item: pytest.Item) -> tuple[str, int]:
    """Return among whom *item* is counted, and of how many one runs every day."""
    file = item.nodeid.partition("::")[0]
    every = next((each for start, each in SLOW.items() if file.startswith(start)), 1)
    thin = item.get_closest_marker("thin")
    if thin is not None:
        name = item.nodeid.partition("[")[0] if len(thin.args) == 1 else thin.args[1]
        return name, max(every, thin.args[0])
    if every > 1 and item.get_closest_marker("requirement") and "[" not in item.nodeid:
        return f"{file}, clauses", 2  # it may be the only test of its clause
    return file, every


def pytest_asyncio_loop_factories(
    config: pytest.Config,
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    return {**loops, "uvloop": uvloop.new_event_loop} if config.getoption("--all") else loops


@pytest.fixture
def greeter() -> Path:
    """The bundled plugin: a directory."""
    return ROOT / "src/plughost/bundled/execute/greeter"


@pytest.fixture
def hostile(tmp_path: Path) -> Callable[..., Binding]:
    """Return bindings of tests/process/hostile.py by fault; keywords are limits and options."""

    def make(fault: str, *arguments: str, allow: tuple[str, ...] = (), **options: Any) -> Binding:
        execute = {key: options.pop(key) for key in ("spares", "strict") if key in options}
        survivors = options.pop("survivors", "end")
        environment = options.pop("environment", Environment())
        return Binding(
            name="hostile",
            contract="execute",
            command=(sys.executable, "-I", str(HOSTILE), fault, *arguments),
            directory=tmp_path,
            cwd=tmp_path,
            allow=allow,
            environment=environment,
            limits=Limits(**options),
            survivors=survivors,
            execute=ExecuteOptions(**execute),
        )

    return make


@pytest.fixture
def bare() -> Callable[..., Binding]:
    """Return a binding of a bare command line."""
    return lambda *command: bindings.of_command("execute", list(command))


def open_descriptors() -> dict[int, str]:
    """Return this process's descriptors and what they are."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # the descriptor of the listing itself
            continue
    return found


def children() -> set[int]:
    """Return this process's children, zombies included."""
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        try:
            found |= set(map(int, Path(f"/proc/self/task/{task}/children").read_text().split()))
        except OSError:
            continue
    return found


@pytest.fixture
def leak_check() -> Iterator[None]:
    """Fail the test if it leaves a descriptor or a child behind."""
    before, kids = open_descriptors(), children()
    yield
    after = open_descriptors()
    leaked = {fd: what for fd, what in after.items() if fd not in before and "pipe" in what + "pipe"}
    assert not leaked, f"descriptors left open: {leaked}"
    assert children() <= kids, "child processes left behind"


@pytest.fixture
def ordinary() -> Iterator[Path]:
    """Be an ordinary user for one test, whoever runs it, in a directory of that user's own."""
    home = Path(tempfile.mkdtemp(prefix="plughost-ordinary-"))
    uid, gid = os.geteuid(), os.getegid()
    try:
        if uid == 0:
            os.chown(home, NOBODY, NOBODY)
            os.setegid(NOBODY)
            os.seteuid(NOBODY)
        yield home
    finally:
        if uid == 0:
            os.seteuid(uid)
            os.setegid(gid)
        above = os.open(home.parent, os.O_RDONLY)
        remove(home.name, above)  # also what locks its own user out
        os.close(above)
