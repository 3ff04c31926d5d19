"""What a worker showed, in order of arrival, within a budget. Keeps the head and the tail; never blocks the worker.

Theory of operation. A request may print a gigabyte, and its reply shows a page. So the first and the last part of what
was not taken yet is kept, and what falls out between them is counted. If there is a spool, it is given all the text
from the moment something is about to fall out, beginning with what is kept: so the spool has the whole, and a reply
that fits costs no file. Each entry costs a little besides its characters, so that a million entries of one are no way
around. Pictures that fall out are kept apart, within a budget of their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from .items import Image, Item, Notice, Omitted, Prompt, Stream, Text
from .pictures import Picture, Pictures

ENTRY_COST = 64  # characters that an entry counts besides its own: about what it takes in memory
SMALL = 1_024  # characters: pieces below are joined as they come, or a million of them would be kept
LONGEST_LINE = 1_000  # characters that are given up so that the text is cut between two lines
LARGE = 16_384  # characters: pieces above are cut, or taking one character off the tail would copy all of it

Spool = Callable[[bytes], None]  # takes text as UTF-8; must not raise


@dataclass(frozen=True, slots=True)
class Budget:
    """How much is kept until it is taken."""

    head_chars: int = 1_048_576
    tail_chars: int = 1_048_576
    images: int = 64
    image_bytes: int = 67_108_864  # of all images: two of the largest lines


class _Run:
    """Text of one stream and one request, growing at its end and cut at its beginning."""

    __slots__ = ("parts", "request_id", "stream")

    def __init__(self, stream: Stream, request_id: int | None) -> None:
        self.stream = stream
        self.request_id = request_id
        self.parts: deque[str] = deque()

    def add(self, text: str) -> None:
        if self.parts and len(self.parts[-1]) < SMALL:
            text = self.parts.pop() + text
        if len(text) <= LARGE:
            self.parts.append(text)
        else:
            self.parts.extend(text[at : at + LARGE] for at in range(0, len(text), LARGE))


_Entry = _Run | Picture | Prompt | Notice


class Timeline:
    """Keeps what was shown until it is taken."""

    __slots__ = (
        "_budget",
        "_chars",
        "_closed",
        "_ends_line",
        "_entries",
        "_head",
        "_head_cost",
        "_lines",
        "_middle",
        "_pictures",
        "_places",
        "_spool",
        "_spooling",
        "_tail",
        "_tail_cost",
        "spooled",
    )

    def __init__(self, budget: Budget, spool: Spool | None = None) -> None:
        self.spooled = 0  # bytes given to the spool since it was begun
        self._spooling = False
        self._budget = budget
        self._spool = spool
        self._clear()

    def _clear(self) -> None:
        self._head: list[_Entry] = []
        self._tail: deque[_Entry] = deque()
        self._middle: list[Picture] = []  # pictures that outlived the text around them
        self._head_cost = self._tail_cost = 0
        self._closed = False  # the head is full: what comes goes to the tail
        self._pictures = Pictures(self._budget.images, self._budget.image_bytes)
        self._places: set[Picture | None] = set()  # that were made empty and are still here
        self._chars = self._lines = self._entries = 0  # left out
        self._ends_line = False  # the last text that was left out

    def __bool__(self) -> bool:
        """Tell whether there is anything to take."""
        return bool(self._head or self._tail or self._pictures.omitted)

    @property
    def kept(self) -> int:
        """How much of the budget for text is used: characters, and what each entry costs besides."""
        return self._head_cost + self._tail_cost

    # What was shown

    def add_text(self, stream: Stream, text: str, request_id: int | None) -> None:
        if not text:
            return
        if self._overflows(len(text)):
            self._begin_spool()
        if self._spooling:
            self._give(text)
        if not self._closed:
            text = self._fill_head(stream, text, request_id)
        if text:
            self._put_tail(stream, text, request_id)

    def add_image(self, image: Image, place: Picture | None = None) -> None:
        """Show *image* in *place*, if what was there with it is not taken yet; else here."""
        if place not in self._places:
            place = None
        picture = self._pictures.add(image, place)
        if picture is not None and place is None:
            self._add(picture)
        self._places.discard(place)

    def add_place(self) -> Picture:
        """Return a place, here, for an image that has not come yet."""
        place = Picture()
        self._places.add(place)
        self._add(place)
        return place

    def add_prompt(self, prompt: str, request_id: int | None, *, secret: bool = False) -> None:
        self._add(Prompt(prompt, request_id, secret))

    def add_notice(self, text: str, request_id: int | None) -> None:
        self._add(Notice(text, request_id))

    # What is shown

    def take(self) -> tuple[Item, ...]:
        """Return what was shown since the last time, oldest first, and forget it."""
        items = tuple(self._items())
        self._clear()
        return items

    def end_spool(self) -> None:
        """Something new begins: what is shown now belongs to another whole, unless the last was not taken yet."""
        if not self._chars:
            self._spooling = False
            self.spooled = 0

    def _items(self) -> Iterator[Item]:
        head = [item for entry in self._head for item in self._item(entry)]
        tail = [item for entry in (*self._middle, *self._tail) for item in self._item(entry)]
        if self._chars:
            self._cut_between_lines(head, tail)
        pictures = self._pictures
        yield from head
        if self._chars or self._entries or pictures.omitted:
            yield Omitted(
                self._chars,
                self._entries,
                pictures.omitted,
                pictures.omitted_bytes,
                spooled=self._spooling,
                lines=self._lines,
            )
        yield from tail

    def _cut_between_lines(self, head: list[Item], tail: list[Item]) -> None:
        """Let what was left out begin and end between two lines, unless the lines are very long."""
        if head and isinstance(last := head[-1], Text):
            kept = last.text.rfind("\n", -LONGEST_LINE) + 1
            if kept:
                head[-1] = replace(last, text=last.text[:kept])
                self._chars += len(last.text) - kept
        if tail and isinstance(first := tail[0], Text) and not self._ends_line:
            gone = first.text.find("\n", 0, LONGEST_LINE) + 1
            if 0 < gone < len(first.text):
                tail[0] = replace(first, text=first.text[gone:])
                self._leave_out(first.text[:gone])

    def _leave_out(self, text: str, chars: int | None = None) -> None:
        """Count *text*, or so many characters of its beginning."""
        chars = len(text) if chars is None else chars
        self._chars += chars
        self._lines += text.count("\n", 0, chars)
        self._ends_line = text.endswith("\n", 0, chars)

    @staticmethod
    def _item(entry: _Entry) -> Iterator[Item]:
        if isinstance(entry, _Run):
            if text := "".join(entry.parts):
                yield Text(entry.stream, text, entry.request_id)
        elif isinstance(entry, Picture):
            if entry.image is not None:
                yield entry.image
        else:
            yield entry

    # Room

    def _fill_head(self, stream: Stream, text: str, request_id: int | None) -> str:
        """Put as much of *text* into the head as fits, and return the rest."""
        run, cost = self._run(self._head, stream, request_id)
        room = self._budget.head_chars - self._head_cost - cost
        if room > 0:
            if cost:
                self._head.append(run)
            run.add(text[:room])
            self._head_cost += cost + min(room, len(text))
        return text[max(room, 0) :]

    def _put_tail(self, stream: Stream, text: str, request_id: int | None) -> None:
        self._closed = True
        if (over := len(text) - self._budget.tail_chars) > 0:  # it will not stay: do not even keep it
            self._leave_out(text, over)
            text = text[over:]
        run, cost = self._run(self._tail, stream, request_id)
        if cost:
            self._tail.append(run)
        run.add(text)
        self._tail_cost += cost + len(text)
        self._shrink()

    @staticmethod
    def _run(
        entries: list[_Entry] | deque[_Entry], stream: Stream, request_id: int | None
    ) -> tuple[_Run, int]:
        """Return the run that text belongs to, and what it costs if it is a new one."""
        last = entries[-1] if entries else None
        if isinstance(last, _Run) and last.stream is stream and last.request_id == request_id:
            return last, 0
        return _Run(stream, request_id), ENTRY_COST

    def _add(self, entry: Prompt | Notice | Picture) -> None:
        own = _own_cost(entry)
        if self._overflows(own):
            self._begin_spool()
        if not self._closed and self._head_cost + own + ENTRY_COST <= self._budget.head_chars:
            self._head.append(entry)
            self._head_cost += own + ENTRY_COST
            return
        self._closed = True
        self._tail.append(entry)
        self._tail_cost += own + ENTRY_COST
        self._shrink()

    def _shrink(self) -> None:
        """Let the beginning of the tail go until the rest fits."""
        while (excess := self._tail_cost - self._budget.tail_chars) > 0 and self._tail:
            first = self._tail[0]
            if isinstance(first, _Run) and first.parts:
                part = first.parts.popleft()
                gone = min(excess, len(part))
                if gone < len(part):
                    first.parts.appendleft(part[gone:])
                    part = part[:gone]
                self._leave_out(part)
                self._tail_cost -= gone
                continue
            if len(self._tail) == 1 and isinstance(first, _Run):
                return  # nothing but the entry itself is left
            self._tail.popleft()
            self._tail_cost -= ENTRY_COST + _own_cost(first)
            if isinstance(first, Picture):
                self._keep_apart(first)
            elif not isinstance(first, _Run):
                self._entries += 1

    def _keep_apart(self, picture: Picture) -> None:
        self._places.discard(picture)
        if picture.image is not None:
            self._middle.append(picture)
        if len(self._middle) > 2 * self._budget.images:
            self._middle = [each for each in self._middle if each.image is not None]

    # The spool

    def _overflows(self, chars: int) -> bool:
        """Tell whether *chars* more may push something out for the first time."""
        if self._spool is None or self._spooling:
            return False
        room = 0 if self._closed else max(0, self._budget.head_chars - self._head_cost)
        to_tail = max(0, chars + 2 * ENTRY_COST - room)  # it may become an entry in either
        return self._tail_cost + to_tail > self._budget.tail_chars

    def _begin_spool(self) -> None:
        self._spooling = True
        for entry in (*self._head, *self._tail):
            if isinstance(entry, _Run):
                for part in entry.parts:
                    self._give(part)

    def _give(self, text: str) -> None:
        data = text.encode()
        self.spooled += len(data)
        if self._spool is not None:
            self._spool(data)


def _own_cost(entry: _Entry) -> int:
    """Return the characters of *entry* that are not counted as text."""
    if isinstance(entry, Prompt):
        return len(entry.prompt)
    return len(entry.text) if isinstance(entry, Notice) else 0
