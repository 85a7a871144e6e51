"""Other machines, reached by the person's own OpenSSH.

`host_link.py` is the way to one, over the person's OpenSSH client with one shared connection; `remote_shell.py`
writes a command so that every login shell takes it literally, and finds where its output begins. A tmux server on
such a machine is the same `TmuxServer` with a link (`tmux/client_process.py` starts its clients there,
`tmux/remote_server.py` does what libtmux and our view of processes cannot), recorded as `ssh://HOST/NAME`, so
mirrors, statuses and typing are the same code. `host_package.py` brings our own package there, on request, for the
tools of native agents.
"""
