"""Calls a function at the steps at which Python looks for signals, one after another, as a signal might come there."""

import dis
import functools
import sys

WATCHED = (
    *(
        "duplex_conversation.py",
        "duplex_inbox.py",
        "duplex_outbox.py",
        "duplex_error.py",
        "duplex_message.py",
    ),
    *("content_length.py", "buffer.py", "small_json.py"),
)


@functools.cache
def looks_for_signals(code):
    """Return the offsets of the instructions of *code* after which Python looks for signals."""
    return {
        each.offset
        for each in dis.get_instructions(code)
        if each.opname.startswith(("CALL", "RESUME"))
        or ("BACKWARD" in each.opname and "NO_INTERRUPT" not in each.opname)
    }


class Tripwire:
    """Calls *handler* at the *number*-th such step of the code that is *watched*, while a plugin serves.

    If *always*, it need not serve.
    """

    def __init__(self, number, handler, *, watched=WATCHED, always=False):
        self.number, self.handler = number, handler
        self._watched, self._always = watched, always
        self._serving = None  # the frame that serves
        self._last = {}  # the last instruction of each frame

    def trace(self, frame, what, _):
        code = frame.f_code
        if what == "call":
            is_watched = code.co_filename.endswith(self._watched)
            if (
                is_watched or "plughost_sdk" in code.co_filename
            ):  # not what a test puts in the place of a system call
                self._last.pop(frame.f_back, None)  # it is in Python: its return is no such step
            if not is_watched:
                return None
            if code.co_name == "_serve":
                self._serving = frame
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            self._last[frame] = 0  # RESUME, which is the first that can be
        elif what == "return":
            self._last.pop(frame, None)
            if frame is self._serving:
                self._serving = None
        elif what == "opcode":
            before = self._last.get(frame)
            self._last[frame] = frame.f_lasti
            if before is not None and (before == 0 or before in looks_for_signals(code)):
                self._step()
        return self.trace

    @property
    def has_come(self):
        return not self.number

    def _step(self):
        if (self._always or self._serving is not None) and self.number:
            self.number -= 1
            if not self.number:
                self.handler()

    def watch(self, function, *given):
        before = sys.gettrace()
        sys.settrace(self.trace)
        try:
            return function(*given)
        finally:
            sys.settrace(before)
