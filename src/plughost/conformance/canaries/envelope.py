"""One worker of the `envelope` contract with many faults, chosen by its first argument. Raw bytes, no SDK.

    python envelope.py FAULT [--mode validate]

`well-behaved` is the one without a fault: it asks for a colour once, and writes it to the end of each file.
`FAULTS` names each fault and the axis that must notice it. Two more are no faults of one axis: `crashes-when-gone`,
which a worker may do, and `flood`.
"""

import json
import os
import sys
import time
from typing import Any

FAULTS = {
    "prints-first": "envelope:frame:one-object",
    "afterthought": "envelope:frame:one-object",
    "two-replies": "envelope:frame:one-object",
    "not-an-object": "envelope:frame:one-object",
    "no-line-feed": "envelope:frame:one-object",
    "latin-1": "envelope:frame:one-object",
    "nan": "envelope:frame:one-object",
    "long-reply": "envelope:frame:limit",
    "small-buffer": "envelope:frame:large-request",
    "reads-once": "envelope:frame:large-request",
    "refuses-unknown-fields": "envelope:frame:unknown-fields",
    "refuses-unknown-context": "envelope:frame:unknown-fields",
    "refuses-no-file": "envelope:request:files",
    "invents-a-file": "envelope:request:files",
    "own-paths": "envelope:request:files",
    "forgets-a-file": "envelope:request:files",
    "reports-twice": "envelope:request:files",
    "absolute-only": "envelope:request:files",
    "no-empty-report": "envelope:request:files",
    "dry-run-writes": "envelope:request:dry-run",
    "dry-run-creates": "envelope:request:dry-run",
    "dry-run-touches": "envelope:request:dry-run",
    "dry-run-crashes": "envelope:request:dry-run",
    "strays": "envelope:request:confined",
    "strays-when-validating": "envelope:request:confined",
    "writes-readme": "envelope:request:forbidden",
    "writes-readme-when-validating": "envelope:request:forbidden",
    "renames-answers": "envelope:request:forbidden",
    "adds-to-wizard": "envelope:request:forbidden",
    "disagrees": "envelope:reply:pair",
    "no-envelope": "envelope:reply:pair",
    "gone-is-success": "envelope:reply:pair",
    "crashes": "envelope:reply:pair",
    "exit-124": "envelope:reply:pair",
    "says-timeout": "envelope:reply:pair",
    "mistyped-status": "envelope:reply:pair",
    "success-that-asks": "envelope:reply:pair",
    "no-reason": "envelope:reply:reason",
    "asks-nothing": "envelope:input:fields",
    "no-fields": "envelope:input:fields",
    "too-many-fields": "envelope:input:fields",
    "twins": "envelope:input:fields",
    "odd-type": "envelope:input:fields",
    "no-options": "envelope:input:fields",
    "asks-again": "envelope:input:resumable",
    "asks-for-ever": "envelope:input:resumable",
    "validates-with-a-text": "envelope:validate:answers",
    "validates-with-exit-1": "envelope:validate:answers",
    "needs-variables": "envelope:validate:answers",
    "hangs": "envelope:exit:in-time",
    "lingers": "envelope:exit:in-time",
    "deaf": "envelope:exit:eof",
    "eof-is-success": "envelope:exit:eof",
    "half-is-enough": "envelope:exit:eof",
    "prints-its-log": "envelope:stderr:lines",
}
# No fault: it takes a validation for an ordinary request.
WITHOUT_MODES = "validates-like-a-run"
# No fault: it takes no words behind its command.
NO_WORDS = "refuses-words"
# No fault: it reports on each file by its whole path, however that was given.
WHOLE_PATHS = "whole-paths"
# Faults that show by a worker that stays: give these a short time limit.
SLOW = ("hangs", "lingers", "deaf")
# Faults against what a plugin only SHOULD do.
MILD = ("no-reason", "prints-its-log")

KNOWN = {"plugin_module", "context", "files", "dry_run", "extra_inputs"}
KNOWN_CONTEXT = {
    "variables",
    "dst_root",
    "answers_file",
    "template_name",
    "template_version",
    "run_kind",
    "equipment_id",
    "project",
    "dry_run",
    "log",
}
FRAME_LIMIT = 1_048_576
CODES = {"success": 0, "failed": 1, "input_required": 2}
FOREVER_S = 60  # as far as anyone can tell: more than any deadline

Object = dict[str, Any]


def main(fault: str, mode: list[str]) -> int:
    data = read(fault)
    if not data:
        if fault == "deaf":
            time.sleep(FOREVER_S)
        return 0 if fault == "eof-is-success" else 3
    try:
        request = json.loads(data)
    except ValueError:
        return 0 if fault == "half-is-enough" else 3
    if mode and fault == NO_WORDS:
        return 3
    if mode and fault != WITHOUT_MODES:
        return validate(fault, request)
    if fault == "hangs":
        time.sleep(FOREVER_S)
    if fault == "refuses-unknown-fields" and set(request) - KNOWN:
        return 3
    if fault == "refuses-unknown-context" and set(request.get("context", {})) - KNOWN_CONTEXT:
        return 3
    return transform(fault, request)


def validate(fault: str, request: Object) -> int:
    variables = request["context"]["variables"]
    if fault == "needs-variables" and not variables:
        raise KeyError("operator")
    if fault == "strays-when-validating":
        with open("../stray.txt", "w") as file:
            file.write("validated")
    trespass(fault.removesuffix("-when-validating"), request["context"]["dst_root"])
    errors: object = "nothing to object to" if fault == "validates-with-a-text" else []
    write(json.dumps({"errors": errors}).encode() + b"\n")
    return 1 if fault == "validates-with-exit-1" else 0


def transform(fault: str, request: Object) -> int:
    root = request.get("context", {}).get("dst_root", ".")
    files, dry_run = request.get("files", []), request.get("dry_run", False)
    log(fault, "begun")
    if fault in ("crashes", "no-envelope") or (fault == "dry-run-crashes" and dry_run):
        return 0 if fault == "no-envelope" else 3
    if fault == "refuses-no-file" and not files:
        return answer(fault, {"result": "failed", "error_message": "there is nothing to do"})
    if fault == "strays":
        with open(os.path.join(root, "..", "beside", "neighbour.txt"), "a") as file:
            file.write("stray")
    question = ask(fault, request.get("extra_inputs") or {})
    if question is not None:
        return answer(fault, question)
    reply = work(fault, root, files, dry_run)
    return answer(fault, reply)


def ask(fault: str, told: Object) -> Object | None:
    """Return a question, unless it was answered."""
    fields: list[Object] = [{"id": "colour", "label": "Colour", "type": "choice", "options": ["red"]}]
    if fault == "asks-for-ever":
        fields[0]["id"] = "colour-%d" % len(told)
    elif told and fault != "asks-again":
        return None
    if fault == "twins":
        fields *= 2
    if fault == "too-many-fields":
        fields = [{"id": "colour-%d" % number, "type": "string"} for number in range(51)]
    if fault == "odd-type":
        fields[0]["type"] = "password"
    if fault == "no-options":
        del fields[0]["options"]
    asked = {"fields": [] if fault == "no-fields" else fields, "reason": "It is not known."}
    question = None if fault == "asks-nothing" else asked
    return {"result": "input_required", "per_file": [], "input_required": question}


def work(fault: str, root: str, files: list[str], dry_run: bool) -> Object:
    told: list[Object] = []
    for given in files[1:] if fault == "forgets-a-file" else files:
        path = os.path.join("/" if fault == "absolute-only" else root, given)
        shown = {"own-paths": os.path.basename(given), WHOLE_PATHS: path}.get(fault, given)
        entry: Object = {"path": shown, "changes": None}
        told.append(entry)
        if not os.path.isfile(path):
            if fault in ("gone-is-success", "crashes-when-gone"):
                sys.exit(0 if fault == "gone-is-success" else 1)
            message = "" if fault == "no-reason" else "a file is gone"
            entry.update(status="failed", error=message)
            return {"result": "failed", "per_file": told, "error_message": message}
        if dry_run:
            spoil(fault, path)
            change = {"path": path, "kind": "modify", "summary": "would add a line", "detail": {}}
            entry.update(status="described", changes=[change])
        else:
            with open(path, "ab") as file:
                file.write(b"red\n")
            entry.update(status=1 if fault == "mistyped-status" else "modified")
    if not dry_run:
        trespass(fault, root)
    if fault == "reports-twice":
        told += told
    if fault == "invents-a-file":
        told.append({"path": os.path.join(root, "invented.txt"), "status": "modified", "changes": None})
    return {"result": "success", "per_file": told}


def trespass(fault: str, root: str) -> None:
    """Touch what no plugin may touch."""
    if fault == "writes-readme":
        with open(os.path.join(root, "README.md"), "ab") as file:
            file.write(b"red\n")
    if fault == "renames-answers":
        os.rename(os.path.join(root, ".exlab-answers.yml"), os.path.join(root, "answers.yml"))
    if fault == "adds-to-wizard":
        with open(os.path.join(root, ".exlab-wizard", "red"), "wb"):
            pass


def spoil(fault: str, path: str) -> None:
    """Do in a dry run what should not be done then."""
    if fault == "dry-run-writes":
        with open(path, "ab") as file:
            file.write(b"red\n")
    if fault == "dry-run-creates":
        with open(path + ".preview", "ab") as file:
            file.write(b"red\n")
    if fault == "dry-run-touches":
        os.utime(path)


def answer(fault: str, reply: Object) -> int:
    """Write the reply, and return the exit code."""
    code = CODES[reply["result"]]
    if fault == "no-empty-report" and not reply.get("per_file"):
        reply.pop("per_file", None)
    if fault == "says-timeout":
        reply["result"] = "timeout"
    if fault == "success-that-asks" and reply["result"] == "success":
        reply["input_required"] = {"fields": [{"id": "more"}], "reason": "One more thing."}
    if fault == "long-reply":
        reply["fill"] = "x" * FRAME_LIMIT
    body = json.dumps(reply).encode()
    if fault == "nan":
        body = json.dumps({**reply, "score": float("nan")}).encode()
    if fault == "latin-1":
        body = json.dumps({**reply, "note": "caf\u00e9"}, ensure_ascii=False).encode("latin-1")
    if fault == "not-an-object":
        body = b"[" + body + b"]"
    if fault == "prints-first":
        write(b"Starting up...\n")
    write(body + (b"" if fault == "no-line-feed" else b"\n"))
    if fault == "flood":
        write(b"x\n" * FRAME_LIMIT * 3)
    if fault == "two-replies":
        write(body + b"\n")
    if fault == "afterthought":
        write(b"bye\n")
    if fault == "lingers":
        time.sleep(FOREVER_S)
    if fault == "exit-124":
        return 124
    return 1 if fault == "disagrees" else code


def read(fault: str) -> bytes:
    """Read the request: properly, or with the fault's own idea of reading."""
    if fault == "reads-once":
        return os.read(0, FRAME_LIMIT + 1)
    if fault == "small-buffer":
        return sys.stdin.buffer.read(65_536)
    return sys.stdin.buffer.read()


def log(fault: str, message: str) -> None:
    line = message if fault == "prints-its-log" else json.dumps({"level": "INFO", "message": message})
    sys.stderr.write(line + "\n")


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "well-behaved", sys.argv[2:]))
