"""Where a submitted text goes (agent, command language, shell or its log), and which mentioned files go with it.

A person's prose must never run as a command, so a bare name counts only where nobody would write it as a sentence.
Pictures, PDFs and sounds among `@path` mentions are attached.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from rich.cells import cell_len
from textual.content import Content
from textual.message import Message

from gshtui.bus.agent_data import ProgramCommand
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.system.ids import new_id
from gshtui.ui.kit.widget_messages import CommandCall, CommandLine, Intent, Note, OpenTerminal, SendPrompt, Unsent

MEANS = "/ command · @ file · ! shell · ? keys"


class Addressee(msgspec.Struct, frozen=True):
    """The agent that prompts go to."""

    agent: str
    """Its id in the roster."""
    name: str = ""
    """Its name, if that is not its id."""
    model: str = ""
    mode: str = ""
    """How much it may do before it asks."""
    mail: bool = False
    """Its own hub gets the prompts: it is not the agent of this window."""
    program: bool = False
    """It is another vendor's program."""
    ended: bool = False
    """It has ended, so nothing can be sent to it."""
    call: str = ""
    """What is typed is said in this call, not to the agent."""
    commands: tuple[ProgramCommand, ...] = ()
    """The commands that its program offers in prompts."""

    @property
    def key(self) -> str:
        """What tells it from others that this window writes to; empty: the window's own agent."""
        return f"#{self.call}" if self.call else self.agent if self.mail else ""

    def offers(self, name: str) -> bool:
        """Whether its program has a command whose first word this is."""
        return any(name == one.name.partition(" ")[0] for one in self.commands)

    def title(self, use: str = "") -> Content:
        """The words in the input's frame. `use`: what else can be done with what is written."""
        if self.call:
            return Content.assemble("in ", (_line(self.call, 40), "bold"), f" · {use or 'call'}")
        rest = [use] if use else [_line(word, 36) for word in (self.model, self.mode) if word]
        rest = ["ended", *([use] if use else [])] if self.ended else rest
        return Content.assemble("to ", (self.known_as, "bold"), *(f" · {word}" for word in rest))

    def placeholder(self, width: int) -> str:
        """What the empty input says in one row of so many cells; 0: not known yet."""
        parts = self._hints().split(" · ")
        while width and len(parts) > 1 and cell_len(" · ".join(parts)) > width:
            parts.pop()
        return " · ".join(parts)

    def _hints(self) -> str:
        if self.call:
            return "Message everyone here · @name or @all asks agents · / command"
        if self.ended:
            return f"{self.gone} · / command · ! shell"
        if not self.mail:
            return f"Ask for anything · {MEANS}"
        if self.program:
            return f"Message {self.known_as} (typed into its terminal) · {MEANS}"
        return f"Ask {self.known_as} for anything · {MEANS}"

    @property
    def gone(self) -> str:
        """Why nothing can be sent to it, and what helps."""
        return f"{self.known_as} has ended · R in Agents restarts it"

    @property
    def known_as(self) -> str:
        """Its name in one line, or that of the call."""
        return _line(self.call or self.name or self.agent, 40)


def _line(text: str, most: int) -> str:
    """A name as one harmless line."""
    if text.isprintable() and len(text) <= most:
        return text
    from gshtui.text.sanitise import one_line  # not before the first frame

    return one_line(text, most)


Commands = Mapping[str, frozenset[str]]
"""Names of the commands (and aliases) → the names of their parameters."""

_PAIR = re.compile(r"([A-Za-z_]\w*)=")


class ToAgent(msgspec.Struct, frozen=True):
    """The text is a prompt."""

    text: str


class ToLanguage(msgspec.Struct, frozen=True):
    """The text is a line of the command language, without its slash. `typed`: a shell command, whose line it is."""

    line: str
    typed: str = ""


class ToLog(msgspec.Struct, frozen=True):
    """The text is a note for the shell log, without its mark."""

    text: str


class ToShell(msgspec.Struct, frozen=True):
    """The text is a shell command that needs a terminal, without its mark."""

    command: str


class NothingToSend(msgspec.Struct, frozen=True):
    """There is nothing to send; `why` says what is missing, or is empty if that is obvious."""

    why: str = ""


Route = ToAgent | ToLanguage | ToLog | ToShell | NothingToSend


def route(
    text: str, commands: Commands, program: Callable[[str], bool] = lambda _: False, *, typed: bool = False
) -> Route:
    """Decide where the text goes.

    `/name …` is a command, even an unknown one, so that a typo is reported and not sent to a model; a path such as
    `/etc/hosts …` is not. `//…` sends the text after the first slash unchanged. `!…` goes to the shell, and
    `!!…` to a shell in the sandbox. A single line
    `# …` is a note for the shell log; a longer text that starts this way is a prompt with a heading.
    A command that only the agent's program has (`program`) is a prompt to it; `//name` means the program's in any case.
    Everything else is a prompt, unless it is one line with only a command's name, or the name followed by one of the
    command's parameters as `key=value`; what is `typed` into a program's terminal may be a command there.
    """
    body = text.strip()
    if not body:
        return NothingToSend()
    if body.startswith("//"):
        return ToAgent(body[1:])
    if body.startswith("/"):
        name = body[1:].partition("\n")[0].split(" ")[0]
        return ToAgent(body) if name not in commands and program(name) else _slash(body)
    if body.startswith("!"):
        return _bang(body[1:].strip()) if body[1:2] != "!" else _bang(body[2:].strip(), " sandbox=true")
    if body.startswith("# ") and "\n" not in body:
        return ToLog(body[2:].strip())
    return ToLanguage(body) if not typed and _reads_as_command(body, commands) else ToAgent(text)


def sent_as(target: ToAgent | ToLanguage | ToLog | ToShell, addressee: Addressee, project: Path) -> Message:
    """The message that sends the text there; mentioned files are looked up in the project."""
    if isinstance(target, ToAgent) and addressee.call:
        from gshtui.calls.call_values import PostMessage

        return CommandCall(PostMessage(call=addressee.call, text=target.text), Unsent(target.text, addressee.key))
    if isinstance(target, ToAgent) and addressee.program:
        from gshtui.fleet.core.agent_calls import SendToAgent

        return CommandCall(SendToAgent(agent=addressee.agent, text=target.text), Unsent(target.text, addressee.key))
    if isinstance(target, ToAgent):
        from gshtui.media.mentions import attachments

        attached = attachments(target.text, project) if "@" in target.text else ()
        prompt = PromptSubmitted(prompt=new_id(), agent=addressee.agent, text=target.text, attachments=attached)
        return SendPrompt(prompt) if addressee.mail else Intent(prompt)
    if isinstance(target, ToShell):
        return OpenTerminal(OpenTerminal.SHARED, command=target.command)
    return Note(target.text) if isinstance(target, ToLog) else CommandLine(target.line, target.typed)


def _slash(body: str) -> Route:
    name = body[1:].split(maxsplit=1)[0] if body[1:].strip() else ""
    if not name:
        return NothingToSend("Type a command after the slash, or press tab to choose one.")
    return ToAgent(body) if "/" in name else ToLanguage(body[1:].lstrip())


def _bang(command: str, more: str = "") -> Route:
    if not command:
        return NothingToSend("Type a shell command after the exclamation mark.")
    from gshtui.commands.line_syntax import quote  # the first frame does without it
    from gshtui.programs.screen.terminal_programs import needs_terminal

    if not more and needs_terminal(command):
        return ToShell(command)
    return ToLanguage(f"bash command={quote(command)}{more}", command)


def _reads_as_command(body: str, commands: Commands) -> bool:
    if "\n" in body:
        return False
    name, _, rest = body.partition(" ")
    parameters = commands.get(name)
    if parameters is None:
        return False
    pair = _PAIR.match(rest.lstrip())
    return not rest.strip() or (pair is not None and pair[1] in parameters)
