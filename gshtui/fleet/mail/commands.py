"""The mail, declared as commands: say talk report for everybody, `mail` for people.

An agent speaks to its parent and to the agents below it without a question; words to anybody else can make them act
with rights that the sender has not, so the guard asks. Registered by the hub, and by an agent's own process.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from pydantic import Field

from gshtui.bus.fleet import AgentRow
from gshtui.bus.mail import PERSON, Letter
from gshtui.commands.declaration import (
    Access,
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
)
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import PLAIN
from gshtui.commands.tool_parameters import ToolParameters
from gshtui.fleet.mail.addresses import PARENT, Address
from gshtui.fleet.mail.counter import Counter
from gshtui.fleet.mail.manage import mail_command
from gshtui.fleet.mail.room import MailRoom
from gshtui.fleet.mail.talking import answer_to
from gshtui.fleet.programs import Programs
from gshtui.guard.catastrophe import catastrophe
from gshtui.guard.sanitise import one_line, visible
from gshtui.programs.profile import Profile, takes_code
from gshtui.store.store import Store
from gshtui.tools import paths
from gshtui.tools.bash_line import assessed

SAY = """\
Send a message to another agent (its id or name, or `parent`), and go on. It waits until that agent is idle, unless \
now is true. The other one sees that it is from you, as information and not as a person's word. An answer, if any, \
comes to you as a message. What you say to a shell or an interpreter is run there as it stands. Say all in one \
message: how many you may send is limited, and so are chains of answers."""
TALK = """\
Ask another agent something and wait for its answer: what it says last in the turn in which it takes your message up. \
It knows nothing of your conversation, so the question must say all that it needs. When it does not answer within \
timeout_s, the message stays with it, and its answer is lost to you unless it sends one itself."""
REPORT = """\
Tell the agent that started you something now, before you are done: what you found, that you are stuck, what it must \
know to go on. Your last answer reaches it by itself when you end, so do not repeat that."""


class SayParameters(ToolParameters):
    """What to say to whom."""

    to: str = Field(description="Agent's id or name; `parent` for the one that started you", min_length=1)
    text: str = Field(description="The message", min_length=1, json_schema_extra=PLAIN)
    now: bool = Field(default=False, description="Deliver it also while that agent is at work")


class TalkParameters(ToolParameters):
    """What to ask whom."""

    to: str = Field(description="Agent's id or name; `parent` for the one that started you", min_length=1)
    text: str = Field(description="The question", min_length=1, json_schema_extra=PLAIN)
    timeout_s: float = Field(
        default=300, gt=0, le=3_600, description="Seconds to wait for the answer", json_schema_extra=PLAIN
    )


class ReportParameters(ToolParameters):
    """What to tell the parent."""

    text: str = Field(description="What it must know", min_length=1)


def commands(counter: Counter, store: Store, room: MailRoom | None = None) -> list[AnyCommand]:
    """The family. `room`: where a person can see to messages; not in an agent's own process."""
    family = _Family(counter, store, room.programs if room is not None else Programs())
    speaking = [
        Command(
            "say", "Send a message to an agent", SayParameters, family.say, effect=Effect.EXECUTE,
            positions=("to", "text"), description=SAY, family="agents", tool=True, assess=family.assess,
        ),
        Command(
            "talk", "Ask an agent something and wait for its answer", TalkParameters, family.talk,
            effect=Effect.EXECUTE, positions=("to", "text"), description=TALK, family="agents", tool=True,
            assess=family.assess,
        ),
        Command(
            "report", "Tell your parent something before you are done", ReportParameters, family.report,
            access=Access.AGENT_PRIMARY, effect=Effect.READ, positions=("text",), description=REPORT,
            family="agents", tool=True,
        ),
    ]  # fmt: skip
    return [*speaking, mail_command(room)] if room is not None else [*speaking]


class _Family:
    """The handlers."""

    def __init__(self, counter: Counter, store: Store, programs: Programs) -> None:
        self._counter = counter
        self._store = store
        self._programs = programs

    async def say(self, invocation: Invocation, parameters: SayParameters) -> Outcome:
        sender = _sender(invocation)
        to = await self._counter.addresses.find(parameters.to, sender)
        letter = await self._counter.post(sender, to, parameters.text, defer=not parameters.now)
        return _posted(letter, to)

    async def talk(self, invocation: Invocation, parameters: TalkParameters) -> Outcome:
        sender = _sender(invocation)
        to = await self._counter.addresses.find(parameters.to, sender)
        letter = await self._counter.post(sender, to, parameters.text, kind="talk")
        return await answer_to(self._store, letter, parameters.timeout_s)

    async def report(self, invocation: Invocation, parameters: ReportParameters) -> Outcome:
        if not invocation.caller.is_agent:
            raise CommandError("Only an agent reports to its parent.", hint="`say` sends a message to an agent.")
        sender = invocation.caller.name
        to = await self._counter.addresses.parent(sender)
        letter = await self._counter.post(sender, to, parameters.text, kind="report")
        return _posted(letter, to)

    async def assess(self, invocation: Invocation, parameters: SayParameters | TalkParameters) -> Assessment:
        sender = _sender(invocation)
        to = await self._counter.addresses.find(parameters.to, sender)
        relation = await self._counter.addresses.relation(sender, to)
        program = to.row is not None and to.row.kind == "cli"
        if to.row is not None and program and takes_code(profile := await self._programs.profile(to.row)):
            return await self._of_code(invocation, to.row, profile, parameters.text)
        subject = f"to {to.name}: {one_line(parameters.text, 160)}"
        if not program and relation in (PARENT, "child"):
            return Assessment(Effect.READ, visible(subject), detail=visible(parameters.text))
        why = "a program with rights of its own" if program else "an agent that is neither its parent nor started by it"
        return Assessment(
            Effect.EXECUTE,
            visible(subject),
            detail=f"to {to.name} ({to.id}), {why}\n{visible(parameters.text)}",
            key=f"{to.id} {parameters.text}",
            pattern=f"message agent {to.id} ({to.name})",
        )

    async def _of_code(self, invocation: Invocation, row: AgentRow, profile: Profile, text: str) -> Assessment:
        """To a shell or an interpreter it is no message but what it runs: read as such, and never offered for good."""
        if profile.shell and invocation.caller.is_agent and (why := catastrophe(text)):
            raise CommandError(f"This command is refused, whoever asks: {why}.")
        subject = visible(f"to {row.name}, which runs it: {one_line(text, 160)}")
        found = Assessment(Effect.EXECUTE, subject, detail=visible(text))
        if profile.shell:
            place = await asyncio.to_thread(paths.locate, invocation, row.cwd or str(invocation.cwd))
            found = await asyncio.to_thread(assessed, text, place, invocation.project, own_shell=True)
        detail = f"a line for {row.name} ({row.id}), a {profile.title} of its own, {found.detail}"
        return replace(found, subject=subject, detail=detail, key=f"{row.id} {text}", pattern="")


def _sender(invocation: Invocation) -> str:
    return invocation.caller.name if invocation.caller.is_agent else PERSON


def _posted(letter: Letter, to: Address) -> Outcome:
    when = "as soon as it is idle" if letter.defer else "at once"
    text = f"Sent to {to.name} ({letter.id[-6:]}); it is delivered {when}."
    return Outcome({"message": letter.id, "agent": to.id, "state": letter.state}, text)
