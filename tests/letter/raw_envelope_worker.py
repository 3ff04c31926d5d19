"""Raw `envelope` workers for `test_000_envelope`: one program, and one pass of all the ways in which it works."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

WORKER = """\
import json, os, signal, sys, time
what = sys.argv[1]
line = sys.stdin.readline()
rest = sys.stdin.read()
told = json.loads(line)
if not {"context", "files", "dry_run", "extra_inputs"} <= told.keys() or sys.argv[2:]:
    sys.exit(3)
sys.stderr.write("TOLD " + json.dumps({"line": line, "rest": rest, "pid": os.getpid()}) + "\\n")
sys.stderr.write(json.dumps({"level": "INFO", "message": "begun " + what, "context": {"n": 1}}) + "\\n")
sys.stderr.write(json.dumps({"level": "WARNING", "message": "without context"}) + "\\n")
sys.stderr.write(f"DRY {told['dry_run']} {told['context']['dry_run']}\\n")
sys.stderr.flush()
reply = {"result": "success", "per_file": [], "log_records": [], "input_required": None}
code = 0
if what == "modifies" or (what == "asks" and told["extra_inputs"]):
    for name in told["files"]:
        with open(name, "a") as file:
            file.write(what)
        reply["per_file"].append({"path": name, "status": "modified", "changes": None})
elif what == "asks":
    field = {"id": "color", "label": "Color?", "type": "string", "required": True}
    reply |= {"result": "input_required", "input_required": {"fields": [field], "reason": "none given"}}
    code = 2
elif what == "fails":
    reply |= {"result": "failed"}
    code = 1
elif what == "crashes":
    sys.exit(3)
elif what == "silent":
    sys.exit(0)
elif what == "late":
    signal.signal(signal.SIGTERM, lambda *_: os.write(2, b"TERM\\n"))
    while True:
        time.sleep(1)
elif what == "mistyped":
    reply |= {"per_file": "nope"}
elif what == "timeout":
    reply |= {"result": "timeout"}
elif what == "twice":
    print(json.dumps(reply))
elif what == "both":
    reply |= {"input_required": {"fields": [{"id": "a"}], "reason": "odd"}}
elif what == "records":
    reply |= {"log_records": [{"level": "INFO", "message": "from the reply"}]}
elif what == "own124":
    code = 124
elif what == "halves":
    os.write(2, b'{"level": "INFO", "mess')
    os.write(2, b'age": "in halves"}\\n{"level": "ERROR", "message": "in one write"}\\n')
elif what == "own-word":
    reply["per_file"] = [{"path": name, "status": "unchanged", "changes": None} for name in told["files"]]
elif what in ("bare", "lenient"):
    del reply["per_file"]
elif what == "bare-question":
    asked = {"fields": [{"id": "color"}], "reason": "none given"}
    reply = {"result": "input_required", "log_records": [], "input_required": asked}
    code = 2
elif what == "bare-failure":
    reply = {"result": "failed", "error_message": "no room"}
    code = 1
print(json.dumps(reply), flush=True)
sys.exit(code)
"""
ORDER = ["modifies", "asks", "fails", "crashes", "silent", "late", "mistyped", "timeout", "twice", "both"]
ORDER += ["own124", "records", "bare", "lenient", "bare-question", "bare-failure", "halves"]
ORDER += ["own-word", "last"]


@dataclass
class Passed:
    """What one pass of all raw workers left."""

    root: Path
    status: int
    entries: dict[str, dict[str, Any]]
    log: list[str]

    def raw(self, what: str) -> list[list[str]]:
        """Return the lines of standard error of *what*, by attempt."""
        files = sorted((self.root / ".exlab-wizard/plugins" / what).glob("*.stderr"))
        return [path.read_text().splitlines() for path in files]

    def told(self, what: str, attempt: int = 0) -> dict[str, Any]:
        """Return what a worker was told: the line, what followed it, and the process."""
        found: dict[str, Any] = json.loads(self.raw(what)[attempt][0].removeprefix("TOLD "))
        return found

    def request(self, what: str, attempt: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.told(what, attempt)["line"])
        return found

    def verdict(self, what: str) -> tuple[str, int | None]:
        entry = self.entries[what]
        return entry["status"], entry.get("isolation", {}).get("exit_code")


def write_plugins(home: Path) -> None:
    for what in ORDER:
        directory = home / what
        directory.mkdir(parents=True)
        manifest = {
            "name": what,
            "version": "1.0",
            "api_version": "1",
            "supported_extensions": [".xlsx"],
            "command": ["python", "worker.py", what],
            "isolation": {"timeout_seconds": 3 if what == "late" else 60},
        }
        if what == "lenient":
            manifest["lenient"] = True
        (directory / "manifest.yml").write_text(json.dumps(manifest))
        (directory / "worker.py").write_text(WORKER)


def transform(root: Path) -> list[str]:
    return [sys.executable, "-m", "plughost", "transform", str(root)]


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> Passed:
    home = tmp_path_factory.mktemp("letter")
    root = home / "run"
    (root / "subdir").mkdir(parents=True)
    for name in ("metadata.xlsx", "subdir/calibration.xlsx"):
        (root / name).write_text("x")
    write_plugins(home / "plugins")
    words = [*transform(root), "--answer", "color=red", "--json"]
    for what in ORDER:
        words += ["--plugin", str(home / "plugins" / what)]
    words += ["--order", ",".join(ORDER)]
    words += ["--equipment", "EQ1", "--project", "P1", "--run-kind", "test", "--var", "operator=Ada"]
    ran = subprocess.run(words, capture_output=True, timeout=300, check=False)
    record = json.loads((root / ".exlab-wizard/creation.json").read_bytes())
    (log,) = (root / ".exlab-wizard").glob("wizard.*.log")
    entries = {entry["plugin"]: entry for entry in record["plugins_applied"]}
    return Passed(root, ran.returncode, entries, log.read_text().splitlines())
