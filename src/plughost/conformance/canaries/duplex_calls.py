"""What the `duplex` canary asks and tells its host: logs, files, publishes. Each fault of these is here."""

import contextlib
import json
import sys
import time

from duplex_wire import Wire, b64, wait_for_ever

MIB = 1_048_576


class Caller:
    """The half of the canary that talks to the host."""

    def __init__(self, fault):
        self.fault = fault
        self.wire = Wire(fault)

    def log(self, level):
        params = {"level": level, "message": "level %s" % level, "fields": {"n": 1}}
        if self.fault == "logs-at-no-level":
            del params["level"]
        if self.fault == "logs-at-a-level-of-its-own":
            params["level"] = level.upper()
        if self.fault == "logs-no-text":
            params["message"] = {"text": level}
        if self.fault == "waits-for-its-logs":
            with contextlib.suppress(ConnectionRefusedError):
                self.wire.request("host/log", params)
        else:
            self.wire.tell("host/log", params)

    def read_files(self, path):
        if self.fault == "climbs":
            self.ask_host("host/fs/read_file", {"path": path + "/../secrets"})
        if self.fault == "asks-for-no-path":
            self.ask_host("host/fs/read_dir", {"directory": path})
        listing = self.ask_host("host/fs/read_dir", {"path": path}) or {"entries": []}
        for entry in listing["entries"]:
            inside = "%s/%s" % (path, entry["name"])
            if entry["is_dir"]:
                self.ask_host("host/fs/read_dir", {"path": inside})
            else:
                self.ask_host("host/fs/read_file", {"path": inside})

    def ask_host(self, method, params):
        """Return what the host answers, or None if it refuses."""
        try:
            return self.wire.request(method, params)
        except ConnectionRefusedError:
            kind = method.split("/")[1]
            if self.fault == {
                "snapshot": "dies-of-a-denied-snapshot",
                "action": "dies-of-a-timeout",
            }.get(kind):
                sys.exit("refused")
            if kind == "fs" and method == "host/fs/read_dir" and self.fault == "dies-of-a-denied-directory":
                sys.exit("refused")
            if method == "host/fs/read_file" and self.fault == "dies-of-a-file-that-is-gone":
                sys.exit("gone")
            if kind == "snapshot" and self.fault == "hangs-when-denied":
                wait_for_ever()
            if kind == "snapshot" and self.fault == "asks-until-it-is-granted":
                self.ask_again(method, params)
            return None

    def ask_again(self, method, params):
        while True:
            time.sleep(0.01)
            try:
                self.wire.request(method, params)
            except ConnectionRefusedError:
                continue

    # Publishing

    def publish(self):
        if self.fault in ("unpadded", "url-alphabet", "array", "wrapped"):
            payload = b64(b'{"a":"\xc3\xbf\xc3\xbe?>"}  ', self.fault)
            self.wire.tell("host/snapshot/publish", {"topic": "canary.data", "payload": payload})
            return
        if self.fault == "publishes-without-a-topic":
            self.wire.tell("host/snapshot/publish", {"payload": b64(b"{}")})
        if self.fault == "publishes-as-a-request":
            self.ask_host("host/snapshot/publish", {"topic": "canary.data", "payload": b64(b"{}")})
        if self.fault == "three-megabytes-at-once":
            self.publish_bytes(b"x" * (3 * MIB))
        indexes = {
            "leaves-out-a-chunk": [0, 1, 3],
            "begins-at-one": [1, 2, 3],
            "chunks-backwards": [2, 1, 0],
            "a-chunk-twice": [0, 1, 1, 2],
        }.get(self.fault, [0, 1, 2])
        for at, index in enumerate(indexes):
            is_final = at == len(indexes) - 1
            if self.fault == "no-final-chunk":
                is_final = False
            if self.fault == "two-final-chunks":
                is_final = at >= 1
            if self.fault == "every-chunk-is-final":
                is_final = True
            self.publish_chunk(index, is_final)

    def publish_chunk(self, index, is_final):
        data = ["item %d" % index] * 3
        if self.fault == "oversize-chunk" and index == 1:
            data = ["x" * MIB] * 3
        chunk = {
            "version": 1,
            "published_ns": 1_000 + (index if self.fault == "another-time-for-each-chunk" else 0),
            "partial": not is_final,
            "chunk_index": str(index) if self.fault == "chunk-index-is-a-text" else index,
            "is_final": is_final,
            "data": data,
        }
        self.publish_bytes(json.dumps(chunk).encode())

    def publish_bytes(self, data, topic="canary.data"):
        self.wire.tell("host/snapshot/publish", {"topic": topic, "payload": b64(data)})
