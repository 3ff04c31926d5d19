"""How a worker finds the modules beside it: what is kept compiled counts as it does for Python, and nothing else."""

import importlib.machinery
import importlib.util
import json
import marshal
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import plughost_sdk
import pytest
from plughost_sdk import envelope_worker
from plughost_sdk.envelope_worker import LARGEST, Siblings

LOADER = Path(__file__).parents[2] / "src/plughost/process/loader.py"
MODULE = "envelope"  # one that every worker imports
NAME = f"plughost_sdk.{MODULE}"
HEADER = 16  # bytes before the code
PROBE = """
import sys
from plughost_sdk.envelope import Plugin as Base
class Plugin(Base):
    name, version, supported_extensions = "probe", "1.0", [".txt"]
    def can_handle(self, path, variables): return True
    def transform(self, path, ctx): pass
    def validate_variables(self, variables): return {found}
"""


@pytest.fixture
def sdk(tmp_path):
    """A copy of the package, with all its modules compiled."""
    directory = tmp_path / "copy" / "plughost_sdk"
    directory.mkdir(parents=True)
    for source in Path(plughost_sdk.__file__).parent.glob("*.py"):
        py_compile.compile(str(shutil.copy(source, directory)), doraise=True)
    return directory


def compiled(sdk, name=MODULE):
    return Path(importlib.util.cache_from_source(str(sdk / f"{name}.py")))


def edit(sdk, old, new):
    """Change the source so that a validation shows it; its age and size tell that it was changed."""
    source = sdk / f"{MODULE}.py"
    text = source.read_text()
    assert old in text
    source.write_text(text.replace(old, new))
    return source


def missing(sdk):
    compiled(sdk).unlink()


def older_than_its_source(sdk):
    before = (sdk / f"{MODULE}.py").stat()
    source = edit(sdk, 'api_version: str = "1"', 'api_version: str = "9"')
    assert source.stat().st_size == before.st_size
    os.utime(source, (before.st_mtime + 2, before.st_mtime + 2))


def of_a_source_of_another_size(sdk):
    before = (sdk / f"{MODULE}.py").stat()
    source = edit(sdk, 'api_version: str = "1"', 'api_version: str = "99"')
    os.utime(source, (before.st_mtime, before.st_mtime))


def of_another_python(sdk):
    data = compiled(sdk).read_bytes()
    compiled(sdk).write_bytes(bytes([data[0] ^ 1]) + data[1:])


def empty(sdk):
    compiled(sdk).write_bytes(b"")


def cut_in_its_header(sdk):
    compiled(sdk).write_bytes(compiled(sdk).read_bytes()[: HEADER - 1])


def checked_by_its_hash(sdk):
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    py_compile.compile(str(sdk / f"{MODULE}.py"), doraise=True, invalidation_mode=mode)


def a_directory(sdk):
    missing(sdk)
    compiled(sdk).mkdir()


HARMLESS = [
    missing,
    older_than_its_source,
    of_a_source_of_another_size,
    of_another_python,
    empty,
    cut_in_its_header,
    checked_by_its_hash,
]


def cut_in_its_code(sdk):
    compiled(sdk).write_bytes(compiled(sdk).read_bytes()[:-1])


def without_code(sdk):
    compiled(sdk).write_bytes(compiled(sdk).read_bytes()[:HEADER])


def of_something_else(sdk):
    compiled(sdk).write_bytes(compiled(sdk).read_bytes()[:HEADER] + marshal.dumps(["no code"]))


def without_a_source(sdk):
    (sdk / f"{MODULE}.py").unlink()


def too_large(sdk):
    with compiled(sdk).open("ab") as file:
        file.write(bytes(LARGEST))


# What is found


@pytest.mark.parametrize("name", ["plughost_sdk", NAME, "plughost_sdk.small_json"])
def test_a_module_is_found_as_python_finds_it(sdk, name):
    path = [str(sdk)] if "." in name else [str(sdk.parent)]
    found, usual = Siblings(str(sdk)).find_spec(name), importlib.machinery.PathFinder.find_spec(name, path)
    for each in ("name", "origin", "cached", "has_location", "parent", "submodule_search_locations"):
        assert getattr(found, each) == getattr(usual, each), each
    for _ in range(2):  # the second time it is read anew
        assert found.loader.get_code(name) == usual.loader.get_code(name)


def test_the_code_names_the_file_where_it_is_now(sdk, tmp_path):
    moved = shutil.copytree(sdk, tmp_path / "elsewhere")
    code = Siblings(str(moved)).find_spec(NAME).loader.get_code(NAME)
    assert code.co_filename == str(moved / f"{MODULE}.py")


@pytest.mark.parametrize(
    "damage",
    [*HARMLESS, a_directory, cut_in_its_code, without_code, of_something_else, without_a_source, too_large],
)
def test_what_python_would_not_take_is_left_to_python(sdk, damage):
    assert Siblings(str(sdk)).find_spec(NAME) is not None
    damage(sdk)
    assert Siblings(str(sdk)).find_spec(NAME) is None


@pytest.mark.parametrize(
    "name",
    ["json", "plughost", "plughost_sdk2", "probe.plughost_sdk", "plughost_sdk.none", "plughost_sdk.frames"],
)
def test_nothing_else_is_found(sdk, name):
    assert Siblings(str(sdk)).find_spec(name) is None


def test_the_package_is_found_also_if_it_is_not_compiled(sdk):
    compiled(sdk, "__init__").unlink()
    spec = Siblings(str(sdk)).find_spec("plughost_sdk")
    assert spec.submodule_search_locations == [str(sdk)]
    assert spec.loader.get_code("plughost_sdk").co_filename == str(sdk / "__init__.py")


# The worker


def validate(sdk, tmp_path, *options, way="script", found="[]"):
    """Return what the worker of *sdk* says about a plugin whose validation returns *found*."""
    package, tree = tmp_path / "probe", tmp_path / "tree"
    for each in (package, tree):
        each.mkdir(exist_ok=True)
    (package / "__init__.py").write_text(PROBE.format(found=found))
    program = [str(sdk / "envelope_worker.py")]
    words = [str(LOADER), "-", "run", *program] if way == "loader" else program
    child = subprocess.run(
        [sys.executable, "-I", *options, *words, str(package), "--mode", "validate"],
        input=b'{"context": {"variables": {}}}',
        capture_output=True,
        timeout=250,
        check=False,
        cwd=tree,
        env={"PATH": os.defpath},
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)


FILES = "[m.__file__ for n, m in sys.modules.items() if n.startswith('plughost_sdk')]"
VERSIONS = {older_than_its_source: "9", of_a_source_of_another_size: "99"}


@pytest.mark.parametrize("way", ["script", "loader"])
def test_a_worker_imports_what_is_beside_it(sdk, tmp_path, way):
    files = validate(sdk, tmp_path, way=way, found=FILES)["errors"]
    assert {str(Path(each).parent) for each in files} == {str(sdk)}
    assert len(files) > 5


@pytest.mark.parametrize("damage", HARMLESS)
def test_a_worker_runs_the_source_where_nothing_usable_is_kept(sdk, tmp_path, damage):
    damage(sdk)
    assert validate(sdk, tmp_path)["plugin"]["api_version"] == VERSIONS.get(damage, "1")


@pytest.mark.parametrize("options", [("-O",), ("-X", "pycache_prefix=none")])
def test_a_worker_that_keeps_its_code_elsewhere_does_not_take_this_one(sdk, tmp_path, options):
    data = compiled(sdk).read_bytes()
    other = compile("raise SystemExit(77)", "other", "exec")
    compiled(sdk).write_bytes(data[:HEADER] + marshal.dumps(other))
    assert validate(sdk, tmp_path, "-B", *options)["errors"] == []


@pytest.mark.parametrize("name", ["__init__", "envelope_command", "envelope_worker"])
def test_a_worker_needs_nothing_to_be_compiled(sdk, tmp_path, name):
    compiled(sdk, name).unlink()
    files = validate(sdk, tmp_path, way="loader", found=FILES)["errors"]
    assert {str(Path(each).parent) for each in files} == {str(sdk)}


@pytest.mark.parametrize("way", ["script", "loader"])
def test_nothing_in_the_working_directory_stands_in_for_a_module_of_the_worker(sdk, tmp_path, way):
    tree = tmp_path / "tree"
    for directory in (tree, tree / "plughost_sdk"):
        directory.mkdir()
        for source in sdk.glob("*.py"):
            (directory / source.name).write_text("import os; os._exit(77)")
            py_compile.compile(str(directory / source.name), doraise=True)
    assert validate(sdk, tmp_path, way=way)["errors"] == []


def test_a_plugin_finds_the_finders_of_python_only(sdk, tmp_path):
    found = "[repr(each).split(' at ')[0] for each in sys.meta_path]"
    program = f"import json, sys; print(json.dumps({found}))"
    usual = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, timeout=250, check=True
    )
    assert validate(sdk, tmp_path, found=found)["errors"] == json.loads(usual.stdout)


def test_importing_the_worker_adds_no_finder():
    assert not any(isinstance(each, envelope_worker.Siblings) for each in sys.meta_path)
