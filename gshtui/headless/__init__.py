"""The faces without a window.

`prompt`, `run`, `agent …`, the keeper's process (`servers/keeper_process.py`; it starts anew whenever a setting
changes), the process of a program that uses our commands by MCP (`servers/program_relay.py`; the keeper serves it,
`servers/asked_programs.py`), and the pane of an agent's own process (`agents/agent_pane/`).
"""
