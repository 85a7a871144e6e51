"""What an agent can do on a machine: files, shell lines, git, code, and the same on other machines.

`commands.py` lists the tools; `familiar_calls.py` puts calls that models know from other programs into the names of
ours.
"""
