"""One `sideband` worker with many faults, by its first argument: `sideband.FAULTS` lists them. Raw bytes, no SDK.

`without-ids` is a worker of the oldest kind, without ids and marks.
"""

import base64
import os
import select
import signal
import sys

from sideband_language import Language, explain
from sideband_wire import LINE_BYTES, Wire

TURN_S = 0.005  # how often a file is looked for in the background


class Worker:
    """The canary: it is told what to run, and runs it in the same thread in which it hears."""

    def __init__(self, fault):
        self.fault = fault
        self.ids = fault != "without-ids"
        self.wire = Wire(fault)
        self.language = Language(fault, self)
        self.request = None  # the message that began it
        self.over = []  # ids of earlier ones
        self.lines = []  # input for code that reads, not read yet
        self.later = ""  # a file to wait for in the background
        self.pictures, self.latest, self.changed = 0, "", ""
        self.late = b""  # what is printed too late
        self.due = ""  # a mark that is written too late
        self.count = 0  # of requests
        self.shown = 0  # pictures of this one

    # What happens

    def run(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # messages are enough for it
        self.introduce()
        while True:
            self.prompt()
            message = self.next()
            kind = message.get("type")
            if kind == "stdin_write" and message.get("request_id") in self.over:
                text = self.wire.take(message["text"])  # an answer that comes too late
                self.language.run(text if self.fault == "runs-late-input" else "")
            elif kind == "stdin_write":
                self.begin(message)
            elif kind == "interrupt":
                self.interrupted_idle(message)
            elif kind == "session_end":
                self.end()

    def introduce(self):
        if self.fault == "never-introduces-itself":
            select.select([], [], [])
        if self.fault == "exits-at-once":
            sys.exit("no")
        if self.fault == "closes-the-sideband":
            os.close(self.wire.told)
            select.select([], [], [])
        if self.fault == "speaks-before-its-introduction":
            self.wire.send("readline_start", prompt="> ")
        able = {
            "worker": "canary",
            "request_ids": True,
            "marks": True,
            "image_marks": True,
            "order_marks": True,
        }
        more = {"plughost": able} if self.ids else {}
        for _ in range(2 if self.fault == "introduces-itself-twice" else 1):
            self.wire.send("backend_info", language="canary", supports_images=True, **more)
        if self.fault == "says-more-than-is-known":
            self.wire.send("plughost_news", text="allowed")

    def prompt(self):
        if not self.ids:
            self.wire.send("readline_start", prompt="> ")

    def next(self):
        """Return the next message while no request runs."""
        while True:
            message = self.wire.hear(TURN_S if self.later else None)
            if message is not None:
                return message
            if self.later and os.path.exists(self.later):
                self.changed = self.latest
                if self.fault == "draws-in-the-background":
                    self.show(self.changed, is_new=False)
                    self.changed = ""
                os.remove(self.later)
                self.later = ""

    def begin(self, message):
        text = self.wire.take(message["text"])
        if self.due:
            self.mark(self.due)
        self.shown = self.ordered = 0
        self.request, self.lines = message, self.lines if self.fault == "keeps-what-is-left" else []
        self.count += 1
        if not self.ids:
            for line in text.splitlines(keepends=True):
                self.wire.send("readline_result", prompt="> ", line=line)
        error = False
        try:
            if self.changed:
                self.show(self.changed, is_new=False)
                self.changed = ""
            elif self.latest and self.fault == "sends-all-pictures-again":
                self.show(self.latest, is_new=False)
            self.language.run(text)
        except ValueError as failure:
            error = self.fault != "hides-its-errors"
            if self.fault != "says-nothing-of-errors":
                explain(failure)
        except InterruptedError:
            error = True
            explain("interrupted")
        if self.fault == "loses-one-in-a-hundred" and self.count % 100 == 0:
            select.select([], [], [])
        self.finish(error)

    def finish(self, error):
        """Tell that the request is over."""
        mark, told = self.request.get("mark"), self.tagged()
        if self.fault == "forgets-ids":
            told.pop("request_id", None)
        if self.fault == "names-another-id" and told:
            told["request_id"] += 1
        if self.fault == "repeats-the-last-end" and self.over:
            self.wire.send("request_end", request_id=self.over[-1], marked=True)
        if error and self.ids:
            told["error"] = True
        if mark is not None:
            told["marked"] = self.fault != "hides-its-marks"
            if self.fault == "marks-too-late":
                self.due = mark
            else:
                self.mark(mark)
        self.wire.send("request_end", **told)
        if self.fault == "ends-twice":
            self.wire.send("request_end", **told)
        if self.ids:
            self.over.append(self.request["request_id"])
        self.request = None
        self.odd_lines()

    def mark(self, mark):
        whole = b"\x1e" + mark.encode() + b"\x1e"
        for fd in (1, 2):
            if (fd, self.fault) not in ((2, "marks-one-stream"), (1, "marks-stderr-only")):
                os.write(fd, whole)
        os.write(1, self.late)
        self.late = b""

    def odd_lines(self):
        """Write what is no message, once."""
        odd = {
            "writes-no-json": b"done!\n",
            "writes-an-array": b'["request_end"]\n',
            "writes-no-type": b'{"kind": "request_end"}\n',
            "writes-no-utf-8": b'{"type": "readline_start", "prompt": "\xff"}\n',
            "writes-wrong-members": b'{"type": "readline_start", "prompt": 5}\n',
        }.get(self.fault)
        if odd is not None and self.count == 1:
            self.wire.write(odd)
        if self.fault == "writes-a-long-line" and self.count == 2:
            self.wire.write(b'{"type": "plot_image", "data": "' + b"A" * LINE_BYTES + b'"}\n')

    def tagged(self, **members):
        if self.ids and self.request is not None:
            members["request_id"] = self.request["request_id"]
        return members

    # What code can do

    def warn(self, text):
        """Print to stderr, between two order marks."""
        first = self.request.get("order_mark") if self.request is not None else None
        if first is None or self.fault == "marks-no-order":
            self.print(text, 2)
            return
        self.ordered += 2
        pair = [counted(first, each) for each in (self.ordered - 1, self.ordered)]
        if self.fault != "marks-the-order-on-one-stream":
            self.print("".join(pair), 1)
        self.print(pair[0] + text + pair[1], 2)

    def print(self, text, fd=1):
        view = memoryview(text.encode())
        while view:
            view = view[os.write(fd, view) :]

    def hold(self, text):
        """Print when the request is over."""
        self.late += text.encode()

    def wait(self, *, reads=False):
        """Wait until something is said that matters to the code that runs."""
        while True:
            message = self.wire.hear()
            kind, number = message.get("type"), message.get("request_id")
            if kind == "session_end":
                self.end(busy=True)
            elif kind == "interrupt":
                self.interrupt(number)
            elif kind == "stdin_write":
                self.lines += self.wire.take(message["text"]).splitlines(keepends=True)
                if reads:
                    return

    def interrupt(self, number):
        if self.fault == "dies-of-an-interrupt":
            sys.exit(1)
        if self.fault == "ignores-interrupts":
            return
        mine = self.request.get("request_id")
        is_mine = number is None or number == mine or self.fault == "interrupts-another-request"
        told = {} if number is None else {"request_id": number}
        outcome = "delivered" if is_mine or self.fault == "says-delivered-always" else "idle"
        if self.ids and self.fault != "never-answers-interrupts":
            self.wire.send(
                "interrupted", outcome="idle" if self.fault == "says-idle-always" else outcome, **told
            )
        if is_mine:
            if self.fault == "loses-its-memory":
                self.language.kept = ""
            if self.fault != "keeps-input-of-interrupted-code":
                self.lines = []
            else:
                self.fault = "keeps-what-is-left"
            raise InterruptedError

    def interrupted_idle(self, message):
        if self.fault == "dies-of-an-idle-interrupt":
            sys.exit(1)
        if self.fault == "forgets-at-an-idle-interrupt":
            self.language.kept = ""
        if self.ids:
            self.wire.send(
                "interrupted", outcome="idle", **{k: message[k] for k in ("request_id",) if k in message}
            )

    def ask(self, prompt):
        said = self.tagged(prompt=prompt)
        if self.fault == "echoes-another-id" and self.over:
            said["request_id"] = self.over[-1]
        if self.fault != "asks-without-a-word":
            self.wire.send("readline_start", **said)
        if not self.lines:
            self.wait(reads=True)
        line = self.lines.pop(0)
        if self.fault != "reports-no-lines":
            self.wire.send("readline_result", **self.tagged(prompt=prompt, line=line))
        if self.fault == "runs-its-input":
            self.language.run(line)
            return ""
        return line

    def draw(self, *, is_new):
        if is_new or not self.latest:
            self.pictures += self.fault != "one-id-for-all"
            self.latest = "picture-%d" % self.pictures
        told_new = is_new or self.fault == "always-new"
        name = self.latest + ("x" if self.fault == "another-id-when-it-changes" and not is_new else "")
        if self.fault == "never-draws":
            return
        self.show(name, is_new=told_new)

    def show(self, name, *, is_new):
        data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + os.urandom(8)).decode()
        if self.fault == "base64-that-is-none":
            data = "no base64!"
        told = self.tagged(id=name, mime_type="image/png", data=data, is_new=is_new)
        first = self.request.get("image_mark") if self.request is not None else None
        if first is not None:
            self.shown += 1
            shift = self.shown - (self.fault == "marks-pictures-from-0")
            mark = counted(first, shift).strip("\x1e")
            if self.fault != "marks-no-pictures":
                told["mark"] = mark
            if self.fault != "says-marks-that-it-does-not-write":
                os.write(1, b"\x1e" + mark.encode() + b"\x1e")
        self.wire.send("plot_image", **told)

    def forget(self):
        """In a forked copy: what is the host's is not its own."""
        for fd in (self.wire.control, self.wire.told):
            os.close(fd)

    # The end

    def leave(self, status):
        if self.fault == "leaves-without-a-word":
            os._exit(status)
        told = {"status": status + (self.fault == "says-another-status")}
        self.mark(self.request.get("mark") or "") if self.ids else None
        self.wire.send("session_end", reason="exit", **told)
        if self.fault == "speaks-after-its-end":
            self.wire.send("readline_start", **self.tagged(prompt="> "))
        os._exit(0 if self.fault == "exits-with-another-status" else status)

    def end(self, *, busy=False):
        if self.fault == "ignores-session-end" or (busy and self.fault == "ends-only-when-idle"):
            select.select([], [], [])
        self.wire.send("session_end", reason="asked", status=0)
        sys.exit(0)


def counted(base, number):
    """Return mark *number* of those made from *base*, with its separators."""
    return "\x1e%s%08x\x1e" % (base[:24], (int(base[24:], 16) + number) % 2**32)


if __name__ == "__main__":
    Worker(sys.argv[1]).run()
