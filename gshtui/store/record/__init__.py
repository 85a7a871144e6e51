"""The database as a whole.

`store.py` is what everybody else holds, and checks; `record_writer.py` commits in groups, `database.py` opens,
and rebuilds a damaged file with `record_copy.py`. `journal.py` keeps the events.
"""
