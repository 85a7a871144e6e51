"""Tools that act on other machines.

`ssh_tool.py` runs one line there; `remote_tools.py` stands in for the tools of an agent whose machine is another, and
`remote_calls.py` is what both sides say.
"""
