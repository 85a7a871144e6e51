"""Whether a program has taken a text that was entered: what two looks at its screen say. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gshtui.programs.pane.pane_view import Seen
from gshtui.programs.screen.screen_reading import conversation

HEAD = 24
"""Characters of a text by which it is known again."""


def has_moved(before: Seen, now: Seen) -> bool:
    """Whether anything has changed on the screen."""
    one, other = before.info, now.info
    return (
        before.lines != now.lines
        or (one.cursor_x, one.cursor_y, one.history, one.alternate)
        != (other.cursor_x, other.cursor_y, other.history, other.alternate)
        or before.front.own != now.front.own
    )


def is_taken(entered: Seen, now: Seen, words: str) -> bool:
    """Whether Enter was accepted: none of the text is left in the input, or the program shows something else."""
    if now.reading.status == "waiting" or now.front.own != entered.front.own:
        return True
    profile = entered.profile
    if profile.shell and not now.front.prompt:
        return True
    if now.unfinished:
        return False
    if not profile.ai and _row_of(now) > _row_of(entered):
        return True  # what stands above the cursor is no input any more: a statement that takes long prints nothing
    if entered.draft and (now.reading.input or profile.shell):
        return not now.draft or not is_alike(now.draft, entered.draft)
    if profile.ai and profile.input.line:
        # Nothing stood there; or the input was not to be seen above the end of a long text.
        return entered.reading.input or (now.reading.input and not now.draft)
    return has_moved(entered, now) or not words


def _row_of(seen: Seen) -> int:
    """The cursor's row, counted from the first line of the history."""
    return seen.info.history + seen.info.cursor_y


def times_said(now: Seen, words: str) -> int:
    """On how many lines of the conversation that is to be seen a text begins."""
    return times_in(conversation(now.profile, now.lines), words)


def times_in(lines: Sequence[str], words: str) -> int:
    head = " ".join(words.split())[:HEAD]
    return sum(head in line for line in lines) if head else 0


def is_alike(now: str, before: str) -> bool:
    """Whether a draft is the earlier text or its remainder; an Enter that was not accepted may change its end."""
    one, other = " ".join(now.split()), " ".join(before.split())
    size = min(len(one), len(other), HEAD) - 1
    return one == other or (size > 1 and (one[:size] == other[:size] or one in other))
