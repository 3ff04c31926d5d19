"""A worker in raw bytes, without ids unless told so: it shows each line that it reads. Its faults are arguments."""

import json
import os
import signal
import sys

FAULTS = set(sys.argv[1:])
READ, WRITE = (int(os.environ[f"MCP_CONSOLE_IPC_{way}_FD"]) for way in ("READ", "WRITE"))


def tell(type, **members):
    os.write(WRITE, json.dumps({"type": type, **members}).encode() + b"\n")


def lines(fd):
    rest = b""
    while data := os.read(fd, 65_536):
        *whole, rest = (rest + data).split(b"\n")
        yield from whole


def introduce():
    if "mute" in FAULTS:
        signal.pause()
    if "leaves" in FAULTS:
        os.write(2, b"I would rather not\n")
        sys.exit(7)
    if "deaf" in FAULTS:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGINT, lambda *_: interrupted())
    if "ids" in FAULTS:
        tell("backend_info", language="raw", plughost={"request_ids": True, "marks": "marks" in FAULTS})
    else:
        tell("backend_info", language="raw")
        tell("readline_start", prompt="> ")


def interrupted():
    os.write(1, b"interrupted\n")
    raise InterruptedError


def run(line):
    """Do what *line* says."""
    word, _, rest = line.decode().partition(" ")
    if word == "say":
        os.write(1, rest.encode() + b"\n")
    elif word == "sleep":
        os.write(1, b"sleeping\n")
        signal.pause()
    elif word == "exit":
        os._exit(int(rest))
    elif word == "bytes":
        os.write(WRITE, eval(rest))
    elif word == "close":
        os.close(WRITE)
        signal.pause()
    elif word == "ask":
        tell("readline_start", prompt=rest)
        return "ask"
    return None


def serve_without_ids():
    asked = False
    for line in lines(0):
        tell("readline_result", prompt="> ", line=line.decode() + "\n")
        if asked:
            os.write(1, b"answered " + line + b"\n")
        asked = False
        try:
            asked = run(line) == "ask"
        except InterruptedError:
            pass
        if asked:
            continue
        tell("request_end")
        if "twice" in FAULTS:
            tell("request_end")
        tell("readline_start", prompt="> ")


def serve_with_ids():
    incoming = lines(0)
    for told in lines(READ):
        message = json.loads(told)
        if message["type"] != "stdin_write":
            if message["type"] == "session_end" and "deaf" not in FAULTS:
                return
            continue
        line = next(incoming)
        number = message["request_id"]
        if "early" in FAULTS:
            tell("request_end", request_id=number + 1)
            tell("request_end")
        run(line)
        if "marks" in FAULTS and "liar" not in FAULTS:
            mark = b"\x1e" + message["mark"].encode() + b"\x1e"
            os.write(1, mark)
            os.write(2, mark)
        tell("request_end", request_id=number, marked="marks" in FAULTS)
        if "twice" in FAULTS:
            tell("request_end", request_id=number)


introduce()
serve_with_ids() if "ids" in FAULTS else serve_without_ids()
while "deaf" in FAULTS:
    signal.pause()
