"""The child of a process per call: JSON in, JSON out. Nothing but the standard library."""

import json
import sys

request = json.load(sys.stdin)
json.dump({"text": f"Hello {request['name']}"}, sys.stdout)
