"""The command `mail`: a person sees the messages between agents, and holds, edits, drops or releases those that wait.

For people alone. Registered with the family by the hub.
"""

from __future__ import annotations

import time
from typing import Literal

from pydantic import Field

from gshtui.bus.mail import OPEN, Letter
from gshtui.commands.declaration import (
    Access,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    UsageError,
)
from gshtui.commands.registry import AnyCommand
from gshtui.fleet.mail.room import MailRoom
from gshtui.guard.sanitise import one_line, plain
from gshtui.store.errors import StoreError


class MailParameters(Parameters):
    """What to do with which message."""

    action: Literal["ls", "show", "hold", "edit", "drop", "release"] = Field(default="ls", description="What to do.")
    message: str = Field("", description="The message's id, or the end of it; for ls an agent's id.")
    text: str = Field("", description="edit: the new words.")
    all: bool = Field(False, description="ls: also those that were taken up or dropped.")


def mail_command(room: MailRoom) -> AnyCommand:
    """The command, over this hub's mail."""

    async def run(_invocation: Invocation, parameters: MailParameters) -> Outcome:
        try:
            return await _run(room, parameters)
        except StoreError as error:
            raise CommandError(error.message, hint=error.hint) from error

    async def complete(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        if parameter == "action":
            return [action for action in ("ls", "show", "hold", "edit", "drop", "release") if action.startswith(prefix)]
        if parameter != "message":
            return []
        try:
            return [one.id[-6:] for one in await room.letters() if one.id[-6:].startswith(prefix)]
        except StoreError:
            return []

    return Command(
        "mail",
        "Messages between agents: list, show, hold, edit, drop, release",
        MailParameters,
        run,
        access=Access.HUMAN_ONLY,
        effect=Effect.WRITE,
        positions=("action", "message", "text"),
        family="agents",
        complete=complete,
    )


async def _run(room: MailRoom, parameters: MailParameters) -> Outcome:
    if parameters.action == "ls":
        letters = await room.letters(all=parameters.all, recipient=parameters.message)
        return Outcome([_plain(letter) for letter in letters], _table(letters))
    if not parameters.message:
        raise UsageError(f"`mail {parameters.action}` needs a message.", hint="`mail ls` lists them.")
    match parameters.action:
        case "show":
            letter, said = await room.find(parameters.message), ""
        case "hold":
            letter, said = await room.hold(parameters.message), "Held; `mail release` lets it go."
        case "release":
            letter, said = await room.release(parameters.message), "Released."
        case "drop":
            letter, said = await room.drop(parameters.message), "Dropped."
        case _:
            if not parameters.text.strip():
                raise UsageError("`mail edit` needs the new words.", hint="`mail drop` withdraws a message.")
            letter, said = await room.edit(parameters.message, parameters.text), "It has the new words."
    return Outcome(_plain(letter), said or _details(letter))


def _plain(letter: Letter) -> dict[str, object]:
    return {
        "id": letter.id,
        "from": letter.sender,
        "from_name": letter.sender_name,
        "to": letter.recipient,
        "to_name": letter.recipient_name,
        "kind": letter.kind,
        "state": letter.state,
        "why": letter.why,
        "defer_if_busy": letter.defer,
        "age_s": round(max(0.0, time.time() - letter.created), 1),
        "text": letter.text,
        "answer": letter.answer,
    }


def _table(letters: list[Letter]) -> str:
    if not letters:
        return "No message waits."
    rows = [
        f"| {one.id[-6:]} | {_who(one.sender_name, one.sender)} | {_who(one.recipient_name, one.recipient)}"
        f" | {one.state} | {_age(one)} | {one_line(one.text, 60).replace('|', '/')} |"
        for one in letters
    ]
    return "\n".join(("| id | from | to | state | age | text |", "| --- | --- | --- | --- | --- | --- |", *rows))


def _details(letter: Letter) -> str:
    head = f"{letter.kind} from {_who(letter.sender_name, letter.sender)} to "
    head += f"{_who(letter.recipient_name, letter.recipient)}: {letter.state}, {_age(letter)}"
    waits = " It waits until the agent is idle." if letter.defer and letter.state in OPEN else ""
    answer = f"\n\nAnswer:\n\n{plain(letter.answer)}" if letter.answer else ""
    return f"{head}. {letter.why}{waits}\n\n{plain(letter.text)}{answer}"


def _who(name: str, id: str) -> str:
    return f"{one_line(name, 40)} ({id})" if name and name != id else id


def _age(letter: Letter) -> str:
    seconds = max(0, int(time.time() - letter.created))
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"
