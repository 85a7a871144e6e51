"""MCP servers whose tools agents get.

`server_pool.py` has the servers of a hub and their tools in the agents' registries, `server_connection.py` starts,
watches and restarts one, `sdk_session.py` talks to it by the official SDK (loaded when the first server is used),
`tool_pins.py` keeps what a person has accepted; `server_outcomes.py` is what the commands say, and a server that a
person writes down; `hub/parts/mcp_part.py` answers what servers ask.
"""
