"""The matplotlib backend of a session: figures are drawn by Agg, and `show` sends them to the host.

matplotlib loads it by name, and is therefore there when this is loaded. Where someone has chosen another backend this
is not loaded at all; figures are then still sent after each cell.
"""

from __future__ import annotations

from importlib import import_module

from .pictures import serving

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Base: Any
    Agg: Any
else:
    Base = import_module("matplotlib.backend_bases").FigureManagerBase
    Agg = import_module("matplotlib.backends.backend_agg").FigureCanvasAgg


class FigureManager(Base):  # type: ignore[misc]
    """A window that is a message."""

    def show(self) -> None:
        """Send this figure."""
        if _in_main():
            serving[0].show_figures([self.canvas.figure], force=True)

    @classmethod
    def pyplot_show(cls, *, block: bool | None = None) -> None:
        """Send all open figures."""
        del block
        show()


class FigureCanvas(Agg):  # type: ignore[misc]
    """A canvas that Agg draws."""

    manager_class = FigureManager


def new_figure_manager(num: int, *args: Any, FigureClass: Any = None, **kwargs: Any) -> FigureManager:  # noqa: N803
    """Make a figure. Older versions of matplotlib ask the module for it."""
    figure = (FigureClass or import_module("matplotlib.figure").Figure)(*args, **kwargs)
    return new_figure_manager_given_figure(num, figure)


def new_figure_manager_given_figure(num: int, figure: Any) -> FigureManager:
    """Make the manager of *figure*."""
    return FigureManager(FigureCanvas(figure), num)


def draw_if_interactive() -> None:
    """Nothing: figures are sent after the cell."""


def show(*_: Any, **__: Any) -> None:
    """Send all open figures."""
    if _in_main():
        serving[0].show_open(force=True)


def _in_main() -> bool:
    """Figures of other threads wait for the end of a request: two threads cannot draw at once."""
    import threading

    return threading.current_thread() is threading.main_thread()
