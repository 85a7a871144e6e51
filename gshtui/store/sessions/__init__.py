"""The `session` command: list, search, show, export and delete conversations."""
