"""Searching the past: shell history, conversations, the log; for agents on demand, for people by command."""
