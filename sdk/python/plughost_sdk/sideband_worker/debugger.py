"""Lets pdb step through user code only: patched into bdb when it is first imported."""

from __future__ import annotations

from .interrupt import is_ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, ModuleType
    from typing import Any


def patch(bdb: ModuleType) -> None:
    """Never stop in a frame of the worker: past the last line of a cell there is nothing to debug."""
    stop_here = bdb.Bdb.stop_here

    def stop_in_user_code(self: Any, frame: FrameType) -> Any:
        return False if is_ours(frame.f_code) else stop_here(self, frame)

    bdb.Bdb.stop_here = stop_in_user_code
