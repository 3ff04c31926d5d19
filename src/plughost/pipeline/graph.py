"""What needs what, to an order in which everything comes after what it needs, or the circle that there is.

Needs that are not there have been refused before.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

DRAWN = 8  # names of a circle that stand in a message


def order(needs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the keys of *needs*, each after all it needs, otherwise in their own order.

    What is in a circle, or needs one, is left out.
    """
    rank = {name: number for number, name in enumerate(needs)}
    names = list(needs)
    waiting = {name: len(set(wanted)) for name, wanted in needs.items()}
    wanted_by: dict[str, list[str]] = {name: [] for name in needs}
    for name, wanted in needs.items():
        for each in dict.fromkeys(wanted):
            wanted_by[each].append(name)
    ready = [rank[name] for name, count in waiting.items() if not count]
    heapq.heapify(ready)
    found = []
    while ready:
        name = names[heapq.heappop(ready)]
        found.append(name)
        for each in wanted_by[name]:
            waiting[each] -= 1
            if not waiting[each]:
                heapq.heappush(ready, rank[each])
    return tuple(found)


def circle(needs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return names of which each needs the next and the last the first; () if there are none such."""
    left = set(needs) - set(order(needs))
    if not left:
        return ()
    # Whatever is left needs something that is left, so that walking on must come back to where it has been.
    walked: dict[str, None] = {}
    name = next(each for each in needs if each in left)
    while name not in walked:
        walked[name] = None
        name = next(each for each in needs[name] if each in left)
    path = list(walked)
    found = path[path.index(name) :]
    rank = {each: number for number, each in enumerate(needs)}
    first = found.index(min(found, key=rank.__getitem__))
    return tuple(found[first:] + found[:first])


def drawn(circle: Sequence[str]) -> str:
    """Return *circle* as people see it: `a -> b -> a`. Of a long one, only its beginning and its end are drawn."""
    shown = circle if len(circle) <= DRAWN else (*circle[: DRAWN - 1], "…", circle[-1])
    return " -> ".join((*shown, circle[0]))
