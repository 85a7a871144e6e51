"""The keys of the whole window.

`key_table.py` is the one list of them; `keymap.py` puts the person's own on it, `bound_keys.py` binds a widget's
and knows which a terminal can send, and `key_bar.py` shows them.
"""
