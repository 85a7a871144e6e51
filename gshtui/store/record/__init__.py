"""The database as a whole.

`store.py` is what everybody else holds; `record_writer.py` commits in groups, `database.py` opens, `integrity.py`
checks, and `recovery.py`, `salvage.py` and `record_copy.py` rebuild a damaged file. `journal.py` keeps the events.
"""
