"""What the worker writes to stdout and stderr, and what belongs to which request. Knows nothing of what it tells."""

from __future__ import annotations

from ..base import Channel
from .echo import Echo
from .items import Image, Item, Stream
from .order import Piece, StreamOrder
from .output import ImageMarked, Marked, OrderMarked, OutputStream
from .places import Places
from .timeline import Budget, Spool, Timeline

STREAMS = {Channel.STDOUT: Stream.STDOUT, Channel.STDERR: Stream.STDERR}


class Display:
    """The two output streams, joined in one timeline, and the request that writes to them."""

    __slots__ = ("_echo", "_marking", "_order", "_ordered", "_output", "_places", "_request_id", "timeline")

    def __init__(self, budget: Budget, spool: Spool | None) -> None:
        self.timeline = Timeline(budget, spool)
        self._output = {channel: OutputStream() for channel in STREAMS}
        self._places = Places(self.timeline)
        self._order = StreamOrder()
        self._ordered = False  # the request writes order marks
        self._echo = Echo()
        self._request_id: int | None = None
        self._marking = False

    def begin(
        self, request_id: int, token: str | None, images: str | None = None, order: str | None = None
    ) -> None:
        """What comes now belongs to *request_id*: up to the mark of *token*, if there is one.

        *images* and *order*: from what the marks of its pictures and its order marks are made, if it writes them.
        """
        self._request_id = request_id
        self._marking = token is not None
        for output in self._output.values():
            if token is not None:
                output.expect(token, request_id)
            output.expect_order(order)
        self._order.begin()
        self._ordered = order is not None
        self._output[Channel.STDOUT].expect_images(images)
        self._echo.begin(request_id)
        self.timeline.end_spool()

    def give_up_marks(self) -> None:
        """The request was not marked after all."""
        self._marking = False
        for output in self._output.values():
            if self._request_id is not None:
                output.forget(self._request_id)

    def end(self, *, seal: bool) -> None:
        """What comes now belongs to no request. *seal*: a character that is cut off stays so."""
        self._show(self._order.give_up())
        for channel, output in self._output.items():
            if seal:
                self.timeline.add_text(STREAMS[channel], output.seal(), self._owner(channel))
            output.expect_order(None)
        self._output[Channel.STDOUT].expect_images(None)
        self._places.end()
        self._request_id = None

    @property
    def is_marked(self) -> bool:
        """Whether both streams have come to the mark of the request, or to their end."""
        request_id = self._request_id
        if request_id is None:
            return False
        for output in self._output.values():  # noqa: SIM110  as `awaits`
            if output.awaits(request_id):
                return False
        return True

    def receive_data(self, data: bytes, channel: Channel) -> None:
        for content in self._output[channel].receive_data(data):
            if isinstance(content, OrderMarked):
                self._show(self._order.pass_mark(channel, content.number))
                continue
            piece = Piece(channel, content, self._owner(channel))
            if self._order.ahead is channel:
                self._show(self._order.hold(piece))
            else:
                self._show_piece(piece)
            if self._ordered and isinstance(content, Marked) and content.request_id == self._request_id:
                self._show(
                    self._order.pass_mark(channel)
                )  # its last: the other stream waits for none of its marks

    def receive_eof(self, channel: Channel) -> None:
        self._show(self._order.pass_mark(channel))
        owner = self._owner(channel)
        self.timeline.add_text(STREAMS[channel], self._output[channel].receive_eof(), owner)
        if channel is Channel.STDOUT:
            self._places.stop()

    def _show(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            self._show_piece(piece)

    def _show_piece(self, piece: Piece) -> None:
        match piece.content:
            case str(text):
                self.timeline.add_text(STREAMS[piece.channel], text, piece.owner)
            case ImageMarked(number):
                self._places.mark(number)
            case Marked(request_id):
                if piece.channel is Channel.STDOUT and request_id == self._request_id:
                    self._places.stop()  # a picture is marked before the end of its request

    def receive_image(self, image: Image, token: str | None = None) -> None:
        """Show *image* where the mark of *token* is, if it is one of the request's; else here."""
        number = None if token is None else self._output[Channel.STDOUT].image_number(token)
        if number is None or image.request_id != self._request_id:
            self.timeline.add_image(image)
        else:
            self._places.put(image, number)

    def note_line(self, prompt: str, line: str) -> None:
        """The request has read a line."""
        if self._request_id is not None:
            self._echo.read(prompt, line)

    def take(self, *, without_echo: bool, prompt: str = "") -> tuple[Item, ...]:
        """Return what was shown since the last time, in order, and forget it. *prompt*: of a read that is not over."""
        items = self.timeline.take()
        return self._echo.cut(items, prompt) if without_echo else items

    def _owner(self, channel: Channel) -> int | None:
        """Return the request that what comes next on *channel* belongs to, or None."""
        if not self._marking or self._request_id is None:
            return self._request_id
        return self._request_id if self._output[channel].next_marked == self._request_id else None
