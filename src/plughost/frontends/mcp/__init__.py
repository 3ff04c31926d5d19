"""`plughost mcp`: consoles and plugins as the tools of an agent. Needs the extra `mcp`; nothing else imports it."""
