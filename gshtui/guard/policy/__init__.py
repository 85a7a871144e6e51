"""Assesses a call before anyone is asked.

`shell_policy.py` parses a shell line (`shell_line.py`) and holds its commands against `program_table.toml`;
`refusal.py` names what no mode allows. `sensitive_paths.py` and `obeyed_files.py` list the files that hold secrets,
and those that other programs obey.
"""
