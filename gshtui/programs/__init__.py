"""Programs of other vendors as agents: what they show, say and are told.

`commands.py` is `profiles` and `hooks`; `report_hook.py` runs as a program's hook, by the path that its settings
name.
"""
