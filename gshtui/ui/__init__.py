"""The window.

`window/` holds the app and its frame. Each
feature has a folder and sees no other; `kit/` is what they share. `prompt/key_hints.py` has the keys that the line
under the input names.
"""
