"""Who gets what is typed: the agent of the tab in front, as the input's frame and its placeholder name it.

Pure. The main screen makes an `Addressee`, the input shows it and sends there.
"""

from __future__ import annotations

import msgspec
from rich.cells import cell_len
from textual.content import Content

from gshtui.bus.agent_data import ProgramCommand

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
