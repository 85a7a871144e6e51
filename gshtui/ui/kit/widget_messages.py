"""Messages from widgets upwards: an intent for the bus, or a command line; the app passes them to the bridge.

So a widget never holds the hub, and a test can see what a widget would have done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec
from textual.message import Message

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptSubmitted

if TYPE_CHECKING:
    from gshtui.commands.declaration import Returns


class Intent(Message):
    """Requests to publish this intent on the bus."""

    def __init__(self, event: Event) -> None:
        super().__init__()
        self.event = event


Meant = Callable[[], Awaitable[str]]
"""Gives the line that enter makes of one which was begun; one that ends with a blank wants more. Empty: none."""


class CommandLine(Message):
    """Run this line of the command language as the person, and show its outcome. `typed`: what was typed instead."""

    def __init__(self, line: str, typed: str = "") -> None:
        super().__init__()
        self.line = line
        self.typed = typed
        self.meant: Meant | None = None
        """It may be the beginning of a name: no command was known when it was sent."""


class Unsent(msgspec.Struct, frozen=True):
    """A text on its way; `whose`: the `Addressee.key` of those for whom it is."""

    text: str
    whose: str


class CommandCall(Message):
    """Run a command by its parameters as the person: ask what it asks, and show its outcome."""

    def __init__(self, parameters: Returns[object], unsent: Unsent | None = None) -> None:
        """`unsent`: goes back into the input if the command fails."""
        super().__init__()
        self.parameters = parameters
        self.unsent = unsent


class FeatureMessage(Message):
    """Base of a widget's requests to a feature: the window passes each to the feature that handles it."""


class Note(FeatureMessage):
    """Requests to store this note in the shell log.

    Args:
        cwd: its folder; empty: the window's.
    """

    def __init__(self, text: str, cwd: str = "") -> None:
        super().__init__()
        self.text = text
        self.cwd = cwd


class EditPrompt(FeatureMessage):
    """Go back to before a prompt of the conversation in front, and put it into the input to be changed.

    Args:
        message: the prompt's id.
        text: the prompt.
    """

    def __init__(self, message: str, text: str) -> None:
        super().__init__()
        self.message = message
        self.text = text


class ForkAt(FeatureMessage):
    """Go on from a message of the conversation in front in a new one.

    Args:
        message: its id.
        prompt: its text if it is a prompt: the new conversation ends before it, and it is in the input.
    """

    def __init__(self, message: str, prompt: str = "") -> None:
        super().__init__()
        self.message = message
        self.prompt = prompt


class OpenConversation(FeatureMessage):
    """Show the conversation of one of our own agents in a tab, and go there."""

    def __init__(self, row: AgentRow) -> None:
        super().__init__()
        self.row = row


class JoinTheCall(FeatureMessage):
    """Enter a call, and show it in a tab."""

    def __init__(self, call: str) -> None:
        super().__init__()
        self.call = call


class TypesInCall(FeatureMessage):
    """The person types what they will say in a call."""


class StartAgent(FeatureMessage):
    """Start an agent without a task, and go to its tab."""

    def __init__(self, parameters: Returns[AgentRow]) -> None:
        super().__init__()
        self.parameters = parameters


class AgentSeen(FeatureMessage):
    """The person has seen what is new of an agent."""

    def __init__(self, agent: str) -> None:
        super().__init__()
        self.agent = agent


class ChooseModel(FeatureMessage):
    """Have the person choose one of the models that can be used; `chosen` gets its provider and its name."""

    def __init__(self, chosen: Callable[[str, str], None]) -> None:
        super().__init__()
        self.chosen = chosen


class ConnectModel(FeatureMessage):
    """Have the person paste the key of a provider, and use this model of it."""

    def __init__(self, provider: str, model: str) -> None:
        super().__init__()
        self.provider = provider
        self.model = model


class KeyGiven(FeatureMessage):
    """The person has given a provider's key. `agreed`: to connect a model with it; else ask."""

    def __init__(self, key: str, *, agreed: bool = False) -> None:
        super().__init__()
        self.key = key
        self.agreed = agreed


class SendPrompt(FeatureMessage):
    """Send a prompt to one of our own agents that is not the window's: at once, or as mail while it does not listen."""

    def __init__(self, prompt: PromptSubmitted) -> None:
        super().__init__()
        self.prompt = prompt


class OpenTerminal(FeatureMessage):
    """Show the terminal of an agent in a tab, and go there.

    Args:
        agent: its id in the roster; `SHARED` is the shell that people and agents share.
        attach: give it the whole screen instead, by `tmux attach`.
        command: a line to type there, in the shared shell.
        enter: run the line, too.
        write: go to the input instead, since the person is to write to it.
    """

    SHARED = "shared"

    def __init__(
        self, agent: str, *, attach: bool = False, command: str = "", enter: bool = True, write: bool = False
    ) -> None:
        super().__init__()
        self.agent = agent
        self.attach = attach
        self.command = command
        self.enter = enter
        self.write = write


class ShowQuestion(FeatureMessage):
    """Bring an agent's waiting question to the front; `answer`: go there, too."""

    def __init__(self, agent: str, *, answer: bool = False) -> None:
        super().__init__()
        self.agent = agent
        self.answer = answer


class ForContext(FeatureMessage):
    """Requests to show part of an agent's context.

    Args:
        action: `inspect` or `receipt`.
        agent: its id.
        about: the iteration to show, or the cut to act on.
        section: the section to open, for `inspect`.
    """

    def __init__(self, action: str, agent: str, *, about: str = "", section: str = "") -> None:
        super().__init__()
        self.action = action
        self.agent = agent
        self.about = about
        self.section = section


class OpenChanges(FeatureMessage):
    """Requests a tab with this folder's worktree compared with its base."""

    def __init__(self, worktree: str) -> None:
        super().__init__()
        self.worktree = worktree


def open_agent(row: AgentRow, *, write: bool = True) -> FeatureMessage:
    """The request to show an agent in a tab: the conversation of one of ours, the terminal of another program, or the
    input below it to `write` to it.
    """
    return OpenConversation(row) if row.speaks_events else OpenTerminal(row.id, write=write)
