"""How deep JSON text is nested, found without recursion, before any decoder is let near it.

Theory of operation: a decoder recurses in C, and how deep it may is decided by Python's recursion limit,
which the application can raise, and by the thread's stack, which nobody knows. Past either, the host
does not get an exception but a SIGSEGV. So the depth is counted first, over flat bytes: strings are cut
out, all but brackets is deleted, brackets become +1 and -1, and their running sum is the depth. Each
step is one call into C, so four million brackets cost milliseconds, and text with few brackets, which is
nearly all text, costs two counts.
"""

from __future__ import annotations

import re
from itertools import accumulate

MAX_DEPTH = 256  # no message is nested like this; a 128 KiB thread stack survives twice as much
_WINDOW = 65_536  # brackets summed before looking at the result: how late a bottomless frame is noticed

# One string, closed or cut off by the end. Possessive, and it always reaches a quote or the end, so
# no input makes it look at a byte twice.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


def exceeds(text: bytes, limit: int = MAX_DEPTH) -> bool:
    """Tell whether *text* nests arrays and objects more than *limit* deep."""
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    return follow(_STRING.sub(b"", text), 0, limit)[0] > limit


def follow(text: bytes, depth: int, limit: int = MAX_DEPTH) -> tuple[int, int]:
    """Return how deep *text*, which holds no strings and begins *depth* deep, goes, and how deep it ends.

    It is not followed much further where it goes deeper than *limit*.
    """
    brackets, deepest = text.translate(_STEPS, _NOT_BRACKETS), depth
    for start in range(0, len(brackets), _WINDOW):
        steps = memoryview(brackets[start : start + _WINDOW]).cast("b")
        depths = list(accumulate(steps, initial=depth))
        deepest, depth = max(deepest, max(depths)), depths[-1]
        if deepest > limit:
            break
    return deepest, depth
