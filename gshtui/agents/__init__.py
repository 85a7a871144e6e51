"""Our own agents.

`agent.py` takes prompts from its `prompt_inbox.py`, `loop.py` runs a turn, and `toolbox.py` its calls. `hooks/` asks
programs before and after what agents do, `prompts/` are prompts kept as files, which are commands, and `checkpoints.py`
keeps the files at each turn for `commands/rewind.py`.
"""
