"""The faces without a window.

`prompt`, `run`, `agent …`, the keeper's process (`servers/keeper_process.py`; it starts anew whenever a setting
changes), those of programs that use our commands by MCP or our agent by ACP (`servers/program_relay.py`; the keeper
serves them, `servers/asked_programs.py`), and the terminals of native agents: a thin process
(`agents/agent_terminal.py`) for a pane (`agents/agent_pane/`) that the keeper draws (`agents/asked_agents.py`).
"""
