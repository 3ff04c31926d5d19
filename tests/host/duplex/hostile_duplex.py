"""A `duplex` plugin that does as it is told, however bad. Raw bytes, no SDK.

Its arguments are faults that it has from its start, such as `init-error` or `stubborn`. What it does later it is asked
for by calls of methods under `do/`, so that a test says when.
"""

import binascii
import json
import os
import signal
import sys
import threading

NAME = os.path.basename(os.getcwd())
FAULTS = [word.partition("=")[::2] for word in sys.argv[1:]]
WORDS = dict(FAULTS)
IDENTITY = {"name": NAME, "version": "1.0.0"}
INITS = {
    "init-old": {"name": NAME, "version": "1.0.0"},
    "init-new": {"manifest": {"plugin": {**IDENTITY, "abi_version": 2}}, "abi_version": 2},
    "init-all": {**IDENTITY, "manifest": {"plugin": {**IDENTITY, "abi_version": 2}}, "abi_version": 2},
    "init-greedy": {
        **IDENTITY,
        "granted_capabilities": ["event_bus", "network"],
        "capabilities": {"event_bus": True, "network": True},
    },
    "init-name": {"name": "another", "version": "1.0.0"},
    "init-version": {"name": NAME, "version": "1.0.1"},
    "init-abi": {"manifest": {"plugin": {**IDENTITY, "abi_version": 3}}, "abi_version": 3},
    "init-neither": {"hello": "world"},
    "init-null": None,
    "init-list": [],
}
told = []  # notifications, in order
answers = {}  # to its own calls
held = []  # ids of calls that it does not answer yet
numbers = iter(range(1, 2**31))


def write(data):
    while data:
        data = data[os.write(1, data) :]


def framed(body):
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def say(**members):
    write(framed(json.dumps({"jsonrpc": "2.0", **members}).encode()))


def base64(data):
    return binascii.b2a_base64(data, newline=False).decode()


buffer = b""


def read(size):
    """Return *size* bytes of the input, or fewer at its end."""
    global buffer
    parts, length = [buffer], len(buffer)
    while length < size and (more := os.read(0, 1_048_576)):
        parts.append(more)
        length += len(more)
    whole = b"".join(parts)
    buffer = whole[size:]
    return whole[:size]


def receive():
    """Return the next message, or None at the end of the input."""
    global buffer
    while b"\r\n\r\n" not in buffer:
        more = os.read(0, 65_536)
        if not more:
            return None
        buffer += more
    head, _, buffer = buffer.partition(b"\r\n\r\n")
    body = read(int(head.partition(b":")[2]))
    return json.loads(body)


def forever():
    threading.Event().wait()


def touch(path):
    """Open a named pipe and close it again: whoever waits for that knows that we are here."""
    os.close(os.open(path, os.O_WRONLY))


def ask(method, params=None, number=None):
    """Call the host, and serve everything else until it has answered."""
    number = next(numbers) if number is None else number
    say(id=number, method=method, params={} if params is None else params)
    while number not in answers:
        message = receive()
        if message is None:
            sys.exit(0)
        hear(message)
    return answers.pop(number)


def daemon(ignores):
    """Start a child of our own that holds our pipes and does not hear the end of the input."""
    import subprocess  # costs as much as all the rest together

    code = "import signal,threading;"
    if ignores:
        code += "signal.signal(signal.SIGTERM,signal.SIG_IGN);"
    code += "print(flush=True,file=__import__('sys').stderr);threading.Event().wait()"
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", code]).pid


def do(what, params, id):
    """Do what a test asks for. Returns the result, or None if it is not to be answered now."""
    match what:
        case "echo":
            return {"echo": params}
        case "long":
            return "x" * params["size"]
        case "pid":
            return {"pid": os.getpid()}
        case "told":
            for each in told:  # or the answer might not fit a frame
                if len((each["params"] or {}).get("payload", "")) > 350_000:
                    each["params"]["payload"] = each["params"]["payload"][:80]
            return {"told": told}
        case "hold":  # an answer that comes when it is told to, or never
            held.append(id)
            if params.get("pipe"):
                touch(params["pipe"])
            return None
        case "release":
            for each in held:
                say(id=each, result={"late": True})
            count = len(held)
            held.clear()
            return {"released": count}
        case "block":  # it neither reads nor answers until somebody opens the pipe, or at all
            say(id=id, result={})
            touch(params["pipe"]) if params.get("pipe") else forever()
            return None
        case "ask":
            if "stretch" in params:  # a path that is longer than the host could say to us
                params["params"] = {"path": "/" + "\x01" * params["stretch"]}
            answer = ask(params["method"], params.get("params"), params.get("id"))
            if "stretch" in params:
                return {"code": answer["error"]["code"]}
            return {key: answer[key] for key in ("result", "error") if key in answer}
        case "ask-large":
            payload = base64(b"x" * params["size"])
            inner = {"action": "act", "payload": payload}
            return {"answers": ask_many({**params, "method": "host/action/invoke", "params": inner})}
        case "ask-many":
            return {"answers": ask_many(params)}
        case "tell":
            for _ in range(params.get("times", 1)):
                say(method=params["method"], params=params.get("params", {}))
            return {}
        case "write":  # anything at all, before the answer
            write(binascii.a2b_base64(params["data"]))
            return {} if params.get("answer", True) else None
        case "answer":  # this very call, in a way of the test's own; $ID stands for its id
            write(framed(params["body"].replace("$ID", str(id)).encode()))
            return None
        case "write-then-exit":
            write(binascii.a2b_base64(params["data"]))
            os._exit(params.get("code", 0))
        case "exit":
            os.write(2, params.get("says", "").encode())
            os._exit(params.get("code", 0))
        case "die":
            os.kill(os.getpid(), params.get("signal", signal.SIGKILL))
            forever()
        case "close":
            if params["fd"] == 0:
                say(id=id, result={})
            os.close(params["fd"])
            if params.get("pipe"):
                touch(params["pipe"])
            forever()
        case "daemon":
            return {"pid": daemon(params.get("ignores", False))}
        case "log":
            os.write(2, params["text"].encode())
            return {}
        case "log-large":  # a log of so many bytes, all of it empty lists
            head, tail = b'{"jsonrpc":"2.0","method":"host/log","params":', b'"fields":[[]'
            inner = b'{"level":"error","message":"m",' + tail
            inner += b",[]" * ((params["size"] - len(inner) - 2) // 3)
            write(framed(head + inner + b" " * (params["size"] - len(inner) - 2) + b"]}}"))
            return {}
        case "publish-large":
            data = base64(b"x" * params["size"])
            body = (
                b'{"jsonrpc":"2.0","method":"host/snapshot/publish","params":{"topic":"%b","payload":"%b"}}'
            )
            for _ in range(params["times"]):
                write(framed(body % (params["topic"].encode(), data.encode())))
            return {}
    return None


def ask_many(params):
    """Make many calls before the first answer is read. Returns how often each kind of answer came."""
    count, method, inner = params["count"], params["method"], params.get("params", {})
    ids = [next(numbers) for _ in range(count)]
    for number in ids:
        say(id=number, method=method, params=inner)
    wanted = set(ids)
    kinds = {}
    while wanted:
        message = receive()
        if message is None:
            sys.exit(0)
        hear(message)
        for number in wanted & answers.keys():
            answer = answers.pop(number)
            kind = str(answer["error"]["code"]) if "error" in answer else "result"
            kinds[kind] = kinds.get(kind, 0) + 1
            wanted.discard(number)
    return kinds


def serve(method, params, id):
    if method == "plugin/init":
        return begin()
    if method.startswith("do/"):
        return do(method[3:], params, id)
    if method == "plugin/cli_dispatch":
        argv = params["argv"]
        if argv[:1] == ["do"]:
            return do(argv[1], json.loads(argv[2]) if argv[2:] else {}, id)
        out = {"stdout": base64(json.dumps(params).encode()), "stderr": base64(b"\xff\x00\r\n")}
        return {**out, "exit_code": int(argv[0]) if argv else 0}
    if method == "plugin/render":
        if "render-hangs" in WORDS:
            held.append(id)
            return None
        size = params["viewport"]
        return {"buffer": {**size, "cells": [[{"x": 0, "y": 0}, {"symbol": "x", "modifier": 0}]]}}
    if method == "host/action/invoke":
        return act(params, id)
    if method == "plugin/shutdown":
        if "shutdown-mute" in WORDS:
            return None
        if "shutdown-exits" in WORDS:
            os._exit(0)
        return {}
    say(id=id, error={"code": -32601, "message": f"method not found: {method}"})
    return None


def act(params, id):
    """Do an action; its payload says what."""
    payload = binascii.a2b_base64(params["payload"])
    word, _, rest = payload.partition(b" ")
    match word:
        case b"hold":
            held.append(id)
            return None
        case b"release":  # what was held
            for each in held:
                say(id=each, result={"payload": ""})
            held.clear()
        case b"exit":
            os._exit(7)
        case b"error":
            say(id=id, error={"code": -32050, "message": "as asked", "data": {"for": "nothing"}})
            return None
        case b"wrong":
            return {"payload": 5}
        case b"via":  # another action, of another plugin or our own
            action, _, inner = rest.partition(b" ")
            inner = {"action": action.decode(), "payload": base64(inner), "timeout_ms": 0}
            answer = ask("host/action/invoke", inner)
            if "error" in answer:
                say(id=id, error=answer["error"])
                return None
            came = binascii.a2b_base64(answer["result"]["payload"])
            return {"payload": base64(NAME.encode() + b">" + came)}
    return {"payload": base64(NAME.encode() + b":" + payload)}


def begin():
    for word, value in FAULTS:
        if word == "init-asks":
            method, _, topic = value.partition(":")
            answer = ask(method, {"topic": topic})
            told.append({"method": "init-asked", "params": answer.get("result", answer.get("error"))})
        if word == "init-tells":
            say(method="host/snapshot/publish", params={"topic": value, "payload": base64(b"from init")})
        if word == "init-exits":
            os._exit(int(value))
        if word in INITS:
            return INITS[word]
        if word == "init-error":
            say(id=1, error={"code": -32003, "message": "I will not"})
            return None
        if word == "init-waits":
            touch(value)
        if word == "init-never":
            return None
        if word == "init-closes":  # its input
            os.close(0)
            forever()
        if word == "init-bad-error":
            say(id=1, error="no object")
            return None
    return IDENTITY


def hear(message):
    method, number = message.get("method"), message.get("id")
    if method is None:
        answers[number] = message
        return
    if number is None:
        told.append({"method": method, "params": message.get("params")})
        if "crash-on" in WORDS and WORDS["crash-on"] in json.dumps(message):
            os._exit(9)
        if "relay" in WORDS and method == "plugin/handle_event":
            say(method="host/snapshot/publish", params={**message["params"], "topic": WORDS["relay"]})
        return
    result = serve(method, message.get("params"), number)
    if result is not None:
        say(id=number, result=result)


def main():
    if "note" in WORDS:  # that it was started
        with open(WORDS["note"], "a") as file:
            file.write(f"{os.getpid()}\n")
    if "stubborn" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "exit-if" in WORDS and os.path.exists(WORDS["exit-if"]):
        sys.exit(3)
    if "early-asks" in WORDS:
        say(id=0, method=WORDS["early-asks"], params={"topic": "t"})
    if "early-tells" in WORDS:
        say(
            method="host/snapshot/publish",
            params={"topic": WORDS["early-tells"], "payload": base64(b"early")},
        )
    if "early-writes" in WORDS:
        write(binascii.a2b_base64(WORDS["early-writes"]))
    if "deaf" in WORDS:  # it never reads
        forever()
    if "exits" in WORDS:
        sys.exit(int(WORDS["exits"]))
    while (message := receive()) is not None:
        hear(message)
        if "ready" in WORDS and message.get("method") == "plugin/init":
            touch(WORDS["ready"])
    if "stubborn" in WORDS:
        forever()


main()
