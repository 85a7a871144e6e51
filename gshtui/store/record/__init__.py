"""The database as a whole.

`store.py` is what everybody else holds, and checks; `record_writer.py` commits in groups, `database.py` opens,
and `recovery.py` and `record_copy.py` rebuild a damaged file. `journal.py` keeps the events.
"""
