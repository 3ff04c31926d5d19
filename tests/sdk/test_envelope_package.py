"""From a plugin's directory to its class: loaded by path, under a name of its own, and refused with a reason."""

import inspect
import os
import py_compile
import sys
import types
from pathlib import Path

import pytest
from plughost_sdk import envelope, envelope_package
from plughost_sdk.envelope_package import Package, PackageRefused, find_class, load_by_name

CLASS = """
from plughost_sdk.envelope import Plugin as Base

class {name}(Base):
    name, version, supported_extensions = "p", "1", [".txt"]
    def can_handle(self, path, variables): return True
    def transform(self, path, ctx): pass
"""
PLUGIN = CLASS.format(name="Plugin")


def load(directory):
    return Package(directory).load()


@pytest.fixture(autouse=True)
def _modules():
    before = dict(sys.modules)
    yield
    for name in set(sys.modules) - set(before):
        del sys.modules[name]
    sys.modules.update(before)


@pytest.fixture
def package(tmp_path):
    """Return a function that writes a package's files and returns its directory."""

    def write(name="lab_stamp", **files):
        (tmp_path / name).mkdir()
        for stem, text in files.items():
            (tmp_path / name / f"{stem}.py").write_text(text)
        return str(tmp_path / name)

    return write


def test_a_package_is_loaded_under_the_name_of_its_directory(package):
    kind = load(package(__init__=PLUGIN))
    assert issubclass(kind, envelope.Plugin)
    assert (kind.__module__, kind.__name__) == ("lab_stamp", "Plugin")
    assert sys.modules["lab_stamp"].Plugin is kind


def test_a_package_may_be_made_of_many_modules(package):
    init = "from .plugin import Plugin\nimport lab_stamp.rules\nfrom lab_stamp import rules\n"
    plugin = PLUGIN + "from .rules import RULE\n"
    kind = load(package(__init__=init, plugin=plugin, rules="RULE = 1"))
    assert kind.__module__ == "lab_stamp.plugin"
    assert sys.modules["lab_stamp.rules"].RULE == 1


def test_a_directory_with_a_plain_plugin_file_is_a_package_too(package):
    kind = load(package(plugin=PLUGIN + "from .rules import RULE\n", rules="RULE = 1"))
    assert kind.__module__ == "lab_stamp"


def test_the_package_knows_where_it_is(package):
    directory = package(__init__=PLUGIN)
    module = sys.modules[load(directory).__module__]
    assert module.__file__ == f"{directory}/__init__.py"
    assert module.__path__ == [directory]
    assert module.__spec__.origin == module.__file__


def test_loading_adds_nothing_to_the_import_path(package):
    before = list(sys.path)
    load(package(__init__=PLUGIN))
    assert sys.path == before


def test_a_neighbour_of_the_package_cannot_be_imported(package):
    package("neighbour", __init__="")
    with pytest.raises(ModuleNotFoundError):
        load(package(__init__="import neighbour"))


@pytest.mark.parametrize("name", ["json", "os", "plughost_sdk", "my-plugin", "3d", "with space", "ünïcode-x"])
def test_a_name_that_is_taken_or_no_name_is_replaced_by_one_that_is_free(package, name):
    before = sys.modules.get(name)
    kind = load(package(name, __init__=PLUGIN + "from .rules import RULE\n", rules="RULE = 1"))
    assert kind.__module__.startswith("plugin_")
    assert kind.__module__.isidentifier()
    assert sys.modules.get(name) is before


def test_a_directory_without_a_plugin_is_refused(package):
    with pytest.raises(PackageRefused, match=r"__init__\.py"):
        load(package(other=PLUGIN))


def test_a_directory_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(PackageRefused):
        load(str(tmp_path / "nowhere"))


@pytest.mark.parametrize("error", ["1/0", "raise SystemExit(0)", "import nothing_of_the_kind", "("])
def test_what_the_code_raises_is_raised(package, error):
    expected = (ZeroDivisionError, SystemExit, ImportError, SyntaxError)
    with pytest.raises(expected):
        load(package(__init__=error))


def test_the_only_class_of_its_kind_need_not_be_called_plugin(package):
    source = "from plughost_sdk.envelope import Plugin\n" + CLASS.format(name="Stamp") + "Alias = Stamp\n"
    assert load(package(__init__=source)).__name__ == "Stamp"


def test_a_base_of_the_authors_own_that_lacks_methods_does_not_count(package):
    source = CLASS.format(name="Stamp") + "class Unfinished(Base):\n    pass\n"
    assert load(package(__init__=source)).__name__ == "Stamp"


@pytest.mark.parametrize(
    "source",
    [
        "",
        "Plugin = 7",
        "class Plugin: pass",
        "from plughost_sdk.envelope import Plugin",
        CLASS.format(name="One") + CLASS.format(name="Two"),
    ],
)
def test_a_module_without_one_plugin_class_is_refused(package, source):
    with pytest.raises(PackageRefused, match="lab_stamp"):
        load(package(__init__=source))


def test_an_older_host_names_a_module():
    module = types.ModuleType("lab_module")
    exec(PLUGIN, module.__dict__)
    sys.modules["lab_module"] = module
    assert load_by_name("lab_module") is module.Plugin is find_class(module)


@pytest.mark.parametrize("name", [None, "", 7])
def test_a_plugin_that_nobody_names_is_refused(name):
    with pytest.raises(PackageRefused):
        load_by_name(name)


def test_no_module_of_the_package_is_compiled_by_compile(package, monkeypatch):
    directory = package(__init__="from .plugin import Plugin", plugin=PLUGIN)
    monkeypatch.setattr("builtins.compile", lambda *_, **__: pytest.fail("it was called"))
    assert load(directory).__module__ == "lab_stamp.plugin"


def test_a_module_that_is_kept_compiled_needs_no_source(package):
    directory = package(__init__="from .plugin import Plugin", plugin=PLUGIN)
    source = Path(directory, "plugin.py")
    py_compile.compile(str(source), cfile=f"{source}c", doraise=True)
    source.unlink()
    assert load(directory).__module__ == "lab_stamp.plugin"


def test_a_package_is_compiled_before_it_is_loaded_and_not_run(package):
    directory = package(__init__=f"import sys; sys.lab_ran = True\n{PLUGIN}")
    found = Package(directory)
    (Path(directory) / "__init__.py").unlink()
    assert not hasattr(sys, "lab_ran")
    assert found.load().name == "p"
    del sys.lab_ran


def test_what_keeps_a_package_from_being_compiled_is_said_when_it_is_loaded(package):
    found = Package(package(__init__="def"))
    with pytest.raises(SyntaxError):
        found.load()


def test_a_module_that_is_executed_again_is_compiled_again(package):
    directory = package(__init__=PLUGIN)
    load(directory)
    (Path(directory) / "__init__.py").write_text(f"ANEW = True\n{PLUGIN}")
    module = sys.modules["lab_stamp"]
    module.__loader__.exec_module(module)
    assert module.ANEW


def test_what_is_kept_compiled_counts_while_its_source_is_the_same(package, monkeypatch):
    directory = package(__init__=PLUGIN)
    source = Path(directory, "__init__.py")
    py_compile.compile(str(source), doraise=True)
    monkeypatch.setattr(envelope_package, "code_of", lambda *_: pytest.fail("it was compiled again"))
    load(directory)
    source.write_text(PLUGIN + "# more\n")
    with pytest.raises(pytest.fail.Exception):
        load(directory)


def test_the_source_of_a_package_can_be_shown(package):
    kind = load(package(__init__=PLUGIN))
    assert inspect.getsource(kind.can_handle).strip().startswith("def can_handle")
    assert kind.transform.__code__.co_filename == inspect.getfile(kind)


def test_a_package_with_an_error_names_the_file(package):
    directory = package(__init__="from .plugin import Plugin", plugin="class Plugin(:\n")
    with pytest.raises(SyntaxError) as caught:
        load(directory)
    assert caught.value.filename == os.path.join(directory, "plugin.py")
