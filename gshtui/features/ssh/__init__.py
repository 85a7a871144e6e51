"""The face for people elsewhere, who are known by their keys.

The server that knows only keys (`ssh_server.py`), the shell of one person (`person_shell.py`) on what they have for a
terminal (`person_terminal.py`), and the files that they may read over SFTP (`person_files.py`);
`ssh_process.py` runs it, `guard/people.py` says who may enter.
"""
