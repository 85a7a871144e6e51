"""A recorded conversation, played to a window as if it happened.

`replay_hub.py` is the hub of a replay: its bus carries only recorded events (`replay_player.py`), and what would change
something is refused; `window/` plays them, and has the tour.
"""
