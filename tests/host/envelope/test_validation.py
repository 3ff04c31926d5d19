"""Plugins are asked about the variables before any may touch a file; one objection stops the pass."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from plughost.errors import ManifestError, TreeError
from plughost.record.live_log import LiveLog
from plughost.record.log_file import WizardLog
from plughost.record.schema import Applied
from tests.host.envelope.lab import Lab


def assert_stopped(lab: Lab, *plugins: Any, **options: Any) -> tuple[str, ...]:
    """Assert that a pass of *plugins* does nothing at all, and return the problems."""
    good, before = lab.plugin("a-good"), lab.portrait()
    result = lab.run(good, *plugins, **options)
    assert result.aborted
    assert len(result.not_run) == 1 + len(plugins)
    assert not result.ok
    assert not result.plugins_applied
    assert lab.portrait() == before
    assert not (lab.root / ".exlab-wizard/creation.json").exists()
    return result.problems


def assert_fails_alone(lab: Lab, plugin: Path, **options: Any) -> Applied:
    """Assert that a pass of *plugin* and of another leaves the other alone, and return the entry."""
    good, before = lab.plugin("z-good"), lab.text("a.txt")
    result = lab.run(plugin, good, **options)
    assert (result.aborted, result.problems, result.not_run) == (False, (), ())
    failed, fine = result.plugins_applied
    assert (failed.plugin, fine.status) == (plugin.name, "success")
    assert lab.text("a.txt") == before + "z-good\n"
    assert lab.entries == [failed.to_dict(), fine.to_dict()]
    assert failed.status in ("failed", "timeout")
    assert failed.error is not None
    assert failed.error.startswith("it could not be validated: ")
    assert (failed.files_affected, failed.changes) == ([], [])
    assert failed.failure is not None
    return failed


@pytest.mark.requirement("envelope:validate:first")
def test_objections_of_all_plugins_are_told_and_none_is_begun(both: Lab) -> None:
    one = both.plugin("one", "required_variables = ['operator', 'date']")
    two = both.plugin("two", "def validate_variables(self, variables):\n    return ['not today', 'not here']")
    problems = assert_stopped(both, one, two, variables={"date": " "})
    assert len(problems) == 4
    assert not (both.root / ".exlab-wizard").exists(), "what is told need not be kept"
    assert sum("one: " in each for each in problems) == sum("two: " in each for each in problems) == 2


@pytest.mark.requirement("envelope:validate:first")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "top",
    [
        "import no_such_module\n",
        "raise RuntimeError('at import')\n",
        "this is no Python\n",
        "sys.exit(0)\n",
        "print('noise', flush=True); os.close(1); os.close(2)\nraise OSError\n",
    ],
)
def test_a_plugin_that_cannot_be_imported_stops_the_pass(top: str, lab: Lab) -> None:
    assert len(assert_stopped(lab, lab.plugin("broken", top=top))) == 1


@pytest.mark.requirement("envelope:validate:alone")
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("top", ["os._exit(0)\n", "os.kill(os.getpid(), 11)\n"])
def test_a_plugin_whose_validation_worker_dies_fails_alone(top: str, jobs: int, lab: Lab) -> None:
    entry = assert_fails_alone(lab, lab.plugin("broken", top=top), jobs=jobs)
    assert entry.crash
    assert entry.isolation.attempts == 1


@pytest.mark.requirement("envelope:validate:alone")
def test_a_plugin_that_cannot_be_validated_ends_a_pass_that_is_fatal(lab: Lab) -> None:
    result = lab.run(lab.plugin("broken", top="os._exit(0)\n"), lab.plugin("z-good"), fatal=True)
    assert result.not_run == ("z-good",)
    assert lab.text("a.txt") == "a\n"


@pytest.mark.requirement("envelope:validate:first")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "body",
    [
        "def __init__(self):\n    raise RuntimeError('x')",
        "name = 'other'",
        "version = '2.0'",
        "supported_extensions = ['.csv']",
        "api_version = '2'",
    ],
)
def test_a_class_that_cannot_be_made_or_is_not_as_its_manifest_says_stops_the_pass(
    body: str, lab: Lab
) -> None:
    assert assert_stopped(lab, lab.plugin("odd", body))


@pytest.mark.requirement("envelope:validate:alone")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "body",
    [
        "raise RuntimeError('x')",
        "return None",
        "return ['x', 1]",
        "os._exit(0)",
        "return ['x' * 2_000_000]",
        "bytearray(1 << 30)",
    ],
)
def test_a_plugin_that_fails_to_validate_fails_alone(body: str, lab: Lab) -> None:
    assert_fails_alone(lab, lab.plugin("odd", f"def validate_variables(self, variables):\n    {body}"))


@pytest.mark.requirement("envelope:stderr:kept")
def test_what_a_plugin_wrote_to_stderr_that_cannot_be_imported_is_kept(both: Lab) -> None:
    assert_stopped(both, both.plugin("broken", top="print('noise', file=sys.stderr)\nraise OSError('odd')\n"))
    (raw,) = both.raw_stderr("broken")
    assert b"noise\n" in raw
    assert b"Traceback" in raw
    assert any("[plugin:broken]" in line and "OSError: odd" in line for line in both.log)


@pytest.mark.requirement("envelope:stderr:kept")
@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("def validate_variables(self, variables):\n    return None", "TypeError"),
        (
            "def validate_variables(self, variables):\n    raise ZeroDivisionError('x')",
            "ZeroDivisionError: x",
        ),
        ("def validate_variables(self, variables):\n    os.kill(os.getpid(), 11)", ""),
    ],
)
def test_a_validation_that_fails_is_told_with_the_last_error_that_was_logged_and_is_in_the_log(
    body: str, named: str, both: Lab
) -> None:
    objects = both.plugin("objects", "def validate_variables(self, variables):\n    return ['no']")
    odd = both.plugin("odd", body)
    objection, problem = assert_stopped(both, objects, odd)
    assert (objection, named in problem) == ("objects: no", True)
    (line,) = [line for line in both.log if "validation failed" in line]
    assert "[plugin:odd]" in line
    assert named in line
    (entry,) = both.run(odd).plugins_applied
    assert entry.error is not None
    assert named in entry.error
    assert any("status=failed" in line and named in line for line in both.log)


def test_a_dry_run_whose_validation_fails_writes_nothing(lab: Lab) -> None:
    broken = lab.plugin("broken", top="raise OSError('odd')\n")
    assert assert_stopped(lab, broken, dry_run=True)
    assert not (lab.root / ".exlab-wizard").exists()


@pytest.mark.requirement("envelope:validate:first")
def test_objections_are_told_also_if_what_was_written_cannot_be_kept(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: WizardLog, lines: Any) -> None:
        raise TreeError(str(self.path), "no room", "Make some")

    monkeypatch.setattr(LiveLog, "append", lambda self, lines: False)
    monkeypatch.setattr(WizardLog, "append", full)
    assert len(assert_stopped(lab, lab.plugin("broken", top="raise OSError('odd')\n"))) == 2


@pytest.mark.requirement("envelope:validate:first")
@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "reply",
    [
        "",
        "{}",
        '{"errors": "x"}',
        '{"errors": [1]}',
        "noise",
        '{"errors": []}\n{"errors": []}',
    ],
)
def test_a_worker_that_answers_a_validation_wrongly_fails_alone(reply: str, lab: Lab) -> None:
    odd = lab.raw("odd", "", head=f"import sys\nsys.stdin.read()\nsys.stdout.write({reply + chr(10)!r})\n")
    assert_fails_alone(lab, odd)


@pytest.mark.parametrize(("result", "code"), [("success", 0), ("failed", 1)])
def test_a_worker_that_knows_no_validation_is_believed_as_far_as_it_does_without_files(
    result: str, code: int, lab: Lab
) -> None:
    old = lab.raw(
        "old",
        "",
        head=f'import sys\nsys.stdin.read()\nprint(\'{{"result": "{result}", "per_file": []}}\')\nsys.exit({code})\n',
    )
    if result == "failed":
        assert_stopped(lab, old)
    else:
        assert lab.one(old).status == "skipped"


@pytest.mark.thin(3)
@pytest.mark.parametrize("code", [1, 3, 124])
def test_a_worker_that_answers_a_validation_and_ends_badly_fails_alone(code: int, lab: Lab) -> None:
    odd = lab.raw("odd", "", head=f"import os\nos.write(1, b'{{\"errors\": []}}\\n')\nos._exit({code})\n")
    assert_fails_alone(lab, odd)


@pytest.mark.requirement("envelope:validate:first")
@pytest.mark.parametrize(
    "command", [["no-such-program"], ["./missing"], ["python", "missing.py"], ["./worker.py"]]
)
@pytest.mark.parametrize("validates", [True, False])
def test_a_plugin_that_cannot_be_started_fails_alone(command: list[str], validates: bool, lab: Lab) -> None:
    odd = lab.raw("odd", "", command=command, validates=validates)
    first, second = lab.run(odd, lab.plugin("z-good")).plugins_applied
    assert (first.status, second.status) == ("failed", "success")


@pytest.mark.long
@pytest.mark.requirement("envelope:validate:first")
def test_a_plugin_whose_validation_hangs_fails_alone_when_its_time_is_over(both: Lab) -> None:
    hangs = both.plugin(
        "hangs",
        "def validate_variables(self, variables):\n    time.sleep(600)",
        isolation={"timeout_seconds": 300},
    )
    assert assert_fails_alone(both, hangs).status == "timeout"


def test_a_worker_that_validates_has_a_budget_of_its_own(lab: Lab) -> None:
    tells = lab.plugin(
        "tells",
        """
        def validate_variables(self, variables):
            import resource
            limits = [resource.getrlimit(getattr(resource, "RLIMIT_" + each))[0] for each in ("CPU", "DATA")]
            return [json.dumps([*limits, sorted(variables)])]
        """,
        isolation={"timeout_seconds": 300, "memory_mb": 2048},
    )
    (problem,) = assert_stopped(lab, tells, variables={"v": 1})
    assert json.loads(problem.removeprefix("tells: ")) == [5, 256 << 20, ["v"]]


def test_more_plugins_than_are_asked_at_once_are_all_asked(both: Lab) -> None:
    many = [
        both.plugin(f"p{n:02}", f"def validate_variables(self, variables):\n    return ['{n}']")
        for n in range(11)
    ]
    assert len(assert_stopped(both, *many)) == 11


def test_an_objection_cannot_forge_another_plugins(lab: Lab) -> None:
    forger = lab.plugin("forger", "def validate_variables(self, variables):\n    return ['x\\nother: y']")
    (problem,) = assert_stopped(lab, forger)
    assert problem.startswith("forger: ")


@pytest.mark.parametrize(
    "isolation",
    [{"timeout_seconds": "abc"}, {"timeout_seconds": None}, {"timeout_seconds": 0}, {"memory_mb": 99_999}],
)
def test_a_plugin_whose_manifest_is_wrong_is_refused_by_name(isolation: dict[str, Any], lab: Lab) -> None:
    wrong = lab.plugin("wrong", isolation=isolation)
    with pytest.raises(ManifestError):
        lab.run(lab.plugin("good"), wrong)
    assert sorted(os.listdir(lab.root)) == ["a.txt"]


# Workers that know no modes

STRICT = """\
import json, os, sys
if sys.argv[1:]:
    sys.exit(2)
told = json.loads(sys.stdin.readline())
context = told["context"]
names = ("variables", "dst_root", "answers_file", "template_name", "template_version", "run_kind")
if not {"context", "files", "dry_run", "extra_inputs"} <= told.keys():
    sys.exit(3)
if not {*names, "equipment_id", "project", "dry_run"} <= context.keys():
    sys.exit(3)
with open(os.path.join(context["dst_root"], "starts"), "a") as file:
    file.write("started\\n")
asks = told["extra_inputs"] is None
question = {"fields": [{"id": "colour", "label": "Colour"}], "reason": "none is given"} if asks else None
result = "input_required" if asks else "success"
print(json.dumps({"result": result, "per_file": [], "log_records": [], "input_required": question}))
sys.exit(2 if asks else 0)
"""


@pytest.mark.requirement("envelope:validate:known")
def test_a_worker_that_writes_and_asks_before_its_first_file_is_not_started_for_a_validation(
    both: Lab,
) -> None:
    directory = both.raw("strict", "", head=STRICT, validates=False)
    document = json.loads((directory / "manifest.yml").read_text())
    del document["validates"]  # as its author would write it, who knows nothing of validations
    (directory / "manifest.yml").write_text(json.dumps(document))
    entry = both.one(directory, answers={"colour": "red"})
    assert (entry.status, entry.isolation.attempts) == ("success", 2)
    assert both.text("starts") == "started\n" * 2


@pytest.mark.requirement("envelope:validate:known")
def test_variables_that_a_plugin_requires_are_looked_for_also_if_its_worker_is_not_asked(lab: Lab) -> None:
    strict = lab.raw("strict", "", head=STRICT, validates=False, required_variables=["operator"])
    (problem,) = assert_stopped(lab, strict, variables={"operator": " "})
    assert problem == "strict: required variable 'operator' is missing or empty"
