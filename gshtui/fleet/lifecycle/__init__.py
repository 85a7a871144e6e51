"""The life of an agent.

`fleet.py` is what everybody else holds. `starter.py` starts one, `follower.py` follows its status, `answerer.py`
answers its questions, `reconciler.py` finds it again after a restart, `forks.py` copies it, and `killer.py` ends it.
"""
