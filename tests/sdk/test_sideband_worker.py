"""The Python worker of `sideband`: how it starts, what a cell is, what is shown of a value and of an error."""

import os
import subprocess
import sys
from pathlib import Path

import plughost_sdk
import pytest

from tests.sdk.sideband_wire import PYTHON, WORKER, Kept, Worker


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    kept = Kept(cwd=tmp_path_factory.mktemp("cwd"))
    yield kept
    kept.close()


@pytest.fixture
def shared(kept):
    """A worker for cells that leave it as it was."""
    return kept.get()


@pytest.fixture
def worker(leak_check, tmp_path):
    """A worker of the test's own."""
    worker = Worker(cwd=tmp_path)
    worker.message("backend_info")
    yield worker
    worker.close()


def test_it_introduces_itself(shared):
    assert shared.hello == {
        "type": "backend_info",
        "language": "python",
        "supports_images": True,
        "plughost": {
            "worker": "python",
            "version": plughost_sdk.__version__,
            "request_ids": True,
            "marks": True,
            "image_marks": True,
            "order_marks": True,
            "pid": shared.process.pid,
        },
    }


@pytest.mark.parametrize(
    ("read", "write"),
    [(None, "1"), ("", "1"), ("x", "1"), ("-1", "1"), ("99", "1"), ("9" * 40, "1"), ("1", None)],
)
def test_without_a_sideband_it_says_so_and_does_not_start(read, write):
    named = {"MCP_CONSOLE_IPC_READ_FD": read, "MCP_CONSOLE_IPC_WRITE_FD": write}
    environment = {name: value for name, value in named.items() if value is not None}
    done = subprocess.run(
        [sys.executable, "-S", WORKER],
        env=environment,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=250,
    )
    assert done.returncode == 1
    assert b"MCP_CONSOLE_IPC_" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("named", [("TO_WORKER", "FROM_WORKER"), ("TO_WORKER",), ("FROM_WORKER",)])
def test_the_pipes_of_windows_are_refused_with_a_word_about_them(named):
    environment = {f"MCP_CONSOLE_IPC_PIPE_{name}": rf"\\.\pipe\mcp-console-ipc-1-1-{name}" for name in named}
    done = subprocess.run(
        [sys.executable, "-S", WORKER],
        env=environment,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=250,
    )
    assert done.returncode == 1
    assert f"MCP_CONSOLE_IPC_PIPE_{named[0]} names a pipe of Windows".encode() in done.stderr
    assert b"Traceback" not in done.stderr


def test_it_can_be_started_as_a_directory_in_isolation_and_without_site(leak_check):
    worker = Worker(program=WORKER.parent, flags=("-I", "-S"))
    try:
        assert worker.message("backend_info")["language"] == "python"
        assert worker.run("'plughost_sdk' in __import__('sys').modules").out == "False\n"
    finally:
        worker.close()


PARTS = (
    *("cell", "control", "imports", "interrupt", "link", "order", "output"),
    *("payload", "request", "session", "stdin", "wire"),
)


# The program, but for its first message: instead of being sent, it tells what is loaded by then.
AT_HELLO = f"""
import os, sys
sys.path.insert(0, {str(WORKER.parent.parent)!r})
read, write = os.pipe()
os.environ.update(MCP_CONSOLE_IPC_READ_FD=str(read), MCP_CONSOLE_IPC_WRITE_FD=str(write))
from sideband_worker import link, session
def tell(self, message):
    print(message["type"], *sys.modules, flush=True)
    os._exit(0)
link.Link.send = tell
session.Session().run()
"""


def modules(code):
    done = subprocess.run([PYTHON, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, timeout=250)
    return done.stdout.decode().split()


def test_it_has_imported_next_to_nothing_when_it_introduces_itself():
    first, *loaded = modules(AT_HELLO)
    assert first == "backend_info"
    always = modules("import sys; print(*sys.modules)")
    ours = {"sideband_worker", *(f"sideband_worker.{part}" for part in PARTS)}
    # All of C but the first, which is a few lines; pwd is how site finds a home that no variable names.
    assert set(loaded) - set(always) - ours <= {"__future__", "_ast", "_json", "_queue", "pwd", "select"}
    assert ours <= set(loaded)


def test_what_is_costly_is_imported_when_it_is_used(worker):
    loaded = set(worker.run("import sys\nprint(*sys.modules)").out.split())
    always = modules("import sys; print(*sys.modules)")
    assert not {"asyncio", "ctypes", "hashlib", "inspect", "json", "threading"} & loaded - set(always)


CELLS = {
    "an expression": ("1 + 1", "2\n"),
    "nothing for None": ("None", ""),
    "statements and a last expression": ("a = 2\nb = 3\na * b", "6\n"),
    "several on a line": ("a = 1; b = 2; a + b", "3\n"),
    "only the last expression": ("1\n2\n3", "3\n"),
    "a block and code after it without a blank line": (
        "for i in (1, 2):\n    print(i)\nprint('end')",
        "1\n2\nend\n",
    ),
    "blank lines in a block": ("def f():\n    x = 1\n\n    return x\n\nf()", "1\n"),
    "a decorator": ("def twice(f):\n    return lambda: f() * 2\n@twice\ndef g():\n    return 4\ng()", "8\n"),
    "a paste from within a block": ("    x = 1\n    if x:\n        x += 1\n    x", "2\n"),
    "a paste whose strings keep their spaces": ("    s = '''a\n    b'''\n    s", "'a\\n    b'\n"),
    "lines that end in CRLF": ("x = 1\r\nx + 1\r\n", "2\n"),
    "text beyond ASCII": ("é = 'ü€😀'\né", "'ü€😀'\n"),
    "a lone surrogate": ("'\\ud800'", "'\\ud800'\n"),
    "a printed surrogate": ("print('\\ud800')", "\\ud800\n"),
    "comments only": ("# nothing\n", ""),
    "nothing but a line feed": ("\n", ""),
    "await": ("import asyncio\nawait asyncio.sleep(0, 'slept')", "'slept'\n"),
    "await in a loop": ("import asyncio\nfor i in range(2):\n    print(await asyncio.sleep(0, i))", "0\n1\n"),
    "async with and comprehension": (
        "import asyncio\nasync with asyncio.Lock() as l:\n    pass\n[await asyncio.sleep(0, i) for i in range(2)]",
        "[0, 1]\n",
    ),
    "asyncio.run": ("import asyncio\nasync def f(): return 5\nasyncio.run(f())", "5\n"),
    "a class with annotations": ("class C:\n    x: int = 1\nC.x", "1\n"),
    "its own module": (
        "import __main__\n__main__.__dict__ is globals(), __name__, '__file__' in globals()",
        "(True, '__main__', False)\n",
    ),
    "match nothing of ours": ("sorted(n for n in globals() if not n.startswith('_'))[:0]", "[]\n"),
    "blank lines in brackets and strings": (
        "x = [1,\n\n\n2]\ny = '''a\n\n\nb'''\nx, y",
        "([1, 2], 'a\\n\\n\\nb')\n",
    ),
    "the value after a block": ("if True:\n    x = 1\nx + 1", "2\n"),
    "the value of a block": ("if True:\n    5", ""),
    "a line that is continued": ("1 + \\\n2", "3\n"),
    "a form feed and tabs": ("\x0cif 1:\n\tx = 4\nx", "4\n"),
    "a byte order mark": ("\ufeff7", "7\n"),
    "a walrus": ("(n := 10)", "10\n"),
    "a shadowed builtin": ("repr = len = None\n'x'", "'x'\n"),
    "the docstring of a cell": ("'''doc'''\n1", "1\n"),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_shows_its_last_expression(shared, name):
    text, shown = CELLS[name]
    reply = shared.run(text)
    shared.run("globals().pop('repr', 0), globals().pop('len', 0)")
    assert (reply.out, reply.err) == (shown, "")
    assert "error" not in reply.end


def test_a_cell_needs_no_line_feed_at_its_end(shared):
    shared.number += 1
    mark = f"{shared.number:032x}"
    shared.tell(type="stdin_write", text="'whole'", request_id=shared.number, mark=mark)
    shared.payload(b"'whole'")
    assert shared.finish().out == "'whole'\n"


def test_the_streams_are_those_of_any_python_that_writes_to_a_pipe(shared):
    shared.run("import io, os, sys")
    for name, fd in (("stdout", 1), ("stderr", 2)):
        reply = shared.run(
            f"s = sys.{name}\n(s.encoding, s.fileno(), s.isatty(), s.writable(), s.readable(), s.mode,"
            " isinstance(s, io.TextIOBase), s.write('é\\n'), s.buffer.write(b'raw\\n'), s is sys.__%s__)"
            % name
        )
        assert reply.out.endswith(f"('utf-8', {fd}, False, True, False, 'w', True, 2, 4, True)\n")
        assert "é\nraw\n" in (reply.out if fd == 1 else reply.err)
        assert "TypeError" in shared.run(f"sys.{name}.write(b'bytes')").err


def test_state_stays_from_cell_to_cell(shared):
    shared.run("import math\nkept = [1]")
    shared.run("kept.append(math.floor(2.5))")
    assert shared.run("kept").out == "[1, 2]\n"
    assert shared.run("_").out == "[1, 2]\n"


def test_tasks_live_on_the_same_loop_from_cell_to_cell(worker):
    worker.run("import asyncio\nasync def work():\n    await asyncio.sleep(0)\n    return 'done'\n")
    worker.run("async def make():\n    return asyncio.ensure_future(work())\ntask = await make()")
    assert worker.run("await task").out == "'done'\n"


def test_asyncio_run_between_awaits_does_no_harm(shared):
    shared.run("import asyncio\nasync def f(): return 1")
    shared.run("await f()")
    shared.run("asyncio.run(f())")
    assert shared.run("await f()").out == "1\n"


def test_a_future_import_holds_for_later_cells(worker):
    worker.run("from __future__ import annotations")
    assert worker.run("def f(x: nowhere): pass\nf.__annotations__").out == "{'x': 'nowhere'}\n"


def test_a_display_hook_of_the_users_own_is_respected(worker):
    worker.run("import sys\nsys.displayhook = lambda value: print('shown', value)")
    assert worker.run("5").out == "shown 5\n"
    worker.run("sys.displayhook = sys.__displayhook__")
    assert worker.run("5").out == "5\n"


def test_modules_come_from_the_working_directory(worker, tmp_path):
    (tmp_path / "mine.py").write_text("value = 7")
    assert worker.run("import mine\nmine.value").out == "7\n"
    assert worker.run("import sys\nsys.path[0], sys.argv").out == "('', [''])\n"


def test_a_user_module_is_not_hidden_by_one_of_the_worker(worker, tmp_path):
    for name in ("session", "link", "wire", "output"):
        (tmp_path / f"{name}.py").write_text("mine = True")
    assert (
        worker.run("import session, link, wire, output\nsession.mine and link.mine and wire.mine").out
        == "True\n"
    )


ERRORS = {
    "a header without a block": "x = 1\nif x:\n",
    "an open bracket": "f(1,\n",
    "an open string": "'''abc\n",
    "a lone decorator": "@staticmethod\n",
    "a wrong dedent": "if 1:\n        x\n    y\n",
    "an indent in the middle": "x = 1\n    y = 2\n",
    "return outside a function": "ran = True\nreturn 1",
    "a NUL": "ran = True\n\0",
    "too many brackets": "(" * 300,
    "await in a plain function": "def f():\n    await g()",
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_does_not_compile_runs_nothing_and_is_an_error(shared, name):
    shared.run("ran = False")
    reply = shared.run(ERRORS[name])
    assert reply.end["error"] is True
    assert "Error" in reply.err
    assert "sideband_worker" not in reply.err
    assert "Traceback" not in reply.err
    assert shared.run("ran").out == "False\n"


def test_an_error_of_syntax_names_its_line(shared):
    reply = shared.run("x = 1\ny = = 2\n")
    assert ", line 2\n" in reply.err
    assert "    y = = 2\n" in reply.err
    reply = shared.run("    x = 1\n    x.nothing\n")
    assert ", line 2, in <module>\n    x.nothing\n" in reply.err


def test_a_traceback_shows_the_users_lines_and_no_frame_of_ours(shared):
    shared.run("def inner():\n    raise ValueError('inner')\n\ndef outer():\n    inner()\n")
    reply = shared.run("1\nouter()")
    lines = [line for line in reply.err.splitlines() if "^" not in line and "~" not in line]
    number = lines[1].split("<cell ")[1].split(">")[0]
    assert lines == [
        "Traceback (most recent call last):",
        f'  File "<cell {number}>", line 2, in <module>',
        "    outer()",
        f'  File "<cell {int(number) - 1}>", line 5, in outer',
        "    inner()",
        f'  File "<cell {int(number) - 1}>", line 2, in inner',
        "    raise ValueError('inner')",
        "ValueError: inner",
    ]
    assert reply.end["error"] is True


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    input_ = {}['k']\nexcept KeyError as e:\n    raise ValueError('v') from e",
        "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    raise ValueError('v')\nawait f()",
        "class V:\n    def __repr__(self):\n        raise ValueError('v')\nV()",
        "int('v', 10)",
        "def f(): f()\nf()",
    ],
    ids=["a cause", "an await", "a repr", "a call", "a recursion"],
)
def test_no_frame_of_ours_is_in_any_traceback(shared, text):
    reply = shared.run(text)
    assert reply.end["error"] is True
    assert "Error" in reply.err
    assert "sideband_worker" not in reply.err
    assert "asyncio/" not in reply.err


def test_an_error_is_kept_for_a_post_mortem(shared):
    shared.run("local = 5\n1/0")
    assert (
        shared.run("import sys\nsys.last_type.__name__, sys.last_traceback.tb_lineno").out
        == "('ZeroDivisionError', 2)\n"
    )


def test_inspect_finds_the_source_of_a_cell(shared):
    shared.run("def f():\n    return 'here'\n")
    assert shared.run("import inspect\nprint(inspect.getsource(f))").out == "def f():\n    return 'here'\n\n"


def test_an_exception_hook_of_the_users_own_is_asked_and_may_fail(worker):
    worker.run("import sys\nsys.excepthook = lambda kind, value, tb: print('hooked', kind.__name__)")
    assert worker.run("1/0").out == "hooked ZeroDivisionError\n"
    worker.run("sys.excepthook = lambda *a: [][0]")
    assert {"IndexError: list index out of range", "ZeroDivisionError: division by zero"} <= set(
        worker.run("1/0").err.splitlines()
    )


def test_an_exception_that_cannot_be_printed_does_not_end_the_session(shared):
    reply = shared.run("class E(Exception):\n    def __str__(self):\n        raise SystemExit(9)\nraise E")
    assert reply.end["error"] is True
    assert shared.run("1").out == "1\n"


def test_a_multiprocessing_child_and_pickle_find_what_cells_define(worker):
    worker.run("import pickle\nclass P:\n    x = 1\n")
    assert worker.run("type(pickle.loads(pickle.dumps(P()))) is P").out == "True\n"
    reply = worker.run(
        "import multiprocessing\ndef square(x): return x * x\n"
        "with multiprocessing.get_context('fork').Pool(2) as pool:\n    print(pool.map(square, [1, 2, 3]))\n"
    )
    assert reply.out == "[1, 4, 9]\n"


@pytest.mark.thin(5)
@pytest.mark.parametrize("version", ["3.9", "3.10", "3.12", "3.13", "3.14"])
def test_other_interpreters_can_run_it(leak_check, version, tmp_path):
    python = _interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    worker = Worker(python=python, cwd=tmp_path)
    try:
        worker.message("backend_info")
        assert worker.run("import sys\n'%d.%d' % sys.version_info[:2]").out == f"{version!r}\n"
        assert worker.run("import asyncio\nawait asyncio.sleep(0, 1)").out == "1\n"
        assert worker.run("def f():\n    1/0\nf()").err.count("<cell ") == 2
        worker.send("x = input('name? ')")
        assert worker.message("readline_start")["prompt"] == "name? "
        worker.answer("Ada\n")
        worker.finish()
        worker.send("print('sleeping')\nimport time\nwhile True: time.sleep(100)")
        worker.printed("sleeping")
        worker.interrupt(request_id=worker.number)
        assert worker.finish().err.endswith("KeyboardInterrupt\n")
        assert worker.run("x").out == "'Ada'\n"
        worker.tell(type="session_end")
        assert worker.drain() == 0
    finally:
        worker.close()


def _interpreter(version):
    """Return a Python of that version that really starts: on the path, or installed beside this one."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    folders += Path(sys.base_prefix).parent.glob(f"*{version}.*/bin")
    for folder in folders:
        path = folder / f"python{version}"
        if os.access(path, os.X_OK) and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    return None
