"""Processes that stay: what other programs, people elsewhere and the hub itself are served by."""
