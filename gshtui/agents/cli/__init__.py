"""Somebody's program as an agent: profiles, sessions, status and hooks of claude, codex, opencode and the rest."""
