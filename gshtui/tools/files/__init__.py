"""Tools on files, and what they share.

`path_location.py` and `workspace.py` find a path and remember what was read, `file_access.py` opens it safely,
`file_paths.py` routes virtual paths, `file_views.py` and `file_changes.py` are the views and changes that `read`,
`grep`, `write` and the others are made of.
"""
