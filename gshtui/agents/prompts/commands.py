"""The commands `prompt` and `prompts`, and a command for each kept prompt: `/NAME arguments`. Only people run them.

Each makes the prompt's text and sends it to the agent in front: with its arguments, the output of `!{command}`, and the
content of `@{file}`. Commands and files go through the agent's own tools, so the guard judges them. An argument is
never spliced into a command: the shell gets it as a variable. What a command or a file holds is put in once and not
read again.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

import msgspec
from pydantic import Field

from gshtui.agents.prompts.prompt_store import KeptPrompt, PromptError, PromptSource, PromptStore, read_prompts
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.bus.events.approval_events import denied_by_you
from gshtui.bus.messages import ToolResult
from gshtui.commands.declaration import Access, Action, Command, Invocation, Mark, Outcome, Parameters, Returns
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.system.ids import new_id
from gshtui.text.sanitise import one_line, plain

MOST_INSERTED = 20
"""Commands and files of one prompt."""
LONGEST = 1024 * 1024
"""Characters of the whole text."""
_PIECES = re.compile(
    r"!\{(?P<command>[^{}\n]*(?:\{[^{}\n]*\}[^{}\n]*)*)\}|!`(?P<quoted>[^`\n]+)`|@\{(?P<file>[^{}\n]+)\}"
    r"|\$(?P<all>ARGUMENTS)\b|\$(?P<number>[1-9])(?!\d)|\$(?P<name>[A-Za-z_]\w*)"
)
"""What is replaced; everything else stands as it is written."""


UseTool = Callable[[str, dict[str, object]], Awaitable[ToolResult]]
"""(tool, arguments) → its answer; a call of the agent that gets the prompt."""


class GivenArguments(msgspec.Struct, frozen=True):
    """The arguments as they were typed: all of them, and by name."""

    text: str
    words: tuple[str, ...]
    named: Mapping[str, str]


def read_arguments(prompt: KeptPrompt, text: str) -> GivenArguments:
    """The arguments of a line: words in order, and `name=value` for those that the prompt names. Raises `PromptError`:
    a quote is not closed where the prompt wants single words.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()  # prose with an apostrophe
    named: dict[str, str] = {}
    rest: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in prompt.arguments:
            named[name] = value
        else:
            rest.append(word)
    free = [name for name in prompt.arguments if name not in named]
    named |= dict(zip(free, rest, strict=False))
    if free and len(rest) > len(free):  # the last one takes what is left
        named[free[-1]] = " ".join(rest[len(free) - 1 :])
    return GivenArguments(text.strip(), tuple(rest), named)


async def expand(prompt: KeptPrompt, given: GivenArguments, use_tool: UseTool) -> str:
    """The whole text. Raises `PromptError`: a command was not allowed or failed, or a file cannot be read."""
    if prompt.remote is not None:
        return _checked(await prompt.remote.text(prompt, given.named))
    parts: list[str] = []
    end = inserted = 0
    takes_arguments = False
    for match in _PIECES.finditer(prompt.body):
        if match["name"] is not None and match["name"] not in prompt.arguments:
            continue
        parts.append(prompt.body[end : match.start()])
        end = match.end()
        command, file = match["command"] or match["quoted"], match["file"]
        if command is not None or file is not None:
            inserted += 1
            if inserted > MOST_INSERTED:
                raise PromptError(f"The prompt {prompt.name} has more than {MOST_INSERTED} commands and files.")
        if command is not None:
            takes_arguments |= "$" in command
            parts.append(await _output(prompt, command, given, use_tool))
        elif file is not None:
            parts.append(await _content(prompt, _with_arguments(file, given), use_tool))
            takes_arguments |= "$" in file
        else:
            takes_arguments = True
            parts.append(_value(match, given))
    text = "".join([*parts, prompt.body[end:]])
    if given.text and not takes_arguments:
        text = f"{text}\n\n{given.text}"
    return _checked(text)


def _value(match: re.Match[str], given: GivenArguments) -> str:
    if match["all"] is not None:
        return given.text
    if match["number"] is not None:
        number = int(match["number"])
        return given.words[number - 1] if number <= len(given.words) else ""
    return given.named.get(match["name"], "")


def _with_arguments(text: str, given: GivenArguments) -> str:
    return _PIECES.sub(
        lambda match: (
            _value(match, given)
            if match["all"] or match["number"] or (match["name"] and match["name"] in given.named)
            else match[0]
        ),
        text,
    )


async def _output(prompt: KeptPrompt, command: str, given: GivenArguments, use_tool: UseTool) -> str:
    answer = await use_tool("bash", {"command": _with_variables(command, given)})
    if answer.status != "ok":
        what = "was not allowed" if answer.status == "denied" else "failed"
        said = one_line(denied_by_you(answer.content), 300)
        named = f"The command {one_line(command, 100)!r} of the prompt {prompt.name}"
        raise PromptError(f"{named} {what}: {said}", kind="denied" if answer.status == "denied" else None)
    return answer.content.rstrip("\n")


def _with_variables(command: str, given: GivenArguments) -> str:
    """The command behind settings of `$1`, `$ARGUMENTS` and the named arguments that it uses."""
    settings: list[str] = []
    if re.search(r"\$[1-9]|\$\{[1-9]|\$[@*]", command):
        settings.append(shlex.join(["set", "--", *given.words]))
    values: Sequence[tuple[str, str]] = [("ARGUMENTS", given.text), *given.named.items()]
    settings += [f"{name}={shlex.quote(value)}" for name, value in values if f"${name}" in command]
    return "; ".join([*settings, command])


async def _content(prompt: KeptPrompt, file: str, use_tool: UseTool) -> str:
    answer = await use_tool("read", {"path": file.strip()})
    if answer.status != "ok":
        what = "may not be read" if answer.status == "denied" else "cannot be read"
        said = one_line(denied_by_you(answer.content), 300)
        named = f"The file {one_line(file, 200)} of the prompt {prompt.name}"
        raise PromptError(f"{named} {what}: {said}", kind="denied" if answer.status == "denied" else None)
    return f"`{file.strip()}`:\n{answer.content}"


def _checked(text: str) -> str:
    if len(text) > LONGEST:
        raise PromptError(f"The prompt has {len(text):,} characters; the limit is {LONGEST:,}.")
    return text


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
