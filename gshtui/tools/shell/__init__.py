"""Shell lines of an agent.

`bash.py` is the tool, `shell_assessment.py` asks the policy, `shell_process.py` runs the line, `command_output.py`
collects what it prints.
"""
