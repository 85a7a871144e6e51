"""The rules of a person and of a project: what they allow, ask about and deny.

`rule_book.py` reads `rules.toml` and matches calls, `rule_doubt.py` finds shell lines that may hide what a rule
names, `rule_draft.py` proposes a rule from a call, and `rule_file.py` writes it.
"""
