"""The command `people`: who may enter over SSH. For people only."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Annotated, Any, ClassVar

import msgspec
from pydantic import Field

from gshtui.commands.declaration import (
    Access,
    Action,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Returns,
    UsageError,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.guard.people import (
    AuthorizedPerson,
    PeopleError,
    PeopleFile,
    Rights,
    new_person,
    people_file,
    read_people,
    write_people,
)
from gshtui.settings.paths import FolderError
from gshtui.text import markdown_table


class ChangedPerson(msgspec.Struct, frozen=True):
    """Somebody who was let in or is let in no more."""

    name: str
    keys: tuple[str, ...]
    """Fingerprints."""
    allowed: bool


class ListPeople(Parameters, Returns[PeopleFile]):
    """List who may enter over SSH."""

    COMMAND: ClassVar[str] = "people"
    WORD: ClassVar[str] = "ls"
    SHELL = ShellForm(summary="List who may enter over SSH.", parts=frozenset())


class AllowPerson(Parameters, Returns[ChangedPerson]):
    """Let somebody in over SSH by their public key.

    With the rights *talk*, they join calls and talk there; with *all*, they may do whatever you may.
    """

    COMMAND: ClassVar[str] = "people"
    WORD: ClassVar[str] = "allow"
    SHELL = ShellForm(
        places=("name", "key"),
        summary="Let somebody in by their public key.",
        parts=frozenset({"store"}),
        examples=("gsh-tui people allow amy 'ssh-ed25519 AAAAC3Nz… amy@laptop'",),
        rights=True,
    )
    name: str = Field(description="Their name in calls.")
    key: Annotated[str, Mark.VERBATIM, ShellOption(words=-1, metavar="KEY")] = Field(
        description="Their public key, as one line."
    )
    rights: Rights = Field(default="talk", description="talk: join calls and talk there. all: whatever you may do.")
    another: bool = Field(default=False, description="It is one more key of somebody who may enter already.")


class RevokePerson(Parameters, Returns[ChangedPerson]):
    """Let somebody in no more; those who are connected are disconnected."""

    COMMAND: ClassVar[str] = "people"
    WORD: ClassVar[str] = "revoke"
    SHELL = ShellForm(places=("name",), summary="Let somebody in no more.", parts=frozenset(), rights=True)
    name: str = Field(description="Their name.")


_GROUP = ShellGroup(
    "Who may enter over SSH.",
    "People whom you let into your calls over SSH, each by their public key. `gsh-tui serve --ssh` opens the door.",
)


NamesTaken = Callable[[], Awaitable[Collection[str]]]
"""The names of agents and of who sits here, which nobody else gets."""


def commands(taken: NamesTaken) -> list[AnyCommand]:

    async def allow(_invocation: Invocation, wanted: AllowPerson) -> ChangedPerson:
        return await _allow(wanted, await taken())

    return [
        group(
            "people",
            "Who may enter over SSH: list, allow, revoke",
            Action(ListPeople, _list, _render_list),
            Action(AllowPerson, allow, _render_changed, effect=Effect.WRITE),
            Action(RevokePerson, _revoke, _render_changed, effect=Effect.WRITE),
            family="calls",
            shell=_GROUP,
            access=Access.HUMAN_ONLY,
        )
    ]


async def _list(_invocation: Invocation, _wanted: ListPeople) -> PeopleFile:
    return await asyncio.to_thread(_read)


async def _allow(wanted: AllowPerson, taken: Collection[str]) -> ChangedPerson:
    if not wanted.name or not wanted.key.strip():
        raise UsageError(
            "The name or the key is missing.", hint="For example: gsh-tui people allow amy 'ssh-ed25519 AAAA…'"
        )
    return await asyncio.to_thread(_add, wanted, taken)


async def _revoke(_invocation: Invocation, wanted: RevokePerson) -> ChangedPerson:
    return await asyncio.to_thread(_remove, wanted.name)


def _read() -> PeopleFile:
    try:
        return read_people(people_file())
    except (OSError, FolderError) as error:
        raise CommandError(f"Can't read the list of people: {error}.") from error


def _add(wanted: AllowPerson, taken: Collection[str]) -> ChangedPerson:
    known = _read()
    same = next((one for one in known.people if one.name == wanted.name), None)
    if same is not None and not wanted.another:
        raise CommandError(
            f"Somebody called {wanted.name} may enter already, with {same.fingerprint}.",
            hint="Choose another name; for one more key of theirs, add `--another`.",
        )
    try:
        person = new_person(wanted.key, wanted.name, wanted.rights, known.people, taken)
    except PeopleError as error:
        raise CommandError(f"{wanted.name[:40]} was not let in: {error}") from error
    _write((*known.people, person))
    return ChangedPerson(person.name, (person.fingerprint,), True)


def _remove(name: str) -> ChangedPerson:
    known = _read()
    gone = [one for one in known.people if one.name == name]
    if not gone:
        raise CommandError(f"Nobody called {name[:40]!r} may enter.", hint="`people ls` lists who may.")
    _write([one for one in known.people if one.name != name])
    return ChangedPerson(name, tuple(one.fingerprint for one in gone), False)


def _write(people: tuple[AuthorizedPerson, ...] | list[AuthorizedPerson]) -> None:
    try:
        write_people(people_file(create=True), people)
    except (OSError, FolderError) as error:
        raise CommandError(f"Can't write the list of people: {error}.") from error


def _render_list(_invocation: Invocation, known: PeopleFile) -> Outcome:
    data: list[dict[str, Any]] = [
        {"name": one.name, "rights": one.rights, "key": one.key_type, "fingerprint": one.fingerprint}
        for one in known.people
    ]
    rows = [(one.name, one.rights, one.key_type, f"`{one.fingerprint}`") for one in known.people]
    text = markdown_table.table(("name", "rights", "key", "fingerprint"), rows) if rows else ""
    text = text or "Nobody may enter over SSH. `people allow NAME KEY` lets somebody in."
    text = "\n\n".join((text, *known.mistakes))
    return Outcome(data, text, plain=markdown_table.bare_columns(text))


def _render_changed(_invocation: Invocation, changed: ChangedPerson) -> Outcome:
    data = {"name": changed.name, "keys": list(changed.keys), "allowed": changed.allowed}
    if changed.allowed:
        return Outcome(data, f"{changed.name} may enter with {changed.keys[0]}. `gsh-tui serve --ssh` opens the door.")
    return Outcome(data, f"{changed.name} may enter no more.")
