"""The face for editors and other clients that speak the Agent Client Protocol.

`acp_session.py` is one session, a hub of its own whose events `session_updates.py` tells the client;
`acp_server.py` also makes settings of the MCP servers that the client passes on, and `acp_process.py` reads no
further while too much is unanswered; `acp_process.py` runs it.
"""
