"""The prompts that wait for one agent, in order: queued behind the turn in progress, edited, withdrawn or refused.

Also holds that turn, which an interrupt cancels. The same for our own agents and for programs over ACP.
"""

from __future__ import annotations

import asyncio
from collections import deque

from gshtui.agents.ports import InboxPrompt
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    InterruptRequested,
    PromptEdited,
    PromptEditRequested,
    PromptQueued,
    PromptSubmitted,
    PromptWithdrawn,
    TurnFinished,
)
from gshtui.bus.events.hub_events import Noticed

INTENTS = (PromptSubmitted, PromptEditRequested, InterruptRequested)
"""What `handle` handles."""


class PromptInbox:
    """See the module. `wake` is set by every new prompt."""

    def __init__(self, bus: Bus, agent: str) -> None:
        self.wake = asyncio.Event()
        self.turn: asyncio.Task[TurnFinished | None] | None = None
        """The turn in progress, set by the agent."""
        self._bus = bus
        self._agent = agent
        self._prompts: deque[InboxPrompt] = deque()

    def __len__(self) -> int:
        return len(self._prompts)

    def handle(self, event: Event) -> bool:
        """Handle what a person wants of the prompts and the turn; returns whether it was that."""
        match event:
            case PromptSubmitted():
                self.add(event)
            case PromptEditRequested():
                self.edit(event)
            case InterruptRequested():
                if self.turn is not None:
                    self.turn.cancel()
            case _:
                return False
        return True

    def add(self, event: PromptSubmitted) -> None:
        """Queue a prompt, once."""
        if any(waiting.id == event.prompt for waiting in self._prompts):
            return
        self._prompts.append(
            InboxPrompt(event.prompt, event.text, event.attachments, event.source, event.mode, event.call)
        )
        if self.turn is not None or len(self._prompts) > 1:
            self._bus.publish(
                PromptQueued(
                    prompt=event.prompt,
                    agent=self._agent,
                    text=event.text,
                    position=len(self._prompts),
                    source=event.source,
                )
            )
        self.wake.set()

    def pop(self) -> InboxPrompt:
        """The next prompt. Raises `IndexError` if there is none."""
        return self._prompts.popleft()

    def edit(self, event: PromptEditRequested) -> None:
        """Replace the text of a waiting prompt; without a text, withdraw it."""
        at = next((i for i, prompt in enumerate(self._prompts) if prompt.id == event.prompt), None)
        if at is None:
            text = "That prompt is no longer waiting: the agent has already started it."
            self._bus.publish(Noticed(level="warning", text=text, about=self._agent))
            return
        old = self._prompts[at]
        if event.text.strip():
            self._prompts[at] = InboxPrompt(old.id, event.text, old.attachments, old.source, old.mode, old.call)
            self._bus.publish(PromptEdited(prompt=old.id, agent=self._agent, text=event.text))
        else:
            del self._prompts[at]
            self._withdraw(old)

    def refuse(self, why: str, hint: str = "") -> None:
        """Withdraw every waiting prompt, and say why."""
        while self._prompts:
            self._withdraw(self.pop(), why)
        self._bus.publish(Noticed(level="warning", text=why, hint=hint, about=self._agent))

    def refuse_one(self, prompt: InboxPrompt, why: str, hint: str = "") -> None:
        """Withdraw a prompt that was taken, and say why."""
        self._withdraw(prompt, why)
        self._bus.publish(Noticed(level="error", text=why, hint=hint, about=self._agent))

    def _withdraw(self, prompt: InboxPrompt, why: str = "") -> None:
        self._bus.publish(
            PromptWithdrawn(prompt=prompt.id, agent=self._agent, text=prompt.text, why=why, source=prompt.source)
        )
