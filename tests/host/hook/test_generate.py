"""A run over providers: what each is asked, what becomes of its answers, and when nothing is written."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from plughost_sdk import hook_messages as wire

import plughost
from plughost import FragmentError, LocalProtocolError, ManifestError, PluginFailure
from plughost.host.hook.flow import signatures
from plughost.host.hook.repository import snapshot
from plughost.pipeline import Pipeline
from tests.host.hook.lab import SCHEMA, Lab, generated, info, rounds, write

ERROR, WARNING, INFO = (
    wire.Diagnostic.LEVEL_ERROR,
    wire.Diagnostic.LEVEL_WARNING,
    wire.Diagnostic.LEVEL_INFO,
)
ALL = "detect,plan,generate,validate"
FILE = ("ci.yml", "on: push\n")


def diagnostic(level: int, message: str = "hm") -> wire.Diagnostic:
    return wire.Diagnostic(
        level=level,
        code="CODE",
        title="Title",
        message=message,
        fix_hint="Fix it.",
        loc=wire.SourceLocation(file="cigen.yml", line=3, column=5, snippet="x: y"),
    )


def everything(name: str = "provider/raw", **results: Any) -> list[str]:
    """Return the words of a provider that answers all four phases, with *results* where they matter."""
    usual = {
        "detect": wire.DetectResult(),
        "plan": wire.PlanResult(),
        "generate": generated(FILE),
        "validate": wire.ValidateResult(),
    }
    introduction = results.pop("introduction", info(name, ALL))
    read = results.pop("read", "read")
    return rounds(*{**usual, **results}.values(), introduction=introduction, read=read)


def asked(lab: Lab, name: str = "heard") -> tuple[Any, ...]:
    """Return the four requests that a provider of `everything` has noted."""
    kinds = (wire.DetectRequest, wire.PlanRequest, wire.GenerateRequest, wire.ValidateRequest)
    return tuple(kind.FromString(each) for kind, each in zip(kinds, lab.heard(name), strict=True))


# What is written


def test_what_is_generated_is_written(both: Lab) -> None:
    result = both.generate(both.play(*rounds(generated(FILE, ("deep/er/a.txt", "é\n")))))
    assert both.files() == {"ci.yml": "on: push\n", "deep/er/a.txt": "é\n"}
    assert (result.written, result.failed) == (True, False)
    assert [(change.path, change.kind) for change in result.changes] == [
        ("ci.yml", "created"),
        ("deep/er/a.txt", "created"),
    ]
    assert [each.to_dict() for each in result.fragments] == [
        {"path": "ci.yml", "strategy": "replace", "bytes": 9, "plugin": "provider/raw"},
        {"path": "deep/er/a.txt", "strategy": "replace", "bytes": 3, "plugin": "provider/raw"},
    ]


def test_a_second_run_changes_nothing(both: Lab) -> None:
    binding = both.play(*rounds(generated(FILE)))
    both.generate(binding)
    before = both.portrait()
    result = both.generate(binding)
    assert result.up_to_date
    assert both.portrait() == before


@pytest.mark.parametrize("options", [{"write": False}, {"out": None}], ids=["dry", "nowhere"])
def test_a_dry_run_writes_nothing(options: dict[str, Any], both: Lab) -> None:
    both.write({"ci.yml": "old\n"})
    before = both.portrait()
    result = both.generate(both.play(*rounds(generated(FILE))), **options)
    assert both.portrait() == before
    assert not result.written
    assert [output.content for output in result.outputs] == [b"on: push\n"]
    kinds = [change.kind for change in result.changes]
    assert kinds == ([] if "out" in options else ["changed"])


def test_a_dry_run_does_not_even_make_the_directory(both: Lab) -> None:
    result = both.generate(both.play(*rounds(generated(FILE))), write=False)
    assert not both.out.exists()
    assert [change.kind for change in result.changes] == ["created"]


def test_one_that_generates_nothing_writes_nothing(both: Lab) -> None:
    result = both.generate(both.play(*rounds(generated())))
    assert (result.fragments, result.outputs, result.changes) == ((), (), ())
    assert not both.out.exists()


def test_one_whose_round_has_no_generate_generates_nothing(both: Lab) -> None:
    result = both.generate(both.play(*rounds(wire.DetectResult(), introduction=info(phases="detect"))))
    assert result.fragments == ()


def test_how_each_provider_fared_is_reported(both: Lab) -> None:
    result = both.generate(
        both.play(*everything(introduction=info(phases=ALL, capabilities=["provider:raw"])))
    )
    (report,) = result.providers
    assert (report.name, report.version, report.capabilities) == ("provider/raw", "1.0", ("provider:raw",))
    assert list(report.phases) == ["detect", "plan", "generate", "validate"]
    assert set(report.timings_ms) == {"launch", "handshake", *ALL.split(","), "teardown"}
    assert all(span >= 0 for span in report.timings_ms.values())


# What is asked


@pytest.mark.requirement("hook:round:graph", "hook:round:signatures")
def test_each_phase_is_given_what_the_earlier_ones_brought(both: Lab) -> None:
    resource = wire.Resource(id="job:test", type=wire.RESOURCE_TYPE_JOB, attributes={"runner": "linux"})
    words = everything(
        "provider/github",
        detect=wire.DetectResult(facts={"lang": "python", "os": "linux"}, confidence=0.5),
        plan=wire.PlanResult(resources=[resource]),
        read=both.noting(),
        introduction=info("provider/github", ALL, capabilities=["provider:github"]),
    )
    both.generate(
        both.play(*words),
        facts={"os": "bsd", "mine": ""},
        flags={"fast": "yes"},
        work_signatures={"test": b"\xff\0"},
    )
    facts = {"lang": "python", "os": "bsd", "mine": ""}  # what the caller says is not overruled
    _, plan, generate, validate = asked(both)
    assert plan == wire.PlanRequest(
        capabilities=["provider:github"], facts=facts, schema=SCHEMA, flags={"fast": "yes"}
    )
    assert generate == wire.GenerateRequest(
        target="github", graph=[resource], work_signatures={"test": b"\xff\0"}, schema=SCHEMA, facts=facts
    )
    assert validate.schema == SCHEMA


@pytest.mark.requirement("hook:round:graph")
def test_the_graph_is_that_of_the_plugin_s_own_plan(both: Lab) -> None:
    for name in ("a", "b"):
        (both.home / name).mkdir()
    words = {
        name: everything(
            f"provider/{name}",
            plan=wire.PlanResult(resources=[wire.Resource(id=name)]),
            generate=generated((f"{name}.yml", "x\n")),
            read=both.noting(f"heard-{name}"),
        )
        for name in ("a", "b")
    }
    both.generate(both.play(*words["a"]), both.play(*words["b"]))
    for name in ("a", "b"):
        _, _, generate, _ = asked(both, f"heard-{name}")
        assert [each.id for each in generate.graph] == [name]
        assert generate.target == name


@pytest.mark.requirement("hook:round:signatures")
def test_each_job_has_a_signature_of_all_that_defines_its_work(both: Lab) -> None:
    both.generate(both.play(*everything(read=both.noting())))
    _, _, generate, _ = asked(both)
    assert dict(generate.work_signatures) == {
        job.id: hashlib.sha256(job.SerializeToString(deterministic=True)).digest() for job in SCHEMA.jobs
    }


@pytest.mark.requirement("hook:round:signatures")
def test_a_signature_changes_with_the_job_and_with_nothing_else() -> None:
    job = wire.JobDefinition(id="test", env={"A": "1", "B": "2"})
    same = wire.JobDefinition(id="test", env={"B": "2", "A": "1"})
    other = wire.JobDefinition(id="test", env={"A": "1", "B": "3"})
    of = [signatures(wire.CigenSchema(jobs=[each]))["test"] for each in (job, same, other)]
    assert of[0] == of[1] != of[2]
    beside = wire.CigenSchema(version="2", jobs=[job, wire.JobDefinition(id="more")])
    assert signatures(beside)["test"] == of[0]


def test_signatures_that_are_given_as_none_of_any_job_are_passed_on_as_they_are(both: Lab) -> None:
    both.generate(both.play(*everything(read=both.noting())), work_signatures={})
    _, _, generate, _ = asked(both)
    assert dict(generate.work_signatures) == {}


@pytest.mark.requirement("hook:round:matrix")
def test_a_matrix_is_given_as_written_only_to_one_that_says_so(both: Lab) -> None:
    native = wire.CigenSchema(
        jobs=[wire.JobDefinition(id="test", matrix={"os": wire.MatrixValue(values="ab")})]
    )
    expanded = wire.CigenSchema(jobs=[wire.JobDefinition(id="test-a"), wire.JobDefinition(id="test-b")])
    schema = Pipeline(native, expanded, ("test-a", "test-b"), (), "cigen.yml")
    bindings = []
    for name, metadata in (("a", {}), ("b", {"plughost.matrix": "native"})):
        introduction = info(f"provider/{name}", ALL, metadata=metadata)
        words = everything(introduction=introduction, generate=generated((name, "x")), read=both.noting(name))
        bindings.append(both.play(*words))
    both.generate(*bindings, schema=schema)
    for name, expected in (("a", expanded), ("b", native)):
        _, plan, generate, validate = asked(both, name)
        assert plan.schema == generate.schema == validate.schema == expected
        assert set(generate.work_signatures) == {job.id for job in expected.jobs}


def test_a_schema_may_be_a_file(both: Lab) -> None:
    path = both.home / "cigen.yml"
    path.write_text("jobs:\n  test:\n    steps:\n      - run: make test\n")
    both.generate(both.play(*everything(read=both.noting())), schema=path)
    _, _, generate, _ = asked(both)
    assert [job.id for job in generate.schema.jobs] == ["test"]


@pytest.mark.parametrize("text", ["jobs: [", "jobs: 3\n", "jobs: {a: {needs: [b]}}\n"])
def test_a_schema_that_is_wrong_starts_nothing(text: str, both: Lab) -> None:
    path = both.home / "cigen.yml"
    path.write_text(text)
    with pytest.raises(ManifestError):
        both.generate(both.play("stay"), schema=path)
    assert both.spawned() == []


def test_a_run_of_nobody_is_our_own_fault(both: Lab) -> None:
    with pytest.raises(LocalProtocolError):
        both.generate()


def test_a_schema_that_is_too_long_for_a_frame_is_our_own_fault_and_leaves_nothing(both: Lab) -> None:
    schema = wire.CigenSchema(raw_config_yaml="x" * 10_485_760)
    with pytest.raises(LocalProtocolError):
        both.generate(both.play(*rounds(generated(FILE))), schema=schema)
    assert both.files() == {}


# Detect


@pytest.mark.requirement("hook:round:detect")
def test_what_several_have_detected_is_told_to_all(both: Lab) -> None:
    said = {
        "a": wire.DetectResult(signals=["python"], facts={"lang": "python", "os": "linux"}, confidence=0.2),
        "b": wire.DetectResult(signals=["go"], facts={"lang": "go"}, confidence=0.9),
    }
    bindings = []
    for name, detected in said.items():
        made = {"detect": detected, "generate": generated((name, "x")), "read": both.noting(name)}
        bindings.append(both.play(*everything(f"provider/{name}", **made)))
    result = both.generate(*bindings)
    assert result.detection.signals == ("go", "python")
    assert result.detection.facts == {"lang": "go", "os": "linux"}
    for name in said:
        _, plan, generate, _ = asked(both, name)
        assert dict(plan.facts) == dict(generate.facts) == {"lang": "go", "os": "linux"}
    (disputed,) = result.diagnostics
    assert (disputed.plugin, disputed.phase, disputed.level) == ("provider/a", "detect", "warning")
    assert result.written


@pytest.mark.requirement("hook:round:detect")
@pytest.mark.parametrize("confidence", [-0.5, 1.5, float("nan")])
def test_a_confidence_that_is_none_fails_the_run(confidence: float, both: Lab) -> None:
    words = everything(detect=wire.DetectResult(confidence=confidence))
    with pytest.raises(PluginFailure) as caught:
        both.generate(both.play(*words))
    assert caught.value.code is plughost.FailureCode.MALFORMED_RESPONSE


def test_detect_is_shown_the_files_below_the_root_and_where_its_history_stands(both: Lab) -> None:
    root = both.home / "repository"
    (root / ".git/refs/heads/feature").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/feature/x\n")
    (root / ".git/refs/heads/feature/x").write_text("a" * 40 + "\n")
    (root / "src").mkdir()
    (root / "src/b.py").write_text("")
    (root / "a.py").write_text("")
    (root / "node_modules").mkdir()
    (root / "node_modules/c.js").write_text("")
    both.generate(both.play(*everything(read=both.noting())), root=root)
    repo = asked(both)[0].repo
    assert repo.root_path == str(root)
    assert list(repo.files) == ["a.py", "src/b.py"]
    assert (repo.git.branch, repo.git.commit_sha) == ("feature/x", "a" * 40)


@pytest.mark.parametrize(
    ("head", "branch", "commit"),
    [
        ("b" * 40, "", "b" * 40),
        ("b" * 64, "", "b" * 64),
        ("b" * 41, "", ""),
        ("ref: refs/heads/main", "main", ""),
        ("ref: refs/heads/../../../secret", "", ""),
        ("ref: refs/tags/v1", "", ""),
        ("", "", ""),
        ("x" * 10_000, "", ""),
    ],
)
def test_a_head_tells_a_branch_or_a_commit_or_nothing(
    head: str, branch: str, commit: str, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("c" * 40)
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/.git/HEAD").write_text(head)
    found = snapshot(tmp_path / "repo")
    assert (found.git.branch, found.git.commit_sha) == (branch, commit)


def test_a_snapshot_of_nothing_is_empty_and_one_of_odd_names_leaves_them_out(tmp_path: Path) -> None:
    assert list(snapshot(tmp_path / "missing").files) == []
    (tmp_path / "good").write_text("")
    Path(tmp_path, "odd\udcff").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert list(snapshot(tmp_path).files) == ["good"]


# Validate


def test_validate_is_given_the_combined_files(both: Lab) -> None:
    parts = [
        wire.Fragment(path="b.txt", content=text, strategy=wire.MERGE_STRATEGY_APPEND)
        for text in ("1\n", "2\n")
    ]
    result = wire.GenerateResult(fragments=[wire.Fragment(path="./a.txt", content="a"), *parts])
    words = everything(generate=result, read=both.noting())
    both.generate(both.play(*words))
    validate = asked(both)[3]
    assert [(each.path, each.content) for each in validate.rendered] == [("a.txt", "a"), ("b.txt", "1\n2\n")]


def test_one_that_only_validates_sees_what_the_others_generate(both: Lab) -> None:
    judge = rounds(wire.ValidateResult(), introduction=info("judge", "validate"), read=both.noting())
    both.generate(both.play(*rounds(generated(FILE))), both.play(*judge))
    (request,) = both.heard()
    assert [each.path for each in wire.ValidateRequest.FromString(request).rendered] == ["ci.yml"]


# Diagnostics


@pytest.mark.requirement("hook:diagnostics:shown")
@pytest.mark.thin(3)
@pytest.mark.parametrize("phase", ["detect", "plan", "generate", "validate"])
@pytest.mark.parametrize(
    ("level", "shown"),
    [(ERROR, "error"), (WARNING, "warning"), (INFO, "info"), (0, "warning"), (77, "warning")],
)
def test_a_diagnostic_of_any_phase_is_shown_and_an_error_writes_nothing(
    phase: str, level: int, shown: str, both: Lab
) -> None:
    results = {
        "detect": wire.DetectResult(),
        "plan": wire.PlanResult(),
        "generate": generated(FILE),
        "validate": wire.ValidateResult(),
    }
    results[phase].diagnostics.append(diagnostic(level))
    both.write({"ci.yml": "old\n"})
    before = both.portrait()
    result = both.generate(both.play(*everything(**results)))
    (found,) = result.diagnostics
    assert found.to_dict() == {
        "plugin": "provider/raw",
        "phase": phase,
        "level": shown,
        "code": "CODE",
        "title": "Title",
        "message": "hm",
        "hint": "Fix it.",
        "file": "cigen.yml",
        "line": 3,
        "column": 5,
        "snippet": "x: y",
    }
    assert result.failed == (shown == "error")
    assert result.written == (shown != "error")
    assert (both.portrait() == before) == (shown == "error")


@pytest.mark.requirement("hook:diagnostics:shown")
def test_an_error_of_one_provider_keeps_the_files_of_the_others_from_being_written(both: Lab) -> None:
    bad = rounds(wire.GenerateResult(diagnostics=[diagnostic(ERROR)]), introduction=info("bad", "generate"))
    result = both.generate(both.play(*rounds(generated(FILE))), both.play(*bad))
    assert result.failed
    assert not result.written
    assert not result.up_to_date
    assert both.files() == {}
    assert [each.path for each in result.fragments] == ["ci.yml"]


def test_what_comes_with_an_error_is_neither_judged_nor_combined_nor_validated(both: Lab) -> None:
    result = generated(("../x", "x"), diagnostics=[diagnostic(ERROR)])
    found = both.generate(both.play(*everything(generate=result, read=both.noting())))
    assert found.failed
    assert [each.path for each in found.fragments] == ["../x"]
    assert (found.outputs, found.changes) == ((), ())
    assert len(both.heard()) == 3


def test_all_diagnostics_are_shown_in_the_order_in_which_they_came(both: Lab) -> None:
    words = everything(
        detect=wire.DetectResult(diagnostics=[diagnostic(INFO, "1"), diagnostic(INFO, "2")]),
        generate=wire.GenerateResult(diagnostics=[diagnostic(INFO, "3")]),
        validate=wire.ValidateResult(diagnostics=[diagnostic(INFO, "4")]),
    )
    assert [each.message for each in both.generate(both.play(*words)).diagnostics] == ["1", "2", "3", "4"]


def test_an_empty_diagnostic_is_still_one(both: Lab) -> None:
    words = rounds(wire.GenerateResult(diagnostics=[wire.Diagnostic()]))
    (found,) = both.generate(both.play(*words)).diagnostics
    assert found.to_dict() == {
        "plugin": "provider/raw",
        "phase": "generate",
        "level": "warning",
        "code": "",
        "message": "",
    }


# Failures


@pytest.mark.requirement("hook:fragment:atomic")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "words", [["exit:1"], ["write:ffffffff"], ["stay"]], ids=["crash", "garbage", "silence"]
)
@pytest.mark.parametrize("phase", range(5), ids=["handshake", "detect", "plan", "generate", "validate"])
def test_a_failure_in_any_phase_writes_nothing(phase: int, words: list[str], both: Lab) -> None:
    both.write({"ci.yml": "old\n"})
    before = both.portrait()
    limits = {"terminate_s": 0.2}
    if words == ["stay"]:
        limits |= {"handshake_s": 0.5, "timeout_s": 0.5}
    whole = everything()[:-1]
    bad = both.play(*whole[: 1 + 2 * phase], *words, **limits)
    good = both.play(*everything("provider/good", generate=generated(("good", "x"))))
    with pytest.raises(PluginFailure):
        both.generate(bad, good)
    assert both.portrait() == before


def test_a_fragment_that_cannot_be_written_leaves_no_process(both: Lab) -> None:
    with pytest.raises(FragmentError):
        both.generate(both.play(*rounds(generated(("../x", "x"))), "stay"))
    assert both.files() == {}


def test_an_output_directory_that_cannot_be_one_leaves_no_process(both: Lab) -> None:
    both.out.write_text("a file")
    with pytest.raises(plughost.TreeError):
        both.generate(both.play(*rounds(generated(FILE))))
    assert both.out.read_text() == "a file"


def test_a_write_word_is_a_whole_frame() -> None:
    assert write(b"") == "write:00000000"
