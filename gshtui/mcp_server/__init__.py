"""The face for other programs, which use our commands by MCP.

`served_commands.py` is the access list of declared commands, run behind the guard for a caller that counts as an
agent; `mcp_face.py` serves them by the official SDK, and `headless/servers/mcp_process.py` runs it. Client and server
are two rooms, not one `mcp/`: the client is below the hub and the server above it, so a folder with both would be a
circle.
"""
