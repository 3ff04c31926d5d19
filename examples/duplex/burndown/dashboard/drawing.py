"""What is known and what is looked at, to a drawing of any size. Decides nothing.

Text is drawn from left to right, and each column is drawn over what was too long in the one before it. So nothing has
to be measured here: the canvas knows how wide a character is, and clips what does not fit.
"""

from dashboard.numbers import bar, short
from dashboard.view import TABS

INK, FAINT, ACCENT, ALARM, PAPER = "#e6e6e6", "#8a8a8a", "#5fafff", "#ff875f", "#262626"
BARS = ("#5faf5f", "#87af5f", "#afaf5f", "#d7875f", "#d75f5f")  # from a fifth of the largest, to the largest
NUMBERS = 8  # columns of one number
NAME = 24  # columns of a name, where there is room
WIDE = 60  # columns from which on there is room for bars beside three numbers

HELP = (
    ("1 2 3, ← →", "by day, by project, by model"),
    ("↑ ↓", "go through the lines"),
    ("enter", "open a line"),
    ("esc", "go back"),
    ("r", "read the logs again"),
    ("?", "this page"),
)


def draw(canvas, view, ledger):
    """Draw everything. The head and the foot give way if there is room for one line only."""
    body = range(2, canvas.height - 1)
    if view.shows_help:
        _help(canvas, body)
    elif not ledger.rows:
        canvas.put(1, body.start, f"No usage: {ledger.explanation}.", fg=FAINT, italic=True)
    else:
        _lines(canvas, body, view, ledger)
    _foot(canvas, ledger)
    _head(canvas, view)
    _totals(canvas, ledger)


def _head(canvas, view):
    canvas.put(0, 0, " " * canvas.width, bg=PAPER)
    x = canvas.put(0, 0, " burndown ", fg=ACCENT, bg=PAPER, bold=True)
    if view.opened is not None:
        canvas.put(x, 0, f" {view.column}: {view.opened}", fg=INK, bg=PAPER, bold=True)
        return
    for number, name in enumerate(TABS, 1):
        chosen = number - 1 == view.tab
        x = canvas.put(x, 0, f" {number} {name}s ", fg=INK, bg=PAPER, reversed=chosen, dim=not chosen)


def _totals(canvas, ledger):
    if canvas.height < 2:
        return
    total = ledger.total()
    x = canvas.put(1, 1, short(total.total), fg=INK, bold=True)
    parts = (
        f" tokens   {short(total.input)} in   {short(total.output)} out"
        f"   {short(total.cached)} cached   {short(total.calls)} calls"
    )
    canvas.put(x, 1, parts, fg=FAINT)


def _foot(canvas, ledger):
    y = canvas.height - 1
    alarming = ledger.state in ("lost", "mismatch")
    x = canvas.put(1, y, ledger.explanation, fg=ALARM if alarming else FAINT, bold=alarming)
    if ledger.odd_rows:
        x = canvas.put(x, y, f"   odd rows left out: {short(ledger.odd_rows)}", fg=ALARM)
    keys = " ? help "
    if x + len(keys) < canvas.width:
        canvas.put(canvas.width - len(keys), y, keys, fg=FAINT)


def _help(canvas, body):
    for y, (keys, meaning) in zip(body, HELP, strict=False):
        canvas.put(2, y, keys, fg=ACCENT)
        canvas.put(15, y, meaning, fg=INK)


def _lines(canvas, body, view, ledger):
    sums = view.sums(ledger)
    largest = max((each.total for each in sums.values()), default=0)
    chosen = min(view.line, max(0, len(sums) - 1))
    first = max(0, chosen - len(body) + 1)  # the chosen line is always to be seen
    shown = list(sums.items())[first : first + len(body)]
    for number, (y, (name, each)) in enumerate(zip(body, shown, strict=False), first):
        _line(canvas, y, name, each, largest, chosen=number == chosen)


def _line(canvas, y, name, each, largest, *, chosen):
    """Draw one line: its name, its numbers, and how much it is of the largest."""
    numbers = (each.total, each.input, each.output) if canvas.width >= WIDE else (each.total,)
    x = 1 + max(1, min(NAME, canvas.width - 1 - NUMBERS * len(numbers)))
    canvas.put(0, y, "▌" if chosen else " ", fg=ACCENT)
    canvas.put(1, y, name, fg=INK, bold=chosen)
    canvas.put(x, y, " " * (canvas.width - x))
    for column, number in enumerate(numbers):
        x = canvas.put(x, y, f"{short(number):>{NUMBERS}}", fg=FAINT if column else INK, bold=chosen)
    room = canvas.width - x - 2
    shade = BARS[min(len(BARS) - 1, each.total * len(BARS) // max(1, largest))]
    canvas.put(x + 1, y, bar(each.total, largest, room), fg=shade)
