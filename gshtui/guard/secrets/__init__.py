"""Keeps keys, tokens and passwords out of what is stored, sent and inherited.

`redaction.py` takes them out of text, `child_environment.py` out of the variables of child processes; both know their
names by `secret_names.py`.
"""
