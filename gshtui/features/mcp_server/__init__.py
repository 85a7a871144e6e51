"""The face for other programs, which use our commands by MCP.

`served_commands.py` is the access list of declared commands, run behind the guard for a caller that counts as an
agent; `mcp_face.py` serves them by the official SDK, and `mcp_process.py` runs it; by HTTP, `relayed_tools.py` passes
calls on to the hub. The client of other servers is a room of its own below the hub (`mcp_client/`).
"""
