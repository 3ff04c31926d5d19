"""The clauses of document 002 (hook), one test each, with raw providers and a raw host.

The peers make their protobuf by hand and follow the document alone. `generate` runs a provider under the public host.
"""

from __future__ import annotations

import asyncio
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import plughost
from plughost import PluginFailure, blocking
from tests.letter.raw_hook_provider import (
    GENERATE_ONLY,
    ORDINARY,
    PIPELINE,
    PRELUDE,
    WAIT_S,
    Generate,
    Outcome,
    bound,
    command,
    frame,
    generate,
    generate_below,
    part,
    parts,
    split,
)

__all__ = ["generate"]
LIMIT = 10 * 1024 * 1024


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One run over a provider that does what every real one does."""
    return generate_below(tmp_path_factory.mktemp("ordinary"))(ORDINARY)


# Frames


def test_2_01_messages_are_protobuf_over_stdin_and_stdout(ordinary: Outcome) -> None:
    """Plugins communicate with the core via protobuf messages sent over stdin/stdout."""
    assert ordinary.made == "made"
    assert all(parts(body) for body in ordinary.frames)


def test_2_02_a_frame_is_a_big_endian_length_and_a_message(generate: Generate) -> None:
    """[4-byte length][protobuf message bytes], however the bytes come."""
    dribble = "send = lambda body: [os.write(1, bytes([each])) for each in frame(body)]\n"
    assert generate(dribble + ORDINARY).made == "made"


def test_2_03_the_hello_of_the_document_is_nine_bytes(tmp_path: Path) -> None:
    """The document's example counts 21 bytes; the message that it shows has 9."""
    hello = part(1, 1) + part(2, "0.2.0")
    assert frame(hello).hex(" ") == "00 00 00 09 08 01 12 05 30 2e 32 2e 30"
    assert converse(tmp_path, hello)[0]


def test_2_04_send_and_receive_can_block(ordinary: Outcome) -> None:
    """Phase 1, simple blocking I/O: the blocking host."""
    assert ordinary.generation.written


MEETING = """
own, other = {names}
greet("provider/" + own); read(); send(b""); read()
os.write(os.open("../" + own + ".asked", os.O_RDWR), b".")
os.read(os.open("../" + other + ".asked", os.O_RDWR), 1)
send(file(own, "made")); read()
"""


def test_2_05_and_2_06_or_be_asynchronous_over_several_plugins(tmp_path: Path) -> None:
    """Phase 2, async: several plugins concurrently. Each answers when the other was asked too."""
    both, held = [], []
    for own, other in (("one", "two"), ("two", "one")):
        os.mkfifo(tmp_path / f"{own}.asked")
        held.append(os.open(tmp_path / f"{own}.asked", os.O_RDWR))  # what is written stays until it is read
        both.append(bound(tmp_path / own, MEETING.format(names=(own, other))))
        text = (both[-1] / "plugin.toml").read_text()
        (both[-1] / "plugin.toml").write_text(text.replace("provider/raw", f"provider/{own}"))

    async def run() -> Any:
        async with plughost.Host() as host:
            return await host.generate(both, both[0] / "pipeline.yml", tmp_path / "out")

    try:
        generation = asyncio.run(run())
    finally:
        for fd in held:
            os.close(fd)
    assert sorted(each.path for each in generation.outputs) == ["one", "two"]


def test_2_07_each_message_is_flushed(ordinary: Outcome) -> None:
    """write_all(len), write_all(buf), flush: a provider that answers one request at a time is served."""
    assert len(ordinary.frames) == 3


# Spawn and handshake


def test_2_08_stdin_and_stdout_are_pipes(generate: Generate) -> None:
    """stdin(Stdio::piped()), stdout(Stdio::piped())."""
    check = "import stat; assert all(stat.S_ISFIFO(os.fstat(fd).st_mode) for fd in (0, 1))\n"
    assert generate(check + ORDINARY).made == "made"


def test_2_09_the_plugins_logs_are_not_lost(tmp_path: Path) -> None:
    """Plugin logs go to our stderr: the command shows them there, with the name of the plugin."""
    where = bound(tmp_path / "raw", "print('a log line', file=sys.stderr, flush=True)\n" + ORDINARY)
    done = command("generate", "--schema", "pipeline.yml", "--out", "out", ".", cwd=where)
    assert done.returncode == 0
    assert "a log line" in done.stderr


def test_2_10_hello_has_protocol_version_and_environment(
    generate: Generate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hello { core_protocol: 1, core_version, env }. The environment is an allow-list, with its values."""
    monkeypatch.setenv("SECRET_OF_THE_HOST", "s")
    monkeypatch.setenv("LISTED", "l")
    hello = parts(generate(ORDINARY, '[environment]\npass = ["PATH", "LISTED"]').frames[0])
    assert hello[1] == [1]
    assert hello[2] == [plughost.__version__.encode()]
    told = {parts(entry)[1][0].decode(): parts(entry)[2][0].decode() for entry in hello[3]}
    assert (told["PATH"], told["LISTED"]) == (os.environ["PATH"], "l")
    assert told.keys() <= {"PATH", "LISTED", "PLUGHOST_HOOK_ROUND"}


def test_2_11_plugin_info_has_name_version_protocol_and_capabilities(tmp_path: Path) -> None:
    """PluginInfo { name, version, protocol, capabilities }."""
    declaring = "greet('provider/raw', 1, 'provider:raw', 'net'); rounds(b'')"
    where = bound(tmp_path / "raw", declaring, '[capabilities]\nallow = ["net", "provider:raw"]')
    with blocking.Host() as host, host.connect(where) as provider:
        info = provider.info
    assert (info.name, info.version, info.protocol) == ("provider/raw", "0.1.0", 1)
    assert list(info.capabilities) == ["provider:raw", "net"]


@pytest.mark.parametrize(
    "body",
    ["greet('provider/raw', 2); read()", "read(); sys.exit('Protocol version mismatch: core=1, plugin=2')"],
)
def test_2_12_the_protocol_is_checked(generate: Generate, body: str) -> None:
    """Check `protocol` matches, also where the plugin says so and exits."""
    assert generate(body).code == "protocol_version_mismatch"


def test_2_13_capabilities_are_as_expected(generate: Generate) -> None:
    """Verify `capabilities` are as expected: those that the binding lists."""
    body = "greet('provider/raw', 1, 'provider:raw'); rounds(file('a.txt', 'made'))"
    assert generate(body, '[capabilities]\nallow = ["provider:raw"]').made == "made"
    assert generate(body, '[capabilities]\nallow = ["provider:other"]').code == "capability_not_allowed"


def test_2_14_metadata_is_stored_for_routing(ordinary: Outcome) -> None:
    """Store plugin metadata for routing: the target is the last part of its name."""
    (report,) = ordinary.generation.providers
    assert (report.name, report.version) == ("provider/raw", "0.1.0")
    assert parts(ordinary.frames[2])[1] == [b"raw"]


# Hook invocation


def test_2_15_generate_has_target_and_schema_and_brings_fragments_and_diagnostics(generate: Generate) -> None:
    """GenerateRequest { target, graph, schema } → GenerateResult { fragments, diagnostics }."""
    resource = part(1, part(1, "job-1") + part(2, 1))
    warned = "part(2, part(1, 2) + part(4, 'mind this'))"
    outcome = generate(
        f"greet(); read(); send({resource!r}); read(); send(file('a.txt', 'x') + {warned}); read()"
    )
    request = parts(outcome.frames[2])
    assert parts(request[2][0])[1] == [b"job-1"]  # its own plan comes back as the graph
    assert parts(parts(request[4][0])[4][0])[1] == [b"build"]
    assert [each.message for each in outcome.generation.diagnostics] == ["mind this"]


@pytest.mark.requirement("hook:round:generate-only")
def test_2_16_a_provider_that_knows_generate_alone_is_served(generate: Generate) -> None:
    """After the handshake comes Generate: such a provider works, and a warning says how to ask for less."""
    outcome = generate(GENERATE_ONLY)
    assert outcome.made == "made"
    assert '[hook] phases = ["generate"]' in outcome.warnings
    asked = generate(GENERATE_ONLY, '[hook]\nphases = ["generate"]')
    assert (asked.made, len(asked.frames), asked.warnings) == ("made", 2, "")


def test_2_16_a_bare_command_is_asked_for_generate_alone(tmp_path: Path) -> None:
    """`--phases generate` says of a bare command what a binding would; doctor and the hint name it."""
    where = bound(tmp_path / "raw", GENERATE_ONLY)
    bare = ("--contract", "hook", "--", sys.executable, "raw.py")
    words = ("generate", "--schema", "pipeline.yml", "--out", "out", "--phases", "generate")
    assert command(*words, *bare, cwd=where).returncode == 0
    assert len(split((where / "log").read_bytes())) == 2
    assert "--phases generate" in command("doctor", ".", cwd=where).stdout
    (where / "raw.py").write_text(f"{PRELUDE}greet(); parts(read())[4]")  # ends with an error at a Plan
    failed = command("generate", "--schema", "pipeline.yml", *bare, cwd=where)
    assert failed.returncode == 13
    assert "--phases generate" in failed.stderr


def test_2_16_a_provider_of_a_single_answer_is_not_left_without_advice(generate: Generate) -> None:
    """Its one answer was spent on Plan: the failure says so, and says what to write."""
    once = GENERATE_ONLY.replace("while (body := read()) is not None:", "for body in (read(),):")
    failed = generate(once)
    assert failed.error is not None
    assert failed.code == "crashed"
    assert "--phases generate" in failed.error.hint
    assert generate(once, '[hook]\nphases = ["generate"]').made == "made"


SCHEMA = part(1, "1") + part(2, part(1, "demo")) + part(4, part(1, "build"))
GENERATE = part(1, "github") + part(4, SCHEMA)
PLAN = part(3, SCHEMA)
SDK_PROVIDER = """
from plughost_sdk import hook

provider = hook.Provider("provider/sdk", version="1.0")

@provider.plan
def plan(request):
    return hook.messages.PlanResult(resources=[hook.messages.Resource(id="planned")])

@provider.generate
def generate(request):
    yield hook.fragment("a.txt", " ".join(job.id for job in request.schema.jobs) or "no jobs")

provider.run()
"""


def converse(directory: Path, *bodies: bytes, raw: bytes = b"") -> tuple[list[bytes], int, str]:
    """Return what an SDK provider answers to the frames of a raw host, its exit status and its stderr."""
    script = directory / "sdk.py"
    script.write_text(SDK_PROVIDER)
    environment = {name: value for name, value in os.environ.items() if name != "PLUGHOST_HOOK_ROUND"}
    done = subprocess.run(
        [sys.executable, str(script)],
        input=b"".join(map(frame, bodies)) + raw,
        capture_output=True,
        timeout=WAIT_S,
        env=environment,
        check=False,
    )
    return split(done.stdout), done.returncode, done.stderr.decode()


HELLO = part(1, 1) + part(2, "0.2.0")
PLANNED = part(1, part(1, "planned"))


def content(result: bytes) -> bytes:
    made: bytes = parts(parts(result)[1][0])[2][0]
    return made


def test_2_17_an_sdk_provider_answers_a_host_that_sends_generate_at_once(tmp_path: Path) -> None:
    """Core → Plugin: GenerateRequest right after the handshake, and again."""
    (_, first, second), status, _ = converse(tmp_path, HELLO, GENERATE, GENERATE)
    assert (content(first), content(second), status) == (b"build", b"build", 0)


@pytest.mark.parametrize(
    "request_body",
    [
        part(1, "github"),
        part(1, "github") + part(4, part(1, "1")),
        part(1, "github") + part(4, part(1, "1") + part(2, part(1, "demo"))),
        part(1, "github") + part(2, part(1, "job") + part(2, 1)),
        part(3, part(1, "build") + part(2, b"\x00" * 32)) + part(4, SCHEMA),
    ],
    ids=["target", "version", "project", "graph", "signatures"],
)
def test_2_17_a_generate_request_is_told_by_its_shape(tmp_path: Path, request_body: bytes) -> None:
    """Also one that holds little is answered as Generate, not as Plan."""
    (_, result), status, _ = converse(tmp_path, HELLO, request_body)
    assert content(result) in (b"build", b"no jobs")
    assert status == 0


def test_2_17_plan_and_generate_in_turns_are_answered_as_before(tmp_path: Path) -> None:
    """The real cores ask for Plan and Generate in turns; an empty frame is what its place says."""
    (_, *results), status, _ = converse(tmp_path, HELLO, PLAN, GENERATE, b"", b"")
    assert results[0] == results[2] == PLANNED
    assert (content(results[1]), content(results[3]), status) == (b"build", b"no jobs", 0)


# Shutdown, crashes, decode errors, timeouts


def test_2_18_stdin_is_closed_to_let_a_plugin_go(ordinary: Outcome) -> None:
    """drop(stdin): close stdin to signal plugin to exit."""
    assert (ordinary.directory / "ended").exists()
    assert ordinary.warnings == ""


def test_2_19_and_2_20_a_plugin_that_stays_is_killed_after_a_while(generate: Generate) -> None:
    """Wait with a timeout, 5 s where nothing else is said, and force kill after it."""
    stays = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + ORDINARY + "\ntime.sleep(600)"
    outcome = generate(stays, "[limits]\nteardown_s = 0.5\nterminate_s = 0.2")
    assert outcome.made == "made"
    assert "was brought down (kill)" in outcome.warnings
    assert plughost.HookLimits().teardown_s == 5


def test_2_21_a_crash_names_the_exit_status(generate: Generate) -> None:
    """Plugin exited unexpectedly with status."""
    outcome = generate("greet(); read(); sys.exit(7)")
    assert outcome.code == "crashed"
    assert "exit status 7" in str(outcome.error)


def test_2_22_what_cannot_be_decoded_is_an_error(generate: Generate) -> None:
    """Failed to decode message from plugin."""
    assert generate("read(); send(b'\\xff\\xff\\xff'); read()").code == "malformed_response"


def test_2_23_and_2_24_each_receive_has_a_deadline(generate: Generate) -> None:
    """30 s for each answer, and less for the handshake, both of the binding."""
    assert generate("greet(); read(); time.sleep(600)", "[limits]\ntimeout_s = 0.5").code == "timeout"
    assert generate("time.sleep(600)", "[limits]\nhandshake_s = 0.5").code == "timeout"
    assert (plughost.HookLimits().timeout_s, plughost.HookLimits().handshake_s) == (30, 5)


# Testing strategy, alternatives, security


def test_2_25_a_message_survives_its_frame(tmp_path: Path) -> None:
    """Send a Hello into a buffer, receive the same one: the provider introduces itself to it."""
    (reply,), status, _ = converse(tmp_path, HELLO)
    assert (parts(reply)[3], status) == ([1], 0)


def test_2_26_and_2_27_spawn_and_handshake_give_name_and_protocol(tmp_path: Path) -> None:
    """info.name and info.protocol are the caller's after the handshake."""
    with blocking.Host() as host, host.connect(bound(tmp_path / "raw", ORDINARY)) as provider:
        assert (provider.name, provider.info.protocol) == ("provider/raw", 1)


def test_2_28_json_is_no_message(generate: Generate) -> None:
    """JSON over stdio was rejected."""
    assert generate('read(); os.write(1, b\'{"name": "x"}\\n\'); read()').code == "malformed_response"


def test_2_29_a_message_over_the_limit_is_refused_by_its_header(generate: Generate, tmp_path: Path) -> None:
    """Reject messages >10MB: 10 485 760 bytes are taken, one more is refused before its body comes."""
    outcome = generate(f"read(); os.write(1, ({LIMIT} + 1).to_bytes(4, 'big')); time.sleep(600)")
    assert outcome.code == "malformed_response"
    padding = f"part(15, b'x' * ({LIMIT} - len(made) - 5))"  # a tag and a length of five bytes
    full = f"greet(); read(); send(b''); read(); made = file('a.txt', 'whole'); body = made + {padding}\n"
    whole = f"assert len(body) == {LIMIT}; sys.stdout.buffer.write(frame(body)); sys.stdout.flush(); read()"
    assert generate(full + whole).made == "whole"
    replies, status, stderr = converse(tmp_path, HELLO, raw=struct.pack(">I", LIMIT + 1))
    assert (len(replies), status) == (1, 1)
    assert stderr


def test_2_30_the_sender_refuses_it_too(tmp_path: Path) -> None:
    """A message that is too large is not sent: the caller is told."""
    where = bound(tmp_path / "raw", ORDINARY)
    (where / "pipeline.yml").write_text(f"jobs:\n  build:\n    steps:\n      - run: {'x' * LIMIT}\n")
    with blocking.Host() as host, pytest.raises(plughost.PlughostError) as caught:
        host.generate([where], where / "pipeline.yml", where / "out")
    assert not isinstance(caught.value, PluginFailure)


def test_2_31_only_the_exact_protocol_is_accepted(tmp_path: Path) -> None:
    """Only accept exact match: the provider does not answer another one."""
    replies, status, stderr = converse(tmp_path, part(1, 2))
    assert (replies, status) == ([], 1)
    assert "Protocol version mismatch: core=2, plugin=1" in stderr


def test_2_32_the_name_and_the_capabilities_are_validated(generate: Generate) -> None:
    """Verify declared capabilities; a plugin is also who it was bound as."""
    assert generate("greet('provider/other'); read()").code == "handshake_failed"
    assert generate("greet('provider/raw', 1, 'a:b'); read()").code == "capability_not_allowed"


def test_2_32_a_bare_command_is_held_to_what_allow_lists(tmp_path: Path) -> None:
    """Without `--allow` it has no list. A refusal says what to write on the command line."""
    where = bound(tmp_path / "raw", "greet('provider/raw', 1, 'provider:raw'); rounds(file('a.txt', 'made'))")
    words = ("generate", "--schema", "pipeline.yml", "--out", "out", "--contract", "hook")
    bare = ("--", sys.executable, "raw.py")
    refused = command(*words, "--allow", "provider:other", *bare, cwd=where)
    assert refused.returncode == 18
    assert "--allow provider:raw" in refused.stderr
    assert command(*words, "--allow", "provider:raw", *bare, cwd=where).returncode == 0
    assert command(*words, *bare, cwd=where).returncode == 0


def test_2_33_no_shell_is_in_between(tmp_path: Path) -> None:
    """Spawn plugins directly: a word of the command is that word, whatever a shell would make of it."""
    where = bound(tmp_path / "raw", "assert sys.argv[1:] == ['$HOME; touch owned', '*']\n" + ORDINARY)
    text = (where / "plugin.toml").read_text()
    (where / "plugin.toml").write_text(text.replace('"raw.py"]', '"raw.py", "$HOME; touch owned", "*"]'))
    with blocking.Host() as host:
        host.generate([where], where / "pipeline.yml", where / "out")
    assert (where / "out" / "a.txt").exists()
    assert not (where / "owned").exists()


def test_2_34_a_plugin_runs_as_the_same_user(generate: Generate) -> None:
    """Plugins run as same user."""
    assert generate(f"assert os.getuid() == {os.getuid()}\n{ORDINARY}").made == "made"


def test_2_35_resources_can_be_limited(generate: Generate) -> None:
    """Resource limits, a future of the document: memory_mb ends a provider that takes more."""
    hungry = "greet(); read(); taken = bytearray(400 << 20)"
    assert generate(hungry, "[limits]\nmemory_mb = 100").code == "crashed"


def test_2_43_and_2_44_the_github_provider_works_end_to_end(tmp_path: Path) -> None:
    """core → plugin → generate → output, with the provider for GitHub."""
    (tmp_path / "pipeline.yml").write_text(PIPELINE)
    github = Path(plughost.__file__).parent / "bundled" / "hook" / "github-actions"
    with blocking.Host() as host:
        host.generate([github], tmp_path / "pipeline.yml", tmp_path)
    (made,) = (tmp_path / ".github" / "workflows").iterdir()
    assert "make" in made.read_text()
