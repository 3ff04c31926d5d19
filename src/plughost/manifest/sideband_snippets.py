"""Code in a worker's language, for a check that cannot know the language. Holds texts; knows no worker.

`{text}` stands for a word of letters and digits, `{command}` for words of a shell without quotes, `{file}` for a path.
"""

from __future__ import annotations

from msgspec import Struct


class Snippets(Struct, frozen=True, forbid_unknown_fields=True):
    """What `plughost check` sends to a `sideband` worker. What is empty is not tried."""

    echo: str = ""  # prints {text} and a line feed
    warn: str = ""  # the same on standard error
    set: str = ""  # remembers {text}
    get: str = ""  # prints what was remembered
    value: str = ""  # an expression whose value is shown with {text} in it
    block: str = ""  # several lines, blank ones among them, that print {text} twice
    broken: str = ""  # prints {text} in its first line, and cannot be read as a whole
    error: str = ""  # raises an error that shows {text}
    wait: str = ""  # prints {text}, and goes on until it is interrupted
    read: str = ""  # reads a line with the prompt {text}, and prints it
    readers: tuple[str, ...] = ()  # each reads a line in another way, and prints it
    run: str = ""  # runs {command} in a shell of its own, which prints
    variables: str = ""  # prints the names of the environment's variables
    forked: str = ""  # prints, from a forked copy, what its descriptors in /proc are
    exit: str = ""  # ends the session with status 3
    flood: str = ""  # prints {text} 20 000 times, each on a line
    picture: str = ""  # draws a new picture that shows {text}
    repaint: str = ""  # changes the latest picture to show {text} too
    background: str = (
        ""  # once there is a {file}, changes that picture while no request runs, and removes the file
    )
    help: str = ""  # shows some help
    module: str = ""  # takes a module from the working directory, which prints {text}
    module_file: str = ""  # the name of that module's file
    module_text: str = ""  # and what is in it
