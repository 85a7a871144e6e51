"""One model answer: publishes the provider's deltas as events, and saves the answer so far in case of a crash.

An answer ends complete, interrupted by the person (`Interrupted`) or broken off by the provider (`AnswerFailed`). Both
errors carry the answer so far.
"""

from __future__ import annotations

import asyncio

from gshtui.agents.conversation import AnswerKeeper, Conversation, without_calls
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import AgentStatusChanged, ProviderRetried, TextDelta, ThinkingDelta
from gshtui.bus.messages import Block, Message, Text, Thinking
from gshtui.providers.port import (
    CallPart,
    Completed,
    Provider,
    ProviderError,
    Request,
    Retrying,
    TextPart,
    ThinkingPart,
)


class Interrupted(Exception):
    """The person stopped the turn; `partial` is the answer so far."""

    def __init__(self, partial: Message) -> None:
        super().__init__("interrupted")
        self.partial = partial


class AnswerFailed(Exception):
    """The provider failed; `partial` is the answer so far, `error` its reason."""

    def __init__(self, partial: Message, error: ProviderError) -> None:
        super().__init__(error.message)
        self.partial = partial
        self.error = error


class AnswerStream:
    """The answer of one iteration, as it arrives."""

    def __init__(self, bus: Bus, conversation: Conversation, agent: str, blank: Message) -> None:
        """`blank` is the answer's message without blocks: id, turn, iteration, provider, model."""
        self._bus = bus
        self._conversation = conversation
        self._agent = agent
        self._blank = blank
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._coming: list[str] = []
        """What is published in the loop's next turn, together: a fast server sends many pieces at once."""
        self._kind: type[TextDelta] | type[ThinkingDelta] = TextDelta
        self._retries = False
        self._keeper = AnswerKeeper(conversation, lambda: self.so_far("interrupted"))

    def so_far(self, stop: str) -> Message:
        """What has been said, as a message; calls are left out, since they are not whole."""
        blocks: list[Block] = []
        if self._thinking:
            blocks.append(Thinking("".join(self._thinking)))
        if self._text:
            blocks.append(Text("".join(self._text)))
        b = self._blank
        return without_calls(
            Message(b.id, b.role, tuple(blocks), b.at, b.agent, b.turn, b.iteration, b.provider, b.model, stop)
        )

    async def stream(self, provider: Provider, request: Request) -> Completed:
        """Send the request and publish the answer as it comes. Raises `Interrupted`: the task was cancelled;
        `AnswerFailed`: the provider failed, before or in the middle of the answer.
        """
        deltas = provider.stream(request)
        try:
            async for delta in deltas:
                if isinstance(delta, Completed):
                    return delta
                self._handle_delta(provider, delta)
        except asyncio.CancelledError:
            raise Interrupted(self.so_far("interrupted")) from None
        except ProviderError as error:
            raise AnswerFailed(self.so_far("error"), error) from error
        except Exception as error:  # a fault of ours, or of an SDK: what was said so far is kept
            fault = self._bus.report(f"the answer of {provider.name}", error, shown=True)
            why = ProviderError(
                fault.kind, fault.failure("The answer"), hint=f"Send it again. {fault.details}".rstrip()
            )
            raise AnswerFailed(self.so_far("error"), why) from error
        finally:
            self._publish()
            self._keeper.close()
            # Closing the generator closes the connection.
            if (close := getattr(deltas, "aclose", None)) is not None:
                await close()
        cut = ProviderError(
            "truncated", f"{provider.name} ended the answer in the middle.", retryable=True, started=True
        )
        raise AnswerFailed(self.so_far("error"), cut)

    def _handle_delta(self, provider: Provider, delta: TextPart | ThinkingPart | CallPart | Retrying) -> None:
        match delta:
            case TextPart(text):
                self._text.append(text)
                self._say(TextDelta, text)
            case ThinkingPart(text):
                self._thinking.append(text)
                self._say(ThinkingDelta, text)
            case Retrying(attempt, wait, error, most):
                self._publish()
                self._retries = True
                self._bus.publish(
                    ProviderRetried(
                        agent=self._agent,
                        provider=provider.name,
                        attempt=attempt,
                        wait=wait,
                        why=error.message,
                        most=most,
                    )
                )
            case CallPart():
                pass

    def _say(self, kind: type[TextDelta] | type[ThinkingDelta], text: str) -> None:
        if self._retries:
            self._retries = False
            self._bus.publish(AgentStatusChanged(agent=self._agent, status="thinking"))
        if kind is not self._kind:
            self._publish()
            self._kind = kind
        if not self._coming:
            asyncio.get_running_loop().call_soon(self._publish)
        self._coming.append(text)
        self._keeper.said()

    def _publish(self) -> None:
        if self._coming:
            text, self._coming = "".join(self._coming), []
            session, message = self._conversation.session, self._blank.id
            self._bus.publish(self._kind(agent=self._agent, session=session, message=message, text=text))
