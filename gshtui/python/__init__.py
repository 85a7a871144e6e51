"""The persistent Python interpreters of agents.

`interpreter.py` is the hub's side of one, `worker/` is the program that runs in its process, under the person's
Python, with nothing but the standard library, and cloudpickle where variables are kept (`interpreters.py`: where they
may be loaded); the tool and its commands are `tools/code/python_tool.py` and `tools/code/python_commands.py`.
"""
