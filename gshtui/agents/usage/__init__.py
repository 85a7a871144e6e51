"""What agents use up: every request kept, budgets, and the command `usage`."""
