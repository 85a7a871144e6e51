"""The plugins of zsh, bash and fish, the hub's socket, and the shell log (log/).

Whatever reads the shell log calls `hub.sync_shells()` first: the hub that shells report to stores what is in the
spool, or, while there is none, this process does, under the same lock (`log/spool_sync.py`). `zsh/suggest.zsh` shows
what `log/shell_log.py` answers while a line is typed.
"""
