"""A prompt that arrives twice: whoever sent it does not know that the agent had it, since one of them died meanwhile.

Pure: it reads the log and says what is still to be done. A turn is never run twice for one prompt; what became of it
is told again instead. Called by the agent before each turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

from gshtui.bus.events.agent import TurnFinished, TurnStarted
from gshtui.bus.messages import Message, Stop


def stands_last(messages: Sequence[Message], prompt: str) -> Message | None:
    """The prompt where it is the newest message: it was taken up, and nothing came of it yet."""
    return messages[-1] if messages and messages[-1].id == prompt else None


def answered(
    agent: str, session: str, messages: Sequence[Message], prompt: str
) -> tuple[TurnStarted, TurnFinished] | None:
    """The turn of a prompt that was taken up and went on, as the log has it; `None` for a prompt that is to be run."""
    at = next((n for n, message in enumerate(messages) if message.id == prompt), None)
    if at is None or at == len(messages) - 1:
        return None
    turn = messages[at].turn
    said = [message for message in messages[at + 1 :] if message.turn == turn and message.role != "user"]
    text = next((message.text for message in reversed(said) if message.role == "assistant" and message.text), "")
    started = TurnStarted(agent=agent, session=session, turn=turn, prompt=prompt, text=messages[at].text)
    return started, TurnFinished(agent=agent, session=session, turn=turn, stop=_stop(said), text=text)


def _stop(said: Sequence[Message]) -> Stop:
    """How a turn ended. One that ends with results, or without any word, was cut off."""
    last = said[-1] if said else None
    whole = last is not None and last.role == "assistant" and not last.calls and last.stop in get_args(Stop)
    return cast("Stop", last.stop) if last is not None and whole else "interrupted"
