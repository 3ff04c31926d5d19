"""Turns pictures into `plot_image` messages: objects that can draw themselves, and figures of matplotlib.

Refuses what is too large for a reader: a figure is drawn again in fewer pixels, anything else is left out with a word
on stderr. At the end of a cell only figures that changed are drawn, and only those that look different are sent.
A figure that code shows itself, by `show()` or as its last expression, is sent once in each cell that does so.
"""

from __future__ import annotations

import io
import sys
from binascii import Error, a2b_base64, b2a_base64
from sys import modules  # now: user code may put something else in its place

from .interrupt import invoke

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

IMAGE_BYTES = (
    4_194_304  # of one picture before base64: what clients still take, and far below the cap of a line
)
PIXELS = 4_194_304  # of a figure: more than any screen shows, and 16 MB while it is drawn
SMALLEST = 10.0  # dots per inch: below, a figure shows nothing
PAINTERS = (("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg"))

serving: list[
    Pictures
] = []  # matplotlib loads the canvas itself, by name: this is where the canvas finds its session


class Pictures:
    """What this session has shown so far. Used by the main thread only."""

    def __init__(self, send: Callable[..., None]) -> None:
        self._send = send  # sends members of a message of the request that runs, after what was printed
        self._count = 0
        self._recent: set[str] = set()  # figures that this cell has sent
        self._figures: Any = None  # figure to (id or None, digest of what was sent or None), while it lives

    def begin(self) -> None:
        """Another cell begins: what is shown in it is shown again, once."""
        self._recent.clear()

    def serve(self) -> None:
        """Be what the canvas sends its figures to."""
        serving[:] = [self]

    def show_value(self, value: object) -> None:
        """Send the picture that *value*, the last expression of a cell, can make of itself."""
        for method, mime_type in PAINTERS:
            if callable(getattr(type(value), method, None)):
                data = _painted(invoke(getattr(value, method)))
                if data:
                    self._send_new(data, mime_type)
                    return
        if _is_figure(value):
            self.show_figures([value], force=True)

    def show_open(self, *, force: bool) -> None:
        """Send each open figure of pyplot that has changed; with *force*, each."""
        helpers = modules.get("matplotlib._pylab_helpers")
        if helpers is not None:
            self.show_figures(
                [each.canvas.figure for each in helpers.Gcf.get_all_fig_managers()], force=force
            )

    def show_figures(self, figures: list[Any], *, force: bool) -> None:
        """Send those of *figures* that look different from when they were last sent; with *force*, also the others.

        What this cell has sent already is not sent again unless it looks different: the host would move it.
        """
        if self._figures is None:
            import weakref

            self._figures = weakref.WeakKeyDictionary()
        for figure in figures:
            name, digest = self._figures.get(figure, (None, None))
            if figure in self._figures and not figure.stale and not force:
                continue
            self._figures[figure] = (name, None)  # if it cannot be drawn, that is said once, until it changes
            try:
                data = _png(figure)
            finally:
                figure.stale = (
                    False  # drawing for a file leaves it stale: it would be drawn again after each cell
                )
            if data is None:
                _complain(
                    f"figure {getattr(figure, 'number', '')} is larger than {IMAGE_BYTES} bytes: not shown"
                )
                continue
            now = _digest(data)
            is_new = name is None
            if is_new:
                self._count += 1
                name = f"figure-{self._count}"
            self._figures[figure] = (name, now)
            if now != digest or (force and name not in self._recent):
                self._recent.add(name)
                self._send_image(name, data, "image/png", is_new=is_new)

    def _send_new(self, data: bytes, mime_type: str) -> None:
        if len(data) > IMAGE_BYTES:
            _complain(f"a picture of {len(data)} bytes is larger than {IMAGE_BYTES}: not shown")
            return
        self._count += 1
        self._send_image(f"image-{self._count}", data, mime_type, is_new=True)

    def _send_image(self, name: str, data: bytes, mime_type: str, *, is_new: bool) -> None:
        text = b2a_base64(data, newline=False).decode("ascii")
        self._send(type="plot_image", id=name, mime_type=mime_type, data=text, is_new=is_new)


def _painted(result: object) -> bytes | None:
    """Return the bytes of what a painter gave: bytes, base64 text, or either with its metadata."""
    if isinstance(result, tuple) and result:
        result = result[0]
    if isinstance(result, str):
        try:
            result = a2b_base64(result)
        except (Error, ValueError):
            return None
    return bytes(result) if isinstance(result, (bytes, bytearray, memoryview)) else None


def _is_figure(value: object) -> bool:
    module = modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def _png(figure: Any) -> bytes | None:
    """Draw *figure* in as many pixels as are allowed."""
    width, height = figure.get_size_inches()
    dpi = min(float(figure.dpi), (PIXELS / max(width * height, 1e-9)) ** 0.5)
    while dpi >= SMALLEST:
        drawn = io.BytesIO()
        invoke(figure.savefig, drawn, format="png", dpi=dpi)
        if drawn.tell() <= IMAGE_BYTES:
            return drawn.getvalue()
        dpi /= 2
    return None


def _digest(data: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(data).digest()


def _complain(text: str) -> None:
    invoke(sys.stderr.write, f"[worker] {text}\n")
