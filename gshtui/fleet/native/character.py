"""What a native agent is told that it is: the system section's texts, with its persona, skills and task. Pure.

Owns the words about a task; refuses nothing. Called by the studio before each turn.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from gshtui.context.system import system_sections
from gshtui.fleet.native.spec import Spec

_TASK = """\
You were started by {who} for one task, and work in a terminal of your own. Nobody reads along while you work: your \
last answer is your report, and all that {who} gets. So finish the task, or say plainly how far you came and what \
remains; put what was found into the report itself."""


def sections(spec: Spec, cwd: Path, branch: str, skills: str) -> tuple[str, ...]:
    """The texts in their order, the facts of the environment last."""
    character, facts = system_sections(spec.name or spec.agent, cwd, branch, date.today())
    who = "another agent" if spec.request.parent else "a person"
    task = _TASK.format(who=who) if spec.request.background or spec.request.parent else ""
    words = spec.persona.words.strip() if spec.persona else ""
    return (character, *(part for part in (skills, words, task) if part), facts)
