"""`/memory`: agents' notes as files, a folder for each memory and a file `KEY.mem` for each note.

Whose memory an agent has, and in which project: the names under which notes are kept.

A memory belongs to a persona, or else to the agent's name, so that the next agent of that persona or name knows what
the last one learned. Notes hold in the project in which they were written: what a file of one project makes an agent
write down never reaches the requests of another. Only a person can write a note that holds everywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import Caller
from gshtui.context.assembly.instruction_files import main_repository
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables.memory_table import EVERYWHERE, MemoryNote, MemoryTable, NoteName
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import one_line
from gshtui.vfs import FileError, Node, Right, appended, as_file_error, is_file, is_folder, missing

FindAgent = Callable[[str], Awaitable[AgentRow]]
"""Looks up an agent of the roster by id or name. Raises `StoreError` (`unknown`)."""


class MemoryOwners:
    """The owners of memories, as this process knows agents."""

    def __init__(self, find: FindAgent, here: str, project: Path) -> None:
        """`here`: the name of the agent that this process has without a row of the roster."""
        self._find = find
        self._here = here
        self._folder = project
        self._project = ""

    async def owner(self, agent: str) -> str:
        """The name of an agent's memory. `agent`: id or name of an agent, or the name of a memory. Raises `StoreError`:
        the record cannot be read.
        """
        if agent == self._here and not agent.isdecimal():
            return agent
        try:
            row = await self._find(agent)
        except StoreError as error:
            if error.kind not in ("unknown", "ambiguous"):
                raise
            return agent
        return row.persona or row.name

    async def project(self) -> str:
        """The folder that stands for this project: the main repository's, for a git worktree."""
        if not self._project:
            main = await asyncio.to_thread(main_repository, self._folder)
            self._project = str(main or self._folder)
        return self._project


SUFFIX = ".mem"


class MemoryMount:
    """The notes that hold in this project."""

    def __init__(self, memory: MemoryTable, owners: MemoryOwners) -> None:
        self._memory = memory
        self._owners = owners

    async def right(self, caller: Caller, steps: tuple[str, ...], *, writes: bool) -> Right:
        """An agent reads and writes its own; it asks before it reads another's."""
        own = bool(steps) and await self._own(caller) == steps[0]
        if writes:
            return "free" if own and len(steps) > 1 else "never"
        return "free" if own or not steps else "ask"

    async def stat(self, caller: Caller, steps: tuple[str, ...]) -> Node:
        if not steps:
            return Node("memory", "folder")
        notes = await self._notes(caller, steps[0])
        if len(steps) == 1:
            return Node(steps[0], "folder", type="memory", about={"notes": len(notes)})
        return _node(_found(notes, steps))

    async def list(self, caller: Caller, steps: tuple[str, ...]) -> list[Node]:
        if not steps:
            try:
                found = set(await self._memory.agents(await self._owners.project()))
                if caller.is_agent:
                    found.add(await self._owners.owner(caller.name))
            except StoreError as error:
                raise as_file_error(error) from error
            return [Node(name, "folder", type="memory") for name in sorted(found)]
        if len(steps) > 1:
            raise is_file("memory", steps)
        return [_node(note) for note in await self._notes(caller, "/".join(steps))]

    async def read(self, caller: Caller, steps: tuple[str, ...]) -> str:
        """A note's text."""
        if len(steps) < 2:
            raise is_folder("memory", steps)
        return _found(await self._notes(caller, steps[0]), steps).value

    async def write(self, caller: Caller, steps: tuple[str, ...], content: str, *, append: bool) -> None:
        """Write a note: a person's change of one that holds everywhere changes that one."""
        key = _key(steps)
        name = await self._name(caller, steps[0], key)
        try:
            author = await self._owners.owner(caller.name) if caller.is_agent else caller.name
            await self._memory.put(name, author, lambda old: appended(old, content) if append else content)
        except StoreError as error:
            kind = "full" if error.kind == "invalid" else "failed"
            raise FileError(kind, error.message, error.hint) from error

    async def make_folder(self, caller: Caller, steps: tuple[str, ...]) -> None:
        """Refused: a memory begins with its first note."""
        raise FileError(
            "refused", "A memory has no folders.", "Write a note: `write to=/memory/NAME/KEY.mem content=…`."
        )

    async def remove(self, caller: Caller, steps: tuple[str, ...]) -> None:
        notes = await self._notes(caller, steps[0])
        gone = notes if len(steps) == 1 else [_found(notes, steps)]
        try:
            for note in gone:
                if note.project == EVERYWHERE and caller.is_agent:
                    raise FileError(
                        "refused", f"Only a person removes {one_line(note.key)}: it holds in every project."
                    )
                await self._memory.remove(NoteName(note.agent, note.project, note.key))
        except StoreError as error:
            raise as_file_error(error) from error

    async def _own(self, caller: Caller) -> str:
        try:
            return await self._owners.owner(caller.name)
        except StoreError as error:
            raise as_file_error(error) from error

    async def _notes(self, caller: Caller, owner: str) -> list[MemoryNote]:
        try:
            notes = await self._memory.find_all(owner, await self._owners.project())
        except StoreError as error:
            raise as_file_error(error) from error
        if not notes and (not caller.is_agent or await self._own(caller) != owner):
            known = [node.name for node in await self.list(caller, ())]
            if owner not in known:
                hint = known_names("memories", known) if known else "No agent has notes in this project."
                raise FileError("missing", f"There is no memory of {one_line(owner)}.", hint)
        return notes

    async def _name(self, caller: Caller, owner: str, key: str) -> NoteName:
        try:
            project = await self._owners.project()
            notes = [] if caller.is_agent else await self._memory.find_all(owner, project)
        except StoreError as error:
            raise as_file_error(error) from error
        return NoteName(owner, next((note.project for note in notes if note.key == key), project), key)


def _key(steps: tuple[str, ...]) -> str:
    if len(steps) != 2 or not steps[1].endswith(SUFFIX) or steps[1] == SUFFIX:
        raise FileError("refused", "A memory has files KEY.mem and nothing else.", "Such as /memory/main/style.mem.")
    return steps[1].removesuffix(SUFFIX)


def _found(notes: list[MemoryNote], steps: tuple[str, ...]) -> MemoryNote:
    found = next((note for note in notes if len(steps) == 2 and f"{note.key}{SUFFIX}" == steps[1]), None)
    if found is None:
        raise missing("memory", steps)
    return found


def _node(note: MemoryNote) -> Node:
    about = {"author": note.author, "everywhere": note.project == EVERYWHERE}
    return Node(f"{note.key}{SUFFIX}", "file", len(note.value.encode()), note.at, about=about)
