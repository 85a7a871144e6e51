"""The plugins of zsh, bash and fish, the hub's socket, and the shell log (log/).

Whatever reads the shell log calls `hub.sync_shells()` first: the hub stores what is in the spool. `zsh/suggest.zsh`
shows what `log/shell_log.py` answers while a line is typed.
"""
