"""Our own agent in a terminal: its specification, the relay between its process and the hub, and what it may start."""
