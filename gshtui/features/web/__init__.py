"""The face in a browser, which shows the program on a pseudo-terminal.

The server and who may see it (`web_server.py`), and the one window that all browsers show
(`web_window.py`), which is the program itself on a pseudo-terminal (`system/processes/pty_process.py`);
`web_process.py` runs it.
"""
