"""A plugin with every fault, chosen by its first argument. Raw bytes, no SDK.

The faults that must be seen by the host at a certain stage are named `STAGE-FAULT`.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time

VERSION = "rterm.plugin.v1"
FOREVER = 600  # seconds; far beyond every deadline of a test


def write(data: bytes, fd: int = 1) -> None:
    while data:
        data = data[os.write(fd, data) :]


def hello(**changes) -> bytes:
    manifest = {
        "plugin_id": "hostile",
        "plugin_version": "1",
        "protocol_version": VERSION,
        "exposed_tools": ["echo"],
        **changes.pop("manifest", {}),
    }
    return json.dumps({"type": "handshake", "manifest": manifest, **changes}).encode()


def shake() -> None:
    sys.stdin.buffer.readline()
    write(hello() + b"\n")


def request() -> dict:
    return json.loads(sys.stdin.buffer.readline())


def ok(asked: dict, **changes) -> bytes:
    answer = {"type": "response", "request_id": asked["request_id"], "status": "ok", "output": asked["input"]}
    return json.dumps({**answer, **changes}).encode() + b"\n"


def daemon(pid_file: str, *, scrub: bool = False, close: bool = False) -> None:
    """Double-fork into a session of its own, write its pid, and stay."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    if close:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
    with open(pid_file + ".part", "w") as file:
        file.write(str(os.getpid()))
    os.rename(pid_file + ".part", pid_file)
    if scrub:
        os.execve(sys.executable, [sys.executable, "-I", "-c", f"import time; time.sleep({FOREVER})"], {})
    time.sleep(FOREVER)
    os._exit(0)


def wait_for(path: str) -> None:
    while not os.path.exists(path):
        time.sleep(0.001)


RAW_HANDSHAKES = {
    "empty-line": b"\n",
    "array": b"[1]\n",
    "null": b"null\n",
    "text": b"Hello, I am a plugin!\n",
    "content-length": b"Content-Length: 99999999999999\r\n\r\n",
    "length-prefix": b"\xff\xff\xff\xff" + b"x" * 100 + b"\n",
    "bom": b"\xef\xbb\xbf" + hello() + b"\n",
    "utf-16": hello().decode().encode("utf-16") + b"\n",
    "latin-1": hello()[:-1] + b',"x":"caf\xe9"}\n',
    "surrogate-bytes": hello()[:-1] + b',"x":"\xed\xa0\x80"}\n',
    "surrogate-escape": hello(manifest={"plugin_id": "\ud800"}) + b"\n",
    "nan": hello()[:-1] + b',"x":NaN}\n',
    "two-objects": hello() + hello() + b"\n",
    "trailing-garbage": hello() + b" and more\n",
    "pretty": json.dumps(json.loads(hello()), indent=2).encode() + b"\n",
    "deep": hello()[:-1] + b',"x":' + b"[" * 500_000 + b"}\n",
    "deep-raw": b"[" * 1_000_000 + b"\n",
    "huge-int-name": b'{"type":"handshake","manifest":{"plugin_id":' + b"9" * 5000 + b"}}\n",
    "name-is-true": b'{"type":"handshake","manifest":{"plugin_id":true}}\n',
}


def main(fault: str, *rest: str) -> int:
    stage, _, what = fault.partition("-")
    if stage == "raw":
        sys.stdin.buffer.readline()
        write(RAW_HANDSHAKES[what])
        return 0
    if stage == "manifest":
        sys.stdin.buffer.readline()
        write(hello(**json.loads(what)) + b"\n")
        sys.stdin.buffer.readline()
        return 0
    if stage == "exit":
        return int(what)
    if stage == "answer":
        shake()
        asked = request()
        write(ok(asked, **json.loads(what)))
        return 0
    match fault:
        case "well":
            shake()
            write(ok(request()))
        case "flood":
            while True:
                write(b"x" * 65536)
        case "flood-lines":
            sys.stdin.buffer.readline()
            while True:
                write(b'{"type":"log"}\n' * 1000)
        case "four-million":
            sys.stdin.buffer.readline()
            write(b'{"type":"handshake","manifest":' + b"[" * 4_000_000 + b"\n")
        case "half-line":
            sys.stdin.buffer.readline()
            write(hello()[:-10])
        case "no-newline":
            sys.stdin.buffer.readline()
            write(hello() + b"\n")
            write(ok(request())[:-1])
        case "crlf":
            sys.stdin.buffer.readline()
            write(hello() + b"\r\n")
            write(ok(request())[:-1] + b"\r\n")
        case "slow-loris":
            for byte in hello():
                write(bytes([byte]))
                time.sleep(0.3)
        case "split-writes":
            shake()
            for byte in ok(request()):
                write(bytes([byte]))
        case "silent":
            time.sleep(FOREVER)
        case "silent-after-handshake":
            shake()
            time.sleep(FOREVER)
        case "late":
            shake()
            asked = request()
            signal.signal(signal.SIGTERM, lambda *_: (write(ok(asked)), os._exit(0)))
            time.sleep(FOREVER)
        case "early-response":
            sys.stdin.buffer.readline()
            early = {"request_id": "plugin_req_0000000000000000", "input": 1}
            write(hello() + b"\n" + ok(early))
            time.sleep(FOREVER)
        case "repeats-keys":
            shake()
            write(ok(request(), output="first")[:-2] + b',"output":"last"}\n')
        case "answers-twice":
            shake()
            asked = request()
            write(ok(asked) + ok(asked, output="second"))
        case "deep-output":
            shake()
            asked = request()
            line = ok(asked, output="@").replace(b'"@"', b"[" * 500_000 + b"]" * 500_000)
            write(line)
        case "wide-output":
            shake()
            asked = request()
            write(ok(asked, output="@").replace(b'"@"', b"[" + b"[]," * 340_000 + b"[]]"))
        case "infinite-float":
            shake()
            asked = request()
            write(ok(asked, output="@").replace(b'"@"', b"1e999"))
        case "sized":
            shake()
            asked = request()
            line = ok(asked, output="")
            write(ok(asked, output="x" * (int(rest[0]) - len(line) + 1)))
        case "stderr-escapes":
            shake()
            asked = request()
            write(b"\x1b]52;c;ZXZpbA==\x07 \x1b[31mred\r\x00 \xff\xfe done\n" + b"y" * 10_000_000 + b"\n", 2)
            write(ok(asked))
        case "stderr-flood":
            shake()
            asked = request()
            for _ in range(int(rest[0])):
                write(b"z" * 1023 + b"\n", 2)
            write(ok(asked))
        case "never-reads":
            write(hello() + b"\n")
            time.sleep(FOREVER)
        case "closes-stdin":
            os.close(0)
            time.sleep(FOREVER)
        case "closes-stdin-after-handshake":
            shake()
            os.close(0)
            time.sleep(FOREVER)
        case "closes-stdout":
            os.close(1)
            time.sleep(FOREVER)
        case "closes-stdout-after-handshake":
            shake()
            request()
            os.close(1)
            time.sleep(FOREVER)
        case "answers-and-dies":
            shake()
            write(ok(request()))
            os._exit(0)
        case "exits-after-handshake":
            shake()
            os._exit(int(rest[0]))
        case "exits-after-request":
            shake()
            request()
            os._exit(int(rest[0]))
        case "answers-exit":
            shake()
            write(ok(request()))
            os._exit(int(rest[0]))
        case "lingers":
            shake()
            write(ok(request()))
            time.sleep(FOREVER)
        case "half-a-long-answer":
            shake()
            request()
            write(b'{"type":"response","output":"' + b"x" * 20_000)
            time.sleep(FOREVER)
        case "error-and-lingers":
            shake()
            write(ok(request(), status="error", error={"code": "mine", "message": "no"}))
            time.sleep(FOREVER)
        case "ignores-sigterm":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            shake()
            request()
            time.sleep(FOREVER)
        case "ignores-eof-and-sigterm":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            shake()
            time.sleep(FOREVER)
        case "stops-itself":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "stops-itself-later":
            shake()
            request()
            os.kill(os.getpid(), signal.SIGSTOP)
        case "segfaults":
            shake()
            request()
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGSEGV)
            time.sleep(FOREVER)
        case "daemon" | "daemon-scrubbed" | "daemon-closed":
            shake()
            asked = request()
            daemon(rest[0], scrub=fault == "daemon-scrubbed", close=fault == "daemon-closed")
            wait_for(rest[0])
            write(ok(asked))
        case "undumpable-child":
            shake()
            asked = request()
            if os.fork() == 0:
                import ctypes

                null = os.open(os.devnull, os.O_RDWR)
                for fd in (0, 1, 2):
                    os.dup2(null, fd)
                ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
                with open(rest[0] + ".part", "w") as file:
                    file.write(str(os.getpid()))
                os.rename(rest[0] + ".part", rest[0])
                time.sleep(FOREVER)
                os._exit(0)
            wait_for(rest[0])
            write(ok(asked))
        case "daemon-and-crash":
            daemon(rest[0])
            wait_for(rest[0])
            return 5
        case "daemon-and-hang":
            shake()
            request()
            daemon(rest[0])
            wait_for(rest[0])
            time.sleep(FOREVER)
        case "child-floods":
            shake()
            write(ok(request()))
            subprocess.Popen(["sh", "-c", "exec yes"], stdin=subprocess.DEVNULL)
            os._exit(0)
        case "flips-flags":
            for fd in (0, 1, 2):
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 4096)
            line = sys.stdin.buffer.readline()
            os.set_blocking(1, False)
            os.set_blocking(0, False)
            write(hello() + b"\n")
            os.set_blocking(0, True)
            write(ok(request()))
            assert line
        case "opens-everything":
            shake()
            asked = request()
            opened = []
            try:
                while True:
                    opened.append(os.open("/dev/null", os.O_RDONLY))
            except OSError as error:
                write(ok(asked, output={"opened": len(opened), "errno": error.errno}))
        case "surroundings":
            shake()
            asked = request()
            fds = {}
            for name in os.listdir("/proc/self/fd"):
                try:
                    fds[name] = os.readlink(f"/proc/self/fd/{name}")
                except OSError:
                    pass
            found = {
                "environment": dict(os.environ),
                "fds": {fd: what for fd, what in fds.items() if not what.startswith("/proc/")},
                "cwd": os.getcwd(),
                "sid": os.getsid(0) == os.getpid(),
            }
            write(ok(asked, output=found))
        case "eats-memory":
            shake()
            asked = request()
            try:
                hog = bytearray(int(rest[0]) << 20)
                write(ok(asked, output=len(hog)))
            except MemoryError:
                write(ok(asked, status="error", error={"code": "memory", "message": "MemoryError"}))
        case "burns-cpu":
            shake()
            request()
            while True:
                pass
        case "writes-file":
            shake()
            asked = request()
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            with open(rest[0], "wb") as file:
                while True:
                    file.write(b"x" * 65536)
        case _:
            raise ValueError(fault)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
