"""The record: one append-only SQLite database of conversations, agents, mail, shell history and usage; and the log."""
