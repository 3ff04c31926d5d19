"""Keys to what is looked at: which tab, which line of it, and what was opened. Draws nothing."""

TABS = ("day", "project", "model")
REFRESH = "refresh"  # what a key may ask the plugin to do
PAGE = 10  # lines that page_up and page_down move by


class View:
    """What the user looks at. `opened` is the name of the line that was entered, or None."""

    def __init__(self):
        self.tab = 0
        self.line = 0
        self.opened = None
        self.shows_help = False

    @property
    def column(self):
        return TABS[self.tab]

    def sums(self, ledger):
        """Return what the lines are about, by name. A day consists of projects; all else, of days."""
        if self.opened is None:
            return ledger.by(self.column)
        return ledger.by("project" if self.column == "day" else "day", **{self.column: self.opened})

    def press(self, key, ledger):
        """Take a key. Returns REFRESH if it asks for that."""
        if key == "r":
            return REFRESH
        if key == "?":
            self.shows_help = not self.shows_help
        elif key == "esc":
            self._leave()
        elif key in ("1", "2", "3"):
            self._turn_to(int(key) - 1)
        elif key in ("right", "tab", "l"):
            self._turn_to((self.tab + 1) % len(TABS))
        elif key in ("left", "back_tab", "shift+tab", "h"):
            self._turn_to((self.tab - 1) % len(TABS))
        else:
            self._move(key, list(self.sums(ledger)))
        return None

    def _leave(self):
        """Go back by one step: out of the help, then out of what was opened."""
        if self.shows_help:
            self.shows_help = False
        elif self.opened is not None:
            self.opened, self.line = None, 0

    def _turn_to(self, tab):
        self.tab, self.line, self.opened, self.shows_help = tab, 0, None, False

    def _move(self, key, names):
        last = max(0, len(names) - 1)
        line = min(self.line, last)  # what is known may have shrunk
        moves = {
            "up": line - 1, "k": line - 1, "down": line + 1, "j": line + 1,
            "page_up": line - PAGE, "page_down": line + PAGE, "home": 0, "end": last,
        }  # fmt: skip
        if key == "enter" and names and self.opened is None:
            self.opened, line = names[line], 0
        self.line = max(0, min(last, moves.get(key, line)))
