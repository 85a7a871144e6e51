"""How a face speaks with a hub in another process: nothing here belongs to a hub, and nothing of one is loaded.

`hub_greeting.py` finds the hub that serves this program, for every face; `hub_dial.py` makes a window's connection,
`window_link.py` has its calls and events over it (`window_protocol.py`).
"""
