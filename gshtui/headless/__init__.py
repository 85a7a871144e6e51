"""The faces without a window.

`prompt`, `run`, `agent …`, the keeper's process (`servers/keeper_process.py`; it starts anew whenever a setting
changes), those of programs that use our commands by MCP or our agent by ACP (`servers/program_relay.py`; the keeper
serves them, `servers/asked_programs.py`), and the pane of an agent's own process (`agents/agent_pane/`).
"""
