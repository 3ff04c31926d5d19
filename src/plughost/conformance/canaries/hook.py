"""The faults of the `hook` canary, each with the axis that must notice it. The plugin itself is `hook_plugin.py`.

    python hook_plugin.py FAULT

`well-behaved` is the one without a fault; `declares-nothing` has none either, and is asked for the usual round. The
plugin is raw bytes: no SDK, no protobuf.
"""

from __future__ import annotations

from pathlib import Path

PROGRAM = Path(__file__).with_name("hook_plugin.py")
NAME = "provider/canary"
CAPABILITY = "provider:canary"

FAULTS = {
    "introduces-itself-in-json": "hook:frame:body",
    "answers-in-json": "hook:frame:body",
    "answers-in-latin-1": "hook:frame:body",
    "answers-with-half-a-message": "hook:frame:body",
    "answers-with-another-message": "hook:frame:body",
    "overconfident": "hook:frame:body",
    "huge-introduction": "hook:frame:limit",
    "answers-too-much": "hook:frame:limit",
    "dies-of-too-much": "hook:frame:limit",
    "prints-first": "hook:frame:clean-stdout",
    "prints-a-blank-line": "hook:frame:clean-stdout",
    "prints-before-an-answer": "hook:frame:clean-stdout",
    "prints-after-an-answer": "hook:frame:clean-stdout",
    "prints-at-its-exit": "hook:frame:clean-stdout",
    "prints-without-a-greeting": "hook:frame:clean-stdout",
    "reads-once": "hook:frame:split",
    "reads-its-header-at-once": "hook:frame:split",
    "small-buffer": "hook:frame:large-request",
    "one-megabyte-only": "hook:frame:large-request",
    "refuses-unknown-fields": "hook:frame:unknown-fields",
    "refuses-unknown-parts": "hook:frame:unknown-fields",
    "refuses-unknown-values": "hook:frame:unknown-fields",
    "silent": "hook:handshake:reply",
    "exits-at-once": "hook:handshake:reply",
    "half-an-introduction": "hook:handshake:reply",
    "closes-its-output": "hook:handshake:reply",
    "wrong-version": "hook:handshake:version",
    "no-version": "hook:handshake:version",
    "takes-any-version": "hook:handshake:mismatch",
    "takes-older-versions": "hook:handshake:mismatch",
    "mismatch-is-success": "hook:handshake:mismatch",
    "mismatch-without-a-word": "hook:handshake:mismatch",
    "mismatch-in-other-words": "hook:handshake:mismatch",
    "mismatch-lingers": "hook:handshake:mismatch",
    "no-name": "hook:handshake:name",
    "other-name": "hook:handshake:name",
    "odd-phase": "hook:handshake:phases",
    "empty-phases": "hook:handshake:phases",
    "moody": "hook:handshake:stable",
    "moody-metadata": "hook:handshake:stable",
    "chatty": "hook:handshake:waits",
    "says-that-it-is-ready": "hook:handshake:waits",
    "undeclared": "hook:capabilities:declared",
    "padded-capability": "hook:capabilities:declared",
    "twice-the-same-capability": "hook:capabilities:declared",
    "greedy": "hook:capabilities:subset",
    "no-answer": "hook:round:reply",
    "hangs": "hook:round:reply",
    "answers-twice": "hook:round:reply",
    "answers-the-end": "hook:round:reply",
    "generates-first": "hook:round:order",
    "forgets-its-place": "hook:round:order",
    "one-round-only": "hook:round:again",
    "crashes-in-the-second-round": "hook:round:again",
    "ignores-what-is-chosen": "hook:round:chosen",
    "refuses-what-is-chosen": "hook:round:chosen",
    "forgets-preflight": "hook:round:chosen",
    "always-as-declared": "hook:round:chosen",
    "crashes-without-a-schema": "hook:result:diagnostics",
    "crashes-on-bad-names": "hook:result:diagnostics",
    "error-without-words": "hook:result:diagnostics",
    "absolute-path": "hook:result:paths",
    "dotted-path": "hook:result:paths",
    "backslashes": "hook:result:paths",
    "no-path": "hook:result:paths",
    "follows-names-anywhere": "hook:result:paths",
    "signs-with-its-pid": "hook:result:stable",
    "counts": "hook:result:stable",
    "other-strategy": "hook:result:stable",
    "exit-7": "hook:exit:eof",
    "lingers": "hook:exit:eof",
    "deaf-at-first": "hook:exit:eof",
    "mid-round-is-failure": "hook:exit:eof",
    "cut-off-is-success": "hook:exit:truncated",
    "unreadable-is-success": "hook:exit:truncated",
    "reads-on-whatever-comes": "hook:exit:truncated",
    "guesses-the-greeting": "hook:exit:truncated",
}
# Faults that show by a process that stays: give these short time limits.
SLOW = (
    "silent",
    "half-an-introduction",
    "mismatch-lingers",
    "hangs",
    "lingers",
    "deaf-at-first",
    "prints-after-an-answer",
)
# What a fault must break besides.
ALSO = {"reads-once": {"hook:frame:large-request"}}
