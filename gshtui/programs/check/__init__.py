"""Checks a program and its profile against a model server of ours: trials, updates, and what they found."""
