"""A client of the SDK before its second version, run by a Python that has it: uses a server, and prints what it saw."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(directory: str, command: list[str]) -> None:
    seen = {}
    heard = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)
        os.close(os.open(f"{directory}/go", os.O_CREAT | os.O_WRONLY))

    started = StdioServerParameters(command=command[0], args=command[1:], cwd=directory)
    async with stdio_client(started) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        seen["version"] = hello.protocolVersion
        seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]

        async def call(name: str, arguments: dict, **options) -> dict:
            result = await session.call_tool(name, arguments, **options)
            content = [getattr(each, "text", each.type) for each in result.content]
            return {"content": content, "error": result.isError, "structured": result.structuredContent}

        seen["run"] = await call("repl", {"input": "x = 2\nx + 1"})
        seen["error"] = await call("repl", {"input": "1 / 0"})
        seen["wrong"] = await call("repl", {"input": 1})
        seen["plugin"] = await call("plugin__same", {"name": "Ada"})
        wait = f"import os, time\nwhile not os.path.exists('{directory}/go'): time.sleep(0.01)\n'over'"
        seen["waited"] = await call("repl", {"input": wait, "timeout_ms": 300_000}, progress_callback=hear)
        seen["picture"] = await call("repl", {"input": PICTURE})
    seen["heard"] = heard == sorted(heard) and len(heard) > 0
    sys.stdout.write(json.dumps(seen))


PICTURE = """\
import base64
class P:
    def _repr_png_(self):
        return base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
                                "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
P()
"""

asyncio.run(main(sys.argv[1], sys.argv[2:]))
