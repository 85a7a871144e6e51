"""The commands `prompt` and `prompts`, and a command for each kept prompt: `/NAME arguments`.

Each makes the prompt's text and sends it to the agent in front. Only people run them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from gshtui.agents.prompts.prompt_expansion import expand, read_arguments
from gshtui.agents.prompts.prompt_store import KeptPrompt, PromptError, PromptSource, PromptStore, read_prompts
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.bus.messages import ToolResult
from gshtui.commands.declaration import (
    Access,
    Action,
    Command,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Returns,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.system.ids import new_id
from gshtui.text.sanitise import plain

FAMILY = "prompts"
_GROUP = ShellGroup(
    "Prompts that you keep as files: list, show.",
    "Prompts that you keep as files in ~/.config/gsh/prompts, and those of Claude Code and Codex.",
    (("list", "ls"),),
)


class PromptParameters(Parameters):
    """Which prompt, with which arguments."""

    name: str = Field(description="The prompt; `prompts ls` lists them")
    args: Annotated[str, Mark.VERBATIM] = Field(default="", description="Its arguments")


class ArgumentParameters(Parameters):
    """The arguments of a kept prompt."""

    args: Annotated[str, Mark.VERBATIM] = Field(default="", description="Its arguments")


class ListPrompts(Parameters, Returns[PromptStore]):
    """List the kept prompts, with their arguments."""

    COMMAND: ClassVar[str] = "prompts"
    WORD: ClassVar[str] = "ls"
    SHELL = ShellForm(parts=frozenset({"store"}))


class ShowPrompt(Parameters, Returns[KeptPrompt]):
    """Print a prompt's text as it is kept."""

    COMMAND: ClassVar[str] = "prompts"
    WORD: ClassVar[str] = "show"
    SHELL = ShellForm(parts=frozenset({"store"}))
    name: Annotated[str, ShellOption(metavar="NAME")] = Field(description="The prompt.")


def commands(prompts: PromptCommands) -> list[AnyCommand]:
    return prompts.commands()


class PromptCommands:
    """The commands about the prompts of a folder.

    Args:
        use_tool: (agent, tool, arguments) → its answer, as a call of that agent. Raises `ExpectedError`.
        sources: others that have prompts.
    """

    def __init__(
        self,
        cwd: Path,
        environ: Mapping[str, str],
        use_tool: Callable[[str, str, dict[str, object]], Awaitable[ToolResult]],
        sources: Callable[[], Sequence[PromptSource]] = tuple,
    ) -> None:
        self._cwd = cwd
        self._environ = environ
        self._use_tool = use_tool
        self._sources = sources

    async def store(self) -> PromptStore:
        """All prompts, read anew."""
        store = await asyncio.to_thread(read_prompts, self._cwd, self._environ)
        for source in self._sources():
            try:
                for prompt in await source.prompts():
                    store.add(prompt)
            except PromptError as error:
                store.problems.append(error.message)
        return store

    def of_prompt(self, prompt: KeptPrompt) -> AnyCommand:

        async def run(invocation: Invocation, given: ArgumentParameters) -> Outcome:
            return await self._sent(invocation, prompt.name, given.args)

        async def complete(_: Invocation, parameter: str, prefix: str) -> list[str]:
            return [f"{name}=" for name in prompt.arguments if name.startswith(prefix)] if parameter == "args" else []

        places = prompt.hint or " ".join(f"[{name}]" for name in prompt.arguments)
        return Command(
            prompt.name,
            f"{prompt.description}{f' · {places}' if places else ''} ({prompt.source})",
            ArgumentParameters,
            run,
            access=Access.HUMAN_ONLY,
            positions=("args",),
            family=FAMILY,
            complete=complete,
        )

    def commands(self) -> list[AnyCommand]:

        async def ls(_: Invocation, _wanted: ListPrompts) -> PromptStore:
            return await self.store()

        async def show(_: Invocation, wanted: ShowPrompt) -> KeptPrompt:
            return (await self.store()).get(wanted.name)

        async def send(invocation: Invocation, given: PromptParameters) -> Outcome:
            return await self._sent(invocation, given.name, given.args)

        async def complete(_: Invocation, parameter: str, prefix: str) -> list[str]:
            store = await self.store()
            names = dict.fromkeys(one.name for one in store.prompts) if parameter == "name" else ()
            return [name for name in names if name.startswith(prefix)]

        return [
            Command(
                "prompt",
                "Send a prompt that you keep as a file",
                PromptParameters,
                send,
                access=Access.HUMAN_ONLY,
                positions=("name", "args"),
                family=FAMILY,
                complete=complete,
            ),
            group(
                "prompts",
                "List the prompts that you keep as files",
                Action(ListPrompts, ls, _listed),
                Action(ShowPrompt, show, _shown),
                family=FAMILY,
                shell=_GROUP,
                access=Access.HUMAN_ONLY,
                complete=complete,
            ),
        ]

    async def _sent(self, invocation: Invocation, name: str, args: str) -> Outcome:
        """The outcome that a window turns into a turn of the agent in front."""

        async def use(tool: str, arguments: dict[str, object]) -> ToolResult:
            return await self._use_tool(invocation.agent, tool, arguments)

        prompt = (await self.store()).get(name, invocation.addressed)
        text = await expand(prompt, read_arguments(prompt, args), use)
        intent = PromptSubmitted(prompt=new_id(), agent=invocation.addressed, text=text)
        return Outcome({"prompt": text}, text, intent=intent)


def prompt_json(prompt: KeptPrompt) -> dict[str, object]:
    """A prompt for scripts, without its text."""
    return {
        "name": prompt.name,
        "description": prompt.description,
        "source": prompt.source,
        "file": "" if prompt.file is None else str(prompt.file),
        "arguments": list(prompt.arguments),
        "hint": prompt.hint,
        "agents": list(prompt.agents),
    }


def _listed(_: Invocation, store: PromptStore) -> Outcome:
    data = {"prompts": [prompt_json(one) for one in store.prompts], "problems": store.problems}
    lines: list[str] = []
    for one in store.prompts:
        places = one.hint or " ".join(f"[{name}]" for name in one.arguments)
        whose = f", for {', '.join(one.agents)}" if one.agents else ""
        lines.append(f"/{one.name}{f' {places}' if places else ''} — {plain(one.description)} ({one.source}{whose})")
    said = "\n".join(lines) or "No prompts yet. Put Markdown files into ~/.config/gsh/prompts."
    marked = "\n".join(f"- `{line.partition(' — ')[0]}` — {line.partition(' — ')[2]}" for line in lines)
    problems = "\n".join(store.problems)
    return Outcome(data, "\n\n".join(filter(None, (marked or said, problems))), plain=said, aside=problems)


def _shown(_: Invocation, prompt: KeptPrompt) -> Outcome:
    return Outcome({**prompt_json(prompt), "text": prompt.body}, f"```\n{prompt.body}\n```", plain=prompt.body)
