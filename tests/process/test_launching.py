"""How plugins are started: isolated from the working directory, under limits, from any thread, guarded."""

from __future__ import annotations

import importlib.util
import json
import marshal
import os
import resource
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import plughost
from plughost import blocking
from plughost.contracts import refused_limit
from plughost.errors import Unsupported
from plughost.manifest.binding import Binding, Environment, Limits, parse
from plughost.manifest.envelope_binding import WORKER
from plughost.process import command, environment, limits
from plughost.process.local import LocalLauncher

MOST_OPEN_FILES = Path("/proc/sys/fs/nr_open")
PLUGIN = """
from plughost_sdk import execute
import helper
plugin = execute.Plugin("p", version="1")

@plugin.tool
def look(input, context):
    import json, sys, resource
    return {
        "helper": helper.NAME,
        "json": json.__file__,
        "argv": sys.argv,
        "main": __name__,
        "file": __file__,
        "limits": {
            name: resource.getrlimit(getattr(resource, "RLIMIT_" + name))
            for name in ("DATA", "NOFILE", "CPU", "FSIZE", "CORE")
        },
        "leftovers": sorted(set(globals()) & {"main", "_set", "_become", "_add_path", "os"}),
    }

plugin.run()
"""

SHELL_PLUGIN = r"""#!/bin/sh
read -r hello
printf '%s' '{"type":"handshake","manifest":{"plugin_id":"p","plugin_version":"1",'
echo '"protocol_version":"rterm.plugin.v1","exposed_tools":["look"]}}'
read -r request
id=$(printf %s "$request" | sed 's/.*"request_id":"\([^"]*\)".*/\1/')
printf '{"type":"response","request_id":"%s","status":"ok","output":{"open_files":"%s"}}\n' "$id" "$(ulimit -n)"
"""


@pytest.fixture
def look(tmp_path: Path) -> Callable[..., dict[str, object]]:
    """Make a Python plugin that reports how it was started, and call it."""
    home = tmp_path / "plugin"
    home.mkdir()
    (home / "p.py").write_text(PLUGIN)
    (home / "helper.py").write_text("NAME = 'its own helper'")
    (home / "json.py").write_text("raise SystemExit('hijacked')")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("json", "os", "helper", "plughost_sdk"):
        (elsewhere / f"{name}.py").write_text("raise SystemExit('hijacked')")

    def call(**options: int) -> dict[str, object]:
        lines = "".join(f"{key} = {value}\n" for key, value in options.items())
        words = '["python", "p.py", "one", "two"]'
        text = (
            f'[plugin]\nname = "p"\ncontract = "execute"\ncommand = {words}\n'
            f'cwd = "../elsewhere"\n[limits]\n{lines}'
        )
        with blocking.Host() as host:
            found: dict[str, object] = host.add(parse(text, home)).call("look")
        return found

    return call


def test_nothing_in_the_working_directory_can_stand_in_for_an_import(
    look: Callable[..., dict[str, object]],
) -> None:
    found = look()
    assert found["helper"] == "its own helper"
    assert "elsewhere" not in str(found["json"])
    assert "plugin" not in Path(str(found["json"])).parts


def test_a_python_plugin_finds_itself_as_main_with_its_arguments(
    look: Callable[..., dict[str, object]],
) -> None:
    found = look()
    assert found["main"] == "__main__"
    assert found["argv"][1:] == ["one", "two"]  # type: ignore[index]
    assert found["leftovers"] == []


def test_limits_are_set_before_a_python_plugin_runs(look: Callable[..., dict[str, object]]) -> None:
    found = look(memory_mb=300, open_files=77, cpu_s=50, file_mb=3)["limits"]
    assert found["DATA"] == [300 << 20] * 2  # type: ignore[index]
    assert found["NOFILE"] == [77, 77]  # type: ignore[index]
    assert found["CPU"] == [50, 51]  # type: ignore[index]
    assert found["FSIZE"] == [3 << 20] * 2  # type: ignore[index]
    assert found["CORE"] == [0, 0]  # type: ignore[index]


@pytest.mark.parametrize("prlimit", [True, False])
def test_limits_are_set_before_any_other_program_runs(
    prlimit: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not prlimit:
        monkeypatch.setattr(
            "shutil.which", lambda name, path=None: None if name == "prlimit" else f"/bin/{name}"
        )
    program = tmp_path / "p.sh"
    program.write_text(SHELL_PLUGIN)
    program.chmod(0o755)
    binding = Binding("p", "execute", ("./p.sh",), tmp_path, tmp_path, limits=Limits(open_files=66))
    with blocking.Host() as host:
        assert host.add(binding).call("look") == {"open_files": "66"}


def test_a_file_that_is_no_program_is_not_handed_to_a_shell(tmp_path: Path) -> None:
    program = tmp_path / "p"
    program.write_text("echo gotcha > marker\n")
    program.chmod(0o755)
    binding = Binding("p", "execute", ("./p",), tmp_path, tmp_path, limits=Limits(open_files=66))
    with blocking.Host() as host, pytest.raises(plughost.LaunchFailed):
        host.add(binding).call("look")
    assert not (tmp_path / "marker").exists()


def test_a_program_for_another_processor_is_refused(tmp_path: Path) -> None:
    real = Path(sys.executable).resolve().read_bytes()[:64]
    program = tmp_path / "p"
    program.write_bytes(real[:18] + b"\xf3\x00" + real[20:])
    program.chmod(0o755)
    for bounds in (Limits(), Limits(open_files=66)):
        binding = Binding("p", "execute", ("./p",), tmp_path, tmp_path, limits=bounds)
        with blocking.Host() as host, pytest.raises(plughost.LaunchFailed):
            host.add(binding).call("look")


def test_a_limit_above_the_hosts_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (100, 200))
    with pytest.raises(Unsupported):
        limits.kernel_limits(Limits(open_files=201))
    assert limits.kernel_limits(Limits(open_files=200)) == {"NOFILE": 200}
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(Unsupported):
        limits.kernel_limits(Limits(processes=5))


def test_a_contracts_own_limit_is_no_more_than_what_the_host_itself_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = Limits(open_files=256, cpu_s=60)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (20, 64))
    assert limits.kernel_limits(wanted, narrowed=True) == {"NOFILE": 64, "CPU": 60}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (20, 60))
    assert limits.kernel_limits(wanted, narrowed=True) == {"NOFILE": 60, "CPU": 59}, (
        "it is killed a second later"
    )
    monkeypatch.setattr(resource, "getrlimit", lambda which: (20, resource.RLIM_INFINITY))
    assert limits.kernel_limits(wanted, narrowed=True) == {"NOFILE": 256, "CPU": 60}


def test_what_the_system_calls_a_limit_is_known_by_its_name_in_the_binding() -> None:
    keys = ("memory_mb", "cpu_s", "open_files", "file_mb")
    for key in keys:
        (name,) = limits.kernel_limits(Limits(**{key: 1}))
        assert refused_limit.KEYS[name] == key
    assert set(refused_limit.KEYS.values()) == {*keys, "processes"}


@pytest.mark.skipif(not MOST_OPEN_FILES.exists(), reason="here root may have any number of open files")
@pytest.mark.parametrize("kind", ["python", "prlimit", "loader"])
def test_a_limit_that_not_even_root_can_set_is_launch_failed_and_named(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "loader":
        monkeypatch.setattr(
            "shutil.which", lambda name, path=None: None if name == "prlimit" else f"/bin/{name}"
        )
    program = tmp_path / "p"
    program.write_text(SHELL_PLUGIN)
    program.chmod(0o755)
    words = ("python", "p") if kind == "python" else ("./p",)
    most = int(MOST_OPEN_FILES.read_text())
    binding = Binding("p", "execute", words, tmp_path, tmp_path, limits=Limits(open_files=most + 1))
    with blocking.Host() as host, pytest.raises(plughost.LaunchFailed) as caught:
        host.add(binding).call("look")
    assert "limits.open_files" in caught.value.message
    assert caught.value.autopsy.stage == "launch"


@pytest.mark.parametrize(
    "deed",
    [
        "exit 125",
        "echo no >&2; exit 125",
        "echo 'plughost: cannot set the limit of my own' >&2; exit 125",
        "echo 'prlimit: NOFILE' >&2; exit 3",
    ],
)
def test_a_program_that_ends_with_the_same_status_has_crashed(deed: str, tmp_path: Path) -> None:
    program = tmp_path / "p.sh"
    program.write_text(f"#!/bin/sh\n{deed}\n")
    program.chmod(0o755)
    binding = Binding("p", "execute", ("./p.sh",), tmp_path, tmp_path, limits=Limits(open_files=66))
    with blocking.Host() as host, pytest.raises(plughost.PluginCrashed):
        host.add(binding).call("look")


def test_the_environment_is_the_allow_list_and_the_marker() -> None:
    found = environment.build(Environment(inherit=("A", "X"), set={"B": "2"}), {"A": "1", "C": "3"}, "run.1")
    assert found == {"A": "1", "B": "2", "NO_COLOR": "1", "TERM": "dumb", "PLUGHOST_RUN": "run.1"}


def test_a_bare_word_is_looked_up_on_the_plugins_path_only(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    binding = Binding("p", "execute", ("tool",), tmp_path, tmp_path)
    assert command.resolve(binding, str(tmp_path)).executable == str(program)
    with pytest.raises(FileNotFoundError):
        command.resolve(binding, "/usr/bin")


@pytest.fixture
def ignoring_sigchld() -> Iterator[None]:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


def test_a_host_that_ignores_sigchld_is_told_so(ignoring_sigchld: None, greeter: Path) -> None:
    with blocking.Host() as host, pytest.raises(plughost.LaunchFailed) as caught:
        host.add(greeter).call("greet")
    assert "SIGCHLD" in caught.value.message


def test_a_child_reaped_by_somebody_else_is_an_unknown_exit_not_a_hang(tmp_path: Path) -> None:
    launcher = LocalLauncher()
    try:
        process = launcher.launch(Binding("p", "execute", ("true",), tmp_path, tmp_path))
        os.waitpid(process.pid, 0)
        assert process.has_exited()
        assert process.reap().code is None
        process.dispose()
    finally:
        launcher.close()


def test_a_failed_launch_leaves_no_descriptor(tmp_path: Path) -> None:
    launcher = LocalLauncher()
    try:
        before = len(os.listdir("/proc/self/fd"))
        (tmp_path / "p").write_bytes(b"\x00")
        (tmp_path / "p").chmod(0o755)
        with pytest.raises(OSError):
            launcher.launch(Binding("p", "execute", ("./p",), tmp_path, tmp_path))
        assert len(os.listdir("/proc/self/fd")) <= before + 1  # the guard's pipe
    finally:
        launcher.close()


def test_a_host_of_any_size_starts_plugins_without_forking_itself(tmp_path: Path) -> None:
    """The counter of forks is the kernel's; a vfork shares the parent's pages instead of copying their table."""
    program = """
import resource
from pathlib import Path
from plughost.manifest.binding import Binding
from plughost.process.local import LocalLauncher

ballast = bytearray(300 << 20)
launcher = LocalLauncher()

def start():
    process = launcher.launch(Binding("p", "execute", ("true",), Path(), Path()))
    while not process.has_exited():
        pass
    process.reap()
    process.dispose()

start()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    start()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
launcher.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=250, check=True
    )
    assert json.loads(done.stdout) < 2_000  # page faults; a fork would write-protect and refault the ballast


def test_the_traceback_of_a_plugin_begins_with_its_own_file(tmp_path: Path) -> None:
    shown = _stderr_of(tmp_path, "def oops():\n    raise ValueError('mine')\n\noops()\n")
    assert "ValueError: mine" in shown
    assert "loader" not in shown


def _stderr_of(tmp_path: Path, source: str) -> str:
    """Return what the plugin *source* leaves on stderr, when it is started and ends at once."""
    (tmp_path / "p.py").write_text(source)
    return _run(tmp_path)


def _run(tmp_path: Path) -> str:
    binding = Binding("p", "execute", ("python", "p.py"), tmp_path, tmp_path)
    with blocking.Host() as host, pytest.raises(plughost.PluginCrashed) as caught:
        host.add(binding).call("look")
    return caught.value.autopsy.stderr_tail


def test_an_error_in_a_plugins_source_names_its_file_and_line(tmp_path: Path) -> None:
    shown = _stderr_of(tmp_path, "x = 1\ndef (:\n")
    assert f'File "{tmp_path}/p.py", line 2' in shown
    assert "SyntaxError" in shown


def test_a_warning_about_a_plugins_source_names_its_file_and_line(tmp_path: Path) -> None:
    shown = _stderr_of(tmp_path, "x = 1\nx is 'a'\n")
    assert f"{tmp_path}/p.py:2: SyntaxWarning" in shown


def test_a_plugin_finds_nothing_of_ours_in_its_namespace_and_no_trace_function(tmp_path: Path) -> None:
    program = """
import sys
ours = sorted(name for name in globals() if not name.startswith("__"))
warned = [each for each in __import__("_warnings").filters if each[0] == "error"]
print(ours, sys.gettrace(), warned, (lambda: 0).__code__.co_filename, file=sys.stderr)
"""
    assert f"['sys'] None [] {tmp_path}/p.py" in _stderr_of(tmp_path, program)


def _keep(source: Path, code: str) -> None:
    """Have Python keep *code* for *source*, as if it were what *source* says."""
    kept = Path(importlib.util.cache_from_source(str(source)))
    kept.parent.mkdir()
    kept.write_bytes(_header(source) + marshal.dumps(compile(code, "moved", "exec")))


def test_a_plugins_file_is_run_as_it_is_now_whatever_is_kept_of_it(tmp_path: Path) -> None:
    source = tmp_path / "p.py"
    source.write_text("import sys\nsys.exit('from the source')\n")
    _keep(source, "import sys; sys.exit('kept')")
    assert "from the source" in _run(tmp_path)


def test_only_our_own_worker_is_run_as_it_is_kept(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("")
    plugin = Binding("p", "execute", ("python", "p.py"), tmp_path, tmp_path)
    worker = Binding("p", "envelope", ("python", WORKER, "p"), tmp_path, tmp_path)
    modes = [command.resolve(each, os.defpath).words[4] for each in (plugin, worker)]
    assert modes == ["run", "own"]


def _run_own(source: Path) -> str:
    words = [sys.executable, "-I", command.loader(), "-", "own", str(source)]
    return subprocess.run(words, capture_output=True, text=True).stderr


def test_our_own_is_run_as_it_is_kept(tmp_path: Path) -> None:
    source = tmp_path / "p.py"
    source.write_text("import sys\nsys.exit('from the source')\n")
    assert "from the source" in _run_own(source)
    _keep(source, "import sys; sys.exit('kept in ' + sys._getframe().f_code.co_filename)")
    assert f"kept in {source}" in _run_own(source)


@pytest.mark.parametrize("damage", ["magic", "flags", "time", "size", "header", "code", "kind"])
def test_our_own_is_compiled_where_what_is_kept_of_it_cannot_be_used(tmp_path: Path, damage: str) -> None:
    source = tmp_path / "p.py"
    source.write_text("import sys\nsys.exit('from the source')\n")
    _keep(source, "import sys; sys.exit('kept')")
    kept = Path(importlib.util.cache_from_source(str(source)))
    data = kept.read_bytes()
    at = {"magic": 0, "flags": 4, "time": 8, "size": 12}.get(damage, -1)
    if at >= 0:
        data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    kept.write_bytes({"header": data[:15], "code": data[:-1], "kind": data[:16] + b"N"}.get(damage, data))
    assert "from the source" in _run_own(source)


def _header(source: Path) -> bytes:
    """Return what stands before the code that is kept of *source*."""
    now = source.stat()
    return importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, int(now.st_mtime), now.st_size)


def test_a_host_without_descriptors_left_says_so_and_leaks_nothing(greeter: Path) -> None:
    """Every number of free descriptors, so that each step of a launch is the one that finds none."""
    program = """
import os, resource, sys
import plughost
from plughost import blocking
host = blocking.Host()
plugin = host.add(sys.argv[1])
plugin.call("greet", {"name": "Ada"})
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
before = sorted(map(int, os.listdir("/proc/self/fd")))
highest = max(before)
codes = set()
for free in range(12):
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + free, hard))
    try:
        plugin.call("greet", {"name": "Ada"})
        codes.add("ok")
    except plughost.LaunchFailed as failure:
        assert "descriptors" in failure.message, failure
        codes.add("failed")
    except plughost.PluginCrashed as failure:
        codes.add("crashed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sorted(map(int, os.listdir("/proc/self/fd"))) == before
assert {"ok", "failed"} <= codes, codes
host.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(greeter)],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
