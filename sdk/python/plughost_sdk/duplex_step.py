"""A call that is one step with what is done with its result: turns a function into an operator.

Python runs signal handlers after a call of a function in C, at the beginning of one in Python, and where a loop goes
back; never between other steps, and an operator is no call. So `data = read @ size` keeps what was read even if a
signal handler raises, where `data = os.read(fd, size)` may have read and lose it. (An iteration would do as well, and
takes longer.)
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take this name as true; importing typing would cost 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Step:
    def __matmul__(self, given: Any) -> Any:
        """Stand for the function, in the classes that are made of this one."""


_Bound: Any = type(_Step().__matmul__)  # types.MethodType, which is not imported yet


def step(function: Callable[[Any], Any]) -> _Step:
    """Return what `@` calls *function* with."""
    return type("step", (_Step,), {"__matmul__": staticmethod(function)})()  # type: ignore[no-any-return]


def step_with(first: Any, function: Callable[[Any, Any], Any]) -> _Step:
    """Return what `@` calls *function* with, behind *first*."""
    return step(_Bound(function, first))
