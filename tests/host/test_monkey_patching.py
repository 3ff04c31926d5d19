"""Hosts under gevent and eventlet: one clear error, and none where nothing was patched."""

from __future__ import annotations

import subprocess
import sys

import pytest

HOSTS = {
    "asyncio": "import plughost; plughost.Host()",
    "blocking": "from plughost import blocking; blocking.Host().close()",
}
PATCHES = {
    "gevent": "from gevent import monkey; monkey.patch_all()",
    "eventlet": "import eventlet; eventlet.monkey_patch()",
}
SHOW = """
try:
    {host}
except plughost.Unsupported as error:
    print(error)
"""


def run(before: str, host: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{before}\nimport plughost\n{SHOW.format(host=host)}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("patcher", PATCHES)
def test_a_host_in_a_patched_process_is_one_clear_error(patcher: str, host: str) -> None:
    pytest.importorskip(patcher, reason=f"needs {patcher}: pip install {patcher} into .venv")
    said = run(PATCHES[patcher], HOSTS[host])
    assert said.startswith(f"{patcher} has replaced select in this process")


# What the two packages do to the standard library, for where they are not installed.
LIKE = """
import sys, types, {module}
def patched(*words): ...
patched.__module__ = "{patcher}.green"
sys.modules["{patcher}"] = types.ModuleType("{patcher}")
{module}.{name} = patched
"""


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("patcher", PATCHES)
@pytest.mark.parametrize(
    ("module", "name"), [("select", "select"), ("time", "sleep"), ("_thread", "start_new_thread")]
)
def test_each_way_to_wait_that_is_replaced_is_noticed(
    module: str, name: str, patcher: str, host: str
) -> None:
    assert f"{patcher} has replaced" in run(
        LIKE.format(module=module, name=name, patcher=patcher), HOSTS[host]
    )


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("patcher", PATCHES)
def test_a_host_beside_a_package_that_has_patched_nothing_works(patcher: str, host: str) -> None:
    assert (
        run(f"import sys, types; sys.modules['{patcher}'] = types.ModuleType('{patcher}')", HOSTS[host]) == ""
    )
