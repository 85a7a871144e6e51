"""The models' providers behind one port.

`port.py` is what the rest knows; `catalog.toml` has the models, `candidates.py` finds keys and addresses, and
`selection.py` chooses.
"""
