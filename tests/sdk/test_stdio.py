"""The guard of stdin and stdout: whatever a plugin prints, the wire carries its two lines and nothing else."""

import json
import os
import pty

import pytest
from plughost_sdk import stdio

PLUGIN = """
import os
from plughost_sdk.execute import Plugin
{before}
plugin = Plugin("noisy", version="1.0")

@plugin.tool
def make_noise(input, context):
{noise}

plugin.run()
"""


def program(noise="    pass", before=""):
    return PLUGIN.format(noise=noise, before=before)


@pytest.fixture
def call(run_child, handshake, request_line):
    """Return a function that runs a noisy plugin and returns its response and its stderr."""

    def run(**parts):
        unread = b"secret\n" * 20_000  # stays on the wire, for whoever reads what is not meant for it
        child = run_child(program(**parts), handshake + request_line("make_noise") + unread)
        assert child.returncode == 0, child.stderr
        reply, response = map(json.loads, child.stdout.splitlines())
        assert reply["type"] == "handshake"
        return response, child.stderr.decode()

    return run


@pytest.mark.parametrize(
    "noise",
    [
        "    print('noise')",
        "    print('noise', flush=True)",
        "    sys.stdout.write('noise')",
        "    sys.stdout.buffer.write(b'noise')",
        "    sys.__stdout__.write('noise')",
        "    os.write(1, b'noise')",
        "    os.system('echo noise')",
        "    import subprocess; subprocess.run(['echo', 'noise'], check=True)",
        "    os.fdopen(1, 'w', closefd=False).write('noise')",
        "    print('noise', file=sys.stderr)",
    ],
)
def test_what_a_tool_prints_lands_on_stderr(call, noise):
    response, stderr = call(noise=noise)
    assert response["status"] == "ok"
    assert stderr.count("noise") == 1


def test_what_was_printed_before_run_and_is_still_in_the_buffer_lands_on_stderr(call):
    response, stderr = call(before="print('noise', end='')")
    assert response["status"] == "ok"
    assert stderr.count("noise") == 1


def test_lines_that_a_tool_prints_are_not_held_back(run_child, handshake, request_line):
    source = program(noise="    print('noise'); os._exit(7)")
    child = run_child(source, handshake + request_line("make_noise"))
    assert child.returncode == 7
    assert child.stderr == b"noise\n"


def test_a_plugin_without_a_stdout_object_works(call):
    response, _ = call(before="sys.stdout = None")
    assert response["status"] == "ok"


def test_input_finds_the_end_and_not_the_wire(call):
    response, _ = call(noise="    return __builtins__.input('? ')")
    assert response["error"]["code"] == "tool_failed"
    assert response["error"]["message"].startswith("EOFError")


@pytest.mark.parametrize("read", ["sys.stdin.read()", "os.read(0, 10).decode()", "os.popen('cat').read()"])
def test_whatever_else_reads_standard_input_finds_its_end(call, read):
    response, _ = call(noise=f"    return {read}")
    assert response["output"] == ""


def test_the_wire_is_not_inherited_by_children_of_the_plugin(run_child):
    source = (
        "import os\nfrom plughost_sdk import stdio\nread, write = stdio.claim()\n"
        "os.write(2, b'%d %d' % (os.get_inheritable(read), os.get_inheritable(write)))"
    )
    assert run_child(source, b"").stderr == b"0 0"


def test_the_wire_keeps_working_after_it_was_claimed(run_child):
    source = (
        "import os\nfrom plughost_sdk import stdio\nread, write = stdio.claim()\n"
        "stdio.write_all(write, os.read(read, 100))\nprint('elsewhere')"
    )
    child = run_child(source, b"there and back")
    assert child.stdout == b"there and back"
    assert child.stderr == b"elsewhere\n"


def test_a_plugin_started_in_a_terminal_introduces_itself_and_exits_with_2(run_child):
    ours, theirs = pty.openpty()
    try:
        child = run_child(program(), None, stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert child.returncode == 2
    assert child.stdout == b""
    introduction = child.stderr.decode()
    assert all(word in introduction for word in ("noisy", "1.0", "make_noise", "plughost"))


def test_everything_is_written_however_little_is_taken_at_a_time(monkeypatch):
    taken = bytearray()

    def write_three(fd, data):
        assert fd == 42
        taken.extend(bytes(data[:3]))
        return len(data[:3])

    monkeypatch.setattr(os, "write", write_three)
    stdio.write_all(42, b"0123456789")
    assert taken == b"0123456789"


def test_nothing_is_written_for_nothing(monkeypatch):
    def never(fd, data):
        raise NotImplementedError

    monkeypatch.setattr(os, "write", never)
    stdio.write_all(42, b"")


def test_a_reader_that_is_gone_is_an_os_error():
    theirs, ours = os.pipe()
    os.close(theirs)
    try:
        with pytest.raises(BrokenPipeError):
            stdio.write_all(ours, b"x")
    finally:
        os.close(ours)
