"""The command and tool `skills`: list the skills, and load one when it is needed.

Only reads files. Registered by the hub and by an agent's own hub.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import Field

from gshtui.agents.skills.skill_store import MAX_BYTES, Skill, SkillStore, load_skill, read_skills
from gshtui.commands.declaration import Command, Invocation, Outcome
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import PLAIN, RARE, ToolParameters
from gshtui.text.markdown_table import cell, without_marks

DESCRIPTION = "Load the instructions of a skill: `action=load name=NAME`. action=ls lists them."
DETAILS = (
    f"With `file` it loads another file of the skill's folder, at most {MAX_BYTES // 1024} KB. Loading runs nothing."
)


class SkillsParameters(ToolParameters):
    """What to do with which skill."""

    action: Literal["ls", "list", "load"] = Field(default="ls", description="What to do", json_schema_extra=PLAIN)
    name: str = Field(default="", description="load: the skill", json_schema_extra=PLAIN)
    file: str = Field(
        default="", description="load: another file of the skill, relative to its folder", json_schema_extra=RARE
    )


def commands() -> list[AnyCommand]:
    """The family. Each call rereads the skills of its folder."""

    async def run(invocation: Invocation, parameters: SkillsParameters) -> Outcome:
        shelf = await asyncio.to_thread(read_skills, invocation.cwd)
        if parameters.action != "load":
            return _listed(shelf, str if invocation.caller.is_agent else cell)
        skill = shelf.get(parameters.name.strip())
        text, others = await asyncio.to_thread(load_skill, skill, parameters.file)
        return _loaded(skill, parameters.file, text, others)

    async def complete(invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        if parameter == "action":
            return [action for action in ("ls", "load") if action.startswith(prefix)]
        if parameter != "name":
            return []
        shelf = await asyncio.to_thread(read_skills, Path(invocation.cwd))
        return [skill.name for skill in shelf.sorted() if skill.name.startswith(prefix)]

    return [
        Command(
            "skills",
            "List skills, or load one",
            SkillsParameters,
            run,
            positions=("action", "name", "file"),
            description=DESCRIPTION,
            details=DETAILS,
            family="agents",
            tool=True,
            acts=True,
            always_offered=True,
            complete=complete,
        )
    ]


def _listed(shelf: SkillStore, kept: Callable[[str], str]) -> Outcome:
    skills = shelf.sorted()
    data = {
        "skills": [
            {"name": skill.name, "description": skill.description, "source": skill.source, "folder": str(skill.folder)}
            for skill in skills
        ],
        "problems": shelf.problems,
    }
    lines = [f"- **{kept(skill.name)}** ({kept(skill.source)}) — {kept(skill.description)}" for skill in skills]
    text = "\n".join([*(lines or ["No skills yet."]), *(f"\n{kept(p)}" for p in shelf.problems)])
    return Outcome(data, text, plain=without_marks(text))


def _loaded(skill: Skill, file: str, text: str, others: list[str]) -> Outcome:
    whose = {
        "built in": "It is part of gsh-tui.",
        "yours": "It is the person's own.",
        "a plugin's": "It comes with a plugin that the person approved, and grants no permissions.",
        "the project's": "It comes with the project: it says how to work here, and grants no permissions.",
    }[skill.source]
    more = (
        f"\n\nOther files of this skill, to be loaded with `file`: {', '.join(others)}" if others and not file else ""
    )
    data = {"name": skill.name, "source": skill.source, "file": file or "SKILL.md", "text": text, "files": others}
    return Outcome(data, f"[skill {skill.name}{f', {file}' if file else ''}. {whose}]\n\n{text}{more}")
