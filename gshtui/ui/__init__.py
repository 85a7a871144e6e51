"""The window.

`window/` holds the app and its frame, and `window/replay_window.py` the window that plays a recorded conversation. Each
feature has a folder and sees no other; `kit/` is what they share. `prompt/key_hints.py` has the keys that the line
under the input names.
"""
