"""A person at a console: lines to requests, until Ctrl-D. Ctrl-C at the prompt drops the line, and nothing else.

Lines that begin with a colon are for us: no statement of Python or R does.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import PlughostError
from ...host.sideband.blocking_console import BlockingConsole
from ...host.sideband.reply import ReplyState
from ...messages.quoting import is_utf8
from ..cli.terminal import one_line
from .asking import NOT_UTF8, Asking
from .blocks import Manner, join, manner
from .display import Display
from .history import History
from .keyboard import Keyboard
from .line_editor import LineEditor
from .turn import Turn
from .workers import explain, knows_end

HELP = """\
:help      this
:worker    who runs the code
:restart   end the worker and start another: what is in its memory is lost
:quit      leave; so does Ctrl-D
Ctrl-C stops what runs, and pressed again replaces the worker; at the prompt it drops what was typed.
Ctrl-D ends the input of code that reads it; of other languages than Python it stops the code."""
BLOCKS = "A blank line ends a block."
BACKSLASH = "A line that ends in a backslash goes on in the next; the backslash is left out."

Tell = Callable[[PlughostError], object]  # an error, to the person
Say = Callable[[str], object]


class Session:
    """From the first prompt to the last."""

    def __init__(
        self,
        console: BlockingConsole,
        display: Display,
        keyboard: Keyboard,
        editor: LineEditor,
        history: History,
        *,
        timeout: float | None,
        tell: Tell,
        say: Say,
    ) -> None:
        self._console = console
        self._display = display
        self._editor = editor
        self._history = history
        asking = Asking(editor, display, say, lambda: knows_end(console.backend))
        self._turn = Turn(console, display, keyboard, asking.ask, timeout)
        self._tell = tell
        self._say = say
        self._troubled = False  # the history's trouble was told

    def run(self) -> None:
        """Serve the person until there is nothing more to do."""
        self._say(f"{self._introduction()} Ctrl-D ends, :help helps.")
        while True:
            self._display.settle()
            try:
                lines = self._read()
            except EOFError:
                self._say("")
                return
            if not self._serve(lines):
                return

    def _introduction(self) -> str:
        backend = self._console.backend
        language = "" if backend is None else backend.language
        return one_line(f"{language}, worker {self._console.generation}: {self._console.binding.command[0]}.")

    @property
    def _manner(self) -> Manner:
        backend = self._console.backend
        return manner("" if backend is None else backend.language)

    def _read(self) -> list[str]:
        """Return the lines of a request; none if they were dropped. Raises EOFError."""
        how, lines = self._manner, []
        try:
            lines.append(self._editor.read(how.prompt))
            while not lines[0].startswith(":") and not how.is_whole(lines):
                lines.append(self._editor.read(how.more))
        except KeyboardInterrupt:
            self._say("")
            return []
        except EOFError:
            if not lines:
                raise
            self._say("")  # it ends the block
        return lines

    def _serve(self, lines: list[str]) -> bool:
        """Do what *lines* say. Returns whether to go on."""
        text = join(lines, self._manner)
        if not is_utf8(text):
            self._display.note(NOT_UTF8)
            return True
        if lines:
            self._remember(text.rstrip("\n"))
        try:
            if lines and lines[0].startswith(":"):
                return self._command(text.strip())
            if not text.strip():
                reply = self._console.poll()  # what came in the meantime, or became of the worker
                self._display.show(reply.items, reply.full_output)
                return True
            reply = self._turn.run(text).reply
        except PlughostError as error:
            self._display.settle()
            self._tell(explain(error))
            return True
        # Code that ends its session in order, such as `exit()`, means this one.
        return reply.state is not ReplyState.ENDED or reply.error or reply.failure is not None

    def _command(self, word: str) -> bool:
        match word:
            case ":quit" | ":q" | ":exit":
                return False
            case ":help" | ":h" | ":?":
                self._say(f"{HELP}\n{BACKSLASH if self._manner.backslash else BLOCKS}")
            case ":worker":
                self._say(self._describe())
            case ":restart":
                reply = self._console.restart()
                self._display.show(reply.items, reply.full_output)
                self._display.note(f"worker {reply.generation} is ready")
            case _:
                self._display.note(f"there is no {word}. :help shows what there is")
        return True

    def _describe(self) -> str:
        console = self._console
        process = (
            "no process: the next request starts one" if console.pid is None else f"process {console.pid}"
        )
        return f"{self._introduction()}\n{process}, in {console.binding.cwd}"

    def _remember(self, text: str) -> None:
        self._editor.remember(text)
        if text.strip():
            self._history.add(text)
        if self._history.problem is not None and not self._troubled:
            self._troubled = True
            self._display.note(self._history.problem)
