"""The content of a log file to the calls of models in it. A line that makes no sense is counted, and never fatal.

Logs are written by other programs, in several versions, while we read them: nothing in them can be relied on.
"""

import json
from datetime import UTC, datetime
from typing import NamedTuple

LONGEST_NAME = 200  # characters of a project or a model
MOST_TOKENS = 10**12  # of one call: whatever says more is not to be believed
MADE_UP = "<synthetic>"  # in place of a model: the program speaks for itself, and pays for nothing
UNKNOWN = "unknown"


class Call(NamedTuple):
    """One call of a model, and its tokens. Those that came from a cache are counted apart.

    Those of *input* that were written into a cache are *created*.
    """

    moment: datetime  # in UTC, so that the same log gives the same days everywhere
    project: str
    model: str
    input: int
    output: int
    cached: int
    created: int
    provider: str
    session: str
    path: str
    branch: str | None

    @property
    def day(self):
        return self.moment.date()


def read(kind, content, folder):
    """Return the calls in the *content* of a file in *folder*, and the number of lines that could not be read."""
    objects, bad = _objects(content)
    reader = _claude if kind == "claude" else _codex
    calls, odd = reader(objects, folder)
    return calls, bad + odd


def _objects(content):
    """Return what is in the lines. The last one may still be being written, if no line feed follows it."""
    *lines, last = content.split(b"\n")
    found, bad = [], 0
    for number, line in enumerate([*lines, last]):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):  # not UTF-8, not JSON, or nested too deep
            bad += number < len(lines)
            continue
        if isinstance(value, dict):
            found.append(value)
        else:
            bad += 1
    return found, bad


def _claude(objects, folder):
    """One line is one state of an answer: of those with the same id, the last has the final numbers."""
    calls, bad = {}, 0
    for number, line in enumerate(objects):
        message = line.get("message")
        usage = message.get("usage") if isinstance(message, dict) else None
        if usage is None or message.get("model") == MADE_UP:
            continue
        try:
            cached = _tokens(usage, "cache_read_input_tokens")
            created = _tokens(usage, "cache_creation_input_tokens")
            fresh = _tokens(usage, "input_tokens") + created
            output = _tokens(usage, "output_tokens")
            moment = _moment(line.get("timestamp"))
        except ValueError:
            bad += 1
            continue
        project = _name(_last_part(line.get("cwd")) or folder)
        key = message.get("id") if isinstance(message.get("id"), str) else number
        calls[key] = Call(
            *(moment, project, _name(message.get("model")), fresh, output, cached, created),
            provider="claude",
            session=_name(line.get("sessionId")),
            path=_name(line.get("cwd")),
            branch=_name(line.get("gitBranch")) if line.get("gitBranch") else None,
        )
    return list(calls.values()), bad


def _codex(objects, folder):
    """A line tells the tokens; those before it told the project and the model."""
    calls, bad, project, model, path, session = [], 0, folder, UNKNOWN, UNKNOWN, UNKNOWN
    for line in objects:
        payload = line.get("payload")
        if not isinstance(payload, dict):
            continue
        project = _last_part(payload.get("cwd")) or project
        path = payload.get("cwd") or path
        session = payload.get("id") if line.get("type") == "session_meta" else session
        model = payload.get("model") or model
        info = payload.get("info")
        usage = info.get("last_token_usage") if isinstance(info, dict) else None
        if payload.get("type") != "token_count" or usage is None:
            continue
        try:
            whole, cached = _tokens(usage, "input_tokens"), _tokens(usage, "cached_input_tokens")
            output, moment = _tokens(usage, "output_tokens"), _moment(line.get("timestamp"))
        except ValueError:
            bad += 1
            continue
        told = (moment, _name(project), _name(model), max(0, whole - cached), output, cached, 0)
        calls.append(Call(*told, provider="codex", session=_name(session), path=_name(path), branch=None))
    return calls, bad


def _tokens(usage, key):
    value = usage.get(key, 0) if isinstance(usage, dict) else None
    if type(value) is not int or not 0 <= value <= MOST_TOKENS:
        raise ValueError(f"{key} is not a number of tokens")
    return value


def _moment(timestamp):
    """Return the time that an ISO timestamp tells, in UTC."""
    if not isinstance(timestamp, str):
        raise ValueError("no timestamp")
    try:
        moment = datetime.fromisoformat(timestamp)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:  # the first hours of the year 1, or the last of 9999
        raise ValueError("no day of our calendar") from None


def _last_part(path):
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2] if isinstance(path, str) else ""


def _name(value):
    """Return *value* as a name that can be shown: one line, and not too long."""
    text = value if isinstance(value, str) else ""
    text = text.encode("utf-8", "replace").decode()  # JSON may hold halves of characters
    return " ".join(text.split())[:LONGEST_NAME] or UNKNOWN
