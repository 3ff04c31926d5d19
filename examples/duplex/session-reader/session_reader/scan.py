"""The files that the host lets us read, to the usage in all of them. Reads a file again only if it has grown.

Whatever the host refuses is left out and listed: a file that is too large, one that went away, a place that was not
granted.
"""

from typing import NamedTuple

from plughost_sdk import duplex

from session_reader import logs, usage

SUFFIX = ".jsonl"
DEEPEST = 6  # directories beneath a root: logs lie one below it, or three by date
PROGRESS_FILES = 25  # read between two tellings of how far we are
MOST_SKIPPED = 100  # files that are listed as left out; a wrong grant leaves out all there are


class Source(NamedTuple):
    """Logs of one kind: "claude" or "codex", and their directory."""

    kind: str
    root: str


class Scan:
    """All usage that was found so far. *host* is the plugin's."""

    def __init__(self, host):
        self.sources = []
        self.skipped = {}  # why each path was left out
        self._host = host
        self._files = {}  # by path: its size, its calls, the number of its bad lines
        self._found = self._left_out = 0
        self.current = ""  # the folder that was read last

    def run(self):
        """Read what is new. Yields how far it is, now and then."""
        self.skipped, self._left_out = {}, 0
        found = [(source, *each) for source in self.sources for each in self._walk(source.root)]
        self._found = len(found)
        before, self._files = self._files, {}
        for number, (source, path, folder, size) in enumerate(found, 1):
            known = before.get(path)
            if known is not None and known[0] == size:
                self._files[path] = known
            else:
                self._read(source, path, folder, size)
            if number % PROGRESS_FILES == 0:
                yield self.progress()

    def progress(self):
        """Return how far the reading is."""
        return {
            "files_found": self._found,
            "files_read": len(self._files),
            "files_skipped": self._left_out,
            "bad_lines": sum(bad for _, _, bad in self._files.values()),
        }

    def totals(self):
        """Return the sums over everything."""
        calls = list(self._calls())
        return {
            "calls": len(calls),
            "input": sum(call.input for call in calls),
            "output": sum(call.output for call in calls),
            "cached": sum(call.cached for call in calls),
            "projects": len({call.project for call in calls}),
            "models": len({call.model for call in calls}),
            "days": len({call.day for call in calls}),
        }

    @property
    def is_partial(self):
        """Whether some of what there is could not be read."""
        return self._left_out > 0

    def rows(self):
        """Return every call as the wire has it, oldest first."""
        found = [
            usage.row(path, number, call)
            for path, (_, calls, _) in self._files.items()
            for number, call in enumerate(calls)
        ]
        return sorted(found, key=lambda each: (each["timestamp"], each["id"]))

    def data(self, index, rows):
        """Return `UsageData` of chunk *index*: the aggregates are in the first one."""
        return usage.data(sorted(self._calls()), rows) if index == 0 else usage.rest(rows)

    def _calls(self):
        return (call for _, calls, _ in self._files.values() for call in calls)

    def _walk(self, folder, depth=0):
        """Yield path, folder's name and size of each log beneath *folder*."""
        try:
            entries = self._host.fs.read_dir(folder)
        except duplex.HostError as error:
            self._skip(folder, error)
            return
        for entry in entries:
            path = f"{folder.rstrip('/')}/{entry.name}"
            if entry.is_dir and depth < DEEPEST:
                yield from self._walk(path, depth + 1)
            elif not entry.is_dir and entry.name.endswith(SUFFIX):
                yield path, folder.rstrip("/").rpartition("/")[2], entry.size

    def _read(self, source, path, folder, size):
        try:
            content = self._host.fs.read_file(path)
        except duplex.HostError as error:
            self._skip(path, error)
            return
        self._files[path] = (size, *logs.read(source.kind, content, folder))
        self.current = folder

    def _skip(self, path, error):
        self._left_out += 1
        self._host.log("warn", "left out", path=path, why=error.message)
        if len(self.skipped) < MOST_SKIPPED:
            self.skipped[path] = error.message
