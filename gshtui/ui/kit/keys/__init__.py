"""The keys of the whole window.

`key_table.py` is the one list of them; `keymap.py` puts the person's own on it, `bound_keys.py` binds a widget's,
`key_bar.py` shows them, and `sendable_keys.py` knows which a terminal can send.
"""
