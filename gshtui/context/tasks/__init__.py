"""The agent's task list, its plan, and the mark of what is pinned."""
