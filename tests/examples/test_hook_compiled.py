"""The provider in Rust keeps the `hook` contract byte for byte and writes pipelines that GitLab can read."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plughost_sdk import hook_messages as m
from plughost_sdk.frames.length_prefix import LengthPrefixDecoder
from ruamel.yaml import YAML

from tests.examples.hook_providers import part, uses

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
FOLDER = EXAMPLES / "hook" / "gitlab-rust"
BINARY = FOLDER / "provider"
BUILD_SECONDS = 600  # a cold build takes half a minute on two idle cores
TALK_SECONDS = 50

pytestmark = [pytest.mark.needs("cargo"), pytest.mark.timeout(BUILD_SECONDS + 60)]


@pytest.fixture(scope="module", autouse=True)
def built(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> None:
    """The binary; whichever test process comes first builds it, if it was built before or everything is tested."""
    import fcntl

    if not BINARY.exists() and not request.config.getoption("--all"):
        pytest.skip(
            "its first build takes a minute: examples/build gitlab-rust, or ./dev test --all, does it"
        )
    lock = tmp_path_factory.getbasetemp().parent / "examples.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = subprocess.run(
            [EXAMPLES / "build", "gitlab-rust"], capture_output=True, text=True, timeout=BUILD_SECONDS
        )
    assert done.returncode == 0, done.stderr
    _, _, why = done.stdout.partition("skipped, ")
    if why and why != "up to date\n":
        pytest.skip(f"the provider cannot be built here: {why}{done.stderr}")


# The build, with compilers that are not there, or not what they should be

FAKE_CARGO = """#!/bin/sh
echo "$*" >>"$LOG"
case $1 in
    --version) echo "cargo $VERSION (0000000 2022-01-01)" ;;
    fetch) exit "${FETCH:-0}" ;;
    build) mkdir -p target/release && echo '#!/bin/sh' >target/release/provider && chmod +x target/release/provider
           exit "${BUILD:-0}" ;;
esac
"""
SCHEMA = "sdk/python/plughost_sdk/hook_messages/plugin.binpb"


class Site(NamedTuple):
    """A copy of what is built, with a compiler that only says what it was told."""

    root: Path
    folder: Path
    tools: Path

    def build(self, *names: str, **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {
            "PATH": str(self.tools),
            "LOG": str(self.root / "log"),
            "VERSION": "1.85.0",
            **environment,
        }
        command = [self.root / "examples/build", *(names or ["gitlab-rust"])]
        return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=TALK_SECONDS)

    def calls(self) -> list[str]:
        log = self.root / "log"
        return [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path, tmp_path / "examples/hook/gitlab-rust", tmp_path / "tools")
    made.tools.mkdir()
    for tool in ("sh", "dirname", "find", "sed", "cp", "mv", "mkdir", "chmod"):
        found = shutil.which(tool)
        assert found is not None
        (made.tools / tool).symlink_to(found)
    for name, text in (("cargo", FAKE_CARGO), ("rustc", "#!/bin/sh\necho host: here\n")):
        (made.tools / name).write_text(text)
        (made.tools / name).chmod(0o755)
    for path in ("examples/build", SCHEMA, "examples/hook/gitlab-rust/Cargo.toml"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(EXAMPLES.parent / path, tmp_path / path)
        os.utime(tmp_path / path, (1_000_000_000, 1_000_000_000))  # long before anything is built
    return made


def test_a_build_is_done_once_and_again_when_a_source_or_the_schema_is_newer(site: Site) -> None:
    assert site.build().stdout == "gitlab-rust: built\n"
    assert site.calls() == ["--version", "fetch", "build"]
    assert site.build().stdout == "gitlab-rust: skipped, up to date\n"
    assert site.calls() == ["--version", "fetch", "build"]
    for newer in (site.folder / "Cargo.toml", site.root / SCHEMA):
        os.utime(site.folder / "provider", (2_000_000_000, 2_000_000_000))
        os.utime(newer, (2_000_000_001, 2_000_000_001))
        assert site.build().stdout == "gitlab-rust: built\n"
        os.utime(newer, (1_000_000_000, 1_000_000_000))


def test_a_build_without_a_compiler_is_skipped(site: Site) -> None:
    (site.tools / "cargo").unlink()
    done = site.build()
    assert (done.returncode, done.stdout) == (0, "gitlab-rust: skipped, there is no cargo\n")


@pytest.mark.parametrize("environment", [{"VERSION": "1.63.0"}, {"FETCH": "101"}], ids=["old", "offline"])
def test_a_build_that_cannot_be_is_skipped_with_the_reason(site: Site, environment: dict[str, str]) -> None:
    done = site.build(**environment)
    assert done.returncode == 0
    assert done.stdout.startswith("gitlab-rust: skipped, cargo ")
    assert "build" not in site.calls()
    assert not (site.folder / "provider").exists()


def test_a_build_that_fails_is_a_failure(site: Site) -> None:
    done = site.build(BUILD="101")
    assert (done.returncode, done.stdout) == (1, "")
    assert not (site.folder / "provider").exists()


def test_a_name_that_is_unknown_is_a_failure(site: Site) -> None:
    done = site.build("gitlab-rust", "nobody")
    assert (done.returncode, done.stdout) == (1, "gitlab-rust: built\n")


# The wire, played by hand


class Ended(NamedTuple):
    code: int
    frames: list[bytes]
    stderr: str


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def frames(data: bytes) -> list[bytes]:
    decoder = LengthPrefixDecoder(m.LIMIT)
    decoder.receive_data(data)
    decoder.receive_eof()
    found = []
    while (body := decoder.next_frame()) is not None:
        found.append(body)
    return found


def talk(data: bytes) -> Ended:
    """Send everything, close, and return what came back. Half a frame in the answer fails the test."""
    done = subprocess.run([BINARY], input=data, capture_output=True, timeout=TALK_SECONDS)
    return Ended(done.returncode, frames(done.stdout), done.stderr.decode())


def round_of(schema: m.CigenSchema | None) -> bytes:
    plan, generate = m.PlanRequest(schema=schema), m.GenerateRequest(target="gitlab", schema=schema)
    return frame(plan.SerializeToString()) + frame(generate.SerializeToString())


HELLO = frame(m.Hello(core_protocol=1, core_version="1.0.0").SerializeToString())


def run(command: str, **fields: Any) -> m.Step:
    return m.Step(run=m.RunStep(command=command, **fields))


def job(id: str, *needs: str, steps: Iterable[m.Step] = (), **fields: Any) -> m.JobDefinition:
    return m.JobDefinition(id=id, needs=needs, steps=list(steps) or [run(f"make {id}")], **fields)


def small() -> m.CigenSchema:
    return m.CigenSchema(version="1", jobs=[job("a"), job("b", "a")])


def test_the_handshake_says_what_the_binding_says() -> None:
    ended = talk(HELLO)
    assert (ended.code, len(ended.frames), ended.stderr) == (0, 1, "")
    info = m.PluginInfo.FromString(ended.frames[0])
    binding = tomllib.loads((FOLDER / "plugin.toml").read_text())
    assert info.name == binding["plugin"]["name"] == "provider/gitlab"
    assert list(info.capabilities) == binding["capabilities"]["allow"] == ["provider:gitlab"]
    assert list(info.conflicts_with) == ["provider:*"]
    assert info.protocol == m.PROTOCOL
    assert info.version == tomllib.loads((FOLDER / "Cargo.toml").read_text())["package"]["version"]
    assert not info.requires
    assert not info.metadata  # so that a host asks it as it asks any provider: plan, then generate


def test_rounds_of_plan_and_generate_follow_one_another_in_one_process() -> None:
    ended = talk(HELLO + round_of(small()) + round_of(m.CigenSchema()) + round_of(small()))
    assert (ended.code, ended.stderr) == (0, "")
    _, *answers = ended.frames
    assert answers[0::2] == [b"", b"", b""]
    assert answers[1] == answers[5]
    assert answers[3] == b""
    assert [each.path for each in m.GenerateResult.FromString(answers[1]).fragments] == [".gitlab-ci.yml"]


def test_each_request_is_answered_before_the_next_is_sent_however_its_bytes_arrive() -> None:
    whole = talk(HELLO + round_of(small()))
    generate = frame(m.GenerateRequest(schema=small()).SerializeToString())
    with subprocess.Popen([BINARY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        answers = []
        for request in (HELLO, frame(m.PlanRequest(schema=small()).SerializeToString()), generate):
            for byte in request:
                process.stdin.write(bytes([byte]))
            size = int.from_bytes(process.stdout.read(4), "big")
            body = b""
            while len(body) < size:
                body += process.stdout.read(size - len(body))
            answers.append(body)
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(TALK_SECONDS) == 0
    assert answers == whole.frames


def test_an_end_between_two_messages_is_the_end_and_anywhere_else_a_failure() -> None:
    schema = m.CigenSchema(jobs=[m.JobDefinition(id="a")])
    messages = [m.PlanRequest(schema=schema), m.GenerateRequest(schema=schema)]
    whole, ends = HELLO, {len(HELLO)}
    for message in messages:
        whole += frame(message.SerializeToString())
        ends.add(len(whole))
    for cut in range(len(whole) + 1):
        ended = talk(whole[:cut])
        assert ended.code == (0 if cut in ends else 1), cut
        assert bool(ended.stderr) == (cut not in ends), cut
        assert len(ended.frames) == sum(end <= cut for end in ends), cut


@pytest.mark.parametrize("core", [0, 2, 2**32 - 1])
def test_another_protocol_is_refused_without_a_reply(core: int) -> None:
    ended = talk(frame(m.Hello(core_protocol=core).SerializeToString()) + round_of(small()))
    assert ended.code == 1
    assert ended.frames == []
    assert ended.stderr == f"Error: Protocol version mismatch: core={core}, plugin=1\n"


def test_a_handshake_of_no_bytes_is_one_of_protocol_0() -> None:
    assert talk(frame(b"")) == Ended(1, [], "Error: Protocol version mismatch: core=0, plugin=1\n")


BEFORE = [
    pytest.param(b"", 0, id="hello"),
    pytest.param(HELLO, 1, id="plan"),
    pytest.param(HELLO + frame(b""), 2, id="generate"),
]


@pytest.mark.parametrize(("before", "answers"), BEFORE)
@pytest.mark.parametrize("size", [m.LIMIT + 1, 2**31, 2**32 - 1, int.from_bytes(b"Hell", "big")])
def test_a_length_over_the_limit_ends_it_at_once(before: bytes, answers: int, size: int) -> None:
    with subprocess.Popen(
        [BINARY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(before + size.to_bytes(4, "big"))
        process.stdin.flush()  # and left open: the header alone must do
        assert process.wait(TALK_SECONDS) == 1
        assert len(frames(process.stdout.read())) == answers
        assert process.stderr.read()


@pytest.mark.parametrize(("before", "answers"), BEFORE)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\xff" * 20, id="no varint"),
        pytest.param(b"\x0a\x05ab", id="cut short"),
        pytest.param(b"\x0a\x02\xff\xfe\x12\x02\xff\xfe\x22\x02\xff\xfe", id="no UTF-8"),
        pytest.param(b"\x07", id="no wire type"),
        pytest.param(b"\x1a\x80\x80\x80\x80\x08", id="a message of 2 GiB inside"),
    ],
)
def test_garbage_is_a_failure_wherever_it_comes(before: bytes, answers: int, body: bytes) -> None:
    ended = talk(before + frame(body) + round_of(small()))
    assert ended.code == 1
    assert len(ended.frames) == answers
    assert ended.stderr.startswith("Error: ")


def test_fields_that_it_does_not_know_are_skipped() -> None:
    hello = m.Hello(core_protocol=1).SerializeToString() + b"\x9a\x06\x03new"
    unknown = m.PlanRequest().SerializeToString() + b"\x98\x06\x01"
    ended = talk(frame(hello) + frame(unknown) + frame(unknown))
    assert (ended.code, len(ended.frames)) == (0, 3)


def test_a_request_at_the_limit_is_read_and_one_over_it_is_not() -> None:
    around = len(m.PlanRequest(facts={"a": "x" * 9_000_000}).SerializeToString()) - 9_000_000
    exact = m.PlanRequest(facts={"a": "x" * (m.LIMIT - around)}).SerializeToString()
    assert len(exact) == m.LIMIT
    ended = talk(HELLO + frame(exact) + frame(b""))
    assert (ended.code, len(ended.frames)) == (0, 3)
    over = talk(HELLO + frame(exact + b"\x00"))
    assert (over.code, len(over.frames)) == (1, 1)


def test_a_request_of_9_mb_gives_a_pipeline_of_9_mb() -> None:
    command = "echo " + "x" * 9_000_000
    result = generate(m.CigenSchema(jobs=[job("big", steps=[run(command)])]))
    assert result.fragments[0].content.endswith(f"\n  script:\n    - {command}\n")


def test_a_result_over_the_limit_becomes_an_error_and_the_next_round_works() -> None:
    schema = m.CigenSchema(
        jobs=[job(f"j{n}", steps=[m.Step(custom=m.CustomStep(kind="big"))]) for n in range(12)]
    )
    schema.commands["big"].steps.append(run("x" * 1_000_000))
    ended = talk(HELLO + round_of(schema) + round_of(small()))
    assert ended.code == 0
    large, next_one = (m.GenerateResult.FromString(body) for body in ended.frames[2::2])
    assert (codes(large), list(large.fragments)) == (["REPLY_TOO_LARGE"], [])
    assert large.diagnostics[0].level == m.Diagnostic.LEVEL_ERROR
    assert next_one.fragments


def test_nothing_of_the_environment_in_the_handshake_is_repeated() -> None:
    secret = "correct-horse-battery"
    env = {"TOKEN": secret}
    for protocol in (1, 2):
        hello = m.Hello(core_protocol=protocol, env=env).SerializeToString()
        for rest in (round_of(small()), b"\0", frame(b"\xff")):
            done = subprocess.run(
                [BINARY], input=frame(hello) + rest, capture_output=True, timeout=TALK_SECONDS
            )
            assert secret.encode() not in done.stdout + done.stderr


def test_a_host_that_does_not_read_is_a_failure() -> None:
    with subprocess.Popen(
        [BINARY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(HELLO)
        process.stdin.flush()
        assert process.wait(TALK_SECONDS) == 1
        assert process.stderr.read().startswith(b"Error: ")


# What it generates


def generate(schema: m.CigenSchema | None) -> m.GenerateResult:
    ended = talk(HELLO + round_of(schema))
    assert (ended.code, ended.stderr) == (0, "")
    return m.GenerateResult.FromString(ended.frames[2])


def parsed(result: m.GenerateResult, version: tuple[int, int] = (1, 2)) -> dict[str, Any]:
    (fragment,) = result.fragments
    assert (fragment.path, fragment.format) == (".gitlab-ci.yml", "yaml")
    assert fragment.strategy == m.MERGE_STRATEGY_REPLACE
    yaml = YAML(typ="safe", pure=True)
    yaml.version = version
    loaded: dict[str, Any] = yaml.load(fragment.content)
    return loaded


def codes(result: m.GenerateResult) -> list[str]:
    return [each.code for each in result.diagnostics]


def test_a_schema_without_jobs_gives_nothing() -> None:
    assert generate(m.CigenSchema(version="1")) == m.GenerateResult()


def test_a_request_without_a_schema_is_an_error() -> None:
    result = generate(None)
    assert (codes(result), list(result.fragments)) == (["GITLAB_GENERATE_ERROR"], [])


def test_a_group_in_the_key_of_a_cache_stands_for_its_files() -> None:
    schema = project()
    schema.caches["pip"].key_parts[:] = ["@locks", "v1"]
    schema.source_file_groups["locks"].values.extend(["a.lock", "b.lock"])
    pipeline = YAML(typ="safe", pure=True).load(generate(schema).fragments[0].content)
    assert pipeline["test-3.11"]["cache"][0]["key"] == {"files": ["a.lock", "b.lock"], "prefix": "pip-v1"}


def project() -> m.CigenSchema:
    """A lint, a test of two rows with services and a cache, and a deployment under conditions."""
    schema = m.CigenSchema(
        project=m.ProjectConfig(name="p", default_runner="big"), variables={"LEVEL": "on", "PY": "3.10"}
    )
    schema.runners["big"].provider_config["gitlab"] = "tags: [docker]"
    schema.caches["pip"].paths.append(".cache/pip")
    schema.caches["pip"].key_parts.extend(["py", "requirements.txt"])
    schema.provider_config["services"] = "db:\n  image: postgres:16\n  env: {POSTGRES_DB: x}\n  ports: [5432]"
    schema.source_file_groups["py"].values.extend(["src/**/*.py", "tests/**/*.py"])
    deploy = schema.workflows.add(id="release")
    deploy.run_when.add(kind=m.WORKFLOW_CONDITION_KIND_PARAMETER, key="DEPLOY", equals_yaml="true")
    deploy.run_when.add(
        kind=m.WORKFLOW_CONDITION_KIND_EXPRESSION, provider="gitlab", expression="$CI_COMMIT_TAG || $FORCE"
    )
    deploy.run_when.add(kind=m.WORKFLOW_CONDITION_KIND_EXPRESSION, provider="github", expression="${{ x }}")
    greet = schema.commands["greet"]
    greet.parameters["who"].default_yaml = "world"
    greet.steps.append(run("echo << parameters.who >> {{ parameters.who }} ${{ parameters.who }}"))
    schema.jobs.append(job("lint", image="python:3.12", source_files=["@py"]))
    for python in ("3.11", "3.12"):
        steps = [
            m.Step(uses=m.UsesStep(module="actions/checkout@v4")),
            m.Step(restore_cache=m.RestoreCacheStep(name="pip")),
            run("pytest\nexit 0", name="Test", env={"A": "it's"}),
            m.Step(custom=m.CustomStep(kind="greet", yaml="who: Ada")),
            m.Step(custom=m.CustomStep(kind="greet")),
            m.Step(save_cache=m.SaveCacheStep(name="pip")),
            run("docker ps", **{"if": "${{ always() }}"}),
        ]
        schema.jobs.append(
            job(
                f"test-{python}",
                "lint",
                image=f"python:{python}",
                services=["db", "redis:7"],
                env={"PGHOST": "db"},
                checkout={"fetch-depth": "0"},
                steps=steps,
            )
        )
    extra = {"environment": "production", "timeout-minutes": "30", "gitlab": "interruptible: false"}
    schema.jobs.append(job("deploy", "test-3.11", "test-3.12", stage="ship", workflow="release", extra=extra))
    return schema


def test_a_project_becomes_a_pipeline() -> None:
    result = generate(project())
    assert codes(result) == []
    found = parsed(result)
    assert list(found) == [
        "workflow", "stages", "variables", "lint", "test-3.11", "test-3.12", "deploy"
    ]  # fmt: skip
    assert found["stages"] == ["stage-1", "stage-2", "ship"]
    assert found["variables"] == {"LEVEL": "on", "PY": "3.10"}
    merge_request = '$CI_PIPELINE_SOURCE == "merge_request_event"'
    assert found["workflow"]["rules"][0] == {"if": merge_request}
    assert found["lint"] == {
        "stage": "stage-1",
        "image": "python:3.12",
        "tags": ["docker"],
        "needs": [],
        "rules": [
            {"if": merge_request, "changes": ["src/**/*.py", "tests/**/*.py"]},
            {"if": merge_request.replace("==", "!=")},
        ],
        "script": ["make lint"],
    }
    assert found["test-3.11"] == {
        "stage": "stage-2",
        "image": "python:3.11",
        "tags": ["docker"],
        "services": [
            {"name": "postgres:16", "alias": "db", "variables": {"POSTGRES_DB": "x"}},
            {"name": "redis:7"},
        ],
        "needs": [{"job": "lint", "optional": True}],
        "variables": {"PGHOST": "db", "GIT_DEPTH": "0"},
        "cache": [{"key": {"files": ["requirements.txt"], "prefix": "pip-py"}, "paths": [".cache/pip"]}],
        "script": [
            "# Test\n(\nexport A='it'\\''s'\npytest\nexit 0\n)",
            "echo Ada Ada Ada",
            "echo world world world",
        ],
        "after_script": ["docker ps"],
    }
    assert found["test-3.12"]["image"] == "python:3.12"
    assert found["deploy"] == {
        "stage": "ship",
        "tags": ["docker"],
        "needs": ["test-3.11", "test-3.12"],
        "rules": [{"if": '$DEPLOY == "true" && ($CI_COMMIT_TAG || $FORCE)'}],
        "environment": "production",
        "interruptible": False,
        "timeout": "30 minutes",
        "script": ["make deploy"],
    }


def test_the_same_schema_gives_the_same_bytes_whatever_the_order_of_its_maps() -> None:
    env = {f"NAME_{n}": str(n) for n in range(30)}
    extra = {"retry": "2", "artifacts": "paths: [a]", "coverage": "/x/"}
    contents = set()
    for seed in range(4):
        shuffle = random.Random(seed).sample
        schema = project()
        for target, source in (
            (schema.variables, env), (schema.jobs[0].env, env), (schema.jobs[0].extra, extra)
        ):  # fmt: skip
            for name in shuffle(list(source), len(source)):
                target[name] = source[name]
        contents.add(generate(schema).fragments[0].content)
    assert len(contents) == 1


ANYTHING = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
# fmt: off
AWKWARD = [
    "", " ", "on", "No", "null", "~", "3.10", "1e3", "0x1F", "1_000", "12:30:45", "2026-01-01", ".inf", "./x",
    "- x", "a: b", "a:", "a #b", "#", "&a", "*a", "!t", "| x", "> x", "? a", "'", '"', "\\n", "{a}", "[a]", "%",
    "@", "`", "<<", "=", "...", "---\n", "a\nb", "a\n", "\na", " a\nb", "a\n\n", "a\n \nb", "a\r\nb", "a\tb",
    "a\n---\nb", "a\n# b\n", "a\n  b\n c", "\ufeff", "\x85", "\u2028", "\x00", "\x7f", "😀", "x" * 2000,
]
# fmt: on


@settings(max_examples=40)
@given(st.lists(ANYTHING | st.sampled_from(AWKWARD), min_size=1, max_size=20))
def test_any_text_comes_back_from_the_yaml_as_it_was(texts: list[str]) -> None:
    schema = m.CigenSchema()
    for n, text in enumerate(texts):
        schema.variables[f"V{n}"] = text
        fields: dict[str, Any] = {"image": f"i{text}", "stage": f"s{text}", "services": [text]}
        schema.jobs.append(job(f"j{n} {text[:100]}", steps=[run(text)], env={"E": text}, **fields))
    schema.jobs.append(job("last", *(each.id for each in schema.jobs)))
    result = generate(schema)
    for version in ((1, 2), (1, 1)):
        found = parsed(result, version)
        assert found["variables"] == {f"V{n}": text for n, text in enumerate(texts)}
        assert found["last"]["needs"] == [each.id for each in schema.jobs[:-1]]
        for each, text in zip(schema.jobs, texts, strict=False):
            assert found[each.id]["script"] == [text]
            assert found[each.id]["variables"] == {"E": text}
            assert found[each.id]["image"] == f"i{text}"
            assert found[each.id]["stage"] == f"s{text}"
            assert found[each.id]["services"] == [{"name": text}]


def test_values_that_are_no_texts_keep_their_kind_and_their_spelling() -> None:
    extra = {
        "gitlab": "a: 3.10\nb: '3.10'\nc: true\nd: 'true'\ne: null\nf: 0x1F\ng: [1, {h: off}]\ni: {}\nk: []"
    }
    result = generate(m.CigenSchema(jobs=[job("a", extra=extra)]))
    found = parsed(result)["a"]
    assert "a: 3.10\n" in result.fragments[0].content
    assert found["b"] == "3.10"
    assert (found["c"], found["d"], found["e"], found["f"]) == (True, "true", None, 31)
    assert (found["g"], found["i"], found["k"]) == ([1, {"h": "off"}], {}, [])


# Stages and needs


def test_stages_follow_the_depth_of_the_graph() -> None:
    jobs = [job("d", "b", "c"), job("a"), job("b", "a"), job("c"), job("e", "a", "d")]
    found = parsed(generate(m.CigenSchema(jobs=jobs)))
    assert found["stages"] == ["stage-1", "stage-2", "stage-3", "stage-4"]
    assert {name: found[name]["stage"][-1] for name in "abcde"} == {
        "a": "1", "b": "2", "c": "1", "d": "3", "e": "4"
    }  # fmt: skip


def test_stages_with_names_are_ordered_by_what_needs_what() -> None:
    jobs = [job("c", "b", stage="last"), job("b", "a", stage="middle"), job("x", stage="last"), job("a")]
    found = parsed(generate(m.CigenSchema(jobs=jobs)))
    assert found["stages"] == ["stage-1", "middle", "last"]
    assert found["a"]["needs"] == []
    assert "needs" not in found["x"]  # waits for the stages before the one that its author chose


def test_a_chain_of_20_000_jobs_is_no_matter() -> None:
    jobs = [job(f"j{n}", *([f"j{n - 1}"] if n else [])) for n in range(20_000)]
    result = generate(m.CigenSchema(jobs=jobs))
    assert codes(result) == []
    assert result.fragments[0].content.count("\n  script:\n") == 20_000


@pytest.mark.parametrize(("count", "listed"), [(50, True), (51, False)])
def test_more_needs_than_gitlab_takes_are_left_to_the_stages(count: int, listed: bool) -> None:
    first = [job(f"j{n}") for n in range(count)]
    result = generate(m.CigenSchema(jobs=[*first, job("last", *(each.id for each in first))]))
    assert ("needs" in parsed(result)["last"]) == listed
    assert codes(result) == ([] if listed else ["GITLAB_NEEDS_COUNT"])


# Refusals and warnings

Change = Callable[[m.CigenSchema], object]


def condition(**fields: Any) -> Change:
    return lambda s: s.workflows.add(id="w").run_when.add(**fields)


def key(**fields: Any) -> Change:
    return lambda s: s.jobs[0].MergeFrom(m.JobDefinition(**fields))


def of_last(**fields: Any) -> Change:
    return lambda s: s.jobs[-1].MergeFrom(m.JobDefinition(**fields))


def need_in_another_workflow(schema: m.CigenSchema) -> None:
    for each, variable in zip(schema.jobs, "AB", strict=True):
        each.workflow = variable
        schema.workflows.add(id=variable).run_when.add(kind=ENV, key=variable)


ENV = m.WORKFLOW_CONDITION_KIND_ENV
EXPRESSION = m.WORKFLOW_CONDITION_KIND_EXPRESSION


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param(key(needs=["nobody"]), "GITLAB_UNKNOWN_NEED", id="unknown need"),
        pytest.param(key(needs=["a"]), "GITLAB_NEEDS_CYCLE", id="a job that needs itself"),
        pytest.param(key(needs=["b"]), "GITLAB_NEEDS_CYCLE", id="a circle"),
        pytest.param(lambda s: s.jobs.add(id="a"), "GITLAB_JOB_ID", id="an id twice"),
        pytest.param(lambda s: s.jobs.add(), "GITLAB_JOB_ID", id="no id"),
        pytest.param(lambda s: s.jobs.append(job(".a")), "GITLAB_JOB_ID", id="a name twice"),
        pytest.param(lambda s: s.jobs.append(job("x" * 256)), "GITLAB_JOB_ID", id="a long id"),
        pytest.param(
            lambda s: s.jobs.extend(
                [job("c", "b", stage="s"), job("d", "c", stage="t"), job("e", "d", stage="s")]
            ),
            "GITLAB_STAGE_CYCLE",
            id="stages in a circle",
        ),
        pytest.param(key(matrix={"x": m.MatrixValue(values=["1"])}), "GITLAB_MATRIX", id="matrix"),
        pytest.param(condition(kind=ENV, key="A B"), "GITLAB_CONDITION", id="no name"),
        pytest.param(condition(kind=ENV, key="A", equals_yaml="{a: 1}"), "GITLAB_CONDITION", id="a mapping"),
        pytest.param(condition(kind=ENV, key="A", equals_yaml="[["), "GITLAB_CONDITION", id="no YAML"),
        pytest.param(
            condition(kind=ENV, key="A", equals_yaml="'\"'''"), "GITLAB_CONDITION", id="both quotes"
        ),
        pytest.param(condition(kind=99, key="A"), "GITLAB_CONDITION", id="an unknown kind"),
        pytest.param(condition(kind=EXPRESSION), "GITLAB_CONDITION", id="no expression"),
        pytest.param(condition(kind=EXPRESSION, expression="${{ x }}"), "GITLAB_CONDITION", id="of GitHub"),
        pytest.param(of_last(skip_if=m.SkipConfig(env=["A-B"])), "GITLAB_CONDITION", id="skip by no name"),
        pytest.param(
            of_last(skip_if=m.SkipConfig(branch=["*\n"])), "GITLAB_CONDITION", id="skip by no branch"
        ),
        pytest.param(of_last(extra={"if": "always()"}), "GITLAB_CONDITION", id="if of GitHub"),
        pytest.param(of_last(extra={"if": "github.ref == 'x' || true"}), "GITLAB_CONDITION", id="if with or"),
        pytest.param(of_last(extra={"if": "vars.A == 'a''b'"}), "GITLAB_CONDITION", id="if with quotes"),
        pytest.param(of_last(extra={"if": "[a]"}), "GITLAB_CONDITION", id="if of a list"),
        pytest.param(key(extra={"if": "vars.A == 'x'"}), "GITLAB_NEEDS", id="a need that may be missing"),
        pytest.param(need_in_another_workflow, "GITLAB_NEEDS", id="a need under another condition"),
        pytest.param(key(source_files=["@nothing"]), "GITLAB_CONDITION", id="an unknown group"),
        pytest.param(key(extra={"retry": "["}), "GITLAB_GENERATE_ERROR", id="extra that is no YAML"),
        pytest.param(key(extra={"retry": "[" * 50_000}), "GITLAB_GENERATE_ERROR", id="deep YAML"),
        pytest.param(key(extra={"retry": "&a [*a]"}), "GITLAB_GENERATE_ERROR", id="an alias"),
        pytest.param(key(extra={"retry": "!x 1"}), "GITLAB_GENERATE_ERROR", id="a tag"),
        pytest.param(key(extra={"retry": "{a: 1, a: 2}"}), "GITLAB_GENERATE_ERROR", id="a key twice"),
        pytest.param(key(extra={"retry": "1\n---\n2"}), "GITLAB_GENERATE_ERROR", id="two documents"),
        pytest.param(
            lambda s: s.provider_config.update(gitlab="- 1"), "GITLAB_GENERATE_ERROR", id="no mapping"
        ),
        pytest.param(
            lambda s: s.provider_config.update(services="- 1"), "GITLAB_GENERATE_ERROR", id="no services"
        ),
    ],
)
def test_what_would_be_a_wrong_pipeline_is_an_error_and_no_file(change: Change, code: str) -> None:
    schema = small()
    change(schema)
    result = generate(schema)
    assert codes(result) == [code]
    assert result.diagnostics[0].level == m.Diagnostic.LEVEL_ERROR
    assert result.diagnostics[0].fix_hint
    assert list(result.fragments) == []


def call(kind: str, yaml: str = "") -> m.Step:
    return m.Step(custom=m.CustomStep(kind=kind, yaml=yaml))


@pytest.mark.parametrize("calls", [1, 2, 50])
def test_commands_that_call_themselves_end_in_an_error(calls: int) -> None:
    schema = m.CigenSchema(jobs=[job("a", steps=[call("again")])])
    schema.commands["again"].steps.extend([call("again")] * calls)
    result = generate(schema)
    assert (codes(result), list(result.fragments)) == (["GITLAB_TOO_MANY_STEPS"], [])


def passing_on(times: int, text: str) -> m.CigenSchema:
    """A command that calls a command and so on, each of which puts its parameter in so many times."""
    schema = m.CigenSchema(jobs=[job("a", steps=[call("c0", f"p: {text}")])])
    for n in range(7):
        last = run("echo << parameters.p >>")
        more = call(f"c{n + 1}", f"p: '{'<< parameters.p >>' * times}'")
        schema.commands[f"c{n}"].steps.append(last if n == 6 else more)
    return schema


@pytest.mark.parametrize("times", [2, 40])
def test_parameters_that_multiply_are_stopped_before_they_are_made(times: int) -> None:
    result = generate(passing_on(times, "x" * 20_000))
    assert (codes(result), list(result.fragments)) == (["GITLAB_TOO_LONG"], [])


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("filled", [False, True], ids=["as it is", "filled"])
def test_commands_add_so_much_to_a_job_and_no_more(filled: bool, more: int) -> None:
    limit = 1_048_576
    around = (run("<< parameters.p >>") if filled else run("x" * limit)).ByteSize() - limit * (not filled)
    text = "x" * (limit - around + more)
    schema = m.CigenSchema(jobs=[job("a", steps=[call("long", f"p: {text}" if filled else "")])])
    schema.commands["long"].steps.append(run("<< parameters.p >>" if filled else text))
    assert codes(generate(schema)) == (["GITLAB_TOO_LONG"] if more > 0 else [])


@settings(max_examples=30)
@given(ANYTHING | st.sampled_from(AWKWARD))
def test_a_parameter_of_a_command_is_a_text_and_nothing_more(value: str) -> None:
    write = part("github-actions", "yaml_writer").write
    schema = m.CigenSchema(jobs=[job("a", steps=[call("outer", write({"p": value}))])])
    inner = [call("inner", "q: <<parameters.p>>\nr: 'b'"), call("inner", "q: '=<< parameters.p >>'\nr: c")]
    schema.commands["outer"].steps.extend(inner)
    schema.commands["inner"].steps.append(run("echo << parameters.q >> << parameters.r >>"))
    assert parsed(generate(schema))["a"]["script"] == [f"echo {value} b", f"echo ={value} c"]


def test_the_inputs_of_a_step_get_parameters_too() -> None:
    upload = uses("actions/upload-artifact@v4", **{"with": {"path": "<< parameters.p >>"}})
    schema = m.CigenSchema(jobs=[job("a", steps=[run("make"), call("keep", "p: dist/")])])
    schema.commands["keep"].steps.append(upload)
    assert parsed(generate(schema))["a"]["artifacts"] == {"paths": ["dist/"]}


def test_what_is_said_to_other_providers_is_none_of_gitlabs() -> None:
    steps = [run("make"), call("github", "uses: a/b@v1"), call("woodpecker", "image: x")]
    assert codes(generate(m.CigenSchema(jobs=[job("a", steps=steps, extra={"github": "x: 1"})]))) == []


def test_a_secret_of_gitlab_is_a_variable() -> None:
    env = {"TOKEN": "${{ secrets.INDEX }}", "INDEX": "${{ secrets.INDEX }}"}
    result = generate(m.CigenSchema(jobs=[job("a", env=env)]))
    assert (codes(result), parsed(result)["a"]["variables"]) == ([], {"TOKEN": "$INDEX"})


@pytest.mark.parametrize("pull_request", ["", "{}", "null"])
def test_a_trigger_that_says_what_is_usual_here_needs_no_word(pull_request: str) -> None:
    schema = small()
    schema.workflows.add(id="w", yaml=f"on: {{pull_request: {pull_request}, push: {{branches: [main]}}}}")
    assert codes(generate(schema)) == []


def test_the_sample_pipeline_gives_a_pipeline_without_a_word() -> None:
    from plughost.pipeline import read

    schema = read(EXAMPLES / "hook/cigen.yml").expanded
    result = generate(schema)
    assert codes(result) == []
    found = parsed(result)
    assert found["deploy"]["needs"] == ["build"]
    assert found["deploy"]["rules"] == [{"if": '$CI_COMMIT_BRANCH == "main"'}]


def add_step(step: m.Step) -> Change:
    return lambda s: s.jobs[0].steps.append(step)


def save(**fields: Any) -> m.Step:
    return m.Step(save_cache=m.SaveCacheStep(**fields))


def command_without_a_value(schema: m.CigenSchema) -> None:
    schema.commands["c"].parameters["p"].type = "string"
    schema.commands["c"].steps.append(run("echo << parameters.p >>"))
    schema.jobs[0].steps.append(call("c"))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param(add_step(m.Step(uses=m.UsesStep(module="lang/ruby"))), "GITLAB_STEP", id="uses"),
        pytest.param(add_step(call("orb/deploy")), "GITLAB_STEP", id="custom"),
        pytest.param(add_step(m.Step()), "GITLAB_STEP", id="nothing"),
        pytest.param(add_step(run("x", **{"if": "failure()"})), "GITLAB_STEP", id="if"),
        pytest.param(add_step(run("x", env={"A B": ""})), "GITLAB_STEP", id="env of a step"),
        pytest.param(command_without_a_value, "GITLAB_PARAMETER", id="parameter"),
        pytest.param(add_step(run("echo ${{ github.sha }}")), "GITLAB_EXPRESSION", id="expression"),
        pytest.param(key(env={"A": "${{ x }}"}), "GITLAB_EXPRESSION", id="expression in env"),
        pytest.param(key(env={"A-B": "x"}), "GITLAB_VARIABLE", id="variable"),
        pytest.param(key(image="macos-14"), "GITLAB_IMAGE", id="image"),
        pytest.param(key(runner="huge"), "GITLAB_RUNNER", id="runner"),
        pytest.param(key(packages=["node"], image="x/python:3"), "GITLAB_PACKAGES", id="packages"),
        pytest.param(
            key(package_specs=[m.PackageSpec(name="node")]), "GITLAB_PACKAGES", id="packages by specification"
        ),
        pytest.param(key(extra={"strategy": "x"}), "GITLAB_JOB_KEY", id="extra"),
        pytest.param(key(checkout={"ref": "x"}), "GITLAB_CHECKOUT", id="checkout"),
        pytest.param(key(skip_if=m.SkipConfig(env=["A"])), "GITLAB_SKIPPED_NEED", id="need that is skipped"),
        pytest.param(
            lambda s: s.workflows.add(id="w", yaml="on: {pull_request: , push: {branches: [main, dev]}}"),
            "GITLAB_TRIGGERS",
            id="triggers on a branch",
        ),
        pytest.param(lambda s: s.workflows.add(id="w", yaml="on: push"), "GITLAB_TRIGGERS", id="triggers"),
        pytest.param(lambda s: s.jobs.add(id="empty"), "GITLAB_NO_SCRIPT", id="no script"),
        pytest.param(lambda s: s.jobs.append(job("cache")), "GITLAB_JOB_ID", id="reserved"),
        pytest.param(lambda s: s.jobs.append(job(".hidden")), "GITLAB_JOB_ID", id="hidden"),
        pytest.param(add_step(save(name="n")), "GITLAB_CACHE_PATH", id="cache without paths"),
        pytest.param(add_step(save(name="n", paths=["~/x"])), "GITLAB_CACHE_PATH", id="cache elsewhere"),
        pytest.param(
            lambda s: s.jobs[0].steps.extend([save(name=str(n), paths=["a"]) for n in range(5)]),
            "GITLAB_CACHE_COUNT",
            id="five caches",
        ),
        pytest.param(
            add_step(save(key='{{ checksum "a" }}${{ hashFiles("b", "c") }}', paths=["a"])),
            "GITLAB_CACHE_FILES",
            id="key of three files",
        ),
    ],
)
def test_what_gitlab_cannot_express_is_a_warning_beside_a_file(change: Change, code: str) -> None:
    schema = small()
    change(schema)
    result = generate(schema)
    assert codes(result) == [code]
    assert result.diagnostics[0].level == m.Diagnostic.LEVEL_WARNING
    assert result.diagnostics[0].fix_hint
    found = parsed(result)
    assert all(each["script"] for name, each in found.items() if name not in ("workflow", "stages"))


# Rules and caches


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"kind": ENV, "key": "A"}, "$A"),
        ({"kind": ENV, "key": "A", "equals_yaml": "x"}, '$A == "x"'),
        ({"kind": ENV, "key": "A", "equals_yaml": "3.10"}, '$A == "3.10"'),
        ({"kind": ENV, "key": "A", "equals_yaml": "'say \"x\"'"}, "$A == 'say \"x\"'"),
        ({"kind": ENV, "key": "A", "equals_yaml": "null"}, "$A == null"),
        ({"kind": ENV, "key": "A", "equals_yaml": "[x, true]"}, '($A == "x" || $A == "true")'),
        ({"kind": EXPRESSION, "expression": " $A =~ /x/ "}, "($A =~ /x/)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_condition_of_a_workflow_is_a_rule_of_its_jobs(fields: dict[str, Any], expected: str) -> None:
    schema = small()
    schema.workflows.add(id="w").run_when.add(**fields)
    schema.jobs[1].workflow = "w"
    found = parsed(generate(schema))
    assert found["b"]["rules"] == [{"if": expected}]
    assert "rules" not in found["a"]
    assert found["b"]["needs"] == ["a"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("github.ref == 'refs/heads/main'", '$CI_COMMIT_BRANCH == "main"'),
        ("${{ github.ref != 'refs/tags/v1' }}", '$CI_COMMIT_TAG != "v1"'),
        ("github.ref_name == 'x' && vars.A != 'b'", '$CI_COMMIT_REF_NAME == "x" && $A != "b"'),
        ("github.event_name == 'pull_request'", '$CI_PIPELINE_SOURCE == "merge_request_event"'),
    ],
    ids=["branch", "tag", "both", "event"],
)
def test_a_usual_condition_of_a_job_is_its_rule(given: str, expected: str) -> None:
    schema = small()
    schema.jobs[1].extra["if"] = given
    result = generate(schema)
    assert (codes(result), parsed(result)["b"]["rules"]) == ([], [{"if": expected}])


def test_rules_that_are_written_for_gitlab_stand_for_any_condition() -> None:
    for extra in ({"rules": "[{when: always}]"}, {"gitlab": "rules: [{when: always}]"}):
        schema = m.CigenSchema(jobs=[job("a", extra={"if": "always()", **extra})])
        assert parsed(generate(schema))["a"]["rules"] == [{"when": "always"}]


def test_a_need_that_only_changed_files_keep_away_is_optional() -> None:
    schema = small()
    schema.jobs[0].source_files.append("src/**")
    result = generate(schema)
    assert codes(result) == []
    assert parsed(result)["b"]["needs"] == [{"job": "a", "optional": True}]  # else no pipeline without a


def test_jobs_that_come_and_go_together_need_each_other_firmly() -> None:
    schema = small()
    schema.workflows.add(id="w").run_when.add(kind=ENV, key="A")
    for each in schema.jobs:
        each.workflow = "w"
    assert parsed(generate(schema))["b"]["needs"] == ["a"]


def test_reasons_to_skip_come_before_reasons_to_run() -> None:
    skip = m.SkipConfig(env=["DRAFT", "MODE=fast"], branch=["wip/*", "old"], paths_unmodified=["src/**"])
    found = parsed(generate(m.CigenSchema(jobs=[job("a", skip_if=skip, source_files=["src/**", "go.mod"])])))
    assert found["a"]["rules"] == [
        {"if": "$DRAFT", "when": "never"},
        {"if": '$MODE == "fast"', "when": "never"},
        {"if": r"$CI_COMMIT_REF_NAME =~ /^wip\/.*$/", "when": "never"},
        {"if": '$CI_COMMIT_REF_NAME == "old"', "when": "never"},
        {"if": '$CI_PIPELINE_SOURCE == "merge_request_event"', "changes": ["src/**", "go.mod"]},
        {"if": '$CI_PIPELINE_SOURCE != "merge_request_event"'},
    ]


def test_a_job_that_is_only_skipped_for_a_reason_runs_otherwise() -> None:
    found = parsed(generate(m.CigenSchema(jobs=[job("a", skip_if=m.SkipConfig(env=["DRAFT"]))])))
    assert found["a"]["rules"] == [{"if": "$DRAFT", "when": "never"}, {"when": "on_success"}]


@pytest.mark.parametrize(
    ("steps", "policy"),
    [
        ([m.Step(restore_cache=m.RestoreCacheStep(name="c"))], "pull"),
        ([save(name="c")], "push"),
        ([m.Step(restore_cache=m.RestoreCacheStep(name="c")), save(name="c")], None),
    ],
    ids=["restored", "saved", "both"],
)
def test_a_cache_is_pulled_pushed_or_both(steps: list[m.Step], policy: str | None) -> None:
    schema = m.CigenSchema(jobs=[job("a", steps=[*steps, run("make")])])
    schema.caches["c"].paths.append("vendor/")
    (cache,) = parsed(generate(schema))["a"]["cache"]
    assert cache.get("policy") == policy
    assert (cache["key"], cache["paths"]) == ("c", ["vendor/"])


def test_a_cache_that_a_tool_keeps_elsewhere_is_moved_into_the_project() -> None:
    steps = [save(name="c", paths=["~/.cache/pip", "~/.npm/"]), run("make")]
    found = parsed(generate(m.CigenSchema(jobs=[job("a", steps=steps)])))["a"]
    assert found["cache"][0]["paths"] == [".cache/pip", ".cache/npm"]
    assert found["variables"] == {
        "PIP_CACHE_DIR": "$CI_PROJECT_DIR/.cache/pip",
        "npm_config_cache": "$CI_PROJECT_DIR/.cache/npm",
    }


def test_files_that_a_step_uploads_are_artifacts() -> None:
    upload = uses("actions/upload-artifact@v4", **{"with": {"path": "|\n  dist/\n  report.xml"}})
    result = generate(m.CigenSchema(jobs=[job("a", steps=[run("make"), upload])]))
    assert codes(result) == []
    assert parsed(result)["a"]["artifacts"] == {"paths": ["dist/", "report.xml"]}


def test_a_package_that_the_image_is_named_after_is_there() -> None:
    result = generate(m.CigenSchema(jobs=[job("a", image="host/x/python:3.13-slim", packages=["python"])]))
    assert codes(result) == []


def test_what_the_pipeline_file_says_for_gitlab_alone_is_taken_over() -> None:
    schema = small()
    schema.provider_config["gitlab"] = "default: {image: debian:12}\nworkflow: {rules: [{when: always}]}"
    found = parsed(generate(schema))
    assert found["default"] == {"image": "debian:12"}
    assert found["workflow"] == {"rules": [{"when": "always"}]}


@pytest.mark.parametrize("yaml", ["to: moon", "hello:\n  to: moon"], ids=["below its kind", "whole"])
def test_a_call_is_understood_as_every_host_sends_it(yaml: str) -> None:
    schema = m.CigenSchema(jobs=[job("a", steps=[call("hello", yaml)])])
    schema.commands["hello"].steps.append(run("echo << parameters.to >>"))
    result = generate(schema)
    assert (codes(result), parsed(result)["a"]["script"]) == ([], ["echo moon"])


def test_a_call_may_be_a_word() -> None:
    schema = m.CigenSchema(jobs=[job("a", steps=[call("hello", "hello")])])
    schema.commands["hello"].steps.append(run("echo hi"))
    result = generate(schema)
    assert (codes(result), parsed(result)["a"]["script"]) == ([], ["echo hi"])


def test_services_may_stand_in_the_pipeline_file_alone() -> None:
    raw = "services:\n  db:\n    image: postgres:17\njobs: {}\n"
    result = generate(m.CigenSchema(raw_config_yaml=raw, jobs=[job("a", services=["db"])]))
    assert parsed(result)["a"]["services"] == [{"name": "postgres:17", "alias": "db"}]


def test_variables_of_a_service_may_be_a_list() -> None:
    schema = m.CigenSchema(jobs=[job("a", services=["db"])])
    schema.provider_config["services"] = "db: {image: x, environment: [A=b=c, N=1, EMPTY]}"
    (service,) = parsed(generate(schema))["a"]["services"]
    assert service["variables"] == {"A": "b=c", "N": "1", "EMPTY": ""}


def test_a_stage_and_an_image_that_nobody_chose_are_none() -> None:
    said = generate(m.CigenSchema(jobs=[job("a", stage="default", image="ubuntu-latest")]))
    assert codes(said) == []
    assert said == generate(m.CigenSchema(jobs=[job("a")]))
