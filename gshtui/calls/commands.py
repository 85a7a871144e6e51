"""The commands of calls: `create join leave topic invite history`, and `calls`, which lists and looks after them.

What is said there is said by `say`, `talk` and `wall` of the mail. Registered by the hub.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from gshtui.bus.call_data import (
    LOBBY,
    CallInfo,
    CallMessage,
    CallWindow,
    Pin,
    Principal,
    WindowKind,
)
from gshtui.bus.events.call_events import CallOpenRequested
from gshtui.calls.call_letter import unknown_words
from gshtui.calls.call_service import CallService
from gshtui.calls.call_values import (
    CallListing,
    CallPage,
    JoinCall,
    ListCalls,
    NoteRun,
    NoteTyping,
    PostMessage,
    ReadCall,
    RemoveCall,
    RemovedCall,
    call_json,
    message_json,
    messages_text,
    results_json,
    unread_messages,
)
from gshtui.commands.declaration import (
    Access,
    Action,
    Assessment,
    Command,
    CommandError,
    Effect,
    Handler,
    Invocation,
    Mark,
    Outcome,
    P,
    Parameters,
    Question,
    Returns,
    UsageError,
    Word,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import ToolParameters
from gshtui.commands.shell_form import ShellOption
from gshtui.system.files import private_files
from gshtui.text import markdown_table
from gshtui.text.sanitise import one_line

_SHOWN = 20
_MOST = 1_000


class CreateParameters(Parameters):
    """A new call."""

    call: Word = Field(description="Its name: letters, digits and `-`.")
    topic: Annotated[str, Mark.VERBATIM] = Field("", description="What it is about.")
    branch: str = Field("", description="A call whose conversation, documents and agents it begins with.")
    at: int = Field(-1, ge=-1, description="With branch: the last message to keep; -1: all of them.")


class LeaveParameters(Parameters):
    """Which call to leave."""

    call: str = Field("", description="Its name; empty: the one you are in.")


class TopicParameters(Parameters):
    """Show or set the topic."""

    set: Annotated[str | None, Mark.VERBATIM, Mark.PIPED] = Field(
        None, description="The new topic; empty text removes it."
    )
    call: str = Field("", description="Which call; empty: the one you are in.")


class InviteParameters(Parameters):
    """Who is brought in."""

    agent: Word = Field(description="An agent's id or name.")
    call: str = Field("", description="Which call; empty: the one you are in.")


class CallHistoryParameters(ToolParameters):
    """What was said in a call."""

    n: int = Field(default=_SHOWN, ge=1, le=_MOST, description="How many messages, the newest ones")
    call: str = Field(default="", description="Its name; empty: the one you are in")
    agent: str = Field(default="", description="Only what this member said")
    before: int | None = Field(default=None, ge=0, description="Only messages below this number")


class _OfCall(Parameters):
    COMMAND: ClassVar[str] = "calls"
    call: str = Field(default="", description="Its name; empty: the one you are in.")


class ShowCall(_OfCall, Returns[Outcome]):
    """Show a call: who is in it, what is pinned, what agents are told."""

    WORD: ClassVar[str] = "show"


class SearchCall(_OfCall, Returns[Outcome]):
    """Search in what was said in a call."""

    WORD: ClassVar[str] = "search"
    text: Annotated[str, ShellOption(words=-1)] = Field(default="", description="The words.")
    limit: int = Field(default=50, ge=1, le=_MOST, description="Most messages.")


class SetCallWindow(_OfCall, Returns[Outcome]):
    """Set what agents are told of the conversation."""

    FORMER_NAMES = {"keep_recent": "last", "max_history_tokens": "tokens"}
    WORD: ClassVar[str] = "window"
    kind: WindowKind | None = Field(
        default=None, description="As much as fits a budget, the last messages, or these after a summary."
    )
    tokens: int | None = Field(default=None, ge=0, le=1_000_000, description="The budget in tokens.")
    last: int | None = Field(default=None, ge=0, le=_MOST, description="How many messages word for word.")
    summary: str | None = Field(default=None, description="The summary of what came before, in your words.")
    summarizer: str | None = Field(
        default=None, description="The agent in the call whose model summarises; empty: the small model."
    )
    summary_max_tokens: int | None = Field(default=None, ge=100, le=20_000, description="Most tokens of the summary.")


class SummariseCall(_OfCall, Returns[Outcome]):
    """Summarise what was said so far."""

    WORD: ClassVar[str] = "summarise"


class InstructCall(_OfCall, Returns[Outcome]):
    """Set what everybody in a call is asked to do."""

    WORD: ClassVar[str] = "instructions"
    text: Annotated[str, ShellOption(words=-1)] = Field(default="", description="In your words; empty: nothing.")


class PinDocument(_OfCall, Returns[Outcome]):
    """Pin a document, which everybody in a call has."""

    WORD: ClassVar[str] = "pin"
    text: Annotated[str, ShellOption(words=-1)] = Field(default="", description="The document's name.")
    content: Annotated[str, Mark.PIPED] = Field(default="", description="The document's text.")


class UnpinDocument(_OfCall, Returns[Outcome]):
    """Take a pinned document away."""

    WORD: ClassVar[str] = "unpin"
    text: Annotated[str, ShellOption(words=-1)] = Field(default="", description="The document's name.")


class DismissMember(_OfCall, Returns[Outcome]):
    """Send a member away."""

    WORD: ClassVar[str] = "dismiss"
    text: Annotated[str, ShellOption(words=-1)] = Field(default="", description="The member.")


class ExportCall(_OfCall, Returns[Outcome]):
    """Export all of a call as Markdown."""

    WORD: ClassVar[str] = "export"
    out: str = Field(default="", description="The file; empty: print it.")


CREATE = "Create a call: a shared room of people and agents"


def commands(service: Callable[[], CallService]) -> list[AnyCommand]:
    """The family. `service`: the calls of this hub, made when one is first used."""
    family = _Calls(service)
    human = Access.HUMAN_ONLY
    changes: dict[str, Any] = {"access": human, "effect": Effect.WRITE}
    call, text = ("call",), ("call", "text")
    joins = Action(JoinCall, family.join_call, _render_joined, **changes)

    def command(name: str, summary: str, parameters: type[P], run: Handler[P], *places: str, **more: Any) -> Command[P]:
        return Command(
            name, summary, parameters, run, positions=places, family="calls", complete=family.complete, **more
        )

    joining = "Join a call; your messages go there until you leave"
    leaving = "Leave a call, and be in the lobby again"
    return [
        command("create", CREATE, CreateParameters, family.create, "call", "topic", **changes),
        command("join", joining, JoinCall, joins.handle, "call", guests=True, actions=(joins,), **changes),
        command("leave", leaving, LeaveParameters, family.leave, "call", guests=True, **changes),
        group(
            "calls",
            "The calls: list, show, search, export, remove, and what their agents are told",
            Action(ListCalls, family.list_calls, _render_listing),
            Action(ShowCall, family.show, _as_it_is, positions=call),
            Action(SearchCall, family.search, _as_it_is, positions=text),
            Action(SetCallWindow, family.set_window, _as_it_is, positions=call, **changes),
            Action(SummariseCall, family.summarise, _as_it_is, positions=call, **changes),
            Action(InstructCall, family.instruct, _as_it_is, positions=text, **changes),
            Action(PinDocument, family.pin, _as_it_is, positions=text, **changes),
            Action(UnpinDocument, family.unpin, _as_it_is, positions=text, **changes),
            Action(DismissMember, family.dismiss, _as_it_is, positions=text, **changes),
            Action(ExportCall, family.export, _as_it_is, positions=call, **changes),
            Action(RemoveCall, family.remove, _render_removed, family.ask_removal, positions=call, **changes),
            Action(ReadCall, family.read_page, _render_page, access=human),
            Action(NoteTyping, family.note_typing, _render_noted, access=human),
            Action(NoteRun, family.note_run, _render_told, access=human),
            Action(PostMessage, family.post_message, _render_post, access=human, effect=Effect.EXECUTE),
            family="calls",
            guests=True,
            assess=family.assess_look,
            complete=family.complete,
            opens="calls",
            description="List the calls, the shared rooms of people and agents; `show` one, or `search` in it.",
            tool=True,
            gives_data=True,
        ),
        command(
            "topic", "Show or set the topic of a call", TopicParameters, family.topic, "set", guests=True, **changes
        ),
        command("invite", "Bring an agent into a call", InviteParameters, family.invite, "agent", "call", **changes),
        command(
            "history",
            "What was said in a call",
            CallHistoryParameters,
            family.history,
            "n",
            guests=True,
            tool=True,
            gives_data=True,
            assess=family.assess_history,
        ),
    ]


class _Calls:
    """The handlers."""

    def __init__(self, service: Callable[[], CallService]) -> None:
        self._service = service

    async def _asked(self, invocation: Invocation) -> tuple[CallService, Principal]:
        """The calls, and who asks for them."""
        service = self._service()
        return service, await service.principal(invocation.caller)

    async def create(self, invocation: Invocation, parameters: CreateParameters) -> Outcome:
        service, who = await self._asked(invocation)
        call = await service.create(
            parameters.call, who, topic=parameters.topic, branch_of=parameters.branch, at=parameters.at
        )
        begun = f", with messages 0 to {call.branched_at} of {call.branched_from}" if call.branched_from else ""
        return Outcome(call_json(call), f"Created the call {call.name}{begun}. `join {call.name}` enters it.")

    async def join_call(self, invocation: Invocation, parameters: JoinCall) -> CallInfo:
        service, who = await self._asked(invocation)
        return await service.join(parameters.call, who)

    async def list_calls(self, invocation: Invocation, _parameters: ListCalls) -> CallListing:
        service, who = await self._asked(invocation)
        return CallListing(tuple(await service.all()), (await service.find("", who)).name, who.id)

    async def read_page(self, invocation: Invocation, parameters: ReadCall) -> CallPage:
        service, who = await self._asked(invocation)
        found = await service.history(parameters.call, who, limit=parameters.limit, before=parameters.before)
        return CallPage(await service.find(parameters.call, who), tuple(found))

    async def note_typing(self, invocation: Invocation, _parameters: NoteTyping) -> str:
        service, who = await self._asked(invocation)
        await service.note_typing(who)
        return (await service.find("", who)).name

    async def note_run(self, invocation: Invocation, parameters: NoteRun) -> bool:
        service, who = await self._asked(invocation)
        return await service.note_run(parameters.call, parameters.line, who, failed=parameters.failed)

    async def post_message(self, invocation: Invocation, parameters: PostMessage) -> CallMessage:
        service, who = await self._asked(invocation)
        return await service.post_message(who, parameters.call, parameters.text)

    async def leave(self, invocation: Invocation, parameters: LeaveParameters) -> Outcome:
        service, who = await self._asked(invocation)
        call = await service.leave(parameters.call, who)
        return Outcome({"left": call.name, "call": LOBBY}, f"You left {call.name} and are in the lobby.")

    async def topic(self, invocation: Invocation, parameters: TopicParameters) -> Outcome:
        service, who = await self._asked(invocation)
        call = await service.find(parameters.call, who)
        _refuse_outsider(invocation, call, who)
        if parameters.set is not None:
            call = await service.set_topic(parameters.call, parameters.set, who)
        said = (
            one_line(call.topic, 400) if call.topic else f"The call {call.name} has no topic. `topic set=…` gives one."
        )
        return Outcome({"call": call.name, "topic": call.topic}, said)

    async def invite(self, invocation: Invocation, parameters: InviteParameters) -> Outcome:
        service, who = await self._asked(invocation)
        call, agent = await service.invite(parameters.agent, parameters.call, who)
        text = f"{agent.name} is in the call {call.name}. `talk to={agent.name} …` or `@{agent.name}` asks it."
        return Outcome(call_json(call), text)

    async def assess_history(self, invocation: Invocation, parameters: CallHistoryParameters) -> Assessment:
        """Judge reading what was said in a call. Raises `ExpectedError`."""
        return await self._assess_reading(invocation, parameters.call, "history")

    async def assess_look(self, invocation: Invocation, parameters: Returns[object]) -> Assessment:
        """Judge looking at the calls, or at what was said in one. Raises `ExpectedError`."""
        doing = f"calls {parameters.WORD}"
        if isinstance(parameters, ShowCall | SearchCall):
            return await self._assess_reading(invocation, parameters.call, doing)
        effect = Effect.READ if isinstance(parameters, ListCalls) else Effect.WRITE
        return Assessment(effect, parameters.WORD, detail=doing)

    async def _assess_reading(self, invocation: Invocation, name: str, doing: str) -> Assessment:
        """An agent asks before it reads a call that it is not in, as it does before it reads its files."""
        service, who = await self._asked(invocation)
        call = await service.find(name, who)
        subject = f"{doing} {call.name}"
        if is_in(call, who):
            return Assessment(Effect.READ, subject)
        why = "it is a call that the agent is not in"
        return Assessment(Effect.READ, subject, inside=False, detail=subject, key=subject, pattern=subject, why=why)

    async def history(self, invocation: Invocation, parameters: CallHistoryParameters) -> Outcome:
        service, who = await self._asked(invocation)
        _refuse_outsider(invocation, await service.find(parameters.call, who), who)
        limit = _MOST if parameters.agent else parameters.n
        found = await service.history(parameters.call, who, limit=limit, before=parameters.before)
        if parameters.agent:
            wanted = parameters.agent.strip()
            found = [one for one in found if wanted in (one.author, one.author_name)][-parameters.n :]
        data = [entry for one in found for entry in (*results_json(one), message_json(one))]
        return _messages(data, found, "Nothing was said there yet.")

    async def show(self, invocation: Invocation, parameters: ShowCall) -> Outcome:
        service, who = await self._asked(invocation)
        call = await service.find(parameters.call, who)
        _refuse_outsider(invocation, call, who)
        pins = await service.pins(call.name)
        table = _details(call, pins)
        data = call_json(call) | {"pinned": [pin.name for pin in pins]}
        return Outcome(data, table, plain=markdown_table.bare_columns(table))

    async def search(self, invocation: Invocation, parameters: SearchCall) -> Outcome:
        service, who = await self._asked(invocation)
        if not parameters.text.strip():
            raise UsageError("Give the words to search for.", hint="For example: calls search lobby flaky test")
        _refuse_outsider(invocation, await service.find(parameters.call, who), who)
        hits = await service.search(parameters.call, parameters.text, who, limit=parameters.limit)
        return _messages([message_json(one) for one in hits], hits, "Nothing found.")

    async def instruct(self, invocation: Invocation, parameters: InstructCall) -> Outcome:
        service, who = await self._asked(invocation)
        call = await service.instruct(parameters.call, parameters.text, who)
        return Outcome(call_json(call), f"Every agent in {call.name} is told so from now on.")

    async def summarise(self, invocation: Invocation, parameters: SummariseCall) -> Outcome:
        service, who = await self._asked(invocation)
        call = await service.summarise(parameters.call, who)
        data = call_json(call) | {"summary": call.summary, "summary_to": call.summary_to}
        return Outcome(data, call.summary, plain=call.summary)

    async def pin(self, invocation: Invocation, parameters: PinDocument) -> Outcome:
        service, who = await self._asked(invocation)
        name = parameters.text.strip()
        if not name or not parameters.content:
            raise UsageError("A pinned document needs a name and its content.")
        await service.pin(parameters.call, name, parameters.content, who)
        return Outcome({"pinned": name}, f"Pinned {one_line(name, 60)}.")

    async def unpin(self, invocation: Invocation, parameters: UnpinDocument) -> Outcome:
        service, who = await self._asked(invocation)
        name = parameters.text.strip()
        await service.unpin(parameters.call, name, who)
        return Outcome({"unpinned": name}, f"Unpinned {one_line(name, 60)}.")

    async def dismiss(self, invocation: Invocation, parameters: DismissMember) -> Outcome:
        service, who = await self._asked(invocation)
        call = await service.dismiss(parameters.text.strip(), parameters.call, who)
        return Outcome(call_json(call), f"{one_line(parameters.text, 40)} is no longer in {call.name}.")

    async def remove(self, invocation: Invocation, parameters: RemoveCall) -> RemovedCall:
        service = self._service()
        if not parameters.call.strip():
            raise UsageError("The call to remove is missing.", hint="`calls` lists them.")
        call = await service.remove(parameters.call, await service.principal(invocation.caller))
        return RemovedCall(call.name, call.messages)

    async def ask_removal(self, invocation: Invocation, parameters: RemoveCall) -> Question | None:
        if not parameters.call.strip():
            return None
        service, who = await self._asked(invocation)
        call = await service.find(parameters.call, who)
        losses = (f"{call.messages} messages and the pinned documents of {call.name}",) if call.messages else ()
        return Question(parameters, f"Permanently remove the call {call.name}?", yes="Remove", losses=losses)

    async def complete(self, _invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        if parameter in ("call", "branch"):
            return [name for name in await self._service().names() if name.startswith(prefix)]
        if parameter == "agent":
            return [name for name in await self._service().agent_names() if name.startswith(prefix)]
        return []

    async def set_window(self, invocation: Invocation, parameters: SetCallWindow) -> Outcome:
        service, who = await self._asked(invocation)
        call = await service.find(parameters.call, who)
        old = call.window
        window = CallWindow(
            kind=parameters.kind or old.kind,
            tokens=old.tokens if parameters.tokens is None else parameters.tokens,
            last=old.last if parameters.last is None else parameters.last,
            summarizer=old.summarizer if parameters.summarizer is None else parameters.summarizer.strip(),
            summary_tokens=old.summary_tokens
            if parameters.summary_max_tokens is None
            else parameters.summary_max_tokens,
        )
        if window != old or parameters.summary is not None:
            call = await service.set_window(call.name, window, who, summary=parameters.summary)
        return Outcome(call_json(call), _window_words(call))

    async def export(self, invocation: Invocation, parameters: ExportCall) -> Outcome:
        service, who = await self._asked(invocation)
        call = await service.find(parameters.call, who)
        text = _exported(call, await service.everything(call.name, who), await service.pins(call.name))
        if not parameters.out:
            return Outcome({"call": call.name, "text": text}, text, is_value=True)
        target = invocation.cwd / Path(parameters.out).expanduser()
        try:
            await asyncio.to_thread(_write_new, target, text)
        except FileExistsError as error:
            raise CommandError(f"{target} already exists.", hint="Choose another name.") from error
        return Outcome({"call": call.name, "file": str(target)}, f"Wrote {call.messages} messages to {target}.")


def is_in(call: CallInfo, who: Principal) -> bool:
    """Whether somebody is in a call; everybody is in the lobby."""
    return call.name == LOBBY or call.member(who.id) is not None


def _refuse_outsider(invocation: Invocation, call: CallInfo, who: Principal) -> None:
    """Raise `CommandError` for a guest who is not in the call."""
    if invocation.caller.is_guest and not is_in(call, who):
        raise CommandError(f"You are not in the call {call.name}.", hint=f"`join {call.name}` enters it.")


def _messages(data: object, found: Sequence[CallMessage], none: str = "") -> Outcome:
    return Outcome(data, messages_text(found) or none, plain=messages_text(found, bold="", italic=""))


def _calls_table(found: Sequence[CallInfo], who: str, here: str) -> str:
    rows = [
        (
            f"**{call.name}**" if call.name == here else call.name,
            ", ".join(one.name or one.member for one in call.members[:6]) + (" …" if len(call.members) > 6 else ""),
            str(call.messages),
            str(unread_messages(call, who) or ""),
            one_line(call.topic, 60).replace("|", "/"),
        )
        for call in found
    ]
    return markdown_table.table(("call", "in it", "messages", "unread", "topic"), rows, right=(2, 3))


def _details(call: CallInfo, pins: Sequence[Pin]) -> str:
    rows = [
        ("call", call.name),
        ("topic", one_line(call.topic, 200) or "none"),
        ("created by", one_line(call.owner_name, 60) or "gsh"),
        ("in it", ", ".join(one.name or one.member for one in call.members) or "nobody"),
        ("messages", str(call.messages)),
        ("pinned", ", ".join(pin.name for pin in pins) or "nothing"),
        ("agents are told", _window_words(call)),
    ]
    if call.branched_from:
        rows.append(("branch of", f"{call.branched_from}, up to message {call.branched_at}"))
    if call.instructions:
        rows.append(("instructions", one_line(call.instructions, 200)))
    return markdown_table.facts([(name, value.replace("|", "/")) for name, value in rows])


def _window_words(call: CallInfo) -> str:
    match call.window.kind:
        case "budget":
            return f"what fits {call.window.tokens:,} tokens of what was said since they last heard"
        case "last":
            return f"the last {call.window.last} messages since they last heard"
        case "summary":
            by = f" by {call.window.summarizer}" if call.window.summarizer else ""
            size = f"{call.window.summary_tokens:,} tokens"
            return f"a summary{by} of up to {size}, and the last {call.window.last} messages since they last heard"


def _exported(call: CallInfo, messages: Sequence[CallMessage], pins: Sequence[Pin]) -> str:
    parts = [f"# {call.name}", *([call.topic] if call.topic else [])]
    if call.instructions:
        parts += ["## Instructions", call.instructions]
    for pin in pins:
        parts += [f"## {pin.name}", pin.text]
    parts += ["## Conversation", messages_text(messages)]
    return "\n\n".join(parts) + "\n"


def _write_new(target: Path, text: str) -> None:
    """Write a file that does not exist yet, readable only by its owner. Raises `OSError`."""
    with os.fdopen(private_files.make_file(target), "w", encoding="utf-8", errors="replace") as file:
        file.write(text)


def _render_removed(_invocation: Invocation, gone: RemovedCall) -> Outcome:
    return Outcome({"removed": gone.name}, f"Removed the call {gone.name}.")


def _render_joined(_invocation: Invocation, call: CallInfo) -> Outcome:
    topic = f" Topic: {one_line(call.topic, 200)}." if call.topic else ""
    others = ", ".join(member.name or member.member for member in call.members)
    text = f"You are in the call {call.name}.{topic} In it: {one_line(others, 400) or 'nobody yet'}."
    return Outcome(call_json(call), text, intent=CallOpenRequested(call=call.name))


def _render_noted(_invocation: Invocation, call: str) -> Outcome:
    return Outcome({"call": call}, "", shown=True)


def _render_told(_invocation: Invocation, told: bool) -> Outcome:
    return Outcome({"told": told}, "", shown=True)


def _render_listing(_invocation: Invocation, found: CallListing) -> Outcome:
    table = _calls_table(found.calls, found.who, found.here)
    data = [call_json(call, found.who) for call in found.calls]
    return Outcome(data, table, plain=markdown_table.bare_columns(table))


def _render_page(_invocation: Invocation, page: CallPage) -> Outcome:
    return _messages([message_json(one) for one in page.messages], page.messages)


def _render_post(_invocation: Invocation, message: CallMessage) -> Outcome:
    """What was said is seen in the call; only a refusal or a wrong name needs words."""
    words = " ".join([*(ask.refused for ask in message.asks if ask.refused), unknown_words(message)]).strip()
    return Outcome(message_json(message), words, shown=not words)


def _as_it_is(_invocation: Invocation, outcome: Outcome) -> Outcome:
    return outcome
