"""Numbers to few characters: `1234567` to `1.2M`, and a share to a bar. Nothing is wider than it says."""

UNITS = ("", "k", "M", "G", "T", "P", "E")
EIGHTHS = " ▏▎▍▌▋▊▉"  # a block's left part, by eighths


def short(number):
    """Return a whole number from 0 on in at most six characters: `999`, `1.5k`, `150k`, or `1e+25` beyond all units."""
    for power, unit in enumerate(UNITS):
        if number < 1000 ** (power + 1):
            tenths = number * 10 // 1000**power  # rounded down: 999 999 is not yet 1M
            fraction = f".{tenths % 10}" if unit and tenths < 1000 else ""
            return f"{tenths // 10}{fraction}{unit}"
    return f"1e+{len(str(number)) - 1}"


def bar(part, whole, width):
    """Return a bar of at most *width* cells, as long as *part* is of *whole*. Whatever is not nothing can be seen."""
    if whole <= 0 or part <= 0 or width <= 0:
        return ""
    eighths = max(1, min(part, whole) * width * 8 // whole)
    return "█" * (eighths // 8) + (EIGHTHS[eighths % 8] if eighths % 8 else "")
