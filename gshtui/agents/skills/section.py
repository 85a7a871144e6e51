"""The part of the system section that names the skills: one line each, in a stable order, within a size.

Pure. Called by the hub and by an agent's own process when an agent is made; it stays the same for the agent's life, so
that a provider's prompt cache does.
"""

from __future__ import annotations

from gshtui.agents.skills.shelf import Shelf

LIMIT = 6_000
"""Characters of all lines together."""
_ONE = 400
"""Characters of one description; `skills ls` gives all of it."""
_HEAD = """\
Skills
These are instructions for particular kinds of work. When one fits what you are about to do, load it first: `skills` \
with action=load and its name."""


def section(shelf: Shelf) -> str:
    """The text; empty when there is no skill."""
    lines: list[str] = []
    size, left = 0, 0
    for skill in shelf.sorted():
        said = skill.description if len(skill.description) <= _ONE else skill.description[: _ONE - 1] + "…"
        whose = " (the project's)" if skill.source == "the project's" else ""
        line = f"- {skill.name}{whose}: {said}"
        if size + len(line) > LIMIT:
            left += 1
            continue
        size += len(line)
        lines.append(line)
    if left:
        lines.append(f"- and {left} more: `skills` with action=ls names them")
    return "\n".join((_HEAD, *lines)) if lines else ""
