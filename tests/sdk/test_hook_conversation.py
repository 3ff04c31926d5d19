"""A provider on its wire: frames in, frames out, and the exit status that goes with them."""

import os
import pty
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import plughost_sdk
import pytest
from plughost_sdk import hook, hook_conversation, stdio
from plughost_sdk import hook_messages as m
from plughost_sdk.frames.length_prefix import LengthPrefixDecoder, encode
from plughost_sdk.hook_conversation import DECLARED, EXIT_FAILED, EXIT_OK, ROUND

SDK = str(Path(plughost_sdk.__file__).parent.parent)
LIMIT = hook.LIMIT


def frame(message):
    return encode(message.SerializeToString(), LIMIT)


HELLO = frame(m.Hello(core_protocol=1, core_version="0.2.0", env={"CI": "true"}))
PLAN, GENERATE = frame(m.PlanRequest(flags={"a": "b"})), frame(m.GenerateRequest(target="github"))


def make(*phases, **more):
    """Return a provider whose phases say in a diagnostic who they are and what they got."""
    provider = hook.Provider("provider/probe", version="1.0", **more)
    for phase in phases:
        getattr(provider, phase)(lambda request, phase=phase: hook.info(phase, type(request).__name__))
    return provider


def frames_of(data):
    decoder = LengthPrefixDecoder(2 * LIMIT)
    decoder.receive_data(data)
    decoder.receive_eof()
    return list(iter(decoder.next_frame, None))


def converse(provider, wire):
    """Run a provider here, over files, and return its exit status and the frames that it wrote."""
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as taken,
        pytest.MonkeyPatch.context() as patch,
    ):
        given.write(wire)
        given.seek(0)
        patch.setattr(stdio, "claim", lambda: (os.dup(given.fileno()), os.dup(taken.fileno())))
        patch.setattr(stdio, "is_terminal", lambda: False)
        with pytest.raises(SystemExit) as ended:
            provider.run()
        taken.seek(0)
        return ended.value.code, frames_of(taken.read())


def replies(*phases):
    """Return the frames that a provider of `make` answers with in *phases*."""
    kinds = {phase: getattr(m, f"{phase.capitalize()}Result") for phase in phases}
    said = {phase: hook.info(phase, f"{phase.capitalize()}Request") for phase in phases}
    return [kinds[phase](diagnostics=[said[phase]]).SerializeToString() for phase in phases]


@pytest.fixture(autouse=True)
def _declared_round(monkeypatch):
    monkeypatch.setenv(ROUND, DECLARED)


# The handshake


def test_hello_is_answered_with_plugin_info_and_the_end_of_input_is_a_clean_exit():
    provider = make("generate", capabilities=["provider:probe"])
    status, frames = converse(provider, HELLO)
    assert status == EXIT_OK
    assert [m.PluginInfo.FromString(each) for each in frames] == [provider.plugin_info()]


def test_the_environment_in_hello_is_the_providers_env():
    provider = make("generate")
    assert provider.env == {}
    converse(provider, HELLO)
    assert provider.env == {"CI": "true"}


@pytest.mark.parametrize("protocol", [0, 2, 2**32 - 1])
def test_another_protocol_is_not_answered_and_both_versions_are_named_on_stderr(protocol, capsys):
    wire = frame(m.Hello(core_protocol=protocol, core_version="9")) + GENERATE
    assert converse(make("generate"), wire) == (EXIT_FAILED, [])
    assert capsys.readouterr().err == f"Error: Protocol version mismatch: core={protocol}, plugin=1\n"


def test_an_empty_hello_is_protocol_0():
    assert converse(make("generate"), bytes(4)) == (EXIT_FAILED, [])


def test_a_hello_with_unknown_fields_is_answered():
    body = HELLO[4:] + b"\x9a\x06\x03abc"
    status, frames = converse(make("generate"), encode(body, LIMIT))
    assert (status, len(frames)) == (EXIT_OK, 1)


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        HELLO[:1],
        HELLO[:3],
        HELLO[:4],
        HELLO[:-1],
        encode(b"\xff" * 9, LIMIT),
        b"Hello, world\n" * 9,
        (LIMIT + 1).to_bytes(4, "big"),
        b"\xff" * 4,
    ],
    ids=["nothing", "1 byte", "3 bytes", "header", "cut", "garbage", "text", "over the limit", "largest"],
)
def test_what_is_no_hello_is_not_answered(wire, capsys):
    assert converse(make("generate"), wire) == (EXIT_FAILED, [])
    assert capsys.readouterr().err.count("\n") == 1


# Rounds


def test_a_round_is_the_declared_phases_in_their_order_and_rounds_repeat():
    wire = HELLO + (frame(m.DetectRequest()) + PLAN + GENERATE + frame(m.ValidateRequest())) * 3
    status, frames = converse(make("validate", "generate", "plan", "detect"), wire)
    assert (status, frames[1:]) == (EXIT_OK, replies("detect", "plan", "generate", "validate") * 3)


def test_a_provider_that_only_generates_is_only_asked_to():
    status, frames = converse(make("generate"), HELLO + GENERATE * 2)
    assert (status, frames[1:]) == (EXIT_OK, replies("generate") * 2)


def test_preflight_is_not_part_of_a_round_unless_it_is_listed():
    status, frames = converse(make("plan", "preflight"), HELLO + PLAN * 2)
    assert (status, frames[1:]) == (EXIT_OK, replies("plan") * 2)


def test_a_provider_that_declares_nothing_but_preflight_is_asked_for_it():
    provider = hook.Provider("p", version="1")
    provider.preflight(lambda request: hook.run(reason=request.job_id))
    status, frames = converse(provider, HELLO + frame(m.PreflightRequest(job_id="a")) + bytes(4))
    assert status == EXIT_OK
    assert [m.PreflightResult.FromString(each).reason for each in frames[1:]] == ["a", ""]


@pytest.mark.parametrize("declared", [("generate",), ("plan",), ("detect", "generate"), ("detect",)])
def test_a_host_that_says_nothing_about_rounds_gets_plan_and_generate_in_turns(declared, monkeypatch):
    monkeypatch.delenv(ROUND)
    status, frames = converse(make(*declared), HELLO + (PLAN + GENERATE) * 2)
    expected = [replies(phase)[0] if phase in declared else b"" for phase in ("plan", "generate")]
    assert (status, frames[1:]) == (EXIT_OK, expected * 2)


@pytest.mark.parametrize("where", ["process", "hello"])
@pytest.mark.parametrize("listed", ["generate", "plan,validate", "detect,plan,generate,validate"])
def test_the_host_may_list_the_phases_of_a_round(where, listed, monkeypatch):
    hello = HELLO
    if where == "process":
        monkeypatch.setenv(ROUND, listed)
    else:
        monkeypatch.delenv(ROUND)
        hello = frame(m.Hello(core_protocol=1, env={ROUND: listed}))
    phases = listed.split(",")
    status, frames = converse(
        make("detect", "plan", "generate", "validate"), hello + bytes(4) * 2 * len(phases)
    )
    assert (status, frames[1:]) == (EXIT_OK, replies(*phases) * 2)


def test_the_environment_of_the_process_wins_over_the_one_in_hello(monkeypatch):
    monkeypatch.setenv(ROUND, "generate")
    hello = frame(m.Hello(core_protocol=1, env={ROUND: "plan"}))
    assert converse(make("plan", "generate"), hello + GENERATE)[1][1:] == replies("generate")


def test_in_a_round_of_preflights_every_request_is_one(monkeypatch):
    monkeypatch.setenv(ROUND, "preflight")
    provider = make("plan")
    provider.preflight(lambda request: hook.run(reason=request.job_id))
    wire = HELLO + frame(m.PreflightRequest(job_id="a")) + frame(m.PreflightRequest(job_id="b"))
    status, frames = converse(provider, wire)
    assert status == EXIT_OK
    assert [m.PreflightResult.FromString(each).reason for each in frames[1:]] == ["a", "b"]


@pytest.mark.parametrize(
    "listed",
    [
        "other",
        "validate",
        "generate,other",
        "generate,plan",
        "plan,plan",
        "plan,",
        ",",
        " plan",
        "PLAN",
        "plan,preflight",
        "close",
    ],
)
def test_a_list_that_is_no_round_of_this_provider_ends_it_after_its_introduction(listed, monkeypatch, capsys):
    monkeypatch.setenv(ROUND, listed)
    provider = make("plan", "generate", "preflight")
    status, frames = converse(provider, HELLO + PLAN)
    assert (status, len(frames)) == (EXIT_FAILED, 1)
    err = capsys.readouterr().err
    assert ROUND in err
    assert err.count("\n") == 1


# Requests and replies


def test_an_empty_request_is_one_and_an_empty_result_is_a_frame_of_length_zero():
    provider = hook.Provider("p", version="1")
    provider.plan(lambda request: None)
    assert converse(provider, HELLO + bytes(4) * 3) == (EXIT_OK, [provider.encode_info(), b"", b"", b""])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_frames_may_come_in_pieces_of_any_size(size, monkeypatch):
    monkeypatch.setattr(hook_conversation, "READ_SIZE", size)
    status, frames = converse(make("plan", "generate"), HELLO + (PLAN + GENERATE) * 2)
    assert (status, frames[1:]) == (EXIT_OK, replies("plan", "generate") * 2)


@pytest.mark.parametrize("cut", range(len(PLAN + GENERATE) + 1))
def test_the_end_of_input_is_clean_between_frames_and_a_failure_inside_one(cut, capsys):
    status, frames = converse(make("plan", "generate"), HELLO + (PLAN + GENERATE)[:cut])
    clean = cut in (0, len(PLAN), len(PLAN + GENERATE))
    assert status == (EXIT_OK if clean else EXIT_FAILED)
    assert len(frames) == 1 + (cut >= len(PLAN)) + (cut == len(PLAN + GENERATE))
    assert bool(capsys.readouterr().err) is not clean


@pytest.mark.parametrize(
    "wire",
    [
        encode(b"\xff" * 20, LIMIT),
        encode(b"\x0a\x01\xff", LIMIT),
        encode(b"\x0a\x05a", LIMIT),
        b"GET / HTTP/1.1\r\n\r\n",
        (LIMIT + 1).to_bytes(4, "big"),
    ],
    ids=["garbage", "not UTF-8", "cut short", "text", "over the limit"],
)
def test_a_request_that_cannot_be_read_ends_the_provider_with_a_message(wire, capsys):
    status, frames = converse(make("generate"), HELLO + GENERATE + wire + GENERATE)
    assert (status, len(frames)) == (EXIT_FAILED, 2)
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_request_is_accepted_up_to_the_limit_to_the_byte(over):
    provider = hook.Provider("p", version="1")
    provider.generate(lambda request: hook.info("SIZE", str(len(request.target))))
    around = len(m.GenerateRequest(target="x" * LIMIT).SerializeToString()) - LIMIT
    body = m.GenerateRequest(target="x" * (LIMIT + over - around)).SerializeToString()
    assert len(body) == LIMIT + over
    status, frames = converse(provider, HELLO + encode(body, LIMIT + 1))
    if over > 0:
        assert (status, len(frames)) == (EXIT_FAILED, 1)
    else:
        (diagnostic,) = m.GenerateResult.FromString(frames[1]).diagnostics
        assert (status, diagnostic.message) == (EXIT_OK, str(LIMIT + over - around))


def test_a_reply_over_the_limit_is_answered_with_an_error_and_the_next_request_is_served():
    provider = hook.Provider("p", version="1")
    sizes = iter([LIMIT, 5])
    provider.generate(lambda request: hook.fragment("a", "x" * next(sizes)))
    status, frames = converse(provider, HELLO + GENERATE * 2)
    first, second = map(m.GenerateResult.FromString, frames[1:])
    assert status == EXIT_OK
    assert [each.code for each in first.diagnostics] == ["REPLY_TOO_LARGE"]
    assert [each.content for each in second.fragments] == ["xxxxx"]


def test_an_exception_is_answered_and_the_next_request_is_served():
    provider = hook.Provider("p", version="1")
    provider.plan(lambda request: 1 / 0)
    provider.generate(lambda request: hook.fragment("a", "b"))
    status, frames = converse(provider, HELLO + (PLAN + GENERATE) * 2)
    assert status == EXIT_OK
    assert [each.code for each in m.PlanResult.FromString(frames[3]).diagnostics] == ["PLUGIN_EXCEPTION"]
    assert len(m.GenerateResult.FromString(frames[4]).fragments) == 1


@pytest.mark.parametrize("answer", [lambda request: 1 / 0, lambda request: None], ids=["exception", "none"])
def test_a_preflight_that_fails_ends_the_provider_without_an_answer(answer, monkeypatch, capsys):
    monkeypatch.setenv(ROUND, "preflight")
    provider = hook.Provider("p", version="1")
    provider.preflight(answer)
    status, frames = converse(provider, HELLO + bytes(8))
    assert (status, len(frames)) == (EXIT_FAILED, 1)
    assert "Traceback" in capsys.readouterr().err


# The end


class Closing(hook.Provider):
    name, version, closed = "p", "1", 0

    def plan(self, request):
        return None

    def close(self):
        self.closed += 1
        if "fail" in self.env:
            raise OSError("disk full")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_close_is_called_once_when_the_host_has_hung_up(count):
    provider = Closing()
    assert converse(provider, HELLO + PLAN * count)[0] == EXIT_OK
    assert provider.closed == 1


def test_a_close_that_fails_is_a_failure(capsys):
    hello = frame(m.Hello(core_protocol=1, env={"fail": ""}))
    status, frames = converse(Closing(), hello + PLAN)
    assert (status, len(frames)) == (EXIT_FAILED, 2)
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wire", [b"", HELLO + b"\0", HELLO + encode(b"\xff", LIMIT)], ids=["none", "cut", "bad"]
)
def test_a_conversation_that_broke_is_not_closed(wire):
    provider = Closing()
    assert converse(provider, wire)[0] == EXIT_FAILED
    assert provider.closed == 0


# Real processes

PLUGIN = """
import os, sys
from plughost_sdk import hook
provider = hook.Provider("provider/probe", version="1.0")
{before}

@provider.generate
def generate(request):
    {body}

provider.run()
"""


def start(body="yield hook.fragment('a', request.target)", before="", *, isolated=(), **how):
    source = f"import sys\nsys.path.insert(0, {SDK!r})\n{PLUGIN.format(body=body, before=before)}"
    how.setdefault("stdin", subprocess.PIPE)
    how.setdefault("stdout", subprocess.PIPE)
    return subprocess.Popen(
        [sys.executable, "-I", *isolated, "-c", source],
        stderr=subprocess.PIPE,
        env={"PATH": os.defpath, ROUND: DECLARED},
        **how,
    )


def run(*arguments, wire=HELLO + GENERATE, **how):
    """Return a child's status, its frames and its stderr, having sent *wire*."""
    with start(*arguments, **how) as child:
        out, err = child.communicate(wire, timeout=250)
    return child.returncode, frames_of(out), err.decode()


def exchange(child, data):
    """Send *data* and return the one frame that comes back."""
    child.stdin.write(data)
    child.stdin.flush()
    return child.stdout.read(int.from_bytes(child.stdout.read(4), "big"))


def test_a_real_process_answers_one_request_after_the_other_and_ends_with_its_input():
    with start() as child:
        assert m.PluginInfo.FromString(exchange(child, HELLO)).name == "provider/probe"
        for target in ("github", "circleci", ""):
            reply = exchange(child, frame(m.GenerateRequest(target=target)))
            assert m.GenerateResult.FromString(reply).fragments[0].content == target
        assert child.communicate(timeout=250) == (b"", b"")
    assert child.returncode == EXIT_OK


def test_a_real_process_takes_its_input_byte_by_byte():
    with start() as child:
        for byte in HELLO + GENERATE:
            os.write(child.stdin.fileno(), bytes([byte]))
        out, _ = child.communicate(timeout=250)
    assert child.returncode == EXIT_OK
    assert m.GenerateResult.FromString(frames_of(out)[1]).fragments[0].content == "github"


def test_nine_megabytes_go_in_and_come_out():
    wire = HELLO + frame(m.GenerateRequest(target="x" * 9_000_000))
    status, frames, _ = run(wire=wire)
    assert status == EXIT_OK
    assert len(m.GenerateResult.FromString(frames[1]).fragments[0].content) == 9_000_000


def test_whatever_prints_prints_to_stderr_and_whatever_reads_input_finds_its_end():
    body = "print('one'); os.system('echo two'); os.write(1, b'three\\n'); provider.log('four \\ud800'); "
    body += "return hook.fragment('a', sys.stdin.read())"
    status, frames, err = run(body, "print('zero')")
    assert (status, len(frames)) == (EXIT_OK, 2)
    assert m.GenerateResult.FromString(frames[1]).fragments == [hook.fragment("a", "")]
    assert sorted(line.split()[0] for line in err.splitlines()) == ["four", "one", "three", "two", "zero"]


def test_a_fork_of_the_provider_neither_answers_nor_holds_the_wire():
    body = "pid = os.fork(); pid and os.waitpid(pid, 0); return hook.fragment('a', str(pid > 0))"
    status, frames, _ = run(body)
    assert (status, len(frames)) == (EXIT_OK, 2)
    assert m.GenerateResult.FromString(frames[1]).fragments[0].content == "True"


@pytest.mark.parametrize("status", [0, 3])
def test_a_handler_that_exits_ends_the_process_with_its_status_and_without_an_answer(status):
    ended, frames, _ = run(f"sys.exit({status})")
    assert (ended, len(frames)) == (status, 1)


def test_an_interrupt_in_a_handler_ends_the_process_without_an_answer():
    ended, frames, _ = run("raise KeyboardInterrupt")
    assert (ended, len(frames)) == (-signal.SIGINT, 1)


@pytest.mark.parametrize("answered", [0, 1, 2])
def test_a_host_that_is_gone_is_noticed_with_one_line_on_stderr(answered):
    wires = [HELLO, GENERATE, GENERATE]
    with start() as child:
        for wire in wires[:answered]:
            assert exchange(child, wire)
        child.stdout.close()
        _, err = child.communicate(wires[answered], timeout=250)
    assert child.returncode == EXIT_FAILED
    assert err.count(b"\n") == 1


def test_started_by_hand_it_says_what_it_is_and_that_it_is_not_run_so():
    terminal, theirs = pty.openpty()
    try:
        with start(stdin=theirs) as child:
            out, err = child.communicate(timeout=250)
    finally:
        os.close(terminal)
        os.close(theirs)
    assert (child.returncode, out) == (hook.EXIT_STARTED_BY_HAND, b"")
    assert b"provider/probe 1.0" in err
    assert b"generate" in err


def test_without_protobuf_the_handshake_is_not_answered_and_the_remedy_is_named():
    status, frames, err = run(isolated=["-S"])
    assert (status, frames) == (EXIT_FAILED, [])
    assert "plughost-sdk[hook]" in err
    assert err.count("\n") == 1


# What it costs

COSTLY = {
    *("asyncio", "typing", "dataclasses", "inspect", "logging", "threading", "json", "re", "enum"),
    *("collections", "functools", "contextlib", "importlib.util", "struct", "traceback"),
    *("google.protobuf", "plughost_sdk.hook_messages", "plughost_sdk.hook_reply", "plughost_sdk.execute"),
}
MODULES = 15  # over those of a bare Python: nine of the SDK, gc, __future__, and a few to spare

# Reports what had been imported when the first bytes went to the wire.
SPY = """
real = os.write
def write(fd, data):
    os.write = real
    real(2, ",".join(sorted(sys.modules)).encode())
    return real(fd, data)
os.write = write
"""


def test_nothing_costly_is_imported_before_the_handshake_is_answered():
    bare = subprocess.run(
        [sys.executable, "-I", "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        check=True,
        text=True,
    )
    status, frames, err = run("return None", SPY, wire=HELLO)
    assert (status, len(frames)) == (EXIT_OK, 1)
    imported = set(err.split(","))
    assert "plughost_sdk.hook" in imported
    added = imported - set(bare.stdout.split())
    assert added & COSTLY == set()
    assert len(added) <= MODULES


def test_protobuf_is_loaded_before_the_first_request_comes():
    with start(
        before="import atexit; atexit.register(lambda: print('google.protobuf' in sys.modules))"
    ) as child:
        assert exchange(child, HELLO)
        _, err = child.communicate(timeout=250)
    assert err == b"True\n"
