"""Which words are about the hub itself. Loads as little as their caller."""

from __future__ import annotations


def is_about_hub(line: str) -> bool:
    """Whether a line of the command language is about the hub itself, which is started for none."""
    return line.lstrip("/ ").startswith("hub ")
