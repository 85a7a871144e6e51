"""Asks the person where neither the policy, a rule nor the mode decides.

`gate.py` is the one door of every call; `question_text.py` words its question, `open_approvals.py` lists what waits,
and `answer_keys.py` is the state machine of keys that every face uses for an answer.
"""
