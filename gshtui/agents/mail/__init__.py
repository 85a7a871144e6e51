"""Messages between agents, their parents and people."""
