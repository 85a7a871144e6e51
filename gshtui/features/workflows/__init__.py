"""Chains of steps around a model.

`workflow_parser.py` reads and checks them, `templates.py` owns python-liquid, `workflow_run.py` is one run, which
records each step before it begins and when it has ended (`store/tables/workflow_table.py`);
`step_agents.py` asks the agents of llm steps, `workflow_turn.py` is a run in the hub for the terminal of
another process, `workflow_process.py` the face that lends that terminal.
"""
