"""A provider that plays what it is told, word by word: raw bytes, no SDK, no protobuf, so that it starts at once.

Each argument is a word, `WHAT` or `WHAT:MORE`. The test that wrote them knows protobuf; this does not.
"""

import os
import signal
import sys
import time

FOREVER = 600  # seconds; far beyond every deadline of a test


def write(data: bytes, fd: int = 1) -> None:
    while data:
        data = data[os.write(fd, data) :]


def exactly(size: int) -> bytes:
    pieces = []
    while size:
        piece = os.read(0, min(size, 65_536))
        if not piece:
            os._exit(0 if not pieces else 9)  # its input has ended, between two frames or inside of one
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def read() -> bytes:
    """Return the next frame, and exit if there is none."""
    header = exactly(4)
    size = int.from_bytes(header, "big")
    return exactly(size) if size else b""


def note(path: str, data: bytes) -> None:
    """Append *data* behind its length, as one write."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    write(len(data).to_bytes(4, "big") + data, fd)
    os.close(fd)


def stay() -> None:
    while True:
        time.sleep(FOREVER)


def leave_a_child(path: str) -> None:
    """Start a process that holds stdout and stays, and wait until it has written its id to *path*."""
    if os.fork() == 0:
        os.setsid()
        with open(path + ".part", "w") as file:
            file.write(str(os.getpid()))
        os.rename(path + ".part", path)
        stay()
    while not os.path.exists(path):
        time.sleep(0.001)


def play(words: list[str]) -> None:
    place = 0
    while place < len(words):
        what, _, more = words[place].partition(":")
        place += 1
        if what == "read":
            frame = read()
            if more:
                note(more, frame)
        elif what == "write":
            write(bytes.fromhex(more))
        elif what == "file":
            with open(more, "rb") as file:
                write(file.read())
        elif what == "dribble":
            for byte in bytes.fromhex(more):
                write(bytes([byte]))
        elif what == "again":
            place = int(more)
        elif what == "exit":
            os._exit(int(more))
        elif what == "die":
            number = int(more)
            if number != signal.SIGKILL:
                signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            stay()
        elif what == "stay":
            stay()
        elif what == "ignore":
            signal.signal(int(more), signal.SIG_IGN)
        elif what == "close":
            os.close(int(more))
        elif what == "say":
            write(more.encode("utf-8", "surrogateescape"), 2)
        elif what == "shout":
            for _ in range(int(more)):
                write(b"z" * 65_535 + b"\n", 2)
        elif what == "flood":
            while True:
                write(b"\0" * 65_536)
        elif what == "child":
            leave_a_child(more)
        elif what == "environ":
            joined = b"\0".join(key + b"=" + value for key, value in os.environb.items())
            note(more, joined)
        elif what == "sip":  # wait for the first bytes of a request
            os.read(0, 1_000)
        elif what == "drain":  # wait until its input ends
            while os.read(0, 65_536):
                pass
        elif what == "signal":  # a named pipe: returns when somebody reads from it
            with open(more, "w"):
                pass
        elif what == "await":  # a named pipe: returns when somebody has written to it
            with open(more) as file:
                file.read()
        else:
            raise ValueError(what)


if __name__ == "__main__":
    play(sys.argv[1:])
