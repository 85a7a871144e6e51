"""The interpreters of one hub: one for each agent in each conversation, started when it is first needed.

Two conversations never share one. At most a few live at once; the one that was not used for longest makes room. After
each block the variables are kept in a file of the conversation, from which the next interpreter has them, of whatever
hub. Where two have one at the same time, what was kept last counts. The variables are code to whoever loads them: only
an interpreter does, and only one that can reach no more than the one that made them.

A block may not run if it failed before and is unchanged, or if too many failed in a row with nothing looked at.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ToolFinished, TurnStarted
from gshtui.guard.secrets.child_environment import agent_environment
from gshtui.python.interpreter import (
    Interpreter,
    InterpreterError,
    InterpreterLimits,
    InterpreterOptions,
    start_interpreter,
)
from gshtui.python.protocol import Done, KeptVariables, Unkept
from gshtui.python.python_environment import choose_python
from gshtui.settings.settings_tables import Python as PythonSettings
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.store.tables import python_states
from gshtui.system.struct_types import learned
from gshtui.system.tasks import end_all
from gshtui.text.sanitise import literal, one_line

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandbox import ProjectSandbox


class Confinement(msgspec.Struct, frozen=True):
    """What an interpreter could reach. No `program`: all that the person can."""

    program: str = ""
    project: str = ""
    read_only: bool = False
    network: bool = True
    hosts: frozenset[str] = frozenset()
    writable: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    visible: frozenset[str] = frozenset()

    @classmethod
    def from_sandbox(cls, sandbox: ProjectSandbox | None) -> Confinement:
        if sandbox is None:
            return cls()
        return cls(
            sandbox.program,
            str(sandbox.project),
            sandbox.read_only,
            sandbox.network,
            frozenset(map(repr, sandbox.hosts.rules)),
            frozenset(map(str, sandbox.writable)),
            frozenset(map(str, sandbox.hidden)),
            frozenset(sandbox.visible),
        )

    def holds(self, made: Confinement) -> bool:
        """Whether what was made there may be loaded here: nothing can be reached here that could not be there."""
        if not made.program:
            return True
        return (
            (self.program, self.project) == (made.program, made.project)
            and (self.read_only or not made.read_only)
            and (made.network or (not self.network and self.hosts <= made.hosts))
            and self.writable <= made.writable
            and self.hidden >= made.hidden
            and self.visible <= made.visible
        )


class KeptState(msgspec.Struct, frozen=True):
    """What the file of a conversation holds."""

    made: Confinement
    kept: KeptVariables


def encode_state(state: KeptState) -> bytes:
    return msgspec.json.encode(state)


def decode_state(data: bytes) -> KeptState:
    """What a file holds. Raises `msgspec.MsgspecError`."""
    return msgspec.json.decode(data, type=learned(KeptState))


MOST = 3
"""Blocks that may fail in a row before something else must be looked at."""


class RetryRule(msgspec.Struct):
    """What failed of one agent in one conversation since something last went well."""

    _failed: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Block → the error that it ended with."""

    def objection(self, code: str) -> str:
        """Why this block does not run, as a sentence or two; empty: nothing is against it."""
        if (error := self._failed.get(code.strip())) is not None:
            return f"This very block failed already, with {error}. Change it before you run it again."
        if len(self._failed) >= MOST:
            last = list(self._failed.values())[-1]
            return (
                f"{len(self._failed)} blocks failed in a row, the last with {last}, and nothing else was looked at in "
                "between. Look at what they work on with another tool, or ask the person, before you try again."
            )
        return ""

    def note_failure(self, code: str, error: str) -> None:
        self._failed[code.strip()] = error

    def note_progress(self) -> None:
        """A block ran to its end, another tool gave an answer, or a person said something."""
        self._failed.clear()


_MOST = 8
"""Interpreters at once."""
TOOL = "python"
_TERMINALS = "tmux"
"""The tool that blocks can use, for `CliSession`; the others they do not need."""


class InterpreterOwner(NamedTuple):
    """Whose interpreter it is."""

    session: str
    agent: str


class ToolAnswer(NamedTuple):
    """How a tool that a block called ended."""

    status: str
    text: str


UseTool = Callable[[InterpreterOwner, str, dict[str, object]], Awaitable[ToolAnswer]]
"""(owner, tool, arguments) → its result, judged as a call of the owner. Raises an `ExpectedError`."""
AskOwnersModel = Callable[[InterpreterOwner, str], Awaitable[str]]
"""(owner, prompt) → the answer of the owner's model. Raises an `ExpectedError`."""


class _Kept(msgspec.Struct):
    """One owner's interpreter, and what is remembered of it."""

    rule: RetryRule = msgspec.field(default_factory=RetryRule)
    starting: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    interpreter: Interpreter | None = None
    news: list[str] = msgspec.field(default_factory=list[str])
    """What the next block's result says first, such as which variables went."""
    outdated: bool = False
    """It has been said that the sandbox would be another one by now."""
    gone: list[tuple[str, list[str]]] = msgspec.field(default_factory=list[tuple[str, list[str]]])
    """Why interpreters ended, and the variables that they had."""
    unkept: set[Unkept] = msgspec.field(default_factory=set[Unkept])
    """What has been said not to be kept."""


class Interpreters:
    """Made by the hub; `close` ends them all."""

    def __init__(
        self,
        settings: PythonSettings,
        sandbox: SandboxSettings,
        environ: Mapping[str, str],
        bus: Bus,
        ask_model: AskOwnersModel,
        use_tool: UseTool,
    ) -> None:
        """
        Args:
            sandbox: what agents' commands may use of the machine, and which variables they get.
            environ: of whoever opened the folder.
        """
        self.settings = settings
        self.environ = environ
        self._sandbox = sandbox
        self._ask_model = ask_model
        self._use_tool = use_tool
        self._kept: OrderedDict[InterpreterOwner, _Kept] = OrderedDict()
        self._subscription = bus.subscribe(self._listen, TurnStarted, ToolFinished, name="python")

    def find(self, owner: InterpreterOwner) -> Interpreter | None:
        """The owner's interpreter, if it lives."""
        kept = self._kept.get(owner)
        return kept.interpreter if kept is not None and kept.interpreter and kept.interpreter.alive else None

    def rule(self, owner: InterpreterOwner) -> RetryRule:
        """What failed of this owner's blocks."""
        return self._entry(owner).rule

    async def get(self, owner: InterpreterOwner, folder: Path, sandbox: ProjectSandbox | None) -> Interpreter:
        """The owner's interpreter, started if there is none. `news` says what that changed. `sandbox`: where it must
        run; `None`: outside. Raises `InterpreterError`: it does not start.
        """
        kept = self._entry(owner)
        self._kept.move_to_end(owner)
        async with kept.starting:
            now = kept.interpreter
            if now is not None and now.alive and (now.options.sandbox is None) == (sandbox is None):
                if now.options.sandbox != sandbox and not kept.outdated:
                    kept.outdated = True
                    kept.news.append("What the sandbox allows has changed; `restart` starts Python with it.")
                return now
            kept.outdated = False
            if now is not None:
                await self._drop(kept, "Python was started anew" if now.alive else "The interpreter had ended")
            await self._make_room(owner)
            choice = await asyncio.to_thread(choose_python, self.settings, self.environ)
            table = self._sandbox
            environ = agent_environment(self.environ, tuple(table.environment))
            limits = InterpreterLimits(table.max_memory_mb << 20, table.max_processes, table.max_file_mb << 20)
            keeps = bool(owner.session)
            options = InterpreterOptions(choice.program, folder, sandbox, choice.folders, environ, limits, keeps)

            async def answer(what: str, more: dict[str, object]) -> object:
                return await self._answer(owner, what, more)

            made = kept.interpreter = await start_interpreter(options, answer)
            if keeps:
                await self._restore(owner, kept, made)
                if not made.alive:
                    await made.close()
                    made = kept.interpreter = await start_interpreter(options, answer)
            for why, names in kept.gone:
                lost = [name for name in names if name not in made.names]
                there = names and not lost
                kept.news.insert(0, f"{why}; its variables are there again." if there else lost_text(why, lost))
            kept.gone.clear()
            return made

    async def _restore(self, owner: InterpreterOwner, kept: _Kept, made: Interpreter) -> None:
        """Give it the variables of an earlier one, and have said what became of that. It may have ended afterwards."""
        try:
            data = await asyncio.to_thread(python_states.read, *owner)
            if not data:
                return
            state = decode_state(data)
            if not Confinement.from_sandbox(made.options.sandbox).holds(state.made):
                kept.news.append(
                    "Python starts without its earlier variables: they were made in a sandbox, and are only set again "
                    "in one that allows no more"
                )
                return
            done, moved = await made.restore(state.kept)
        except OSError as error:
            kept.news.append(f"Python starts without its earlier variables: {error.strerror or error}")
            return
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            await asyncio.to_thread(python_states.remove, *owner)
            kept.news.append("Python starts without its earlier variables: the file that kept them is damaged")
            return
        except BaseException:
            await made.close()  # what of them it has by now nobody knows
            raise
        if moved:
            shown = ", ".join(moved[:3])
            kept.news.append(f"not left in the project, since other programs would obey it: {shown}")
        if done.fault or not made.alive:
            await made.close()
            await asyncio.to_thread(python_states.remove, *owner)
            why = _clause(done.fault or "they ended it")
            kept.news.append(f"Python starts without its earlier variables: {why}")
            return
        if done.names:
            kept.news.append(f"Python has these from before: {_listed(done.names)}")
        if done.unkept:
            kept.news.append(f"not from before: {_unkept_text(done)}")

    async def keep(self, owner: InterpreterOwner, made: Interpreter, variables: Done | None) -> list[str]:
        """Keep the variables that an interpreter had after a block, instead of those before it.

        Returns:
            what is not kept and has not been said to be, as clauses.
        """
        if variables is None:
            return []
        kept = self._entry(owner)
        fault = variables.fault
        if not fault and variables.kept is not None:
            try:
                await asyncio.to_thread(_write, owner, made, variables.kept)
            except OSError as error:
                fault = error.strerror or str(error)
                made.forget_kept()
        if fault:
            await asyncio.to_thread(python_states.remove, *owner)
        unkept = variables.unkept if not fault else [Unkept("the variables", fault)]
        new = [one for one in unkept if one not in kept.unkept]
        kept.unkept = set(unkept)
        return [f"not kept for later: {_unkept_text(Done(0, unkept=new))}"] if new else []

    async def kept_names(self, owner: InterpreterOwner) -> list[str]:
        """The names that the next interpreter is to have, while there is none."""
        if not owner.session:
            return []
        try:
            data = await asyncio.to_thread(python_states.read, *owner)
            return decode_state(data).kept.names if data else []
        except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
            return []  # the next block says so

    def take_news(self, owner: InterpreterOwner) -> list[str]:
        """What happened to the interpreter since the last block; told once."""
        kept = self._entry(owner)
        news, kept.news = kept.news, []
        return news

    async def restart(self, owner: InterpreterOwner) -> list[str] | None:
        """End the owner's interpreter; the next block starts a new one.

        Returns:
            the variables that went; `None`: there was no interpreter.
        """
        kept = self._entry(owner)
        async with kept.starting:
            now, kept.interpreter = kept.interpreter, None
            kept.rule.note_progress()
            kept.news.clear()
            kept.unkept.clear()
            names = await self.kept_names(owner) if now is None else now.names
            if now is not None:
                await now.close()
            if owner.session:
                await asyncio.to_thread(python_states.remove, *owner)
            return names if now is not None or names else None

    def interrupt(self, owner: InterpreterOwner) -> bool:
        """Interrupt the owner's running block; whether there was one."""
        interpreter = self.find(owner)
        return interpreter is not None and interpreter.interrupt()

    async def close(self) -> None:
        self._subscription.unsubscribe()
        kept, self._kept = list(self._kept.values()), OrderedDict()
        await end_all("the end of Python", *(one.interpreter.close for one in kept if one.interpreter is not None))

    def _entry(self, owner: InterpreterOwner) -> _Kept:
        return self._kept.setdefault(owner, _Kept())

    async def _drop(self, kept: _Kept, why: str) -> None:
        now, kept.interpreter = kept.interpreter, None
        if now is not None:
            kept.gone.append((why, now.names))
            await now.close()

    async def _make_room(self, owner: InterpreterOwner) -> None:
        living = [(who, one) for who, one in self._kept.items() if one.interpreter is not None and who != owner]
        idle = [one for _, one in living if one.interpreter is not None and not one.interpreter.busy]
        for one in idle[: max(0, len(living) - _MOST + 1)]:
            await self._drop(one, "The interpreter was ended to make room for others")

    async def _answer(self, owner: InterpreterOwner, what: str, more: dict[str, object]) -> object:
        if what == "llm" and isinstance(prompt := more.get("prompt"), str):
            return await self._ask_model(owner, prompt)
        if what == "tool" and more.get("name") == _TERMINALS and isinstance(given := more.get("arguments"), dict):
            answer = await self._use_tool(owner, _TERMINALS, cast("dict[str, object]", given))
            return {"status": answer.status, "text": answer.text}
        raise InterpreterError("The hub does not know this question.")

    def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, TurnStarted) or (
                isinstance(event, ToolFinished) and event.tool != TOOL and event.status == "ok"
            ):
                kept = self._kept.get(InterpreterOwner(event.session, event.agent))
                if kept is not None:
                    kept.rule.note_progress()


def ended_text(why: str, made: Interpreter) -> str:
    """What became of the variables of an interpreter that ended by itself, as a sentence."""
    if made.options.keeps and made.names:
        return f"{why}; the next one has the variables as they were kept after the block before."
    return lost_text(why, made.names)


def lost_text(why: str, names: Sequence[str]) -> str:
    """What went with an interpreter, as a sentence."""
    if not names:
        return f"{why}; it had no variables."
    return f"{why}; these variables are gone: {_listed(names)}."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(one_line(literal(name), 60) for name in names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _unkept_text(done: Done) -> str:
    shown = "; ".join(f"{one_line(literal(one.name), 60)}, {_clause(one.why)}" for one in done.unkept[:10])
    return shown + (f"; and {len(done.unkept) - 10} more" if len(done.unkept) > 10 else "")


def _clause(why: str) -> str:
    return one_line(literal(why), 200)


def _write(owner: InterpreterOwner, made: Interpreter, variables: KeptVariables) -> None:
    state = KeptState(Confinement.from_sandbox(made.options.sandbox), variables)
    python_states.write(*owner, encode_state(state))
