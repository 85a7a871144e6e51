"""The composition root: everything but the faces, built in order and stopped in reverse.

`composition.py` has the one list of parts, `hub.py` runs them. A window, a headless command and a native agent's own
process run the same hub with different parts (`hub_options.py`); one that ends soon (`visiting`, such as `gsh` at a
prompt) takes over no agent while a keeper runs; `parts/agents_part.py` makes the window's own agent,
`parts/native_part.py` the agent of an agent's process. `command_offers.py` offers the commands; `parts/fleet_part.py`
sees to it that a keeper runs; `faces/asked_commands.py` runs commands for processes that ask the keeper, in a workspace
for each folder (`faces/workspaces.py`), and `faces/asked_turns.py` takes turns for them, each on a hub of its own with
the keeper as its `host`; `faces/native_run.py` is a native agent's life, `faces/asked_windows.py` is the hub of windows
in other processes in the same way, behind `faces/window_hub.py`, the one door that a window has to its hub wherever
that is; `faces/turn.py` is such a turn, for a face in the same process, too; `parts/keeper_notices.py` calls the person
without a window.
"""
