"""`plughost generate` and `plughost preflight`: what is printed, what is written, and which status is returned."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from plughost.frontends.cli.commands.demo import BUNDLED

Run = Callable[..., Any]  # gives a Ran

GITHUB = BUNDLED / "hook" / "github-actions"
WOODPECKER = BUNDLED / "hook" / "woodpecker"
PIPELINE = BUNDLED / "hook" / "cigen.yml"
SMALL = "jobs:\n  test:\n    steps:\n      - run: make test\n"

PROVIDER = """\
from plughost_sdk import hook

provider = hook.Provider("provider/@NAME@", version="1.0.0", capabilities=["provider:@NAME@"])

@provider.generate
def generate(request):
    print("at work")
@BODY@

if __name__ == "__main__":
    provider.run()
"""
BINDING = """\
[plugin]
name = "provider/@NAME@"
contract = "hook"
command = ["python", "provider.py"]
[capabilities]
allow = ["provider:@NAME@"]
"""


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    file = tmp_path / "pipeline.yml"
    file.write_text(SMALL, encoding="utf-8")
    return file


def provider(directory: Path, name: str, body: str) -> str:
    """Write a provider whose generate does *body*, and return its directory."""
    place = directory / name
    place.mkdir()
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    (place / "provider.py").write_text(
        PROVIDER.replace("@NAME@", name).replace("@BODY@", indented), encoding="utf-8"
    )
    (place / "plugin.toml").write_text(BINDING.replace("@NAME@", name), encoding="utf-8")
    return str(place)


def written(directory: Path) -> dict[str, str]:
    if not directory.exists():
        return {}
    return {
        str(path.relative_to(directory)): path.read_text(encoding="utf-8")
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_workflows_are_written_and_keep_on_as_a_key_of_yaml_1_2(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = run("generate", str(GITHUB), str(WOODPECKER), "--schema", str(PIPELINE), "--out", str(out))
    assert ran.status == 0
    files = written(out)
    assert ".github/workflows/ci.yml" in files
    assert any(path.startswith(".woodpecker/") for path in files)
    for path, text in files.items():
        parsed: dict[str, Any] = YAML(typ="safe", pure=True).load(text)
        if path.startswith(".github/"):
            assert {"on", "jobs"} <= set(parsed)


def test_json_lists_fragments_and_diagnostics(run: Run, schema: Path, tmp_path: Path) -> None:
    plugin = provider(
        tmp_path, "one", 'yield hook.fragment("a.txt", "ä\\n")\nyield hook.warning("W1", "careful")'
    )
    answer = run("generate", plugin, "--schema", str(schema), "--out", str(tmp_path / "out"), "--json").json
    assert answer["ok"] is True
    assert answer["fragments"] == [
        {"path": "a.txt", "strategy": "replace", "bytes": 3, "plugin": "provider/one"}
    ]
    assert [(each["code"], each["level"]) for each in answer["diagnostics"]] == [("W1", "warning")]
    assert answer["files"] == [{"path": "a.txt", "change": "created"}]
    assert answer["written"] is True


def test_a_dry_run_shows_a_diff_and_writes_nothing(run: Run, schema: Path, tmp_path: Path) -> None:
    plugin, out = provider(tmp_path, "one", 'yield hook.fragment("a.txt", "new\\n")'), tmp_path / "out"
    out.mkdir()
    (out / "a.txt").write_text("old\n", encoding="utf-8")
    ran = run("generate", plugin, "--schema", str(schema), "--out", str(out), "--dry-run")
    assert ran.status == 0
    assert "-old\n+new\n" in ran.stdout
    assert written(out) == {"a.txt": "old\n"}
    answer = run("generate", plugin, "--schema", str(schema), "--out", str(out), "--dry-run", "--json").json
    assert "+new" in answer["files"][0]["diff"]


def test_check_fails_until_the_files_are_up_to_date(run: Run, schema: Path, tmp_path: Path) -> None:
    plugin, out = provider(tmp_path, "one", 'yield hook.fragment("a.txt", "new\\n")'), tmp_path / "out"
    words = ("generate", plugin, "--schema", str(schema), "--out", str(out))
    assert run(*words, "--check").status == 1
    assert written(out) == {}
    assert run(*words).status == 0
    assert run(*words, "--check").status == 0
    (out / "a.txt").write_text("edited\n", encoding="utf-8")
    stale = run(*words, "--check", "--json")
    assert (stale.status, stale.json["ok"], stale.json["files"][0]["change"]) == (1, False, "changed")


def test_an_error_of_a_provider_is_shown_with_its_place_and_nothing_is_written(
    run: Run, schema: Path, tmp_path: Path
) -> None:
    good = provider(tmp_path, "good", 'yield hook.fragment("a.txt", "x")')
    bad = provider(
        tmp_path, "bad", 'yield hook.error("E7", "no such runner", hint="Add one", file="ci.yml", line=3)'
    )
    ran = run("generate", good, bad, "--schema", str(schema), "--out", str(tmp_path / "out"))
    assert ran.status == 1
    assert all(word in ran.stderr for word in ("provider/bad", "ci.yml:3", "E7", "Add one"))
    assert written(tmp_path / "out") == {}


def test_fragments_that_cannot_be_written_name_plugin_and_path(
    run: Run, schema: Path, tmp_path: Path
) -> None:
    plugin = provider(tmp_path, "one", 'yield hook.fragment("../../escaped.txt", "x")')
    ran = run("generate", plugin, "--schema", str(schema), "--out", str(tmp_path / "out"), "--json")
    assert ran.status == 1
    assert ran.json["fragment"]["plugin"] == "provider/one"
    assert ran.json["fragment"]["path"] == "../../escaped.txt"
    assert written(tmp_path / "out") == {}


def test_a_provider_that_crashes_has_the_status_of_its_failure(
    run: Run, schema: Path, tmp_path: Path
) -> None:
    plugin = provider(tmp_path, "one", "import os\nos._exit(3)")
    ran = run("generate", plugin, "--schema", str(schema), "--out", str(tmp_path / "out"), "--json")
    assert (ran.status, ran.json["failure"]["code"]) == (13, "crashed")
    assert written(tmp_path / "out") == {}


def test_a_wrong_pipeline_file_is_named_with_its_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "bad.yml"
    file.write_text("jobs:\n  a:\n    needs: b\n    steps: [x]\n", encoding="utf-8")
    ran = run("generate", str(GITHUB), "--schema", str(file))
    assert ran.status == 3
    assert "line 3" in ran.stderr


def test_without_a_plugin_the_providers_of_the_file_are_run(run: Run, tmp_path: Path) -> None:
    provider(tmp_path, "one", 'yield hook.fragment("a.txt", "x")')
    (tmp_path / "plughost.toml").write_text('[plugins]\none = "one"\n', encoding="utf-8")
    file = tmp_path / "pipeline.yml"
    file.write_text(f"providers: [one]\n{SMALL}", encoding="utf-8")
    assert run("generate", "--schema", str(file), "--out", str(tmp_path / "out")).status == 0
    assert written(tmp_path / "out") == {"a.txt": "x"}
    file.write_text(SMALL, encoding="utf-8")
    assert run("generate", "--schema", str(file), "--out", str(tmp_path / "out")).status == 2


def test_dry_run_and_check_exclude_each_other(run: Run, schema: Path) -> None:
    assert run("generate", str(GITHUB), "--schema", str(schema), "--dry-run", "--check").status == 2


def test_facts_and_flags_are_told_and_stderr_is_shown_unless_quiet(
    run: Run, schema: Path, tmp_path: Path
) -> None:
    plugin = provider(tmp_path, "one", 'yield hook.fragment("a.txt", request.facts["lang"])')
    words = ("generate", plugin, "--schema", str(schema), "--out", str(tmp_path / "out"), "--fact", "lang=go")
    assert "at work" in run(*words).stderr
    assert "at work" not in run(*words, "--quiet").stderr
    assert written(tmp_path / "out") == {"a.txt": "go"}
    assert run(*words, "--flag", "nonsense").status == 2


def test_a_bare_command_is_run_without_a_binding(run: Run, schema: Path, tmp_path: Path) -> None:
    plugin = provider(tmp_path, "one", 'yield hook.fragment("a.txt", "x")')
    command = ("python", f"{plugin}/provider.py")
    ran = run(
        "generate",
        "--contract",
        "hook",
        "--schema",
        str(schema),
        "--out",
        str(tmp_path / "out"),
        "--",
        *command,
    )
    assert ran.status == 0
    assert written(tmp_path / "out") == {"a.txt": "x"}


def test_a_plugin_of_another_contract_is_refused(run: Run, schema: Path) -> None:
    assert run("generate", str(BUNDLED / "execute" / "greeter"), "--schema", str(schema)).status == 3


def test_preflight_says_run_then_skip_by_its_signature(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1\n", encoding="utf-8")
    words = (
        "preflight",
        str(GITHUB),
        "--job",
        "test",
        "--root",
        str(tmp_path),
        "--changed",
        "a.py",
        "--json",
    )
    first = run(*words)
    assert (first.status, first.json["should_run"]) == (0, True)
    same = run(*words, "--previous", first.json["signature"])
    assert (same.status, same.json["should_run"]) == (4, False)
    (tmp_path / "a.py").unlink()
    other = run(*words, "--previous", first.json["signature"])
    assert (other.status, other.json["should_run"]) == (0, True)
    assert run(*words, "--previous", "xyz").status == 2


def test_preflight_of_a_plugin_that_does_not_answer_it_fails(run: Run, tmp_path: Path) -> None:
    plugin = provider(tmp_path, "one", "return None")
    ran = run("preflight", plugin, "--job", "test", "--json")
    assert ran.status != 0
    assert ran.json["ok"] is False


@pytest.mark.thin(3)
@pytest.mark.parametrize("words", [("--fact", "a=\udcff"), ("--flag", "\udcff=a"), ("--out", "")])
def test_words_that_nobody_could_mean_are_usage_errors(
    words: tuple[str, ...], run: Run, schema: Path
) -> None:
    assert run("generate", str(GITHUB), "--schema", str(schema), *words).status == 2


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "words", [("--changed", "/etc/hostname"), ("--changed", "../x"), ("--changed", "fifo")]
)
def test_a_changed_file_is_a_regular_one_below_the_root(
    words: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert run("preflight", str(GITHUB), "--job", "test", *words).status == 2


def test_a_flood_of_diagnostics_is_cut_for_people_and_whole_for_programs(
    run: Run, schema: Path, tmp_path: Path
) -> None:
    plugin = provider(tmp_path, "one", 'for n in range(3000):\n    yield hook.warning("W", "x" * 3000)')
    words = ("generate", plugin, "--schema", str(schema), "--out", str(tmp_path / "out"), "--quiet")
    assert len(run(*words).stderr) < 400_000
    assert len(run(*words, "--json").json["diagnostics"]) == 3000


def test_providers_are_told_the_files_of_the_root(run: Run, tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "pyproject.toml").write_text("", encoding="utf-8")
    schema = tmp_path / "pipeline.yml"
    schema.write_text(SMALL, encoding="utf-8")
    words = ("generate", str(GITHUB), "--schema", str(schema), "--out", str(tmp_path / "out"), "--json")
    assert "lang:python" in run(*words, "--root", str(tmp_path / "repo")).json["signals"]
    (tmp_path / "empty").mkdir()
    assert "lang:python" not in run(*words, "--root", str(tmp_path / "empty")).json["signals"]
