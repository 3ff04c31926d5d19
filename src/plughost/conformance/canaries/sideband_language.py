"""The language of the `sideband` canary: a word and its argument a line. All of a request is read before any is run.

say T, warn T       print          keep T, tell      remember, recall
= T                 a value        twice {  ...  }   a block
fail T              an error       hang T            goes on until it is interrupted
ask T, get T        read a line    shell COMMAND     a child process
names, fork         what is there  leave N           the end
draw T, repaint T   pictures       later FILE        one that changes while nothing runs
flood T             much           help, use T       help, and the word of a module
"""

import contextlib
import os
import subprocess
import sys

WORDS = frozenset(
    (
        *("say", "warn", "keep", "tell", "=", "fail", "hang", "ask", "get", "shell", "names", "fork"),
        *("leave", "draw", "repaint", "later", "flood", "help", "use"),
    )
)
FLOOD = 20_000


class Language:
    """One interpreter. *world* prints, asks, draws and waits."""

    def __init__(self, fault, world):
        self.fault, self.world = fault, world
        self.kept = ""

    def run(self, text):
        for word, argument in self.parse(text):
            self.step(word, argument)

    def parse(self, text):
        """Return the steps of *text*. Fails before any of them is run."""
        steps, block = [], None
        for number, line in enumerate(text.splitlines(), 1):
            word, _, argument = line.strip().partition(" ")
            if not word:
                if block is not None and self.fault == "a-blank-line-ends-a-block":
                    break
                continue
            if (word, argument) == ("twice", "{"):
                block = []
            elif word == "}" and block is not None:
                steps, block = [*steps, *block, *block], None
            elif word in WORDS:
                (steps if block is None else block).append((word, argument))
            elif self.fault == "runs-what-it-can-read":
                self.run("\n".join(text.splitlines()[: number - 1]))
                raise ValueError("line %d cannot be read" % number)
            else:
                raise ValueError("line %d cannot be read: %s" % (number, word))
        if block is not None and self.fault != "a-blank-line-ends-a-block":
            raise ValueError("a block is not closed")
        return steps

    def step(self, word, argument):
        world = self.world
        match word:
            case "say":
                late = self.fault == "prints-behind-its-mark"
                (world.hold if late else world.print)(argument + "\n")
            case "warn":
                (world.print if self.fault == "one-stream-for-both" else world.warn)(argument + "\n")
            case "=":
                if self.fault != "shows-no-values":
                    world.print(argument + "\n")
            case "keep":
                self.kept = argument
            case "tell":
                world.print(("" if self.fault == "forgets" else self.kept) + "\n")
            case "fail":
                if self.fault == "dies-of-an-error":
                    sys.exit(argument)
                raise ValueError(argument)
            case "hang":
                world.print(argument + "\n")
                world.wait()
            case "ask":
                world.print(world.ask(argument))
            case "get":
                world.print("\n" if self.fault == "one-way-to-read" else world.ask(""))
            case "shell":
                self.shell(argument)
            case "names":
                world.print(" ".join(os.environ) + "\n")
            case "fork":
                self.fork()
            case "leave":
                world.leave(int(argument))
            case "draw" | "repaint":
                world.draw(is_new=word == "draw")
            case "later":
                world.later = argument
            case "flood":
                lines = FLOOD // 2 if self.fault == "loses-output" else FLOOD
                world.print((argument + "\n") * lines)
            case "help":
                if self.fault == "pages-its-help":
                    world.ask("--More--")
                world.print(str(__doc__))
            case "use":
                self.use(argument)

    def shell(self, command):
        done = subprocess.run(
            ["sh", "-c", command],
            capture_output=self.fault == "decodes-output",
            close_fds=self.fault != "leaks-to-children",
        )
        if self.fault == "decodes-output":
            self.world.print(done.stdout.decode("utf-8", "replace"))

    def fork(self):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            return
        if self.fault != "leaks-to-forks":
            self.world.forget()
        for fd in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                os.write(1, os.readlink("/proc/self/fd/" + fd).encode() + b"\n")
        os._exit(0)

    def use(self, argument):
        if self.fault == "runs-elsewhere":
            os.chdir("/")
        try:
            with open("module.canary", encoding="utf-8") as file:
                self.run(file.read().replace("WORD", argument))
        except OSError as error:
            raise ValueError("there is no module: %s" % error) from error


def explain(error):
    sys.stderr.write("error: %s\n" % error)
    sys.stderr.flush()
