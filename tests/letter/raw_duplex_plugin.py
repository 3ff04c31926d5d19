"""A `duplex` plugin in plain Python, from the document alone. Its command lines say what it does.

It is copied into the directory of each plugin of `test_003_duplex`, under the plugin's name.
"""

import base64
import json
import os
import sys
import time
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = os.path.basename(__file__)
waiting = []  # messages that came while an answer was awaited
heard = []  # every message of the host, in order
numbers = iter(range(1, 10**6))


def read():
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = os.read(0, 1)
        if not byte:
            sys.exit(0)
        head += byte
    left = int(head.split(b":")[1])
    body = b""
    while len(body) < left:
        body += os.read(0, left - len(body))
    heard.append(json.loads(body))
    return heard[-1]


def write(body):
    data = b"Content-Length: %d\r\n\r\n" % len(body) + body
    while data:
        data = data[os.write(1, data) :]


def say(**members):
    write(json.dumps({"jsonrpc": "2.0", **members}).encode())


def ask(method, params, number=None):
    number = next(numbers) if number is None else number
    say(id=number, method=method, params=params)
    while True:
        message = read()
        if "method" not in message and message.get("id") == number:
            return message
        waiting.append(message)


def b64(data):
    return base64.b64encode(data).decode()


def init(params):
    say(method="host/snapshot/publish", params={"topic": "raw.during", "payload": b64(b"init")})
    ask("host/snapshot/get", {"topic": "raw.during"})
    with open(os.path.join(HERE, "manifest.toml"), "rb") as file:
        return {"manifest": tomllib.load(file), "abi_version": 2, "later": {"optional": 1}}


def render(params):
    size = params["viewport"]
    if not all(0 <= size[side] < 65536 for side in ("width", "height")):
        raise ValueError("a size that is none")
    cells = [[{"x": 0, "y": 0}, {"symbol": "H", "modifier": 1}], [{"x": 1, "y": 0}, {"symbol": "i"}]]
    cells.append([{"x": size["width"] + 5, "y": 0}, {"symbol": "!", "fg": {"r": 255, "g": 0, "b": 0}}])
    return {"buffer": {"width": size["width"], "height": size["height"], "cells": cells}}


def cli(params):
    if not isinstance(params["namespace"], str) or not isinstance(params["argv"], list):
        raise TypeError("a command line that is none")
    verb, *words = params["argv"] or ["nothing"]
    if params["namespace"] != NAME:
        return {"stdout": "", "stderr": b64(b"no such namespace\n"), "exit_code": 2}
    given = [json.loads(word) for word in words]
    out, err, code = b"", "", 0
    if verb == "ask":
        out = json.dumps(ask(*given)).encode()
    elif verb == "tell":
        say(method=given[0], params=given[1])
    elif verb == "heard":
        out = json.dumps([each for each in heard if each.get("method") == given[0]]).encode()
    elif verb == "order":
        out = json.dumps([each["method"] for each in heard if "/handle_" in each.get("method", "")]).encode()
    elif verb == "first":
        out = json.dumps(heard[0]).encode()
    elif verb == "raw":
        os.write(1, base64.b64decode(given[0]))
    elif verb == "pad":
        body = b'{"jsonrpc":"2.0","method":"host/log","params":{"level":"error","message":"padded"}}'
        write(body + b" " * (given[0] - len(body)))
    elif verb == "die":
        os.write(1, base64.b64decode(given[0]))
        os._exit(given[1])
    elif verb == "wait":
        with open(given[0], "rb") as file:
            file.read()
    elif verb == "sleep":
        time.sleep(given[0])
    elif verb == "stderr":
        os.write(2, given[0].encode() + b"\n")
    elif verb == "bytes":
        out, err, code = bytes(range(256)), b64(b"\xff"), 7
    elif verb == "array":
        return {"stdout": [104, 105], "stderr": [], "exit_code": 0}
    elif verb == "refuse":
        return None
    return {"stdout": b64(out), "stderr": err, "exit_code": code}


def act(params):
    if not isinstance(params["action"], str) or not isinstance(params["payload"], str):
        raise TypeError("an action that is none")
    if params["action"] not in (NAME, f"{NAME}.act", f"{NAME}.slow"):
        return None
    if params["action"] == f"{NAME}.slow":
        time.sleep(2)
    return {"payload": params["payload"]}


def answer(method, params):
    """Return the result or the error of a request."""
    try:
        result = METHODS[method](params) if method in METHODS else None
    except (KeyError, TypeError, ValueError):
        return {"error": {"code": -32602, "message": "invalid params"}}
    return (
        {"error": {"code": -32601, "message": "method not found"}} if result is None else {"result": result}
    )


METHODS = {
    "plugin/init": init,
    "plugin/render": render,
    "plugin/cli_dispatch": cli,
    "plugin/shutdown": lambda _: {},
    "host/action/invoke": act,
}
say(method="host/snapshot/publish", params={"topic": "raw.early", "payload": b64(b"before init")})
while True:
    message = waiting.pop(0) if waiting else read()
    if "id" not in message or "method" not in message:
        if message.get("method") == "plugin/shutdown":
            sys.exit(0)
        continue
    say(id=message["id"], **answer(message["method"], message["params"]))
    if message["method"] == "plugin/shutdown":
        sys.exit(0)
