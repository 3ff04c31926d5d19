"""A `duplex` plugin that speaks raw bytes and does as it is told, by keys, by its arguments, and by files beside it.

Keys: `x` exits, `h` hangs, `l` logs, `e` answers renders with an error, `b` asks to be asked again; others are shown.
Files in its directory: `broken` exits at once, `deaf` does not show Esc, `publishes` publishes something when it
starts, `stays` does nothing more once it has started.
"""

import json
import os
import sys
import threading

stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
shown = {"keys": [], "event": "", "again": 0, "error": False}


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    stdout.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stdout.flush()


def receive():
    length = None
    while (line := stdin.readline()) not in (b"\r\n", b""):
        length = int(line.partition(b":")[2])
    return None if length is None else json.loads(stdin.read(length))


def base64(data):
    import binascii

    return binascii.b2a_base64(data, newline=False).decode()


def hang():
    threading.Event().wait()


def log():
    said = {"level": "info", "message": "it was\x1b[31m told", "fields": {"size": 5, "name": "é"}}
    send({"method": "host/log", "params": said})


def render(params):
    width, height = params["viewport"]["width"], params["viewport"]["height"]
    lines = [f"{os.path.basename(os.getcwd())} {width}x{height}", " ".join(shown["keys"]), shown["event"]]
    cells = [
        [{"x": x, "y": y}, {"symbol": symbol, "modifier": 0}]
        for y, line in enumerate(lines)
        for x, symbol in enumerate(line)
    ]
    shown["again"] = max(0, shown["again"] - 1)
    buffer = {"width": width, "height": height, "cells": cells}
    return {"buffer": buffer, "redraw": shown["again"] > 0}


def press(key):
    code, mods = key["code"], key["mods"]
    name = code.get("ch") or f"f{code['n']}" if code["type"] in ("char", "f") else code["type"]
    name = f"{mods}:{name}" if mods else name
    if name == "x":
        os._exit(3)
    if name == "h":
        hang()
    if name == "l":
        log()
    shown["error"] = shown["error"] or name == "e"
    shown["again"] = 3 if name == "b" else shown["again"]
    if not (name == "esc" and os.path.exists("deaf")):
        shown["keys"].append(name)


def command(argv):
    first = argv[0] if argv else ""
    if first == "crash":
        os._exit(9)
    if first == "hang":
        hang()
    if first == "log":
        log()
    code = int(argv[1]) if first == "exit" else 0
    out = b"\xff\x00\x1b[31mred\r\n" if first == "bytes" else json.dumps(argv).encode() + b"\n"
    out = b"y\n" * int(argv[1]) if first == "much" else out
    err = b"\xfenote\n" if first == "bytes" else b""
    return {"stdout": base64(out), "stderr": base64(err), "exit_code": code}


def serve(method, params):
    if method == "plugin/init":
        name = os.path.basename(os.getcwd())
        return {"name": name, "version": "1.0.0"}
    if method == "plugin/render":
        return None if shown["error"] else render(params)
    if method == "plugin/cli_dispatch":
        return None if params["argv"][:1] == ["error"] else command(params["argv"])
    if method == "plugin/handle_key":
        press(params["key"])
    if method == "plugin/handle_event":
        shown["event"] = params["topic"]
    return {}


if os.path.exists("broken"):
    sys.exit("it is broken")
while (message := receive()) is not None:
    result = serve(message["method"], message.get("params"))
    if message["method"] == "plugin/init" and os.path.exists("publishes"):
        send({"method": "host/snapshot/publish", "params": {"topic": "news.today", "payload": ""}})
    if result is None:
        sys.stderr.write("why it\x1b[31m did not\n")
        sys.stderr.flush()
    if "id" in message:
        error = {"code": -32000, "message": "as \x1b[31masked"}
        send({"id": message["id"], **({"error": error} if result is None else {"result": result})})
    if os.path.exists("stays"):
        hang()
    if message["method"] == "plugin/shutdown":
        sys.exit(0)
