"""Chains of steps around a model.

`workflow_parser.py` reads and checks them, `templates.py` owns python-liquid, `workflow_run.py` is one run, which
records each step before it begins and when it has ended (`store/tables/workflow_table.py`);
`step_agents.py` asks the agents of llm steps, `workflow_process.py` is the face that lends a terminal.
"""
