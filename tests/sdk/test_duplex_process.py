"""A `duplex` plugin as a real child: what it prints, what it starts, how it ends, and what it imports."""

import json
import os
import signal

import pytest

from tests.sdk.duplex_wire import cli, event, frame, init, key, render, request, result, unframe

HEAD = """
import os
from plughost_sdk import duplex
plugin = duplex.Plugin("probe", version="1.0.0")
"""


def wire(*messages):
    return b"".join(map(frame, messages))


def talk(run_child, source, *messages):
    """Run a plugin of *source* over the messages. Return its status, what it said, and its standard error."""
    child = run_child(f"{HEAD}{source}\nplugin.run()\n", wire(*messages))
    return child.returncode, unframe(child.stdout), child.stderr.decode()


def test_a_whole_conversation(run_child):
    source = """
@plugin.on_init
def init(init):
    plugin.host.snapshot.subscribe("t")
    plugin.host.log.info("ready", granted=list(init.granted_capabilities))

@plugin.on_event("t")
def event(topic, payload):
    plugin.host.snapshot.publish("echo", payload[::-1])

@plugin.render
def render(viewport):
    canvas = duplex.Canvas(viewport.width, viewport.height)
    payload, version = plugin.host.snapshot.get("u")
    canvas.put(0, 0, f"{payload.decode()} {version}")
    return canvas
"""
    status, said, err = talk(
        run_child,
        source,
        init(1),
        result(1, {}),
        event("t", "aGk="),
        render(2, 9, 1),
        key(),
        result(2, {"payload": "5LiW", "version": 3}),
        request(3, "plugin/shutdown"),
    )
    assert (status, err) == (0, "")
    assert [each.get("method", each.get("id")) for each in said] == [
        *("host/snapshot/subscribe", "host/log", 1),
        *("host/snapshot/publish", "host/snapshot/get", 2),
        3,
    ]
    assert said[3]["params"] == {"topic": "echo", "payload": "aWg="}
    assert [cell["symbol"] for _, cell in said[5]["result"]["buffer"]["cells"]] == ["世", " ", "3"]


def test_nothing_that_prints_or_reads_can_touch_the_wire(run_child):
    source = """
print("at import")
@plugin.render
def render(viewport):
    print("from python")
    os.write(1, b"from a descriptor\\n")
    os.system("echo from a child; cat")
    assert sys.stdin.read() == ""
"""
    status, said, err = talk(run_child, source, render(1), render(2))
    assert status == 0
    assert [each["id"] for each in said] == [1, 2]
    for words in ("at import", "from python", "from a descriptor", "from a child"):
        assert words in err


def test_a_fork_holds_no_end_of_the_wire(run_child):
    source = """
@plugin.on_key
def key(screen_id, key):
    if os.fork() == 0:
        try:
            plugin.host.snapshot.publish("t", b"")
        except duplex.HostGone:
            return  # to a conversation that is over, here
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    status, said, err = talk(run_child, source, key(), render(2))
    assert (status, [each["id"] for each in said]) == (0, [2])
    complaint, printed = err.splitlines()
    assert complaint.startswith("plughost-sdk")
    assert printed == "1"


def test_an_exception_is_shown_and_survived(run_child):
    status, said, err = talk(run_child, "plugin.render(lambda viewport: 1 / 0)", render(1), cli(2))
    assert status == 0
    assert [("error" in each, each["id"]) for each in said] == [(True, 1), (False, 2)]
    assert "ZeroDivisionError" in err


def test_a_handler_that_exits_ends_the_process_with_its_status(run_child):
    status, said, _ = talk(
        run_child, "plugin.on_key(lambda *given: sys.exit(3))", render(1), key(), render(2)
    )
    assert (status, [each["id"] for each in said]) == (3, [1])


def test_an_exit_handler_cannot_speak_after_the_end(run_child):
    source = """
import atexit
@atexit.register
def late():
    try:
        plugin.host.log.info("late")
    except RuntimeError:
        print("refused")
"""
    status, said, err = talk(run_child, source, render(1))
    assert (status, [each["id"] for each in said], err) == (0, [1], "refused\n")


@pytest.mark.parametrize("closed", ["sys.stderr.close()", "sys.stderr = None", "os.close(2)"])
def test_without_a_standard_error_it_serves_all_the_same(run_child, closed):
    source = f"plugin.render(lambda viewport: 1 / 0)\n{closed}"
    status, said, _ = talk(run_child, source, frame(b"?"), render(1), request(2, "plugin/nonsense"))
    assert [each["id"] for each in said] == [1, 2]
    assert status in (0, 120)  # Python says 120 itself if it could not flush a stream at its end


def test_a_plugin_that_is_killed_by_its_pipe_says_so_in_one_line(run_child):
    theirs, ours = os.pipe()
    os.close(theirs)
    read, write = os.pipe()
    os.write(write, wire(init(1)))
    os.close(write)
    source = f"{HEAD}import signal; assert signal.getsignal(signal.SIGPIPE) == {int(signal.SIG_IGN)}\n"
    source += f"os.dup2({ours}, 1)\nplugin.run()\n"
    try:
        child = run_child(source, b"", stdin=read, pass_fds=[ours])
    finally:
        os.close(read)
        os.close(ours)
    assert child.returncode == 1
    assert child.stderr.count(b"\n") == 1


# What it costs

COSTLY = {
    *("asyncio", "typing", "dataclasses", "inspect", "logging", "threading", "json", "re", "enum"),
    *("collections", "functools", "contextlib", "struct", "traceback", "tomllib", "unicodedata", "time.time"),
}

# Reports what had been imported when the answer to init went to the wire.
SPY = """
real = os.write
def write(fd, data):
    if b'"result"' in bytes(data):
        os.write = real
        real(2, ",".join(sorted(sys.modules)).encode())
    return real(fd, data)
os.write = write

@plugin.on_init
def init(init):
    plugin.host.snapshot.subscribe("t")
"""


def test_nothing_costly_is_imported_before_init_is_answered(run_child):
    status, said, err = talk(run_child, SPY, init(1), result(1, {}))
    assert (status, len(said)) == (0, 2)
    imported = set(err.split(","))
    assert "plughost_sdk.duplex" in imported
    assert imported & COSTLY == set()


def test_json_is_there_once_init_is_answered(run_child):
    source = "plugin.cli('usage')(lambda argv: str('json' in sys.modules))"
    status, said, _ = talk(run_child, source, cli(1), init(2), cli(3))
    assert status == 0
    assert [each["result"].get("stdout") for each in said] == ["RmFsc2U=", None, "VHJ1ZQ=="]  # False, True


def test_a_message_that_needs_json_is_read_with_it_even_before_init(run_child):
    odd = json.dumps(cli(1, argv=["é\n\\", "\U0001f600"])).encode()
    source = "plugin.cli('usage')(lambda argv: argv[1])"
    status, (said,), _ = talk(run_child, source, odd)
    assert (status, said["result"]["stdout"]) == (0, "8J+YgA==")
