"""A program over the Agent Client Protocol in a terminal of ours: its turns, questions, files and options."""
