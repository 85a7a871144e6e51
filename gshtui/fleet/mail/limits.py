"""How much agents may say to each other: so often, so long, and so far from the last word of a person.

Pure: what was sent and what waits come in, so the limits hold over all processes. Called by `counter`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gshtui.bus.mail import Letter
from gshtui.commands.declaration import CommandError

WITHIN = 60.0
"""Seconds over which messages are counted."""
MOST, MOST_TO_ONE = 20, 6
"""Messages of one agent within that time: in all, and to the same agent."""
MOST_WAITING = 50
"""Messages that may wait for one agent."""
DEEPEST = 6
"""Messages of agents in a row, each sent because of the one before, without a person in between."""
LONGEST = 50_000
"""Characters."""


def check(letter: Letter, sent: Sequence[Letter], waiting: int) -> None:
    """Refuse what goes too far.

    Args:
        letter: as it would be sent.
        sent: what its sender has sent within `WITHIN` seconds.
        waiting: messages that wait for its recipient.

    Raises:
        CommandError: one sentence, and what to do instead.
    """
    if letter.depth > DEEPEST:
        raise CommandError(
            f"This would be message {letter.depth} in a row from agent to agent; {DEEPEST} are the most.",
            hint="End your turn with what you know; a person, or your parent, goes on from there.",
        )
    if len(sent) >= MOST:
        raise CommandError(f"You have sent {len(sent)} messages within a minute, which is the most.", hint=_LESS)
    if sum(1 for one in sent if one.recipient == letter.recipient) >= MOST_TO_ONE:
        to = letter.recipient_name or letter.recipient
        raise CommandError(f"You have sent {MOST_TO_ONE} messages to {to} within a minute.", hint=_LESS)
    if waiting >= MOST_WAITING:
        raise CommandError(f"{waiting} messages wait for {letter.recipient_name or letter.recipient} already.")
    if len(letter.text) > LONGEST:
        raise CommandError(f"A message has {LONGEST:,} characters at most.", hint="Put it into a file and name that.")


_LESS = "Put what you have to say into one message, or do something else meanwhile."
