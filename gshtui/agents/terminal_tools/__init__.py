"""Terminals as tools: what agents and people do in the panes of our own tmux server."""
