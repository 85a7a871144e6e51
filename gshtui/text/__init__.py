"""Pure operations on text: patterns, cuts, widths, units. No I/O; imports no other room.

`terminal_sequences.py` takes apart what a terminal sends, for all that read one: the window
(`ui/kit/textual/input_parser.py`), the pane of a native agent, questions at a shell prompt
(`headless/terminal_keys.py`) and the line of a person over SSH.
"""
