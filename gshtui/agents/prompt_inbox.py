"""The prompts that wait for one agent, in order: queued behind the turn in progress, edited, withdrawn or refused."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from gshtui.agents.ports import InboxPrompt
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import (
    PromptEdited,
    PromptEditRequested,
    PromptQueued,
    PromptSubmitted,
    PromptWithdrawn,
)
from gshtui.bus.events.hub_events import Noticed


class PromptInbox:
    """See the module. `wake` is set by every new prompt."""

    def __init__(self, bus: Bus, agent: str, working: Callable[[], bool]) -> None:
        self.wake = asyncio.Event()
        self._bus = bus
        self._agent = agent
        self._working = working
        self._prompts: deque[InboxPrompt] = deque()

    def __len__(self) -> int:
        return len(self._prompts)

    def add(self, event: PromptSubmitted) -> None:
        """Queue a prompt, once."""
        if any(waiting.id == event.prompt for waiting in self._prompts):
            return
        self._prompts.append(
            InboxPrompt(event.prompt, event.text, event.attachments, event.source, event.mode, event.call)
        )
        if self._working() or len(self._prompts) > 1:
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
            self._withdraw(self.pop())
        self._bus.publish(Noticed(level="warning", text=why, hint=hint, about=self._agent))

    def refuse_one(self, prompt: InboxPrompt, why: str, hint: str = "") -> None:
        """Withdraw a prompt that was taken, and say why."""
        self._withdraw(prompt)
        self._bus.publish(Noticed(level="error", text=why, hint=hint, about=self._agent))

    def _withdraw(self, prompt: InboxPrompt) -> None:
        self._bus.publish(PromptWithdrawn(prompt=prompt.id, agent=self._agent, text=prompt.text))
