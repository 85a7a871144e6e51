"""The commands `rewind`, `redo` and `fork`: go back to a prompt with the files as they were, and on from any message.

Only a person runs them. Before they overwrite what the person changed, they ask.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from pydantic import Field

from gshtui.agents.commands.rewind import EarlierPrompt, FilePlan, Rewinder, Rewound
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.commands.declaration import (
    Access,
    Action,
    Command,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Question,
    Returns,
    ToastView,
    Unconfirmed,
    UsageError,
)
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.store.record.store import Store
from gshtui.store.tables.session_table import SessionInfo
from gshtui.text.sanitise import one_line
from gshtui.tools.git.worktree import discard_worktree

_PARTS = frozenset({"store"})
_NAMED = 12
"""Files that a question or an answer names."""
_LISTED = 30
_TOAST = 8.0
"""Seconds for which a window says what became of the files: the conversation that it opens does not tell."""
IsWorking = Callable[[str], bool]
"""Whether a turn of an agent of this process runs."""
Settle = Callable[[], Awaitable[None]]
"""Waits until the files are kept as the last turns of this process left them."""
ForkWorktree = Callable[[Path, str], Awaitable[Path]]
"""(folder, branch) → the new worktree's folder. Raises `ExpectedError`."""


_Agreed = Annotated[tuple[str, ...] | None, Mark.CODE_ONLY]
"""The changed files that a person agreed to overwrite; `None`: nobody was asked."""


class RewindResult(msgspec.Struct, frozen=True):
    """The prompts to choose from, or what a rewind did."""

    prompts: tuple[EarlierPrompt, ...] = ()
    done: Rewound | None = None


class ForkedSession(msgspec.Struct, frozen=True):
    """A conversation that goes on from another one's message."""

    session: SessionInfo
    at: int
    """Position of the last message that it takes over."""
    worktree: str = ""
    as_then: bool = False
    """The worktree's files are those of that moment."""


class RewindConversation(Parameters, Returns[RewindResult]):
    """Go back to before a prompt, and restore the files as they were then; without a number, list the prompts.

    The conversation goes on in a copy that ends there; `redo` goes back. Files are restored from checkpoints that are
    taken before each turn: all that git would not ignore and no more than 5 MB a file, also what shell commands
    changed. What you changed yourself is named, and overwritten only once you have said so.
    """

    COMMAND: ClassVar[str] = "rewind"
    SHELL = ShellForm(summary="Go back to a prompt, with the files as they were.", parts=_PARTS, own_hub=True)
    number: Annotated[int, ShellOption(metavar="NUMBER")] = Field(
        default=0, ge=0, le=1_000_000, description="Which prompt, counted from the newest, 1; 0: list them."
    )
    message: Annotated[str, ShellOption(metavar="ID")] = Field(
        default="", max_length=80, description="Which prompt, by its own id in place of a number."
    )
    session: Annotated[str, ShellOption(metavar="ID", kind="session")] = Field(
        default="", description="The conversation; empty: the current one, else this folder's latest."
    )
    files: bool = Field(default=True, description="Restore the files, too.")
    overwrite: bool = Field(default=False, description="Overwrite what was changed between turns, too.")
    asks: Annotated[bool, Mark.CODE_ONLY] = False
    """Ask even if nothing of the person's is overwritten."""
    agreed: _Agreed = None


class RedoRewind(Parameters, Returns[Rewound]):
    """Undo the last rewind: go back to the conversation that it left, with the files as they were before it."""

    COMMAND: ClassVar[str] = "redo"
    SHELL = ShellForm(summary="Undo the last rewind.", parts=_PARTS, own_hub=True)
    session: Annotated[str, ShellOption(metavar="ID", kind="session")] = Field(
        default="", description="The conversation that the rewind made; empty: the current one."
    )
    files: bool = Field(default=True, description="Restore the files, too.")
    overwrite: bool = Field(default=False, description="Overwrite what was changed since, too.")
    agreed: _Agreed = None


class ForkConversation(Parameters, Returns[ForkedSession]):
    """Fork a conversation from any of its messages. The original stays unchanged."""

    COMMAND: ClassVar[str] = "fork"
    SHELL = ShellForm(summary="Fork a conversation from a message.", parts=_PARTS, own_hub=True)
    at: Annotated[int, ShellOption(metavar="MESSAGE")] = Field(
        default=0,
        description="The last message to take over: its number as `session show` has it, or -1, -2 … from the end;"
        " 0: all.",
    )
    message: Annotated[str, ShellOption(metavar="ID")] = Field(
        default="",
        max_length=80,
        description="The message by its own id in place of a number: before a prompt, or an answer with its calls.",
    )
    session: Annotated[str, ShellOption(metavar="ID", kind="session")] = Field(
        default="", description="The conversation; empty: the current one, else this folder's latest."
    )
    worktree: Annotated[str, ShellOption(metavar="BRANCH")] = Field(
        default="",
        description="Also make a git worktree on this new branch, with the files as they were at that message.",
        max_length=200,
    )


def commands(store: Store, is_working: IsWorking, settle: Settle, fork_worktree: ForkWorktree) -> list[AnyCommand]:
    family = _Family(store, is_working, settle, fork_worktree)
    human, write = Access.HUMAN_ONLY, Effect.WRITE
    rewind = Action(RewindConversation, family.rewind, _render_rewind, family.ask_rewind, access=human, effect=write)
    redo = Action(RedoRewind, family.redo, _render_redone, family.ask_redo, access=human, effect=write)
    fork = Action(ForkConversation, family.fork, _render_fork, access=human, effect=write)
    return [
        Command(
            "rewind",
            "Go back to a prompt, and restore the files as they were",
            RewindConversation,
            rewind.handle,
            access=human,
            effect=write,
            positions=("number",),
            family="session",
            opens="rewind",
            actions=(rewind,),
        ),
        Command(
            "redo",
            "Undo the last rewind",
            RedoRewind,
            redo.handle,
            access=human,
            effect=write,
            family="session",
            actions=(redo,),
        ),
        Command(
            "fork",
            "Fork a conversation from a message",
            ForkConversation,
            fork.handle,
            access=human,
            effect=write,
            positions=("at",),
            family="session",
            actions=(fork,),
        ),
    ]


class _Family:
    """The handlers."""

    def __init__(self, store: Store, is_working: IsWorking, settle: Settle, fork_worktree: ForkWorktree) -> None:
        self._store = store
        self._is_working = is_working
        self._settle = settle
        self._fork_worktree = fork_worktree

    async def rewind(self, invocation: Invocation, parameters: RewindConversation) -> RewindResult:
        session, rewinder = await self._opened(invocation, parameters.session)
        if not (parameters.number or parameters.message):
            prompts = (await rewinder.prompts(session.id))[:_LISTED]
            return RewindResult(tuple(await rewinder.counted(session.id, prompts)))
        self._refuse_while_working(invocation, session)
        prompt = await rewinder.prompt(session.id, parameters.number, parameters.message)
        plan = await rewinder.plan(session.id, prompt) if parameters.files else None
        _refuse_overwriting(plan, parameters)
        return RewindResult(done=await rewinder.rewind(session.id, prompt, plan))

    async def ask_rewind(self, invocation: Invocation, parameters: RewindConversation) -> Question | None:
        if not (parameters.number or parameters.message) or not parameters.files or parameters.overwrite:
            return None
        if parameters.agreed is not None:
            return None
        session, rewinder = await self._opened(invocation, parameters.session)
        prompt = await rewinder.prompt(session.id, parameters.number, parameters.message)
        plan = await rewinder.plan(session.id, prompt)
        if not (plan.yours or parameters.asks):
            return None
        title = f"Go back to before “{one_line(prompt.text, 80)}”?"
        return _question(parameters.model_copy(update={"agreed": plan.yours}), title, plan, "`redo` undoes it.")

    async def redo(self, invocation: Invocation, parameters: RedoRewind) -> Rewound:
        session, rewinder = await self._opened(invocation, parameters.session)
        self._refuse_while_working(invocation, session)
        await rewinder.left_by(session.id)
        plan = await rewinder.plan_back(session.id) if parameters.files else FilePlan()
        _refuse_overwriting(plan, parameters)
        return await rewinder.undo(session.id, plan)

    async def ask_redo(self, invocation: Invocation, parameters: RedoRewind) -> Question | None:
        if not parameters.files or parameters.overwrite or parameters.agreed is not None:
            return None
        session, rewinder = await self._opened(invocation, parameters.session)
        await rewinder.left_by(session.id)
        plan = await rewinder.plan_back(session.id)
        if not plan.yours:
            return None
        exactly = parameters.model_copy(update={"agreed": plan.yours})
        return _question(exactly, "Go back to where you were before the rewind?", plan)

    async def fork(self, invocation: Invocation, parameters: ForkConversation) -> ForkedSession:
        session, rewinder = await self._opened(invocation, parameters.session)
        last = session.messages
        at = parameters.at if parameters.at > 0 else last + parameters.at
        if parameters.message:
            at = await rewinder.end_before(session.id, parameters.message)
        elif not 0 < at <= last:
            raise UsageError(
                f"There is no message {parameters.at}: the conversation has {last}.",
                hint="`session show all=true` (`--all`) shows them with their numbers.",
            )
        if not parameters.worktree:
            return ForkedSession(await self._forked(session, session.cwd, at), at)
        tree = await rewinder.tree_before(session.id, at)
        place = await self._fork_worktree(Path(session.cwd), parameters.worktree)
        try:
            if tree:
                await rewinder.export(tree, place)
            made = await self._forked(session, str(place), at)
        except BaseException:
            await asyncio.shield(discard_worktree(Path(session.cwd), place, parameters.worktree))
            raise
        return ForkedSession(made, at, str(place), bool(tree))

    async def _forked(self, session: SessionInfo, folder: str, at: int) -> SessionInfo:
        return await self._store.sessions.fork(
            session.id, cwd=folder, agent=session.agent, title=session.title, parent="", upto=at
        )

    async def _opened(self, invocation: Invocation, name: str) -> tuple[SessionInfo, Rewinder]:
        """The conversation, and what goes back in it."""
        await self._settle()
        name = name or invocation.session
        if name and name != "latest":
            info = await self._store.sessions.find(name, str(invocation.cwd))
        elif found := await self._store.sessions.latest(str(invocation.cwd)):
            info = found
        else:
            raise CommandError("This folder has no conversations yet.", hint="Ask something first.")
        return info, Rewinder(self._store, invocation.project)

    def _refuse_while_working(self, invocation: Invocation, session: SessionInfo) -> None:
        if session.held_by and session.id != invocation.session:
            raise CommandError(f"The conversation is open in {one_line(session.held_by, 80)}.", hint="Rewind it there.")
        if session.id == invocation.session and self._is_working(invocation.agent):
            raise CommandError("A turn is in progress.", hint="Interrupt it with escape first.")


def _refuse_overwriting(plan: FilePlan | None, parameters: RewindConversation | RedoRewind) -> None:
    """Refuse to overwrite what nobody agreed to; what has come up since a question is asked about anew."""
    agreed = parameters.agreed
    if plan is None or parameters.overwrite or not (more := set(plan.yours) - set(agreed or ())):
        return
    error = CommandError if agreed is None else Unconfirmed
    raise error(
        f"This would overwrite what was changed between turns: {_names(sorted(more))}.",
        hint="`overwrite=true` (`--overwrite`) does it all the same, `files=false` (`--no-files`) leaves them.",
    )


def _question(exactly: Returns[Any], title: str, plan: FilePlan, note: str = "") -> Question:
    lost = f"This overwrites what was changed between turns: {_names(plan.yours)}." if plan.yours else ""
    files = "The files become as they were then." if plan.tree else "No checkpoint: the files stay as they are."
    return Question(exactly, title, " ".join(filter(None, (files, lost))), yes="Go back", note=note)


def _names(paths: Sequence[str]) -> str:
    named = ", ".join(one_line(path, 100) for path in paths[:_NAMED])
    return named + (f" and {len(paths) - _NAMED} more" if paths[_NAMED:] else "")


def _render_rewind(invocation: Invocation, result: RewindResult) -> Outcome:
    if result.done is not None:
        done = result.done
        text = f"Back before “{one_line(done.prompt, 80)}”, in the conversation {done.session.id}. {_files(done)}"
        said = ToastView(f"{_files(done)} /redo to go back to where you were.", _TOAST, draft=done.prompt)
        return Outcome(_data(done), text, view=said, intent=_change(invocation, done.session))
    rows: list[dict[str, Any]] = [
        {"number": one.number, "message": one.seq, "at": one.at, "text": one.text, "files": one.files}
        for one in result.prompts
    ]
    lines = [
        f"{one.number:>3}  {time.strftime('%H:%M', time.localtime(one.at))}  {one_line(one.text, 100)}{one.changed}"
        for one in result.prompts
    ]
    text = "\n".join(lines)
    return Outcome(rows, text or "Nothing has been asked in this conversation yet.", plain=text)


def _render_redone(invocation: Invocation, done: Rewound) -> Outcome:
    text = f"Back in the conversation {done.session.id}. {_files(done)}"
    return Outcome(_data(done), text, view=ToastView(_files(done), _TOAST), intent=_change(invocation, done.session))


def _render_fork(invocation: Invocation, made: ForkedSession) -> Outcome:
    data = {"session": made.session.id, "at": made.at, "worktree": made.worktree, "files_as_then": made.as_then}
    where = f"goes on from message {made.at}" if made.at else "begins anew"
    text = f"The conversation {made.session.id} {where}."
    if made.worktree:
        files = "as they were then" if made.as_then else "as they are now: there is no checkpoint of that moment"
        return Outcome(data, f"{text} Its worktree is {one_line(made.worktree, 300)}, with the files {files}.")
    return Outcome(data, text, intent=_change(invocation, made.session))


def _change(invocation: Invocation, session: SessionInfo) -> SessionChangeRequested | None:
    """Has the agent in front go on there; without a window nothing is opened."""
    return SessionChangeRequested(agent=invocation.agent, session=session.id) if invocation.session else None


def _files(done: Rewound) -> str:
    if not done.files:
        return "Files stay as they are."
    if not done.checkpoint:
        return "There is no checkpoint of that moment, so files stay as they are."
    count = len(done.restored) - len(done.left)
    said = f"{count} file{'s' if count != 1 else ''} restored." if count else "No file was different."
    return " ".join((said, *done.left))


def _data(done: Rewound) -> dict[str, Any]:
    return {
        "session": done.session.id,
        "prompt": done.prompt,
        "restored": list(done.restored),
        "left": list(done.left),
        "checkpoint": done.checkpoint and done.files,
    }
