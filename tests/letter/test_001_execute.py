"""The clauses of document 001 (execute), one test each, with raw plugins and a raw host.

The plugins are plain Python that follows the document alone. `run` starts one under the public blocking host.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plughost import ManifestError, PluginFailure, RemoteError, blocking

GREETER = Path(__file__).parent.parent.parent / "examples" / "execute" / "greeter" / "greeter.py"
HANDSHAKE = {"type": "handshake", "protocol_version": "rterm.plugin.v1"}
WAIT_S = 30  # for a process to end that ends by itself

# A plugin that follows the document, in pieces that a test puts together.
PRELUDE = """
import json, os, sys, time

MANIFEST = {
    "plugin_id": "raw", "plugin_version": "1.0", "protocol_version": "rterm.plugin.v1", "exposed_tools": ["echo"]
}
log = open("log", "ab", buffering=0)
log.write(b"pid %d\\n" % os.getpid())

def read():
    line = sys.stdin.buffer.readline()
    log.write(line or b"END\\n")
    return json.loads(line or b"null")

def text(value):
    os.write(1, value.encode())

def say(value, end="\\n"):
    text(json.dumps(value) + end)

def shake(**changes):
    read()
    manifest = {key: value for key, value in {**MANIFEST, **changes}.items() if value is not None}
    say({"type": "handshake", "manifest": manifest})

def answer(request, **changes):
    ok = {"type": "response", "request_id": request["request_id"], "status": "ok", "output": request["input"]}
    return {key: value for key, value in {**ok, **changes}.items() if value is not None}
"""
ORDINARY = "shake(); say(answer(read())); read()"


@dataclass
class Outcome:
    """What a call through the host brought, and what the plugin saw."""

    output: Any = None
    error: Exception | None = None
    log: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def code(self) -> str | None:
        return str(self.error.code) if isinstance(self.error, PluginFailure | RemoteError) else None

    @property
    def received(self) -> list[Any]:
        return [json.loads(line) for line in self.log if line.startswith("{")]

    @property
    def pid(self) -> int:
        return int(self.log[0].removeprefix("pid "))

    @property
    def is_gone(self) -> bool:
        return not os.path.exists(f"/proc/{self.pid}")


Run = Callable[..., Outcome]


def run_below(directory: Path) -> Run:
    """Return a function that runs a raw plugin with the given body under the host, in a new directory each time."""
    made = iter(range(1_000))

    def run(body: str, table: str = "", *, tool: str = "echo", input: Any = None, **more: Any) -> Outcome:
        where = directory / str(next(made))
        where.mkdir()
        (where / "raw.py").write_text(PRELUDE + body)
        head = f'[plugin]\nname = "raw"\ncontract = "execute"\ncommand = ["{sys.executable}", "raw.py"]\n'
        (where / "plugin.toml").write_text(f"{head}{table}\n")
        outcome = Outcome()
        try:
            with blocking.Host() as host:
                result = host.add(where).invoke(tool, input, **more)
                outcome = Outcome(output=result.output, warnings=result.warnings)
        except (PluginFailure, RemoteError, ManifestError) as error:
            outcome = Outcome(error=error)
        log = where / "log"
        outcome.log = tuple(log.read_text().splitlines()) if log.exists() else ()
        return outcome

    return run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return run_below(tmp_path)


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One call of a plugin that does what the document says."""
    run = run_below(tmp_path_factory.mktemp("ordinary"))
    return run(ORDINARY, input={"a": 1}, context={"workspace_id": "w"})


# The transport


def test_1_01_the_core_launches_the_plugin_as_a_process_of_its_own(ordinary: Outcome) -> None:
    """Core launches plugin as a side process."""
    assert ordinary.pid != os.getpid()
    assert ordinary.is_gone


def test_1_02_the_core_writes_to_the_plugins_stdin(ordinary: Outcome) -> None:
    """Core writes protocol messages to plugin stdin."""
    assert len(ordinary.received) == 2


def test_1_03_the_core_reads_the_plugins_stdout(ordinary: Outcome) -> None:
    """Core reads protocol messages from plugin stdout."""
    assert ordinary.output == {"a": 1}


def test_1_04_messages_are_json_objects(run: Run, ordinary: Outcome) -> None:
    """Messages are JSON objects: an array is none."""
    assert all(isinstance(message, dict) for message in ordinary.received)
    assert run("read(); say([1])").code == "malformed_response"


def test_1_05_a_line_is_one_complete_object(run: Run) -> None:
    """One complete JSON object per line: not two, and however its bytes come."""
    assert run("read(); say({}, end=''); say({})").code == "malformed_response"
    dribble = (
        "shake(); request = read(); [text(each) for each in json.dumps(answer(request)) + '\\n']; read()"
    )
    assert run(dribble, input=5).output == 5


def test_1_06_the_core_expects_exactly_one_handshake_line(run: Run) -> None:
    """Exactly one handshake response line after startup: a second one is not the response."""
    outcome = run("shake(); say({'type': 'handshake', 'manifest': MANIFEST}); say(answer(read())); read()")
    assert outcome.code == "malformed_response"


def test_1_07_then_one_request_and_one_response_line(run: Run, ordinary: Outcome) -> None:
    """One execute request line, one execute response line. More is reported, or refused by `strict`."""
    assert ordinary.log[-1] == "END"
    assert [message["type"] for message in ordinary.received] == ["handshake", "request"]
    twice = "shake(); reply = json.dumps(answer(read())) + '\\n'; text(reply + reply); read()"
    assert "after the answer" in " ".join(run(twice).warnings)
    assert run(twice, "[execute]\nstrict = true").code == "malformed_response"


@pytest.mark.parametrize("line", ["garbage", "", "[]", "{nope}", '"text"', "{}{}", '{"a": NaN}'])
def test_1_08_what_is_not_one_json_object_is_malformed(run: Run, line: str) -> None:
    """Anything that cannot be decoded as one full JSON object is malformed protocol output."""
    assert run(f"shake(); read(); text({line!r} + '\\n')").code == "malformed_response"


# The handshake


def test_1_09_the_handshake_request(ordinary: Outcome) -> None:
    """The handshake request names its type and the protocol."""
    assert ordinary.received[0] == HANDSHAKE


@pytest.mark.requirement("execute:handshake:manifest")
@pytest.mark.parametrize(
    "reply", ["{**MANIFEST, 'type': 'handshake'}", "{'type': 'handshake', 'manifest': None}"]
)
def test_1_10_a_handshake_without_a_manifest_has_failed(run: Run, reply: str) -> None:
    """The handshake response includes an explicit manifest."""
    outcome = run(f"read(); say({reply})")
    assert outcome.code == "handshake_failed"
    assert "no manifest" in str(outcome.error)


@pytest.mark.parametrize("value", [None, ""])
@pytest.mark.parametrize("field", ["plugin_id", "plugin_version", "protocol_version", "exposed_tools"])
def test_1_11_each_required_field_of_the_manifest_is_required(run: Run, field: str, value: object) -> None:
    """Required manifest fields: plugin_id, plugin_version, protocol_version, exposed_tools."""
    given = [] if field == "exposed_tools" and value == "" else value
    expected = "protocol_version_mismatch" if field == "protocol_version" else "handshake_failed"
    assert run(f"shake({field}={given!r}); read()").code == expected


GRANT = '[capabilities]\nallow = ["fs.read"]'


def test_1_12_a_plugin_declares_its_capabilities(run: Run) -> None:
    """capability declaration: `capabilities`."""
    assert run("shake(capabilities=['fs.read']); say(answer(read())); read()", GRANT, input=1).output == 1


@pytest.mark.parametrize("declared", [None, []])
def test_1_13_a_declaration_is_required_when_capabilities_are_granted(run: Run, declared: object) -> None:
    """Required when the core-bound spec grants capabilities."""
    assert run(f"shake(capabilities={declared!r}); read()", GRANT).code == "capability_not_declared"


def test_1_14_each_value_is_a_capability_that_the_plugin_requests(run: Run) -> None:
    """Each value is a capability the plugin explicitly requests: it may ask for less than is granted."""
    allow = '[capabilities]\nallow = ["fs.read", "net"]'
    assert run("shake(capabilities=['net']); say(answer(read())); read()", allow, input=1).output == 1


def test_1_15_each_requested_value_is_in_the_allow_list(run: Run) -> None:
    """Every requested value must exist in the core-owned allow-list."""
    assert run("shake(capabilities=['fs.read', 'net']); read()", GRANT).code == "capability_not_allowed"


@pytest.mark.parametrize("declared", [["fs.read", ""], [" fs.read"], ["fs.read", "fs.read"]])
def test_1_16_empty_padded_and_repeated_values_are_rejected(run: Run, declared: list[str]) -> None:
    """Empty, whitespace-padded and duplicate values are rejected, also in the binding itself."""
    assert run(f"shake(capabilities={declared!r}); read()", GRANT).code == "capability_not_declared"
    refused = run(ORDINARY, f"[capabilities]\nallow = {json.dumps(declared)}")
    assert isinstance(refused.error, ManifestError)
    assert refused.log == ()  # nothing was started


# Request and response


def test_1_17_the_execute_request(ordinary: Outcome) -> None:
    """The execute request has an id, a tool, a context and an input."""
    request = ordinary.received[1]
    assert request.pop("request_id").startswith("plugin_req_")
    context = {"workspace_id": "w"}
    assert request == {"type": "request", "tool_name": "echo", "context": context, "input": {"a": 1}}


def test_1_18_the_execute_response(run: Run) -> None:
    """The execute response answers the request of its id."""
    assert run("shake(); say(answer(read(), request_id='another'))").code == "malformed_response"
    assert run("shake(); say(answer(read(), type='reply'))").code == "malformed_response"
    assert run("shake(); say(answer(read(), output=None)); read()").error is None


def test_1_19_the_error_payload(run: Run) -> None:
    """An error payload is a code and a message of the plugin's own."""
    payload = {"code": "E1", "message": "no such file"}
    outcome = run(f"shake(); say(answer(read(), output=None, status='error', error={payload!r})); read()")
    assert isinstance(outcome.error, RemoteError)
    assert (outcome.error.code, outcome.error.message) == ("E1", "no such file")


# Timeouts and exits

HANG = "shake(); read(); time.sleep(60)"


def test_1_20_the_timeout_of_a_plugin_is_owned_by_the_core(run: Run) -> None:
    """Invocation timeout is owned by core: the plugin's own, or that of the call."""
    assert run(HANG, "[limits]\ntimeout_s = 0.7").code == "timeout"
    assert run(HANG, timeout=0.7).code == "timeout"


def test_1_21_there_is_a_default_timeout(run: Run) -> None:
    """…or the runtime default, where neither says anything."""
    outcome = run(HANG)
    assert isinstance(outcome.error, PluginFailure)
    assert (outcome.code, outcome.error.autopsy.limit) == ("timeout", "limits.timeout_s")


def test_1_22_a_timeout_is_a_hard_failure(run: Run) -> None:
    """Timeout is a hard execution failure: the process is gone."""
    outcome = run(f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {HANG}", timeout=2)
    assert outcome.code == "timeout"
    assert outcome.is_gone


def test_1_23_a_timeout_is_never_a_success(run: Run) -> None:
    """Timeout never maps to implicit success, not even with half an answer."""
    outcome = run("shake(); text(json.dumps(answer(read()))); time.sleep(60)", timeout=0.7)
    assert (outcome.code, outcome.output) == ("timeout", None)


@pytest.mark.parametrize(
    "body", ["", "shake()", "shake(); read()", "shake(); text(json.dumps(answer(read()))[:20])"]
)
def test_1_24_an_exit_before_a_valid_response_is_a_failure(run: Run, body: str) -> None:
    """Plugin exit before a valid response is treated as execution failure, also with status 0."""
    assert run(body).code == "crashed"


def test_1_25_a_malformed_handshake_or_response_is_a_failure(run: Run) -> None:
    """Malformed handshake or response payload is treated as execution failure."""
    assert run("read(); text('{oops\\n'); read()").code == "malformed_response"
    assert run("shake(); say(answer(read(), status='done'))").code == "malformed_response"


@pytest.mark.parametrize("end", ["sys.exit(9)", "time.sleep(60)"])
def test_1_26_there_is_no_silent_fallback_to_success(run: Run, end: str) -> None:
    """An answer and then a wrong exit, or none, is a failure that keeps the answer."""
    outcome = run(f"shake(); say(answer(read())); {end}", input=1)
    assert isinstance(outcome.error, PluginFailure)
    assert outcome.code == "crashed"
    assert outcome.error.answer == 1


# The nine codes


def test_1_27_launch_failed(tmp_path: Path) -> None:
    """launch_failed: there is no such program."""
    head = '[plugin]\nname = "raw"\ncontract = "execute"\ncommand = ["./not-there"]\n'
    (tmp_path / "plugin.toml").write_text(head)
    with blocking.Host() as host, pytest.raises(PluginFailure) as caught:
        host.add(tmp_path).call("echo")
    assert caught.value.code == "launch_failed"


CODES = {
    28: ("handshake_failed", "read(); say({'type': 'hello', 'manifest': MANIFEST}); read()"),
    29: ("timeout", "time.sleep(60)"),
    30: ("crashed", "shake(); read(); os.abort()"),
    31: ("malformed_response", "shake(); read(); text('no\\n')"),
    32: ("tool_not_exposed", "shake(exposed_tools=['other']); read()"),
    33: ("protocol_version_mismatch", "shake(protocol_version='rterm.plugin.v2'); read()"),
    34: ("capability_not_declared", "shake(capabilities=['', 'a']); read()"),
    35: ("capability_not_allowed", "shake(capabilities=['a']); read()"),
}


@pytest.mark.parametrize("clause", CODES, ids=lambda clause: f"1.{clause}-{CODES[clause][0]}")
def test_1_28_to_1_35_each_kind_of_failure_has_its_code(run: Run, clause: int) -> None:
    """Core classifies plugin-runtime failures with explicit codes."""
    code, body = CODES[clause]
    assert run(body, "[limits]\nhandshake_s = 1" if code == "timeout" else "").code == code


def test_1_36_the_version_of_the_manifest_matches_the_requested_one(run: Run) -> None:
    """manifest.protocol_version must match requested protocol."""
    outcome = run(
        "version = read()['protocol_version']; say({'type': 'handshake', 'manifest': "
        "{**MANIFEST, 'protocol_version': version}}); say(answer(read())); read()",
        input=1,
    )
    assert outcome.output == 1
    assert run("shake(protocol_version='other.v9'); read()").code == "protocol_version_mismatch"


def test_1_37_the_requested_tool_is_among_the_exposed_ones(run: Run) -> None:
    """Requested runtime tool must exist in manifest.exposed_tools: nothing is asked of it otherwise."""
    outcome = run(ORDINARY, tool="nope")
    assert outcome.code == "tool_not_exposed"
    assert len(outcome.received) == 1


def test_1_38_a_binding_that_grants_wants_an_explicit_declaration(run: Run) -> None:
    """If PluginSpec.Capabilities is non-empty, the manifest must declare."""
    outcome = run(ORDINARY, GRANT)
    assert outcome.code == "capability_not_declared"
    assert len(outcome.received) == 1


@pytest.mark.parametrize("table", ["", GRANT])
def test_1_39_a_plugin_never_grants_itself_anything(run: Run, table: str) -> None:
    """The plugin never self-grants power by naming a capability, also when nothing is granted."""
    outcome = run("shake(capabilities=['root']); read()", table)
    assert outcome.code == "capability_not_allowed"
    assert len(outcome.received) == 1


# An SDK plugin under a raw host


def converse(*lines: object, close: bool = True) -> tuple[list[Any], int]:
    """Return what the example in Python answers to *lines*, and its exit status."""
    sent = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines).encode()
    with subprocess.Popen(
        [sys.executable, str(GREETER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(sent)
        process.stdin.flush()
        if close:
            process.stdin.close()
        replies = [json.loads(line) for line in process.stdout]
        return replies, process.wait(WAIT_S)


def request(tool: str, input: object) -> dict[str, object]:
    return {"type": "request", "request_id": "r-1", "tool_name": tool, "context": {}, "input": input}


@pytest.mark.parametrize("close", [True, False], ids=["input ends", "input stays open"])
def test_1_40_an_sdk_plugin_serves_a_raw_host(close: bool) -> None:
    """A plugin made with the SDK follows the document, whatever its host does with its input afterwards."""
    (shaken, reply), status = converse(HANDSHAKE, request("greet", {"name": "Ada"}), close=close)
    assert shaken["manifest"].keys() >= {"plugin_id", "plugin_version", "protocol_version", "exposed_tools"}
    assert (reply["type"], reply["request_id"], reply["status"], status) == ("response", "r-1", "ok", 0)


def test_1_40_an_sdk_plugin_answers_with_errors_of_its_own() -> None:
    """Errors of the tool and an unknown tool are error payloads; garbage ends the process with status 1."""
    for asked in (request("greet", {}), request("no such tool", {})):
        (_, reply), _ = converse(HANDSHAKE, asked)
        assert reply["status"] == "error"
        assert reply["error"]["message"].strip()
    assert converse("garbage") == ([], 1)
    assert converse() == ([], 0)


SDK_PLUGIN = """
from plughost_sdk import execute
execute.READ_WAIT_MS = 60_000
plugin = execute.Plugin("patient", version="1")
plugin.tool("echo")(lambda input, context: input)
plugin.run()
"""


@pytest.mark.requirement("execute:exit:waits")
def test_1_40_an_sdk_plugin_exits_when_the_host_closes_its_input(tmp_path: Path) -> None:
    """A host that stops reading when the process is gone loses no answer: the plugin waits for it."""
    (tmp_path / "patient.py").write_text(SDK_PLUGIN)
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "patient.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{json.dumps(HANDSHAKE)}\n{json.dumps(request('echo', 1))}\n".encode())
        process.stdin.flush()
        replies = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert replies[1]["output"] == 1
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)  # it has answered, and is still there
        process.stdin.close()
        assert process.wait(WAIT_S) == 0


# A bare command

ASKING = "shake(capabilities=['tool.execute', 'net']); say(answer(read())); read()"


def call(directory: Path, *words: str, body: str = ASKING) -> subprocess.CompletedProcess[str]:
    (directory / "raw.py").write_text(PRELUDE + body)
    command = [sys.executable, "-m", "plughost", "call", "--contract", "execute", *words, "echo", "[1]"]
    return subprocess.run(
        [*command, "--", sys.executable, "raw.py"],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.requirement("execute:capabilities:bare")
def test_1_15_a_bare_command_is_granted_capabilities_by_allow(tmp_path: Path) -> None:
    """The allow-list of a bare command is on the command line, and a refusal says how it is written."""
    refused = call(tmp_path)
    assert refused.returncode == 18
    assert "--allow tool.execute --allow net" in refused.stderr
    granted = call(tmp_path, "--allow", "tool.execute", "--allow", "net")
    assert (granted.returncode, json.loads(granted.stdout)) == (0, [1])
    half = call(tmp_path, "--allow", "net")
    assert half.returncode == 18
    assert "--allow tool.execute" in half.stderr


@pytest.mark.requirement("execute:capabilities:bare")
def test_1_13_a_bare_command_that_wants_nothing_is_to_be_called_without_allow(tmp_path: Path) -> None:
    """What is granted on the command line, and not declared, is taken back there: no binding has it."""
    refused = call(tmp_path, "--allow", "net", body=ORDINARY)
    assert refused.returncode == 17
    assert "leave `--allow` out" in refused.stderr
    assert "binding." not in refused.stderr
