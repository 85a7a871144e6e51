"""Prompts that people keep as files, and send by name."""
