"""The face for editors and other clients that speak the Agent Client Protocol.

`acp_session.py` is one session, a hub of its own whose events `session_updates.py` tells the client;
`acp_server.py` also makes settings of the MCP servers that the client passes on; `acp_process.py` runs it, and reads no
further while too much is unanswered.
"""
