"""Truncate, prune and compact: what goes, what it leaves in its place, the receipt, and the undo."""
