"""Calls of models as `UsageData`, the contract's own schema, version 3: aggregates, and the calls themselves.

Every member of the schema is there, because readers in other languages refuse an object that lacks one. What these
logs do not tell is empty: costs, activities, tools, servers and shell commands.
"""

from collections import defaultdict
from datetime import timedelta

WIRE_VERSION = 3  # of the schema; subscribers compare it with theirs
MOST_SESSIONS = 1_000  # the latest: all aggregates go in one chunk
TOKENS = ("input_tokens", "cache_creation_tokens", "cache_read_tokens", "output_tokens", "reasoning_tokens")
LISTS = (
    *("daily", "weekly", "projects", "calls", "sessions", "models", "activities", "tools", "mcp_servers"),
    *("shell_commands", "branches", "model_project_counts"),
)


def data(calls, rows):
    """Return `UsageData` with the aggregates of *calls* and the call rows *rows*."""
    weeks = _grouped(calls, lambda call: call.day - timedelta(days=call.day.weekday()))
    counts = {
        model: _grouped(some, lambda call: call.project) for model, some in _grouped(calls, _model).items()
    }
    return {
        **rest(rows),
        "daily": [
            [day.isoformat(), bucket(some)] for day, some in _by_name(_grouped(calls, lambda call: call.day))
        ],
        "weekly": [[day.isoformat(), bucket(some)] for day, some in _by_name(weeks)],
        "projects": [
            {"name": name, "path": some[-1].path, "bucket": bucket(some), "repo": None}
            for name, some in _by_size(_grouped(calls, lambda call: call.project))
        ],
        "grand_total": bucket(calls),
        "sessions": _sessions(calls),
        "models": [
            {"model": name, "bucket": bucket(some)} for name, some in _by_size(_grouped(calls, _model))
        ],
        "branches": [
            {"branch": name, "bucket": bucket(some)}
            for name, some in _by_size(_grouped(calls, lambda call: call.branch))
            if name
        ],
        "model_project_counts": [
            [
                model,
                sorted(
                    ([name, len(some)] for name, some in of.items()), key=lambda each: (-each[1], each[0])
                ),
            ]
            for model, of in sorted(counts.items())
        ],
    }


def rest(rows):
    """Return `UsageData` that has the call rows *rows*, and nothing else."""
    return {**{name: [] for name in LISTS}, "grand_total": bucket([]), "calls": rows}


def row(file, number, call):
    """Return the *number*-th call of *file* as a `ProviderCall`."""
    tokens = dict(zip(TOKENS, _tokens(call), strict=True))
    return {
        "id": _fnv(f"{file}:{number}"),
        "provider": call.provider,
        "model": call.model,
        "session_id": call.session,
        "project": call.project,
        "project_path": call.path,
        "timestamp": _utc(call.moment),
        **tokens,
        "cost_usd": None,
        "tools": [],
        "bash_commands": [],
        "user_message": "",
        "branch": call.branch,
    }


def bucket(calls):
    """Return the sums over *calls* as a `TokenBucket`."""
    sums = [sum(each) for each in zip(*map(_tokens, calls), strict=True)] or [0] * len(TOKENS)
    return {
        **dict(zip(TOKENS, sums, strict=True)),
        "session_count": len({call.session for call in calls}),
        "project_count": len({call.project for call in calls}),
        "call_count": len(calls),
        "cost_usd": None,
    }


def _tokens(call):
    return call.input - call.created, call.created, call.cached, call.output, 0


def _sessions(calls):
    grouped = _grouped(calls, lambda call: (call.provider, call.project, call.session))
    latest = sorted(grouped.items(), key=lambda item: max(call.moment for call in item[1]), reverse=True)
    return [
        {
            "provider": provider,
            "project": project,
            "session_id": session,
            "first_timestamp": _utc(min(call.moment for call in some)),
            "last_timestamp": _utc(max(call.moment for call in some)),
            "bucket": bucket(some),
        }
        for (provider, project, session), some in latest[:MOST_SESSIONS]
    ]


def _grouped(calls, key):
    groups = defaultdict(list)
    for call in calls:
        groups[key(call)].append(call)
    return groups


def _by_name(groups):
    return sorted(groups.items())


def _by_size(groups):
    return sorted(groups.items(), key=lambda item: (-sum(map(sum, map(_tokens, item[1]))), str(item[0])))


def _model(call):
    return call.model


def _utc(moment):
    return moment.isoformat().replace("+00:00", "Z")


def _fnv(text):
    """Return FNV-1a of 64 bits: the schema's id of a call."""
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogateescape"):
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value
