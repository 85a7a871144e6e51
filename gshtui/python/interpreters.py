"""The interpreters of one hub: one for each agent in each conversation, started when it is first needed.

Two conversations never share one. At most a few live at once; the one that was not used for longest makes room.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ToolFinished, TurnStarted
from gshtui.guard.child_environment import agent_environment
from gshtui.python.interpreter import (
    Interpreter,
    InterpreterError,
    InterpreterLimits,
    InterpreterOptions,
    start_interpreter,
)
from gshtui.python.python_choice import choose_python
from gshtui.python.retry_rule import RetryRule
from gshtui.settings.settings_tables import Python as PythonSettings
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.system.tasks import end_all

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandbox import ProjectSandbox

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
AskModel = Callable[[InterpreterOwner, str], Awaitable[str]]
"""(owner, prompt) → the answer of the owner's model. Raises an `ExpectedError`."""


_BRIEF = "Python has started anew: it has no variables of earlier answers, and those of this one go when it ends"


@dataclass(slots=True)
class _Kept:
    """One owner's interpreter, and what is remembered of it."""

    rule: RetryRule = field(default_factory=RetryRule)
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    interpreter: Interpreter | None = None
    news: list[str] = field(default_factory=list[str])
    """What the next block's result says first, such as which variables went."""
    outdated: bool = False
    """It has been said that the sandbox would be another one by now."""


class Interpreters:
    """Made by the hub; `close` ends them all."""

    def __init__(
        self, settings: PythonSettings, sandbox: SandboxSettings, bus: Bus, ask_model: AskModel, use_tool: UseTool
    ) -> None:
        """`sandbox`: what agents' commands may use of the machine, and which variables they get."""
        self.settings = settings
        self.brief = False
        """Whether they end with the turn, as those of a process that only answers once; agents are told so."""
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
        """The owner's interpreter, started if there is none. `news` says what that changed.

        Args:
            sandbox: where it must run; `None`: outside.

        Raises:
            InterpreterError: it does not start.
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
            choice = await asyncio.to_thread(choose_python, self.settings, os.environ)
            table = self._sandbox
            environ = agent_environment(os.environ, tuple(table.environment))
            limits = InterpreterLimits(table.max_memory_mb << 20, table.max_processes, table.max_file_mb << 20)
            options = InterpreterOptions(choice.program, folder, sandbox, choice.folders, environ, limits)

            async def answer(what: str, more: dict[str, object]) -> object:
                return await self._answer(owner, what, more)

            kept.interpreter = await start_interpreter(options, answer)
            if self.brief:
                kept.news.append(_BRIEF)
            return kept.interpreter

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
            if now is None:
                return None
            await now.close()
            return now.names

    def interrupt(self, owner: InterpreterOwner) -> bool:
        """Interrupt the owner's running block; whether there was one."""
        interpreter = self.find(owner)
        return interpreter is not None and interpreter.interrupt()

    async def close(self) -> None:
        """End them all."""
        self._subscription.unsubscribe()
        kept, self._kept = list(self._kept.values()), OrderedDict()
        await end_all("the end of Python", *(one.interpreter.close for one in kept if one.interpreter is not None))

    def _entry(self, owner: InterpreterOwner) -> _Kept:
        return self._kept.setdefault(owner, _Kept())

    async def _drop(self, kept: _Kept, why: str) -> None:
        now, kept.interpreter = kept.interpreter, None
        if now is not None:
            kept.news.append(lost_text(why, now.names))
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


def lost_text(why: str, names: Sequence[str]) -> str:
    """What went with an interpreter, as a sentence."""
    if not names:
        return f"{why}; it had no variables."
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return f"{why}; these variables are gone: {shown}."
