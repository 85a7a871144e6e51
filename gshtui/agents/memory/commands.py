"""The commands `remember`, `forget` and `memory`: an agent's notes, which outlive its conversations.

An agent writes its own; a person writes anyone's. Reading another agent's notes is asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from gshtui.agents.memory.memory_mount import MemoryOwners
from gshtui.commands.declaration import (
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    UsageError,
    Word,
)
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import FOR_PEOPLE, PLAIN, RARE, ToolParameters
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables.memory_table import EVERYWHERE, MemoryNote, MemoryTable, NoteName
from gshtui.text.markdown_table import cell, without_marks
from gshtui.text.sanitise import literal, one_line, visible

if TYPE_CHECKING:
    from gshtui.store.record.store import Store

REMEMBER = """\
Write a note into your memory, which later conversations in this project begin with: a decision, a preference, a fact \
that took work to find. The same key replaces the note. Never a secret."""
MEMORY = (
    "Read your memory: all notes, one `key`, or those that `search` finds. Requests leave notes out if there are many."
)
FORGET = "Remove a note from your memory."
_SHOWN = 200
"""Characters of a note in a list."""
_FORMS = ("list", "search", "show")


class RememberParameters(ToolParameters):
    """What to note, for whom."""

    key: Word = Field(description="Its name", min_length=1, json_schema_extra=PLAIN)
    value: Annotated[str, Mark.VERBATIM, Mark.PIPED] = Field(
        description="What to remember", min_length=1, json_schema_extra=PLAIN
    )
    agent: Word = Field(default=Word(), description="Whose memory; empty: your own", json_schema_extra=FOR_PEOPLE)
    everywhere: bool = Field(
        default=False, description="In every project, not only in this one", json_schema_extra=FOR_PEOPLE
    )


class ForgetParameters(ToolParameters):
    """Which note to remove."""

    key: Word = Field(description="Its name", min_length=1)
    agent: Word = Field(default=Word(), description="Whose memory; empty: your own", json_schema_extra=FOR_PEOPLE)
    everywhere: bool = Field(
        default=False, description="The one for every project, not this project's", json_schema_extra=FOR_PEOPLE
    )


class MemoryParameters(ToolParameters):
    """Which notes to read."""

    form: Word = Field(
        default=Word(), description="`list`, `search` or `show`, before what it takes", json_schema_extra=FOR_PEOPLE
    )
    query: str = Field(default="", description="search: words; show: an agent", json_schema_extra=FOR_PEOPLE)
    search: str = Field(default="", description="Words that the notes have")
    key: Word = Field(default=Word(), description="One note", json_schema_extra=PLAIN)
    agent: Word = Field(default=Word(), description="Whose memory; empty: your own", json_schema_extra=RARE)
    show: Word = Field(default=Word(), description="Whose memory: the same as agent", json_schema_extra=FOR_PEOPLE)
    list: bool = Field(default=False, description="All notes, which is also the default", json_schema_extra=FOR_PEOPLE)


class MemoryCommands:
    """The handlers."""

    def __init__(self, memory: MemoryTable, owners: MemoryOwners, clean: Callable[[str], str]) -> None:
        """`clean`: takes secrets out of what an agent notes."""
        self._memory = memory
        self._owners = owners
        self._clean = clean

    async def remember(self, invocation: Invocation, parameters: RememberParameters) -> Outcome:
        """Write a note. Raises `ExpectedError`."""
        name = await self._named(invocation, parameters.agent, parameters.key, parameters.everywhere)
        value = self._clean(parameters.value) if invocation.caller.is_agent else parameters.value
        note, before = await self._memory.put(name, await self._author(invocation), lambda _: value)
        said = "Replaced" if before is not None else "Noted"
        was = f" It was: {one_line(before.value)}" if before is not None and before.value != note.value else ""
        text = f"{said} `{note.key}` in the memory of {note.agent}{_where(note)}.{was}"
        return Outcome(note_data(note) | {"before": before.value if before is not None else None}, text)

    async def forget(self, invocation: Invocation, parameters: ForgetParameters) -> Outcome:
        """Remove a note. Raises `ExpectedError`."""
        name = await self._named(invocation, parameters.agent, parameters.key, parameters.everywhere)
        gone = await self._memory.remove(name)
        others = [] if gone is not None else await self._memory.find_all(name.agent, name.project)
        if gone is not None:
            text = f"Removed `{gone.key}` from the memory of {gone.agent}{_where(gone)}. It said: {literal(gone.value)}"
            return Outcome(note_data(gone), text)
        if any(note.key == name.key for note in others):
            hint = f"A person removes it with `forget key={name.key} agent={name.agent} everywhere=true`."
            raise CommandError(f"The note {name.key!r} of {name.agent} holds in every project.", hint=hint)
        known = ", ".join(one_line(note.key) for note in others[:20])
        hint = f"It has {known}." if known else "It has no notes here."
        raise CommandError(f"The memory of {name.agent} has no note {one_line(name.key)!r}.", hint=hint)

    async def memory(self, invocation: Invocation, parameters: MemoryParameters) -> Outcome:
        """Read notes. Raises `ExpectedError`."""
        agent, search = asked_memory(parameters)
        owner = await self._owners.owner(agent or _own(invocation))
        notes = await self._memory.find_all(owner, await self._owners.project())
        if parameters.key:
            found = [note for note in notes if note.key == parameters.key]
            if not found:
                known = ", ".join(one_line(note.key) for note in notes[:20])
                hint = f"It has {known}." if known else "It has no notes here."
                raise CommandError(f"The memory of {owner} has no note {one_line(parameters.key)!r}.", hint=hint)
        else:
            found = search_notes(notes, search) if search.strip() else notes
        data = {"agent": owner, "search": search, "notes": [note_data(note) for note in found], "of": len(notes)}
        kept = str if invocation.caller.is_agent else cell
        text = _listed(owner, found, len(notes), search, kept, whole=bool(search.strip() or parameters.key))
        return Outcome(data, text, plain=without_marks(text))

    async def complete(self, invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        try:
            if parameter == "form":
                found: Sequence[str] = _FORMS
            elif parameter in ("agent", "show"):
                found = await self._memory.agents(await self._owners.project())
            elif parameter == "key":
                owner = await self._owners.owner(_own(invocation))
                found = [note.key for note in await self._memory.find_all(owner, await self._owners.project())]
            else:
                found = ()
        except StoreError:
            found = ()
        return [one for one in found if one.startswith(prefix)]

    async def assess_write(self, invocation: Invocation, parameters: Any) -> Assessment:
        """Its own memory, which everyone can read, costs no question; another's is refused when it runs."""
        return Assessment(Effect.READ, visible(one_line(f"note {parameters.key}", 120)))

    async def assess_read(self, invocation: Invocation, parameters: MemoryParameters) -> Assessment:
        """Reading another agent's memory is asked about. Raises `ExpectedError`."""
        agent, search = asked_memory(parameters)
        subject = visible(one_line(f"{agent} {search or parameters.key}".strip() or "its own notes", 120))
        if not invocation.caller.is_agent or not agent:
            return Assessment(Effect.READ, subject)
        own = await self._owners.owner(agent) == await self._owners.owner(invocation.caller.name)
        if own:
            return Assessment(Effect.READ, subject)
        whose = visible(one_line(agent, 60))
        return Assessment(
            Effect.READ, subject, inside=False, detail=f"the memory of {whose}", pattern=f"read the memory of {whose}"
        )

    async def _named(self, invocation: Invocation, agent: str, key: str, everywhere: bool) -> NoteName:
        caller = invocation.caller
        owner = await self._owners.owner(agent or _own(invocation))
        if caller.is_agent and owner != await self._owners.owner(caller.name):
            raise CommandError(
                f"An agent writes only its own memory, not that of {one_line(owner, 60)}.",
                hint="Send the other agent a message with `say`.",
            )
        if caller.is_agent and everywhere:
            raise UsageError("Only a person writes notes for every project.")
        return NoteName(owner, EVERYWHERE if everywhere else await self._owners.project(), key)

    async def _author(self, invocation: Invocation) -> str:
        caller = invocation.caller
        return await self._owners.owner(caller.name) if caller.is_agent else caller.name


def _own(invocation: Invocation) -> str:
    """The caller itself, or the agent in front of a person."""
    return invocation.caller.name if invocation.caller.is_agent else invocation.agent


def asked_memory(parameters: MemoryParameters) -> tuple[str, str]:
    """Whose memory, and the words to search. Raises `UsageError`."""
    form, query = parameters.form, parameters.query
    if form and form not in _FORMS:
        raise UsageError(
            f"memory: there is no form {form[:40]!r}.",
            hint="Write `memory list`, `memory search query=WORDS` or `memory show=AGENT`.",
        )
    agent = parameters.agent or parameters.show or (query if form == "show" else "")
    search = parameters.search or ("" if form == "show" else query)
    if form == "search" and not search.strip():
        raise UsageError("memory search: the words to search are missing.", hint="Write `memory search query=WORDS`.")
    return agent.strip(), search


def search_notes(notes: Sequence[MemoryNote], search: str) -> list[MemoryNote]:
    """The notes that have all of the words, else those that have any, those with most of them first."""
    words = {word.casefold() for word in search.split()}
    scored = [(sum(word in f"{note.key} {note.value}".casefold() for word in words), note) for note in notes]
    if whole := [note for score, note in scored if score == len(words)]:
        return whole
    return [note for score, note in sorted(scored, key=lambda one: -one[0]) if score]


def note_data(note: MemoryNote) -> dict[str, Any]:
    return {
        "agent": note.agent,
        "key": note.key,
        "value": note.value,
        "author": note.author,
        "at": note.at,
        "everywhere": note.project == EVERYWHERE,
        "bytes": len(note.value.encode()),
    }


def _where(note: MemoryNote) -> str:
    return ", for every project" if note.project == EVERYWHERE else ""


def _listed(
    owner: str, notes: Sequence[MemoryNote], of: int, search: str, kept: Callable[[str], str], *, whole: bool
) -> str:
    owner = kept(owner)
    if not notes:
        none = f"No note of {owner} has {kept(repr(one_line(search)))}." if search else ""
        none = none or f"{owner} has no notes in this project."
        return none + (f" It has {of}." if search and of else "")
    head = f"{len(notes)} of {of} notes of {owner}" if len(notes) != of else f"{of} notes of {owner}"
    lines = [f"{head.replace('1 notes', '1 note')}:"]
    for note in notes:
        day = datetime.fromtimestamp(note.at).astimezone().strftime("%Y-%m-%d")
        about = f"{note.author}, {day}{', every project' if note.project == EVERYWHERE else ''}"
        text = literal(note.value).strip() if whole else one_line(note.value, _SHOWN)
        lines.append(f"- **{kept(one_line(note.key))}** ({kept(one_line(about))}): {kept(text)}")
    return "\n".join(lines)


CleanNote = Callable[[str], str]
"""Takes secrets out of what an agent notes."""


def commands(store: Store, owners: MemoryOwners, clean: CleanNote) -> list[AnyCommand]:
    here = MemoryCommands(store.memory, owners, clean)
    return [
        Command(
            "remember",
            "Write a note into an agent's memory",
            RememberParameters,
            here.remember,
            effect=Effect.WRITE,
            positions=("key", "value"),
            description=REMEMBER,
            family="memory",
            tool=True,
            always_offered=True,
            assess=here.assess_write,
            complete=here.complete,
        ),
        Command(
            "forget",
            "Remove a note from an agent's memory",
            ForgetParameters,
            here.forget,
            effect=Effect.WRITE,
            positions=("key",),
            description=FORGET,
            family="memory",
            tool=True,
            assess=here.assess_write,
            complete=here.complete,
        ),
        Command(
            "memory",
            "Read an agent's memory: list, search or show",
            MemoryParameters,
            here.memory,
            positions=("form", "query"),
            description=MEMORY,
            family="memory",
            tool=True,
            gives_data=True,
            assess=here.assess_read,
            complete=here.complete,
        ),
    ]
