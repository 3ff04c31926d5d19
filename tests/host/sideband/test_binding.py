"""How a worker is named, and which Python is meant if none is."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from plughost.errors import LocalProtocolError, ManifestError
from plughost.host.sideband.options import ConsoleKeywords, plan
from plughost.manifest.binding import Binding, Environment, Limits
from plughost.manifest.sideband_binding import R_WORKER, WORKER, bind, find_python, find_r, limits_of
from plughost.manifest.sideband_limits import LINE_BYTES, SidebandLimits


def program(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home/project/deep").mkdir(parents=True)
    return tmp_path / "home"


def found(home: Path, cwd: str = "project/deep", **variables: str) -> Path:
    return find_python(home / cwd, None, {"HOME": str(home), "PATH": "/nowhere", **variables})


def test_the_nearest_virtual_environment_is_meant(home: Path) -> None:
    far = program(home / ".venv/bin/python")
    assert found(home) == far
    near = program(home / "project/.venv/bin/python3")
    assert found(home) == near
    nearest = program(home / "project/deep/.venv/bin/python")
    assert found(home) == nearest


def test_nobody_looks_above_the_home_directory(home: Path) -> None:
    program(home.parent / ".venv/bin/python")
    assert found(home) == Path(sys.executable)


def test_outside_of_the_home_directory_all_that_is_above_is_looked_at(home: Path) -> None:
    above = program(home.parent / ".venv/bin/python")
    assert find_python(home / "project", None, {"HOME": "/elsewhere", "PATH": ""}) == above


def test_what_cannot_be_run_is_passed_over(home: Path) -> None:
    far = program(home / ".venv/bin/python")
    program(home / "project/.venv/bin/python", 0o644)
    broken = home / "project/deep/.venv/bin/python"
    broken.parent.mkdir(parents=True)
    broken.symlink_to("/nowhere/python")
    (home / "project/.venv/bin/python3").mkdir()
    assert found(home) == far


def test_then_comes_the_path_and_then_this_interpreter(home: Path) -> None:
    usual = program(home.parent / "bin/python3")
    assert found(home, PATH=str(usual.parent)) == usual
    assert found(home) == Path(sys.executable)


def test_a_link_is_kept_because_a_virtual_environment_is_one(home: Path) -> None:
    link = home / ".venv/bin/python"
    link.parent.mkdir(parents=True)
    link.symlink_to(sys.executable)
    assert found(home) == link


def test_a_name_is_a_file_an_environment_or_a_program_on_the_path(home: Path) -> None:
    python = program(home / "env/bin/python")
    variables = {"PATH": str(python.parent)}
    assert find_python(home, "env", variables) == python
    assert find_python(home, "./env/bin/python", variables) == python
    assert find_python(home, python, variables) == python
    assert find_python(home / "project", "python", variables) == python


@pytest.mark.parametrize("name", ["", "\0", "nowhere", "./nowhere", "project", "text"])
def test_a_name_that_is_no_interpreter_is_refused(home: Path, name: str) -> None:
    program(home / "text", 0o644)
    program(home / ".venv/bin/python")  # is not taken instead
    with pytest.raises(ManifestError):
        find_python(home, name, {"PATH": "/nowhere"})


def test_the_worker_of_an_interpreter_is_the_one_that_comes_with_us(tmp_path: Path) -> None:
    binding = bind(sys.executable, name="mine", cwd=tmp_path)
    assert binding.command == (sys.executable, WORKER)
    assert os.path.isfile(WORKER)
    assert (binding.name, binding.contract, binding.cwd) == ("mine", "sideband", tmp_path)
    assert "HOME" in binding.environment.inherit


@pytest.mark.parametrize("name", ["r", "R"])
def test_the_language_r_is_the_rscript_on_the_path(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    rscript = program(home / "bin/Rscript")
    (home / "R").mkdir()  # as in every package of R: it is not meant
    monkeypatch.setenv("PATH", str(rscript.parent))
    assert bind(name, cwd=home).command == (str(rscript), R_WORKER)
    assert os.path.isfile(R_WORKER)
    assert len(list(Path(R_WORKER).with_name("sideband_worker").glob("*.R"))) > 5


def test_without_r_the_error_says_what_to_install(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home))
    with pytest.raises(ManifestError) as caught:
        bind("r", cwd=home)
    assert "r-base-core" in str(caught.value)
    with pytest.raises(ManifestError):
        find_r(home, {"PATH": ""})


@pytest.mark.parametrize("name", ["Rscript", "Rscript-4.4", "R", "R-4.4.1", "R4"])
def test_a_program_that_is_an_r_gets_the_worker_for_r(home: Path, name: str) -> None:
    path = program(home / "opt" / name)
    command = bind(path).command
    assert command[0] == str(path)
    assert command[-1].endswith(R_WORKER)
    assert command[-1].startswith("--file=") is not name.startswith("Rscript")


@pytest.mark.parametrize("name", ["Rust", "Rscripts", "python3", "r4", "R-"])
def test_every_other_program_is_a_python(home: Path, name: str) -> None:
    path = program(home / "opt" / name)
    assert bind(path).command == (str(path), WORKER)


@pytest.mark.parametrize("name", ["python", "Python"])
def test_the_language_python_is_the_python_of_the_project(home: Path, name: str) -> None:
    near = program(home / ".venv/bin/python")
    program(home / "python", 0o644)
    assert bind(name, cwd=home).command == (str(near), WORKER)


WORKER_FILE = """
[plugin]
name = "mine"
contract = "sideband"
command = ["./worker", "-x"]
cwd = "data"
[environment]
pass = ["PATH"]
set = { DEPTH = "3" }
[limits]
handshake_s = 3
head_chars = 2048
memory_mb = 99
"""


@pytest.fixture
def project(home: Path) -> Path:
    """A directory whose project knows workers by name."""
    (home / "plughost.toml").write_text('[plugins]\nours = "workers/mine"\nbroken = "workers/none"\n')
    (home / "workers/mine").mkdir(parents=True)
    (home / "workers/mine/plugin.toml").write_text(WORKER_FILE)
    return home


@pytest.mark.parametrize("name", ["ours", "workers/mine", "workers/mine/plugin.toml", "./workers/mine"])
def test_a_worker_with_a_file_of_its_own_is_named_as_any_plugin(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(project)
    program(project / "bin/ours")  # is not meant
    monkeypatch.setenv("PATH", str(project / "bin"))
    binding = bind(name)
    home = project / "workers/mine"
    assert (binding.name, binding.command, binding.directory) == ("mine", ("./worker", "-x"), home)
    assert binding.cwd == home / "data"
    assert binding.environment == Environment(inherit=("PATH",), set={"DEPTH": "3"})
    assert limits_of(binding) == SidebandLimits(handshake_s=3, head_chars=2048, memory_mb=99)


def test_what_is_said_of_such_a_worker_goes_before_its_file(project: Path) -> None:
    environment = Environment(inherit=())
    limits = SidebandLimits(images=1)
    binding = bind("ours", name="other", cwd=project / "project", limits=limits, environment=environment)
    assert (binding.name, binding.command) == ("other", ("./worker", "-x"))
    assert (binding.directory, binding.cwd) == (project / "workers/mine", project / "project")
    assert (binding.limits, binding.environment) == (limits, environment)


def test_a_worker_whose_file_is_broken_is_refused_with_its_own_reason(project: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        bind("broken", cwd=project)
    assert "workers/none" in caught.value.source


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("head_chars = 2048", "head_chars = 1"),
        ("head_chars = 2048", 'head_chars = "many"'),
        ("head_chars = 2048", "frame_bytes = 33554433"),
        ("head_chars = 2048", "images = 4097"),
        ("head_chars = 2048", "image_bytes = -1"),
        ("head_chars = 2048", "spool_bytes = 1.5"),
        ("head_chars = 2048", "heads = 2"),
        ("handshake_s = 3", "handshake_s = 0"),
        ('contract = "sideband"', 'contract = "execute"'),
        ('contract = "sideband"', 'contract = "sidebands"'),
        ('command = ["./worker", "-x"]', "command = []"),
    ],
)
def test_a_file_that_could_not_work_is_refused(project: Path, old: str, new: str) -> None:
    (project / "workers/mine/plugin.toml").write_text(WORKER_FILE.replace(old, new))
    with pytest.raises(ManifestError):
        bind("ours", cwd=project)


def test_a_file_may_say_no_limits_at_all(project: Path) -> None:
    (project / "workers/mine/plugin.toml").write_text(WORKER_FILE.partition("[limits]")[0])
    assert bind("ours", cwd=project).limits == SidebandLimits()


@pytest.mark.parametrize("field", SidebandLimits.__struct_fields__)
def test_every_limit_can_be_set_in_a_file(project: Path, field: str) -> None:
    value = 3_000  # seconds, bytes, characters, pictures: all of them may be so many
    assert getattr(SidebandLimits(), field) != value
    (project / "workers/mine/plugin.toml").write_text(
        WORKER_FILE.partition("[limits]")[0] + f"[limits]\n{field} = {value}\n"
    )
    assert getattr(limits_of(bind("ours", cwd=project)), field) == value


def test_a_command_is_taken_as_it_is(tmp_path: Path) -> None:
    environment = Environment(inherit=())
    binding = bind(["./worker", "-x"], cwd=tmp_path, environment=environment)
    assert (binding.command, binding.directory) == (("./worker", "-x"), tmp_path)
    assert binding.environment is environment


@pytest.mark.parametrize("command", [[], [""], [" ", "x"], ["a", 1], ["a\0b"]], ids=range(5))
def test_a_command_that_is_none_is_refused(command: list[str]) -> None:
    with pytest.raises(ManifestError):
        bind(command)


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"worker": 5}, "worker"),
        ({"worker": {"a": 1}}, "worker"),
        ({"worker": b"python"}, "worker"),
        ({"limits": 5}, "limits"),
        ({"limits": {"timeout_s": 1}}, "limits"),
        ({"environment": 5}, "environment"),
        ({"environment": {"A": "b"}}, "environment"),
        ({"limits": SidebandLimits(timeout_s=0)}, "limits.timeout_s"),
        ({"environment": Environment(inherit=cast(Any, "PATH"))}, "environment.inherit"),
        ({"cwd": 5}, "cwd"),
        ({"name": 5}, "name"),
        ({"name": ["a"]}, "name"),
    ],
    ids=lambda value: str(value),
)
def test_what_is_of_a_wrong_type_is_refused_by_its_name(wrong: dict[str, Any], key: str) -> None:
    with pytest.raises(ManifestError) as caught:
        plan(wrong.pop("worker", None), wrong.pop("name", ""), cast(ConsoleKeywords, wrong), {"console"})
    assert caught.value.key == key


def test_an_output_directory_that_is_no_path_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        plan(sys.executable, "", cast(ConsoleKeywords, {"output_directory": 5}), set())


def test_a_path_may_be_bytes(home: Path) -> None:
    class Odd(os.PathLike[bytes]):
        def __fspath__(self) -> bytes:
            return os.fsencode(program(home / "odd"))

    worker: Any = Odd()
    assert bind(worker, cwd=home).command == (str(home / "odd"), WORKER)


def test_a_binding_keeps_its_own_limits_and_gets_those_of_the_contract(tmp_path: Path) -> None:
    plain = Binding(
        "w", "sideband", ("worker",), tmp_path, tmp_path, limits=Limits(handshake_s=3.0, memory_mb=99)
    )
    limits = limits_of(bind(plain))
    assert (limits.handshake_s, limits.memory_mb) == (3.0, 99)
    assert (limits.timeout_s, limits.teardown_s) == (SidebandLimits().timeout_s, SidebandLimits().teardown_s)
    assert bind(plain, name="other").name == "other"


def test_a_binding_of_another_contract_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError):
        bind(Binding("w", "execute", ("worker",), tmp_path, tmp_path))


@pytest.mark.parametrize(
    "wrong",
    [
        {"frame_bytes": LINE_BYTES + 1},
        {"frame_bytes": 0},
        {"head_chars": 1023},
        {"images": -1},
        {"spool_bytes": -1},
        {"timeout_s": 0},
    ],
    ids=lambda wrong: "-".join(wrong),
)
def test_limits_that_could_not_work_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ManifestError):
        bind(sys.executable, limits=SidebandLimits(**wrong))  # type: ignore[arg-type]
