"""One `duplex` plugin with many faults, chosen by its first argument: `duplex.FAULTS` lists them. Raw bytes, no SDK."""

import json
import os
import sys

from duplex_served import NAME, Server
from duplex_wire import INTERNAL, INVALID, NOT_FOUND, wait_for_ever, write

VERSION, ABI = "1.0.0", 2
MANIFEST = {
    "plugin": {"name": NAME, "version": VERSION, "abi_version": ABI},
    "capabilities": {"read_sessions": True, "event_bus": True},
    "provides": {
        "screens": ["canary"],
        "commands": ["canary.echo", "canary.relay"],
        "cli_namespaces": ["canary"],
        "snapshots": ["canary.data"],
    },
    "subscribes": {"snapshots": ["canary.feed"]},
}


class Plugin(Server):
    """The canary: how it begins, which method is which, and how it ends."""

    def __init__(self, fault):
        super().__init__(fault)
        self.is_ending = self.is_over = False

    def run(self):
        if self.fault == "prints-first":
            write(b"Starting up...\n")
        if self.fault == "exits-at-once":
            return 3
        self.look_for_old_crashes()
        while not self.is_over and (message := self.wire.next()) is not None:
            self.handle(message)
        if self.fault == "prints-at-its-exit":
            write(b"bye\n")
        if self.fault == "ignores-the-end" or (self.fault == "ignores-an-early-end" and self.wire.sent == 0):
            wait_for_ever()
        self.forget_crashes()
        return {"exit-1": 1, "exit-1-after-shutdown": int(self.is_ending)}.get(self.fault, 0)

    # What is left of earlier processes, in the working directory

    def look_for_old_crashes(self):
        self.mark = {
            "keeps-a-lock": "canary.lock",
            "gives-up-after-three-crashes": "canary.crashes",
            "recovers-nothing": "canary.state",
            "broken-screen-after-a-crash": "canary.state",
            "safe-mode-after-three-crashes": "canary.crashes",
            "sleeps-after-crashes": "canary.crashes",
        }.get(self.fault)
        if self.mark is None:
            return
        crashes = os.path.getsize(self.mark) if os.path.exists(self.mark) else 0
        if self.fault == "keeps-a-lock" and crashes:
            sys.exit("another process holds canary.lock")
        if self.fault == "gives-up-after-three-crashes" and crashes >= 3:
            sys.exit("too many crashes")
        if self.fault == "sleeps-after-crashes" and crashes >= 3:
            wait_for_ever()
        self.crashed = crashes
        with open(self.mark, "a") as file:
            file.write("x")

    def forget_crashes(self):
        if self.mark is not None and os.path.exists(self.mark):
            os.truncate(self.mark, self.crashed)
            if not self.crashed:
                os.remove(self.mark)

    # What the host says

    def handle(self, message):
        method, mine, params = message["method"], message.get("id"), message.get("params")
        known = {
            "plugin/init": self.init,
            "plugin/shutdown": self.shutdown,
            "plugin/render": self.render,
            "plugin/cli_dispatch": self.cli,
            "plugin/handle_event": self.event,
            "plugin/handle_key": self.key,
            "host/action/invoke": self.action,
        }.get(method)
        if self.fault == "refuses-unknown-members" and "plughost_future" in json.dumps(message):
            sys.exit("a member that nobody knows")
        if self.fault == "refuses-unknown-params" and "plughost_future" in json.dumps(params):
            return self.wire.refuse(mine, INVALID, "unknown member") if mine is not None else None
        if known is None:
            return self.unknown(mine, method)
        try:
            result = known(params)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return self.wrong_params(mine, error)
        except NotImplementedError as error:
            return self.wire.refuse(mine, NOT_FOUND, str(error))
        if mine is not None and result is not None:
            self.wire.answer(mine, result)
        if method == "plugin/shutdown":
            self.finish(is_told=mine is None)
        return None

    def unknown(self, mine, method):
        if mine is None:
            if self.fault == "dies-of-an-unknown-notification":
                sys.exit("what is that?")
            if self.fault == "answers-notifications":
                self.wire.send({"id": None, "error": {"code": NOT_FOUND, "message": "method not found"}})
            return
        if self.fault == "silent-about-unknown-methods" or (self.fault == "forgets-id-zero" and not mine):
            return
        if self.fault == "rounds-ids" and mine > 2**31:
            mine = mine // 1000 * 1000
        if self.fault == "unknown-is-a-result":
            self.wire.answer(mine, {})
            return
        code = INTERNAL if self.fault == "unknown-is-an-internal-error" else NOT_FOUND
        self.wire.refuse(mine, code, "method not found: %s" % method)

    def wrong_params(self, mine, error):
        if self.fault == "dies-of-wrong-params":
            raise SystemExit("wrong params: %r" % error)
        if mine is not None and self.fault != "silent-about-wrong-params":
            code = INTERNAL if self.fault == "wrong-params-are-an-internal-error" else INVALID
            self.wire.refuse(mine, code, repr(error))

    # Init

    def init(self, params):
        if self.fault == "silent":
            wait_for_ever()
        if self.fault == "dies-at-init":
            sys.exit("cannot begin")
        if self.fault == "waits-for-more-before-init":
            self.wire.waiting.append(self.wire.read())
        if not isinstance(params["manifest_path"], str):
            raise ValueError("manifest_path")
        if self.fault == "bare-bones":
            return {"name": NAME, "version": VERSION}
        for level in ("trace", "debug", "info", "warn", "error"):
            self.log(level)
        self.ask_host("host/snapshot/subscribe", {"topic": "canary.feed"})
        self.read_files("/sessions")
        self.publish()
        if self.fault == "init-error":
            raise NotImplementedError("not today")
        if self.crashed and self.fault == "recovers-nothing":
            raise NotImplementedError("the state of an earlier process is in the way")
        return self.introduction()

    def introduction(self):
        said = {"name": NAME, "version": VERSION, "manifest": MANIFEST, "abi_version": ABI}
        changed = {
            "name-and-version-only": {"manifest": None, "abi_version": None},
            "manifest-and-abi-only": {"name": None, "version": None},
            "safe-mode-after-three-crashes": {"name": "canary-safe", "manifest": None}
            if self.crashed > 2
            else {},
            "other-name": {"name": "sparrow", "manifest": None},
            "other-version": {"version": "1.0.1", "manifest": None},
            "version-in-words": {"version": "latest", "manifest": None},
            "name-that-climbs": {"name": "../canary", "manifest": None},
            "name-of-nothing": {"name": "a\0b", "manifest": None},
            "other-abi": {"abi_version": 3, "manifest": None},
            "contradicts-itself": {"version": "9.9.9"},
            "neither-dialect": {"name": None, "manifest": None},
            "other-manifest": {"manifest": {**MANIFEST, "subscribes": {"snapshots": []}}},
            "abi-is-a-text": {"abi_version": "2"},
        }
        return {
            key: value for key, value in {**said, **changed.get(self.fault, {})}.items() if value is not None
        }

    def shutdown(self, _):
        self.is_ending = True
        if self.fault == "hangs-in-shutdown":
            wait_for_ever()
        if self.fault == "dies-in-shutdown":
            sys.exit("no!")
        if self.fault == "exits-without-an-answer":
            sys.exit(0)
        if self.fault == "silent-at-shutdown":
            return None
        return {}

    def finish(self, is_told):
        if is_told and self.fault == "exit-1-if-told":
            sys.exit(1)
        waits = ("waits-for-the-end", *(("deaf-to-a-told-shutdown",) if is_told else ()))
        self.is_over = self.fault not in (*waits, "ignores-the-end")


if __name__ == "__main__":
    sys.exit(Plugin(sys.argv[1]).run())
