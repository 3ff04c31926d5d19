"""How a worker ends: at once if nothing of the plugin's is lost by that, and as Python ends a process otherwise.

Python's way out lets go of what hangs on `sys`, the other one does not: so a plugin can tell them apart.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import plughost_sdk
import pytest

WORKER = Path(plughost_sdk.__file__).parent / "envelope_worker.py"
PLUGIN = """
import os, sys
from plughost_sdk.envelope import Plugin as Base

class Kept:
    def __init__(self, name): self.name = name
    def __del__(self, write=os.write): write(2, f"[{{self.name}} let go]".encode())

sys.kept = Kept("python")
{top}

class Plugin(Base):
    name, version, supported_extensions = "probe", "1.0", [".txt"]
    def can_handle(self, path, variables): return True
    def transform(self, path, ctx): pass
    def post_transform_all(self, ctx):
        {body}
"""
PYTHONS_WAY = b"[python let go]"


@pytest.fixture
def end(tmp_path):
    """Return a function that runs a plugin to its end, and returns what it wrote to stderr."""

    def run(body="pass", top="", **modules):
        package = tmp_path / "probe"
        package.mkdir()
        (package / "__init__.py").write_text(PLUGIN.format(body=body, top=top))
        for name, source in modules.items():
            (package / f"{name}.py").write_text(source)
        child = subprocess.run(
            [sys.executable, "-I", str(WORKER), str(package)],
            input=json.dumps({"context": {"dst_root": str(tmp_path)}, "files": []}).encode(),
            capture_output=True,
            timeout=30,
            check=False,
            cwd=tmp_path,
            env={"PATH": os.defpath},
        )
        assert (child.returncode, json.loads(child.stdout)["result"]) == (0, "success"), child.stderr
        return child.stderr

    return run


def test_a_plugin_that_leaves_nothing_behind_is_ended_at_once(end):
    assert end() == b""


def test_what_the_library_has_to_offer_changes_nothing_about_that(end):
    assert end(top="import json, pathlib, re, datetime") == b""


def test_what_was_printed_is_there(end):
    assert end("print('all', 'of it', end='')") == b"all of it"


def test_what_the_modules_of_the_plugin_hold_is_let_go(end):
    said = end(top="mine = Kept('mine'); from . import other", other="from . import Kept; its = Kept('its')")
    assert said == b"[mine let go][its let go]"


def test_a_file_that_only_the_plugin_holds_is_closed(end, tmp_path):
    assert end("file.write('all of it')", top="file = open('left.txt', 'w')") == b""
    assert (tmp_path / "left.txt").read_text() == "all of it"


def test_a_file_that_something_else_holds_is_closed_by_python(end, tmp_path):
    said = end("sys.file.write('all of it')", top="sys.file = open('left.txt', 'w')")
    assert PYTHONS_WAY in said
    assert (tmp_path / "left.txt").read_text() == "all of it"


def test_an_exit_handler_is_called(end):
    said = end(top="import atexit; atexit.register(os.write, 2, b'[handled]')")
    assert b"[handled]" in said
    assert PYTHONS_WAY in said


def test_a_thread_is_waited_for(end, tmp_path):
    top = """
import threading
def work():
    threading.main_thread().join()  # it ends when the interpreter begins to
    open("done", "w").close()
"""
    assert PYTHONS_WAY in end("threading.Thread(target=work).start()", top)
    assert (tmp_path / "done").exists()


@pytest.mark.parametrize(
    "top",
    [
        "import ctypes",
        "import types; sys.modules['foreign'] = types.ModuleType('foreign')",
        "import types; sys.modules[__name__] = types.SimpleNamespace(Plugin=None)",
    ],
    ids=["the library of C", "a module of somebody else", "a module that is none"],
)
def test_who_may_have_left_something_that_cannot_be_seen_is_ended_by_python(end, top):
    late = top.startswith("import types; sys.modules[__name__]")
    assert PYTHONS_WAY in (end(top.partition("; ")[2], "import types") if late else end(top=top))
