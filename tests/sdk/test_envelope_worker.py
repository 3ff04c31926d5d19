"""The worker as a host starts it: real processes, exit codes, and one line on stdout or none."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import plughost_sdk
import pytest
from plughost_sdk.envelope_frame import FRAME_LIMIT
from plughost_sdk.envelope_lifecycle import WORDS_LIMIT
from plughost_sdk.envelope_log import CUT

WORKER = Path(plughost_sdk.__file__).parent / "envelope_worker.py"
PLUGINS = Path(__file__).parent / "envelope_plugins"

CLASS = """
import os, sys
from plughost_sdk.envelope import FileChange, Plugin as Base, PluginError, PluginInputRequired, field
{before}
class Plugin(Base):
    name, version, supported_extensions = "probe", "1.0", [".txt"]
    required_variables = ["operator"]
    def can_handle(self, path, variables): return path.suffix == ".txt"
    def {hook}:
        {body}
{after}
"""
REST = "    def transform(self, path, ctx): pass\n"


def source(body="pass", hook="transform(self, path, ctx)", before=""):
    after = "" if hook.startswith("transform(") else REST
    return CLASS.format(body=body, hook=hook, before=before, after=after)


@pytest.fixture
def root(tmp_path):
    """The directory to transform, with two files."""
    directory = tmp_path / "dst"
    directory.mkdir()
    (directory / "a.txt").write_text("one\n")
    (directory / "b.csv").write_text("two\n")
    return directory


@pytest.fixture
def start(tmp_path, root):
    """Return a function that runs the worker with a plugin's source over a request."""

    def run(
        plugin=None, request=None, *, mode=(), wire=None, files=("a.txt",), command=None, env=None, **more
    ):
        package = tmp_path / "probe"
        if isinstance(plugin, str):
            package.mkdir(exist_ok=True)
            (package / "__init__.py").write_text(plugin)
        elif plugin is not None:
            package = plugin
        context = {"variables": {"operator": "ann"}, "dst_root": str(root), "template_name": "t"}
        whole = {"context": context, "files": list(files), "dry_run": False, "extra_inputs": None}
        given = json.dumps({**whole, **(request or {})}).encode() + b"\n" if wire is None else wire
        return subprocess.run(
            [*(command or [sys.executable, "-I", str(WORKER), str(package)]), *mode],
            input=given,
            capture_output=True,
            timeout=250,
            check=False,
            cwd=root,
            env={"PATH": os.defpath} if env is None else env,
            **more,
        )

    return run


def reply_of(child):
    assert child.stdout.count(b"\n") == 1, (child.stdout, child.stderr)
    assert child.stdout.endswith(b"\n")
    return json.loads(child.stdout)


def records_of(child, level):
    found = [json.loads(line) for line in child.stderr.splitlines() if line.startswith(b"{")]
    return [record for record in found if record["level"] == level]


def assert_crashed(child):
    assert child.returncode == 3, child.stderr
    assert child.stdout == b""
    (record,) = records_of(child, "ERROR")
    assert record["context"]["traceback"]
    return record


# The four ways to end


def test_a_success_is_one_line_and_0(start, root):
    child = start(PLUGINS / "hello", files=["a.txt", "b.csv"])
    assert child.returncode == 0
    assert reply_of(child) == {
        "result": "success",
        "per_file": [
            {"path": "a.txt", "status": "modified", "changes": None},
            {"path": "b.csv", "status": "skipped", "changes": None},
        ],
        "log_records": [],
        "input_required": None,
        "error_message": None,
    }
    assert (root / "a.txt").read_text() == "one\nhello ann\n"
    assert records_of(child, "INFO") == [
        {"level": "INFO", "message": "greeted", "context": {"path": "a.txt", "operator": "ann"}}
    ]


def test_an_error_of_the_plugin_is_one_line_and_1(start):
    child = start(source("raise PluginError('no such column')"))
    assert child.returncode == 1
    assert reply_of(child)["error_message"] == "no such column"


def test_a_question_is_one_line_and_2_and_its_answer_reaches_the_next_run(start, root):
    child = start(PLUGINS / "asks")
    assert child.returncode == 2
    prompt = reply_of(child)["input_required"]
    assert [each["id"] for each in prompt["fields"]] == ["color"]
    child = start(PLUGINS / "asks", {"extra_inputs": {"color": "red"}})
    assert child.returncode == 0
    assert (root / "a.txt").read_text() == "one\nred\n"


@pytest.mark.parametrize("body", ["raise ValueError('boom')", "sys.exit(0)", "sys.exit()", "1/0", "exit(1)"])
def test_any_other_exception_is_no_line_and_3(start, body):
    record = assert_crashed(start(source(body)))
    assert record["context"]["hook"] == "transform"


@pytest.mark.parametrize("status", [0, 2, 124, 139])
def test_a_plugin_that_ends_its_process_leaves_no_line(start, status):
    child = start(source(f"os._exit({status})"))
    assert (child.returncode, child.stdout) == (status, b"")


def test_a_keyboard_interrupt_ends_the_worker_without_a_line(start):
    child = start(source("raise KeyboardInterrupt"))
    assert (child.returncode, child.stdout) == (-signal.SIGINT, b"")


def test_an_interrupted_worker_is_not_cleaned_up_after(start, root):
    clean_up = "    def on_plugin_failure(self, error, ctx): (ctx.dst_root / 'cleaned').touch()"
    child = start(source("os.kill(os.getpid(), 2); input()") + clean_up)
    assert (child.returncode, child.stdout) == (-signal.SIGINT, b"")
    assert not (root / "cleaned").exists()


def test_a_failure_is_cleaned_up_after_whatever_it_was(start, root):
    clean_up = (
        "    def on_plugin_failure(self, error, ctx): (ctx.dst_root / 'cleaned').write_text(str(error))"
    )
    start(source("raise OSError('boom')") + clean_up)
    assert (root / "cleaned").read_text() == "boom"


# The request


def test_a_request_may_be_laid_out_for_reading(start, root):
    request = {"context": {"dst_root": str(root), "variables": {"operator": "ann"}}, "files": ["a.txt"]}
    child = start(PLUGINS / "hello", wire=json.dumps(request, indent=2).encode())
    assert child.returncode == 0, child.stderr
    assert reply_of(child)["per_file"][0]["status"] == "modified"


def test_what_a_request_leaves_out_has_a_default(start, root):
    body = (
        "raise PluginError(repr((str(ctx.dst_root), ctx.answers_file.name, ctx.project, ctx.extra_inputs)))"
    )
    child = start(
        source(body, "pre_transform_all(self, ctx)"), wire=b'{"unknown": 1, "context": {}, "files": []}\n'
    )
    expected = repr((str(root), ".exlab-answers.yml", "", {}))
    assert reply_of(child)["error_message"] == expected


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        b"\n",
        b"{}\n{}\n",
        b"[]",
        b"null",
        b'"text"',
        b"{",
        b"\xff\xfe",
        b'{"files": "a.txt"}',
        b'{"files": [1]}',
        b'{"context": []}',
        b'{"context": {"variables": []}}',
        b'{"context": {"dst_root": 7}}',
        b'{"context": {"project": {}}}',
        b'{"dry_run": "yes"}',
        b'{"context": {"dry_run": 1}}',
        b'{"extra_inputs": []}',
        b'{"files": []}' + b" " * FRAME_LIMIT,
    ],
)
def test_a_request_that_is_none_is_no_line_and_3_before_any_code_of_the_plugin_runs(start, wire):
    child = start(source(before="os._exit(9)"), wire=wire)
    assert_crashed(child)


@pytest.mark.parametrize("where", ["request", "context"])
def test_a_run_is_dry_if_either_place_says_so(start, root, where):
    context = {"dst_root": str(root), "dry_run": where == "context"}
    child = start(PLUGINS / "hello", {"context": context, "dry_run": where == "request"})
    (entry,) = reply_of(child)["per_file"]
    assert (entry["status"], entry["changes"][0]["kind"]) == ("described", "modify")
    assert (root / "a.txt").read_text() == "one\n"


# Nothing but the reply is on the wire

NOISE = [
    "print('noise')",
    "print('noise', end='', flush=True)",
    "sys.stdout.buffer.write(b'noise')",
    "sys.__stdout__.write('noise')",
    "os.write(1, b'noise')",
    "os.system('echo noise')",
    "import subprocess; subprocess.run(['echo', 'noise'], check=True)",
    "import ctypes; ctypes.CDLL(None).puts(b'noise'); ctypes.CDLL(None).fflush(None)",
    "import atexit; atexit.register(print, 'noise')",
]


@pytest.mark.parametrize("noise", NOISE)
def test_what_a_plugin_prints_lands_on_stderr(start, noise):
    child = start(source(noise))
    assert reply_of(child)["result"] == "success"
    assert b"noise" in child.stderr


def test_what_a_plugin_prints_while_it_is_imported_lands_on_stderr(start):
    child = start(source(before="print('noise'); os.write(1, b'noise')"))
    assert reply_of(child)["result"] == "success"
    assert child.stderr.count(b"noise") == 2


FORK = """
        child = os.fork()
        if child:
            return os.waitpid(child, 0)
        {act}
"""
ALL_DESCRIPTORS = """
        for fd in range(3, 64):
            try: os.write(fd, b'noise')
            except OSError: pass
        os._exit(0)
"""


@pytest.mark.parametrize("act", ["pass", "raise ValueError('child')", "sys.exit(0)", ALL_DESCRIPTORS.strip()])
def test_a_child_that_the_plugin_forks_cannot_answer(start, act):
    child = start(source(FORK.format(act=act).strip()))
    assert child.returncode == 0
    assert reply_of(child)["result"] == "success"


def test_an_exit_handler_cannot_add_to_the_reply(start):
    body = "import atexit; atexit.register(lambda: [fd_noise(fd) for fd in range(3, 64)])"
    before = "def fd_noise(fd):\n    try: os.write(fd, b'noise')\n    except OSError: pass\n"
    assert reply_of(start(source(body, before=before)))["result"] == "success"


def test_a_plugin_that_reads_standard_input_finds_its_end(start):
    child = start(source("raise PluginError(repr(sys.stdin.read()))"))
    assert reply_of(child)["error_message"] == "''"


def test_a_log_without_a_stderr_is_no_reason_to_fail(start):
    child = start(source("os.close(2); ctx.log.info('nobody hears this')"))
    assert reply_of(child)["result"] == "success"


# The reply


@pytest.mark.parametrize("detail", ["{'odd': {1, 2}}", "{'odd': float('nan')}", "{'odd': path}"])
def test_a_detail_that_is_no_json_is_no_line_and_3_and_is_named(start, detail):
    body = f"return [FileChange(path, 'modify', 's', {detail})]"
    child = start(source(body, "describe_changes(self, path, ctx)"), {"dry_run": True})
    record = assert_crashed(child)
    assert "a.txt" in record["message"]
    assert "detail" in record["message"]


def large(size):
    """Return the source of a plugin that describes a change in so many characters."""
    body = f"return [FileChange(path, 'modify', 'x' * {size})]"
    return source(body, "describe_changes(self, path, ctx)")


def test_a_reply_over_the_limit_is_no_line_and_3_and_its_size_is_named(start):
    child = start(large(FRAME_LIMIT), {"dry_run": True})
    assert (child.returncode, child.stdout) == (3, b"")
    (record,) = records_of(child, "ERROR")
    assert str(FRAME_LIMIT) in record["message"]
    assert any(word.isdigit() and int(word) > FRAME_LIMIT for word in record["message"].split())


def test_a_large_reply_within_the_limit_arrives_whole(start):
    child = start(large(FRAME_LIMIT - 1000), {"dry_run": True})
    assert child.returncode == 0
    ((change,),) = [each["changes"] for each in reply_of(child)["per_file"]]
    assert len(change["summary"]) == FRAME_LIMIT - 1000


@pytest.mark.parametrize("size", [WORDS_LIMIT, WORDS_LIMIT + 1, 3_000_000])
def test_of_a_long_message_is_sent_what_a_host_keeps(start, size):
    child = start(source(f"raise PluginError('x' * {size})"))
    assert child.returncode == 1
    reply = reply_of(child)
    expected = "x" * WORDS_LIMIT + (CUT if size > WORDS_LIMIT else "")
    assert [reply["error_message"], reply["per_file"][0]["error"]] == [expected, expected]


def test_of_what_can_handle_raises_is_sent_what_a_host_keeps(start):
    child = start(source("raise ValueError('x' * 3_000_000)", "can_handle(self, path, variables)"))
    assert child.returncode == 0
    assert len(reply_of(child)["per_file"][0]["error"]) <= WORDS_LIMIT + len(CUT)


def test_a_lone_surrogate_in_the_reply_is_replaced(start):
    assert reply_of(start(source(r"raise PluginError('a\udc80b')")))["error_message"] == "a?b"


# What is imported


def test_nothing_is_imported_from_the_directory_to_transform(start, root):
    for name in ("json", "pathlib", "select", "plughost_sdk", "probe", "traceback", "rules"):
        (root / f"{name}.py").write_text("import os; os._exit(77)")
    body = "import json, traceback; ctx.log.info('x', y=1.5); sys.path.index(str(ctx.dst_root))"
    record = assert_crashed(start(source(body)))
    assert record["context"]["error"].startswith("ValueError")


def test_the_import_path_holds_neither_the_package_nor_its_neighbours_nor_the_worker(start, tmp_path):
    body = "raise PluginError(' '.join(map(repr, sys.path)))"
    paths = reply_of(start(source(body)))["error_message"]
    assert "''" not in paths
    assert str(tmp_path) not in paths
    assert f"'{WORKER.parent}'" not in paths


@pytest.mark.parametrize("way", ["loader", "module", "script"])
def test_the_worker_can_be_started_in_other_ways(start, tmp_path, root, way):
    for name in ("json", "pathlib", "traceback"):
        (root / f"{name}.py").write_text("import os; os._exit(77)")
    loader = Path(__file__).parents[2] / "src/plughost/process/loader.py"
    command = {
        "loader": ["-I", str(loader), "-", "run", str(WORKER)],
        "module": ["-I", "-m", "plughost_sdk.envelope_worker"],
        "script": [str(WORKER)],
    }[way]
    child = start(
        source("import json; raise PluginError(repr(sys.path))"),
        command=[sys.executable, *command, str(tmp_path / "probe")],
    )
    paths = reply_of(child)["error_message"]
    assert f"'{WORKER.parent}'" not in paths
    assert f"'{root}'" not in paths


def test_without_a_directory_the_request_names_the_module(start):
    command = [sys.executable, str(WORKER)]
    env = {"PATH": os.defpath, "PYTHONPATH": str(PLUGINS)}
    child = start(None, {"plugin_module": "hello"}, command=command, env=env)
    assert reply_of(child)["per_file"][0]["status"] == "modified"
    assert_crashed(start(None, {"plugin_module": "nowhere"}, command=command, env=env))
    assert_crashed(start(None, command=command, env=env))


UNUSABLE = ["1/0", "sys.exit(0)", "import nothing_of_the_kind", "raise KeyError('x')", "("]


@pytest.mark.parametrize("before", UNUSABLE)
def test_a_plugin_that_cannot_be_imported_is_no_line_and_3(start, before):
    assert_crashed(start(source(before=before)))


@pytest.mark.parametrize("text", ["", "Plugin = int", source().replace("def transform", "def transfer")])
def test_a_package_without_a_usable_class_is_no_line_and_3(start, text):
    assert_crashed(start(text))


COSTLY = {
    "__future__",
    "typing",
    "dataclasses",
    "inspect",
    "logging",
    "threading",
    "asyncio",
    "traceback",
    "importlib.util",
}


def test_a_run_without_files_imports_next_to_nothing(start):
    body = "os.write(2, ','.join(sys.modules).encode())"
    child = start(source(body, "post_transform_all(self, ctx)"), files=[])
    assert reply_of(child)["result"] == "success"
    assert set(child.stderr.decode().split(",")) & (COSTLY | {"json", "pathlib", "re"}) == set()


def test_a_file_costs_pathlib_and_what_that_imports(start):
    before = "import pathlib; needed = set(sys.modules)"
    body = "os.write(2, ('+' + ','.join(set(sys.modules) - needed) + '+').encode())"
    child = start(source(body, before=before))
    assert reply_of(child)["result"] == "success"
    added = child.stderr.decode().split("+")[1].split(",")
    assert set(added) & (COSTLY | {"json"}) == set()


# Validation

VALIDATE = ("--mode", "validate")
FACTS = {"name": "probe", "version": "1.0", "supported_extensions": [".txt"], "api_version": "1"}


@pytest.mark.parametrize(("operator", "count"), [("ann", 0), ("", 1)])
def test_validation_says_what_is_wrong_and_who_the_plugin_is(start, operator, count):
    request = {"context": {"variables": {"operator": operator}, "template_name": "t"}}
    child = start(source("os._exit(9)"), wire=json.dumps(request).encode(), mode=VALIDATE)
    assert child.returncode == 0
    reply = reply_of(child)
    assert len(reply["errors"]) == count
    assert reply["plugin"] == FACTS


def test_validation_imports_nothing_that_only_a_run_needs(start):
    body = "os.write(2, ','.join(sys.modules).encode()); return []"
    plugin = (
        f"import os, sys\nfrom plughost_sdk import envelope\nclass Plugin(envelope.Plugin):\n    {{}}\n{REST}"
    )
    hooks = (
        f"def can_handle(self, path, variables): pass\n    def validate_variables(self, variables): {body}"
    )
    child = start(plugin.format(hooks), mode=VALIDATE)
    assert reply_of(child)["errors"] == []
    parts = {f"plughost_sdk.envelope_{each}" for each in ("context", "exit", "lifecycle", "log", "prompt")}
    assert set(child.stderr.decode().split(",")) & (COSTLY | parts | {"json", "pathlib", "re"}) == set()


@pytest.mark.parametrize("before", UNUSABLE)
def test_validation_reports_a_plugin_that_cannot_be_imported(start, before):
    child = start(source(before=before), mode=VALIDATE)
    assert child.returncode == 0
    (error,) = reply_of(child)["errors"]
    assert error.startswith("import_failed: ")
    assert len(records_of(child, "ERROR")) == 1


@pytest.mark.parametrize(
    "body", ["1/0", "sys.exit(0)", "raise PluginError('x')", "return None", "return 'x'", "return [1]"]
)
def test_a_validation_that_answers_with_anything_but_texts_is_no_line_and_3(start, body):
    assert_crashed(start(source(body, "validate_variables(self, variables)"), mode=VALIDATE))


def test_a_plugin_may_say_who_it_is_in_its_own_way(start):
    text = (
        source()
        + "    version = 1.0\n    supported_extensions = '.txt'\n    name = property(lambda self: 'probe')\n"
    )
    assert reply_of(start(text, mode=VALIDATE))["plugin"] == FACTS


# A plugin with a command of its own


def test_a_plugin_may_be_started_by_its_own_command(start, root):
    command = [sys.executable, "-I", str(PLUGINS / "standalone.py")]
    assert reply_of(start(None, command=command))["result"] == "success"
    assert (root / "a.txt").read_text() == "ONE\n"
    assert reply_of(start(None, command=command, mode=VALIDATE))["plugin"]["name"] == "shout"


@pytest.mark.parametrize(
    ("command", "said"),
    [([str(PLUGINS / "standalone.py")], ["shout", "2.0", "envelope"]), ([str(WORKER)], ["envelope"])],
)
def test_started_in_a_terminal_it_says_what_it_is_and_exits_with_2(command, said):
    ours, theirs = pty.openpty()
    try:
        child = subprocess.run(
            [sys.executable, "-I", *command], stdin=theirs, capture_output=True, timeout=250, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert (child.returncode, child.stdout) == (2, b"")
    assert all(word in child.stderr.decode() for word in said)


# When a request is whole


def test_it_answers_when_the_line_ends_though_its_input_stays_open(root):
    context = {"variables": {"operator": "ann"}, "dst_root": str(root)}
    request = {"context": context, "files": ["a.txt"], "dry_run": False, "extra_inputs": None}
    words = [sys.executable, "-I", str(WORKER), str(PLUGINS / "hello")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root) as child:
        try:
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
            assert child.wait(100) == 0
            assert json.loads(child.stdout.read())["result"] == "success"
        finally:
            child.kill()


@pytest.mark.parametrize("member", ["context", "files"])
def test_a_request_without_what_the_plugin_works_on_is_refused_unless_it_is_told_to_be_lenient(
    member, start, root
):
    request = {"context": {"variables": {}, "dst_root": str(root)}, "files": [], "dry_run": False}
    wire = json.dumps({key: value for key, value in request.items() if key != member}).encode() + b"\n"
    assert member in assert_crashed(start(PLUGINS / "hello", wire=wire))["message"]
    assert start(PLUGINS / "hello", wire=wire, mode=("--lenient",)).returncode == 0


def test_a_validation_without_a_context_is_refused_unless_it_is_told_to_be_lenient(start):
    assert_crashed(start(PLUGINS / "hello", wire=b"{}\n", mode=VALIDATE))
    assert start(PLUGINS / "hello", wire=b"{}\n", mode=(*VALIDATE, "--lenient")).returncode == 0
