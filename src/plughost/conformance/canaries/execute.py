"""One `execute` plugin with many faults, chosen by its first argument. Raw bytes, no SDK.

    python execute.py FAULT

`well-behaved` is the one without a fault. `FAULTS` names each fault and the axis that must notice it.
"""

import json
import os
import sys
import time

FAULTS = {
    "not-an-object": "execute:frame:one-object",
    "nan": "execute:frame:utf8",
    "latin-1": "execute:frame:utf8",
    "long-line": "execute:frame:limit",
    "prints-first": "execute:frame:clean-stdout",
    "reads-once": "execute:frame:split",
    "refuses-unknown-fields": "execute:frame:unknown-fields",
    "small-buffer": "execute:frame:large-request",
    "silent": "execute:handshake:reply",
    "exits-at-once": "execute:handshake:reply",
    "wrong-type": "execute:handshake:type",
    "wrong-version": "execute:handshake:version",
    "no-tools": "execute:handshake:fields",
    "no-version": "execute:handshake:fields",
    "other-name": "execute:handshake:name",
    "moody": "execute:handshake:stable",
    "chatty": "execute:handshake:waits",
    "undeclared": "execute:capabilities:declared",
    "padded-capability": "execute:capabilities:declared",
    "greedy": "execute:capabilities:subset",
    "no-answer": "execute:response:reply",
    "answer-type": "execute:response:type",
    "answer-id": "execute:response:id",
    "answer-status": "execute:response:status",
    "ok-with-error": "execute:response:consistent",
    "error-without-message": "execute:response:consistent",
    "crashes-on-unknown-tool": "execute:response:unknown-tool",
    "afterthought": "execute:response:once",
    "exit-7": "execute:exit:zero",
    "lingers": "execute:exit:zero",
    "deaf": "execute:exit:eof",
}
# Faults that only show when the binding grants this capability.
NEEDS_GRANT = {"undeclared": "workspace.read"}
NAME = "canary"
VERSION = "rterm.plugin.v1"


def main(fault: str) -> int:
    if fault == "exits-at-once":
        return 3
    if fault == "prints-first":
        write(b"Starting up...\n")
    hello = read_line(fault)
    if not hello:
        return linger(fault == "deaf")
    if fault == "silent":
        return linger(True)
    if fault == "refuses-unknown-fields" and set(json.loads(hello)) != {"type", "protocol_version"}:
        return 1
    shake_hands(fault)
    if fault == "chatty":
        write(b'{"type":"log","message":"ready"}\n')
    line = read_line(fault)
    if not line:
        return linger(fault == "deaf")
    answer(fault, json.loads(line))
    if fault == "lingers":
        return linger(True)
    return 7 if fault == "exit-7" else 0


def shake_hands(fault: str) -> None:
    manifest: dict = {
        "plugin_id": "somebody-else" if fault == "other-name" else NAME,
        "plugin_version": "" if fault == "no-version" else "1.0.0",
        "protocol_version": "rterm.plugin.v0" if fault == "wrong-version" else VERSION,
        "exposed_tools": [] if fault == "no-tools" else ["echo"],
    }
    if fault == "moody":
        manifest["exposed_tools"].append("tool-%d" % os.getpid())
    if fault == "greedy":
        manifest["capabilities"] = ["everything"]
    if fault == "padded-capability":
        manifest["capabilities"] = [" workspace.read"]
    kind = "hello" if fault == "wrong-type" else "handshake"
    reply = {"type": kind, "manifest": manifest}
    if fault == "not-an-object":
        write(b"[1, 2]\n")
    elif fault == "nan":
        write(json.dumps({**reply, "score": float("nan")}).encode() + b"\n")
    elif fault == "latin-1":
        write(json.dumps({**reply, "note": "caf\u00e9"}, ensure_ascii=False).encode("latin-1") + b"\n")
    elif fault == "long-line":
        write(json.dumps({**reply, "fill": "x" * 1_048_576}).encode() + b"\n")
    else:
        write(json.dumps(reply).encode() + b"\n")


def answer(fault: str, request: dict) -> None:
    known = request["tool_name"] == "echo"
    if not known and fault == "crashes-on-unknown-tool":
        raise KeyError(request["tool_name"])
    if fault == "no-answer":
        return
    response: dict = {"type": "response", "request_id": request["request_id"], "status": "ok"}
    if known:
        response["output"] = request["input"]
    else:
        response.update(status="error", error={"code": "unknown_tool", "message": "no such tool"})
    if fault == "answer-type":
        response["type"] = "result"
    if fault == "answer-id":
        response["request_id"] = "plugin_req_0000000000000000"
    if fault == "answer-status":
        response["status"] = "fine"
    if fault == "ok-with-error":
        response["error"] = {"code": "x", "message": "but also this"}
    if fault == "error-without-message":
        response.update(status="error", error={"code": "x", "message": "  "})
    write(json.dumps(response).encode() + b"\n")
    if fault == "afterthought":
        write(b"bye\n")


def read_line(fault: str) -> bytes:
    """Read one line: properly, or with the fault's own idea of reading."""
    if fault == "reads-once":
        return os.read(0, 1_048_576)
    if fault == "small-buffer":
        line = sys.stdin.buffer.readline(65_536)
        return line if line.endswith(b"\n") or not line else exit_badly()
    return sys.stdin.buffer.readline()


def exit_badly() -> bytes:
    os._exit(4)


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def linger(fault: bool) -> int:
    """Stay for ever if that is the fault, as far as anyone can tell; a minute is more than any deadline."""
    if fault:
        time.sleep(60)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "well-behaved"))
