"""Work that waits for a disk or a network, done on threads of its own, a bounded number at once.

Each process of a plugin has turns of its own: one that asks for a thousand slow things keeps the others waiting for
none, and one that died leaves its successor its own turns, though what it had begun goes on. The threads never hold
up the end of the program.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

AT_ONCE = 32  # threads: more fetches that wait at the same time than anyone looks at
AT_ONCE_EACH = 4  # of one process
AT_ONCE_OF_A_PLUGIN = (
    16  # of all its processes: of the three that die before it is quarantined, and of one more
)
LINGER_S = 10.0  # for which a thread waits for more to do

Process = tuple[str, int]  # a plugin's name, and the number of its start
Work = Callable[[], Any]
Done = Callable[[Any], None]  # is given what the work returned, or the exception that it raised
Post = Callable[[Callable[[], None]], None]  # runs what it is given where the host works


class Errands:
    """Does work elsewhere and posts back what came of it. Its methods are for the thread on which the host works."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._queues: dict[Process, deque[tuple[Work, Done]]] = {}  # what has no thread yet
        self._running: Counter[Process] = Counter()
        self._ready: deque[Callable[[], None]] = deque()
        self._change = threading.Condition()
        self._threads = 0
        self._idle = 0
        self._closed = False

    def add(self, process: Process, work: Work, done: Done) -> None:
        """Do *work* for *process* as soon as it is its turn; *done* is called with what came of it."""
        if self._may_begin(process):
            self._begin(process, work, done)
        else:
            self._queues.setdefault(process, deque()).append((work, done))

    def forget(self, process: Process) -> None:
        """Do not begin what waits for its turn: whoever asked for it is gone."""
        self._queues.pop(process, None)

    def close(self) -> None:
        """Do nothing more. What is under way ends by itself, and nobody is told."""
        self._closed = True
        self._queues.clear()
        with self._change:
            self._ready.clear()
            self._change.notify_all()

    def _may_begin(self, process: Process) -> bool:
        if self._running[process] >= AT_ONCE_EACH or self._running.total() >= AT_ONCE:
            return False
        return (
            sum(count for (plugin, _), count in self._running.items() if plugin == process[0])
            < AT_ONCE_OF_A_PLUGIN
        )

    def _begin(self, process: Process, work: Work, done: Done) -> None:
        self._running[process] += 1

        def run() -> None:
            try:
                came: Any = work()
            except (
                BaseException
            ) as error:  # SystemExit too: whoever waits for it has to be told, and the thread lives
                came = error
            self._post(lambda: self._ended(process, done, came))

        with self._change:
            self._ready.append(run)
            if self._idle >= len(self._ready):
                self._change.notify()
                return
            self._threads += 1
        threading.Thread(target=self._serve, name="plughost-errands", daemon=True).start()

    def _ended(self, process: Process, done: Done, came: Any) -> None:
        self._running[process] -= 1
        if not self._running[process]:
            del self._running[process]
        if self._closed:
            return
        try:
            done(came)
        finally:
            self._begin_next()

    def _begin_next(self) -> None:
        for process in list(self._queues):  # in turns: whoever is served goes to the end
            if not self._may_begin(process):
                continue
            queue = self._queues.pop(process)
            work, done = queue.popleft()
            if queue:
                self._queues[process] = queue
            self._begin(process, work, done)

    def _serve(self) -> None:
        while True:
            with self._change:
                while not self._ready:
                    self._idle += 1
                    woken = not self._closed and self._change.wait(LINGER_S)
                    self._idle -= 1
                    if self._closed or (not woken and not self._ready):
                        self._threads -= 1
                        return
                run = self._ready.popleft()
            run()
