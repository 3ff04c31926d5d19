"""An MCP server with one tool, by the official SDK, over stdio."""

from mcp.server.mcpserver import MCPServer  # type: ignore[import-not-found]  # it is in the peers' environment

server = MCPServer("greeter")


@server.tool()  # type: ignore[untyped-decorator]  # for the same reason
def greet(name: str) -> dict[str, str]:
    """Greet by name."""
    return {"text": f"Hello {name}"}


server.run("stdio")
