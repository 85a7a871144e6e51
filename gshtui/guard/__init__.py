"""Decides whether a tool call may run, and what a program that runs may reach."""
