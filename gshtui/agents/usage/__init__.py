"""What agents use: a record of every request, budgets, and the command `usage`."""
