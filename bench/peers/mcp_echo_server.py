"""An MCP server with one tool that echoes, by the official SDK, over stdio."""

from mcp.server.mcpserver import MCPServer  # type: ignore[import-not-found]  # it is in the peers' environment

server = MCPServer("echo")


@server.tool()  # type: ignore[untyped-decorator]  # for the same reason
def echo(payload: str) -> dict[str, str]:
    """Give back what it gets."""
    return {"payload": payload}


server.run("stdio")
