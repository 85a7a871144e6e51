"""Reads a program's screen: its state, its questions and their choices, and what runs in front."""
