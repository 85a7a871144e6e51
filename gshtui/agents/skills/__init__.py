"""Skills: instructions for particular kinds of work, listed by name and loaded when needed."""
