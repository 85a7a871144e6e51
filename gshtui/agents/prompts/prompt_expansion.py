"""Makes the text of a kept prompt: its arguments, the output of `!{command}`, the content of `@{file}`.

Commands and files go through the agent's own tools, so the guard judges them. An argument is never spliced into a
command: the shell gets it as a variable. What a command or a file holds is put in once and not read again.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from gshtui.agents.prompts.prompt_store import KeptPrompt, PromptError
from gshtui.bus.events.approval_events import denied_by_you
from gshtui.bus.messages import ToolResult
from gshtui.text.sanitise import one_line

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
