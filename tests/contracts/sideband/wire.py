"""What a worker could write: messages as lines, right and wrong, and one that answers from memory."""

import base64
import json

from plughost.contracts.base import Channel
from plughost.contracts.sideband.output import sequence

PNG = b"\x89PNG\r\n\x1a\n"
TOKEN = "0123456789abcdef" * 2
MARK = sequence(TOKEN)
OURS = {"worker": "python", "version": "1.0", "request_ids": True, "marks": True, "pid": 7}


def line(type, **members):
    """Return a message as a line."""
    return json.dumps({"type": type, **members}).encode() + b"\n"


def hello(**plughost):
    """Return the introduction of a worker with ids and marks, or of what is given."""
    return line("backend_info", language="python", supports_images=True, plughost={**OURS, **plughost})


FOREIGN = line("backend_info", language="R", supports_images=False)


def image(id="plot-1", data=PNG, is_new=True, **members):
    """Return a picture as a line."""
    text = base64.b64encode(data).decode()
    return line("plot_image", id=id, mime_type="image/png", data=text, is_new=is_new, **members)


class Worker:
    """A worker with ids and marks, written from the contract: it prints every line that it is given to run.

    What it writes is kept until `writes` is read: the streams are not ordered against each other.
    """

    def __init__(self):
        self.announced = []
        self.unread = b""
        self.control = b""
        self.writes = [(Channel.CONTROL_IN, hello())]
        self.ran = []

    def receive(self, channel, data):
        if channel is Channel.STDIN:
            self.unread += data
        else:
            self.control += data
            *lines, self.control = self.control.split(b"\n")
            self.announced += [json.loads(each) for each in lines]
        self.work()

    def work(self):
        while self.announced:
            message = self.announced[0]
            assert message["type"] == "stdin_write"
            size = len(message["text"].encode())
            if len(self.unread) < size:
                return
            self.announced.pop(0)
            code, self.unread = self.unread[:size], self.unread[size:]
            assert code.decode() == message["text"]
            self.run(message, code)

    def run(self, message, code):
        mark = sequence(message["mark"])
        self.ran.append(code)
        self.writes += [
            (Channel.STDOUT, code + mark),
            (Channel.STDERR, b"%d lines\n" % code.count(b"\n") + mark),
            (Channel.CONTROL_IN, line("request_end", request_id=message["request_id"], marked=True)),
        ]
