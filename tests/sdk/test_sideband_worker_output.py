"""All output of a request comes before its marks: of Python, threads, subprocesses and C. Nobody sees the sideband."""

import os

import pytest

from tests.sdk.sideband_wire import Worker


@pytest.fixture
def worker(leak_check, tmp_path):
    """A worker of the test's own."""
    worker = Worker(cwd=tmp_path)
    worker.message("backend_info")
    worker.run("import os, subprocess, sys, threading")
    yield worker
    worker.close()


def test_python_c_and_subprocesses_come_in_order(worker):
    reply = worker.run(
        "import ctypes\nlibc = ctypes.CDLL(None)\n"
        "print('python'); libc.puts(b'c'); subprocess.run(['echo', 'child']); os.write(1, b'raw\\n'); print('last')"
    )
    assert reply.out == "python\nc\nchild\nraw\nlast\n"
    assert worker.run("libc.printf(b'no line feed')\nNone").out == "no line feed"


def test_what_has_no_line_feed_comes_with_the_request(worker):
    assert worker.run("print('a', end='')").out == "a"
    assert worker.run("sys.stderr.write('b') and None").err == "b"


def test_stderr_is_not_held_back(worker):
    worker.send("sys.stderr.write('now')\ninput()")
    worker.printed("now", "err")
    worker.answer("\n")
    worker.finish()


def test_much_output_is_whole_and_a_nul_is_a_byte_like_any_other(worker):
    reply = worker.run("for i in range(50_000): print(i)\nprint('x' * 5_000_000 + '\\0')")
    assert reply.out == "".join(f"{i}\n" for i in range(50_000)) + "x" * 5_000_000 + "\0\n"
    assert worker.run("os.write(1, b'\\x1e') and None").raw == b"\x1e"


def test_a_thread_that_prints_after_the_end_prints_after_the_mark(worker, tmp_path):
    worker.run(
        "import time\ndef late():\n    while not os.path.exists('go'): time.sleep(0.01)\n    print('late')\n"
        "threading.Thread(target=late, daemon=True).start()"
    )
    assert worker.run("1").out == "1\n"
    (tmp_path / "go").touch()
    worker.printed("late\n")  # with no request at all
    assert worker.run("2").out == "late\n2\n"


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("harm", "stream"),
    [
        ("os.close(1)", "stdout"),
        ("os.close(2)", "stderr"),
        ("os.close(0); os.close(1); os.close(2)", "stdout"),
        ("sys.stdout.close()", "stdout"),
        ("sys.stderr.close()", "stderr"),
        ("sys.stdout.detach()", "stdout"),
        ("os.set_blocking(1, False)", "stdout"),
    ],
)
def test_a_stream_that_was_harmed_is_mended_for_the_next_request(worker, harm, stream):
    worker.run(harm)
    reply = worker.run(f"print('fine', file=sys.{stream})")
    assert (reply.out if stream == "stdout" else reply.err) == "fine\n"


def test_a_stream_of_the_users_own_stays_and_is_flushed(worker):
    worker.run(
        "import io\nclass Mine(io.StringIO):\n    flushed = 0\n    def flush(self): self.flushed += 1\n"
        "old = sys.stdout\nsys.stdout = mine = Mine()"
    )
    worker.run("print('caught')")
    assert worker.run("sys.stdout = old\nmine.getvalue(), mine.flushed > 0").out == "('caught\\n', True)\n"
    for broken in ("None", "5", "type('B', (), {'flush': lambda s: 1/0, 'write': lambda s, t: 1/0})()"):
        worker.run(f"sys.stdout = sys.stderr = {broken}")
        worker.run("1/0")
        worker.run("sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__")
        assert worker.run("'whole'").out == "'whole'\n"


def test_a_request_without_a_mark_ends_without_one(worker):
    number = worker.send("print('plain')", mark=False)
    assert worker.message("request_end") == {"type": "request_end", "request_id": number}
    worker.printed("plain\n")
    assert b"\x1e" not in worker.held["out"]


def test_a_forked_child_runs_to_the_end_of_its_cell_and_answers_nothing(worker):
    reply = worker.run(
        "pid = os.fork()\nif pid:\n    status = os.waitpid(pid, 0)[1]\nprint('child' if not pid else 'parent')\n"
    )
    assert sorted(reply.out.split()) == ["child", "parent"]
    assert reply.messages == []
    assert worker.run("status").out == "0\n"
    reply = worker.run(
        "pid = os.fork()\nif not pid:\n    try:\n        input('child? ')\n    except EOFError:\n        sys.exit(9)\n"
        "os.waitpid(pid, 0)[1] >> 8"
    )
    assert reply.out == "9\n"
    assert reply.messages == []
    reply = worker.run("pid = os.fork()\nif not pid:\n    1/0\nos.waitpid(pid, 0)[1] >> 8")
    assert reply.out == "1\n"
    assert "ZeroDivisionError" in reply.err
    assert worker.run("os.getpid()").out == f"{worker.process.pid}\n"


def test_text_that_waits_to_be_printed_is_not_printed_twice_by_a_fork(worker):
    reply = worker.run(
        "print('once', end='')\npid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0) and None"
    )
    assert reply.out == "once"


def test_neither_user_code_nor_its_children_see_the_sideband(worker):
    assert worker.run("[n for n in os.environ if 'MCP_CONSOLE' in n]").out == "[]\n"
    assert worker.run("os.system('env | grep -c MCP_CONSOLE') and None").out == "0\n"
    mine = (
        os.stat(worker.control).st_ino,
        os.stat(worker.answers).st_ino,
        os.fstat(worker.process.stdin.fileno()).st_ino,
    )
    look = (
        "import os\n"
        "for fd in os.listdir('/proc/self/fd'):\n"
        "    try: print(os.stat('/proc/self/fd/' + fd).st_ino)\n"
        "    except OSError: pass\n"
    )
    worker.run(f"look = {look!r}")
    looks = (
        "subprocess.run([sys.executable, '-c', look], close_fds=False) and None",
        "os.spawnv(os.P_WAIT, sys.executable, ['python', '-c', look]) and None",
        "pid = os.fork()\nif not pid:\n    exec(look)\nelse:\n    os.waitpid(pid, 0)",
    )
    for code in looks:
        seen = set(map(int, worker.run(code).out.split()))
        assert seen
        assert not seen & set(mine)
    assert set(map(int, worker.run("exec(look)").out.split())) & set(mine)  # so the others could have seen it


JUNK = {
    "no JSON": b"nonsense\n",
    "JSON that is cut inside a text": b'{"type": "stdin_wri\n',
    "an array": b"[1]\n",
    "a number": b"5\n",
    "null": b"null\n",
    "no type": b"{}\n",
    "a type that is no text": b'{"type": 5}\n',
    "an unknown type": b'{"type": "future", "x": [1, {"y": null}]}\n',
    "invalid UTF-8": b'{"type": "\xff"}\n',
    "NUL": b"\0\n",
    "blank lines": b"\n \r\n\n",
    "deep nesting": b"[" * 100_000 + b"\n",
    "a text that is none": b'{"type": "stdin_write", "text": 5}\n',
    "no text": b'{"type": "stdin_write"}\n',
    "a request_id of 0": b'{"type": "stdin_write", "text": "", "request_id": 0}\n',
    "a request_id that is true": b'{"type": "interrupt", "request_id": true}\n',
    "a request_id that is text": b'{"type": "interrupt", "request_id": "1"}\n',
    "an empty mark": b'{"type": "stdin_write", "text": "", "mark": ""}\n',
    "a mark with a separator": b'{"type": "stdin_write", "text": "", "mark": "\\u001e"}\n',
    "an image mark that is too short": b'{"type": "stdin_write", "text": "", "image_mark": "0123"}\n',
    "an image mark in capitals": b'{"type": "stdin_write", "text": "", "image_mark": "%s"}\n' % (b"A" * 32),
    "an image mark that is none": b'{"type": "stdin_write", "text": "", "image_mark": 5}\n',
    "two values": b'{"type": "session_end"} {"type": "session_end"}\n',
    "not a number": b'{"type": "session_end", "x": NaN}\n',
}


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", JUNK)
def test_a_line_that_is_no_message_is_ignored_and_counted(worker, name):
    worker.raw(JUNK[name])
    assert worker.run("1").out == "1\n"
    worker.tell(type="session_end", unknown="member")
    assert worker.message("session_end").get("ignored", 0) == (0 if name == "blank lines" else 1)
    assert worker.drain() == 0


@pytest.mark.parametrize("over", [0, 1], ids=["at the limit", "beyond it"])
def test_a_line_may_be_so_long_and_no_longer(worker, over):
    line = b'{"type": "interrupt", "x": "' + b"x" * (33_554_432 + over - 30) + b'"}'
    assert len(line) == 33_554_432 + over
    worker.raw(line + b"\n")
    if not over:
        assert worker.message("interrupted")["outcome"] == "idle"
    assert worker.run("1").out == "1\n"
    worker.tell(type="session_end")
    assert worker.message("session_end").get("ignored", 0) == over


def test_a_large_cell_is_taken_whole(worker):
    assert worker.run("x = '''" + "y" * 4_000_000 + "'''\nlen(x)").out == "4000000\n"


def test_a_payload_other_than_announced_ends_the_session_as_an_error(worker):
    worker.tell(type="stdin_write", text="print(1)\n", request_id=50)
    worker.payload(b"print(2)\n")
    assert worker.message("session_end") == {"type": "session_end", "reason": "protocol_error", "status": 76}
    assert worker.drain() == 76
    assert bytes(worker.held["out"]) == b""


def test_it_does_so_while_a_request_runs_too(worker):
    worker.send("input()")
    worker.message("readline_start")
    worker.tell(type="stdin_write", text="one\n", request_id=worker.number)
    worker.payload(b"two\n")
    assert worker.message("session_end")["reason"] == "protocol_error"
    assert worker.drain() == 76
