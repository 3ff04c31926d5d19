"""The faults of the `duplex` canary by axis, each with the clause that it breaks. The plugin is `duplex_plugin.py`.

    python duplex_plugin.py FAULT

`well-behaved` is the one without a fault, and VARIANTS have none either. The plugin is raw bytes: no SDK. Faults of the
manifest are in MANIFESTS: texts in place of the good one.
"""

from __future__ import annotations

from pathlib import Path

PROGRAM = Path(__file__).with_name("duplex_plugin.py")
NAME = "canary"
MANIFEST = """\
[plugin]
name = "canary"
version = "1.0.0"
abi_version = 2

[capabilities]
read_sessions = true
event_bus = true

[provides]
screens = ["canary"]
commands = ["canary.echo", "canary.relay"]
cli_namespaces = ["canary"]
snapshots = ["canary.data"]

[subscribes]
snapshots = ["canary.feed"]
"""
BARE_MANIFEST = MANIFEST[: MANIFEST.index("[capabilities]")]  # that of `bare-bones`, which offers nothing
VARIANTS = (
    "name-and-version-only",
    "manifest-and-abi-only",
    "exits-without-an-answer",
    "silent-at-shutdown",
    "cell-outside",
    "ids-are-texts",
    "any-namespace-succeeds",
)
MANIFESTS = {
    "no-name": MANIFEST.replace('name = "canary"\n', ""),
    "no-version": MANIFEST.replace('version = "1.0.0"\n', ""),
    "no-abi-version": MANIFEST.replace("abi_version = 2\n", ""),
    "no-plugin-table": MANIFEST[MANIFEST.index("[capabilities]") :],
    "no-toml": "name: canary\n",
    "version-in-words": MANIFEST.replace('"1.0.0"', '"latest"'),
    "abi-3": MANIFEST.replace("abi_version = 2", "abi_version = 3"),
    "abi-in-words": MANIFEST.replace("abi_version = 2", 'abi_version = "2"'),
    "another-directory": MANIFEST.replace('name = "canary"\n', 'name = "sparrow"\n'),
    "climbs-out": MANIFEST.replace('name = "canary"\n', 'name = "../canary"\n'),
}
MANIFEST_FAULTS = {
    "no-name": "manifest:required",
    "no-version": "manifest:required",
    "no-abi-version": "manifest:required",
    "no-plugin-table": "manifest:required",
    "no-toml": "manifest:required",
    "version-in-words": "manifest:values",
    "abi-3": "manifest:values",
    "abi-in-words": "manifest:values",
    "another-directory": "manifest:place",
    "climbs-out": "manifest:place",
}

# By axis: what breaks which clause. The names of axes and clauses lack the contract's.
BY_AXIS = {
    "manifest-round-trip": {
        "silent": "init:reply",
        "dies-at-init": "init:reply",
        "exits-at-once": "init:reply",
        "init-error": "init:reply",
        "other-name": "init:reply",
        "other-version": "init:reply",
        "version-in-words": "init:reply",
        "name-that-climbs": "init:reply",
        "name-of-nothing": "init:reply",
        "other-abi": "init:reply",
        "contradicts-itself": "init:reply",
        "neither-dialect": "init:reply",
        "other-manifest": "init:reply",
        "abi-is-a-text": "init:reply",
        "waits-for-more-before-init": "init:before",
    },
    "framing": {
        "line-feeds-only": "frame:header",
        "another-header": "frame:header",
        "plus-sign": "frame:header",
        "length-twice": "frame:header",
        "length-short-by-one": "frame:header",
        "length-long-by-one": "frame:header",
        "no-header": "frame:clean-stdout",
        "promises-too-much": "frame:limit",
        "prints-first": "frame:clean-stdout",
        "prints-before-an-answer": "frame:clean-stdout",
        "prints-after-an-answer": "frame:clean-stdout",
        "prints-at-its-exit": "frame:clean-stdout",
        "prints-its-help": "frame:clean-stdout",
        "reads-its-header-at-once": "frame:split",
        "small-inbox": "frame:split",
        "one-megabyte-only": "frame:large",
        "drops-long-bodies": "frame:large",
    },
    "method-dispatch": {
        "no-version": "rpc:version",
        "version-1": "rpc:version",
        "batches": "rpc:version",
        "echoes-ids-as-texts": "rpc:reply",
        "answers-nobody": "rpc:reply",
        "rounds-ids": "rpc:reply",
        "replies-twice": "rpc:reply",
        "error-null": "rpc:reply",
        "result-beside-error": "rpc:reply",
        "answers-notifications": "rpc:reply",
        "ids-are-negative": "rpc:ids",
        "unknown-is-an-internal-error": "rpc:unknown-method",
        "unknown-is-a-result": "rpc:unknown-method",
        "silent-about-unknown-methods": "rpc:unknown-method",
        "forgets-id-zero": "rpc:unknown-method",
        "dies-of-an-unknown-notification": "rpc:unknown-method",
        "wrong-params-are-an-internal-error": "rpc:params",
        "silent-about-wrong-params": "rpc:params",
        "dies-of-wrong-params": "rpc:params",
        "refuses-unknown-members": "rpc:unknown-members",
        "refuses-unknown-params": "rpc:unknown-members",
        "takes-the-latest-first": "order:notifications",
        "sorts-keys-that-come-together": "order:notifications",
        "takes-the-next-frame-for-the-answer": "order:reentrant",
        "stops-reading-while-it-waits": "order:reentrant",
    },
    "capability-gating": {
        "dies-of-a-denied-snapshot": "capability:handled",
        "hangs-when-denied": "capability:handled",
        "asks-until-it-is-granted": "capability:handled",
    },
    "render-determinism": {
        "clock-in-the-corner": "render:stable",
        "counts-its-renders": "render:stable",
        "shuffles-its-cells": "render:stable",
        "always-80-by-24": "render:size",
        "nothing-is-80-by-24": "render:size",
        "wider-than-asked": "render:size",
        "cells-are-objects": "render:size",
        "never-renders": "render:size",
    },
    "snapshot-pub-sub": {
        "unpadded": "wire:base64",
        "url-alphabet": "wire:base64",
        "array": "wire:base64",
        "wrapped": "wire:base64",
        "publishes-without-a-topic": "rpc:own-calls",
        "publishes-as-a-request": "rpc:own-calls",
        "dies-of-garbage": "snapshot:version",
        "dies-of-another-version": "snapshot:version",
        "refuses-to-render-another-version": "snapshot:version",
    },
    "action-timeout": {
        "never-acts": "rpc:reply",
        "acts-without-a-word": "rpc:reply",
        "dies-in-an-action": "rpc:reply",
        "dies-of-a-timeout": "rpc:reply",
        "does-any-action": "rpc:unknown-method",
        "action-payload-is-text": "wire:base64",
        "action-without-a-payload": "wire:base64",
    },
    "log-filtering": {
        "logs-at-no-level": "rpc:own-calls",
        "logs-at-a-level-of-its-own": "rpc:own-calls",
        "logs-no-text": "rpc:own-calls",
        "waits-for-its-logs": "rpc:own-calls",
    },
    "fs-path-guard": {
        "dies-of-a-denied-directory": "capability:handled",
        "dies-of-a-file-that-is-gone": "capability:handled",
        "climbs": "rpc:own-calls",
        "asks-for-no-path": "rpc:own-calls",
    },
    "graceful-shutdown": {
        "exit-1": "exit:shutdown",
        "exit-1-after-shutdown": "exit:shutdown",
        "hangs-in-shutdown": "exit:shutdown",
        "dies-in-shutdown": "exit:shutdown",
        "ignores-the-end": "exit:shutdown",
        "waits-for-the-end": "exit:open-input",
        "deaf-to-a-told-shutdown": "exit:open-input",
        "exit-1-if-told": "exit:open-input",
        "ignores-an-early-end": "exit:eof",
    },
    "crash-recovery": {
        "keeps-a-lock": "init:reply",
        "recovers-nothing": "init:reply",
        "broken-screen-after-a-crash": "init:reply",
    },
    "quarantine": {
        "gives-up-after-three-crashes": "init:reply",
        "sleeps-after-crashes": "init:reply",
        "safe-mode-after-three-crashes": "init:reply",
    },
    "cli-dispatch": {
        "no-exit-code": "cli:result",
        "exit-code-is-a-text": "cli:result",
        "exit-code-is-a-flag": "cli:result",
        "no-stderr": "wire:base64",
        "plain-output": "wire:base64",
        "unpadded-output": "wire:base64",
        "dies-of-another-namespace": "cli:result",
        "never-runs-commands": "cli:result",
    },
    "chunked-publish": {
        "three-megabytes-at-once": "snapshot:chunks",
        "oversize-chunk": "snapshot:chunks",
        "leaves-out-a-chunk": "snapshot:chunks",
        "begins-at-one": "snapshot:chunks",
        "chunks-backwards": "snapshot:chunks",
        "a-chunk-twice": "snapshot:chunks",
        "no-final-chunk": "snapshot:chunks",
        "two-final-chunks": "snapshot:chunks",
        "every-chunk-is-final": "snapshot:chunks",
        "another-time-for-each-chunk": "snapshot:chunks",
        "chunk-index-is-a-text": "snapshot:chunks",
        "dies-of-an-orphan": "snapshot:orphans",
        "dies-of-a-gap": "snapshot:orphans",
        "dies-of-a-new-beginning": "snapshot:orphans",
    },
}
AXES = {fault: f"duplex:{axis}" for axis, faults in BY_AXIS.items() for fault in faults}
CLAUSES = {fault: f"duplex:{clause}" for faults in BY_AXIS.values() for fault, clause in faults.items()}
# Each fault that breaks a clause for plugins, with that clause.
FAULTS = {
    **{f"manifest-{fault}": f"duplex:{clause}" for fault, clause in MANIFEST_FAULTS.items()},
    **CLAUSES,
}
# Faults that show by a process that stays or is silent: give these short time limits.
SLOW = (
    "silent",
    "waits-for-more-before-init",
    "hangs-when-denied",
    "asks-until-it-is-granted",
    "ids-are-negative",
    "length-long-by-one",
    "drops-long-bodies",
    "small-inbox",
    "forgets-id-zero",
    "silent-about-unknown-methods",
    "silent-about-wrong-params",
    "stops-reading-while-it-waits",
    "never-renders",
    "never-acts",
    "acts-without-a-word",
    "never-runs-commands",
    "hangs-in-shutdown",
    "ignores-the-end",
    "waits-for-the-end",
    "deaf-to-a-told-shutdown",
    "ignores-an-early-end",
    "sleeps-after-crashes",
    "takes-the-latest-first",
    "sorts-keys-that-come-together",
)
