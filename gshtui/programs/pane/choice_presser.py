"""Chooses an answer of a program's question by keys: each pressed only while exactly that question is on the screen.

Called by the pane writer, which has the pane to itself meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.pane.pane_view import LOOK, PaneView, Seen, SessionError, Trouble
from gshtui.programs.screen.asked_question import ReadQuestion
from gshtui.programs.screen.foreground import input_taken
from gshtui.programs.screen.screen_reading import search
from gshtui.text.sanitise import one_line
from gshtui.tmux.quoting import ShownRow
from gshtui.tmux.tmux_errors import TmuxError

_NOT_PRESSED = "Nothing was pressed."
_ONLY_MOVED = "Its mark was moved, and nothing was chosen."
_LOOK_AT_IT = "Look at its terminal."
_STEPS = 12
"""Most keys and looks for one answer."""
PAINTED, _STANDS = 2.0, 1.0
"""Seconds that a screen may take to be whole, and for which one must stand still that shows something else."""
_LOST_AFTER = 1.5
"""Seconds after which a key that changed nothing may be lost: some programs ignore keys on a box that has just come."""
_LOOKS, _RESTS, _REPAINTED = 20, 3, 4
"""Looks for that, and at how many of them it must be found at rest, or with another picture."""
_PRESSES = 3
"""Most times that a key is pressed for one answer."""
Otherwise = Callable[[OpenQuestion], bool]
"""Gives an answer without keys, if it can; whether it did. Blocks for a moment."""


class ChoicePresser:
    """Answers the questions of one program's terminal."""

    def __init__(self, view: PaneView) -> None:
        self._view = view

    async def asked(self) -> OpenQuestion:
        """What is asked now, once the screen shows all of it; without choices where they cannot be read.
        Raises `SessionError`: waiting: nothing is; ended, scrolled, terminal.
        """
        return (await self._whole("", choices=False)).question

    async def _whole(self, question: str, *, choices: bool = True) -> ReadQuestion:
        """The open question, if it is this one (empty: any); a screen that is just being painted is looked at again.
        One that is cut must be there at the first look, since the next one may look the same.

        `choices`: its choices must be read. Raises `SessionError`: waiting: none is open, or another one; dialog: its
        choices cannot be read; ended, scrolled, terminal.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + PAINTED
        since, before, is_first = 0.0, None, True
        while True:
            seen = await self._view.read_screen()
            now = loop.time()
            if before is None or seen.reading != before:
                since, before = now, seen.reading
            painted = now >= until or now - since >= _STANDS
            try:
                read = self._open(seen, question, choices=choices or not painted)
            except SessionError as error:
                if painted or error.kind not in ("waiting", "dialog"):
                    raise
            else:
                if question and read.question.partial and not is_first:
                    message = f"{self._view.name} asks again, and what is cut may be about something else."
                    raise SessionError("waiting", message, _NOT_PRESSED)
                return read
            is_first = False
            await asyncio.sleep(LOOK)

    async def answer(self, question: str, choice: str, otherwise: Otherwise) -> OpenQuestion | None:
        """Choose one of the answers, and see that the question is gone. See `PaneWriter.answer`."""
        read = await self._whole(question)
        after = await self._answered(read, choice, otherwise)
        denied = self._view.profile.question.denied
        if not denied or "deny" not in [one.means for one in read.question.choices if one.key == choice]:
            return after

        def asked(now: Seen) -> ReadQuestion | None:
            found = now.reading.read
            return found if found is not None and search(denied, found.question.subject) else None

        seen = await self._view.wait_until(lambda now: asked(now) is not None, PAINTED)
        again = asked(seen) if seen is not None else None
        key = next((one.key for one in again.question.choices if one.means == "deny"), "") if again is not None else ""
        return await self._answered(again, key, otherwise) if again is not None and key else after

    async def _answered(self, read: ReadQuestion, choice: str, otherwise: Otherwise) -> OpenQuestion | None:
        name = self._view.name
        question = read.question.id
        place = next((n for n, one in enumerate(read.question.choices) if one.key == choice), -1)
        if place < 0:
            offered = ", ".join(f"{one.key} {one.label}" for one in read.question.choices) or "none"
            raise SessionError("waiting", f"{name} does not offer that. Its answers: {offered}.", _NOT_PRESSED)
        if await asyncio.to_thread(otherwise, read.question):
            return self._next(await self._gone(question))
        presses = 0
        for _ in range(_STEPS + len(read.question.choices)):
            key, aim = _next_key(read, place, again=presses > 0)
            if read.letters:
                return await self._entered(read, read.letters[place])
            if not await self._press(key, read.rows):
                if (now := await self._still(question, pressed=presses > 0)) is None:
                    return self._next(await self._gone(question))  # the press before was not lost
                read = now
                continue
            if aim >= 0:
                read = await self._moved(read, aim)
                continue
            presses += 1
            if read.question.choices[place].types:
                return await self._typing(read, place)
            last = presses >= _PRESSES or read.question.partial  # of one that is cut, the next one may look the same
            seen = await self._gone(question, None if last else _LOST_AFTER)
            if seen is not None:
                return self._next(seen)
            if last:
                raise await self._unanswered(read, place)
            before, now = read, await self._still(question, pressed=True)
            if now is None:
                return self._next(await self._gone(question))  # it went just now
            read = now
            # Where a digit brings the cursor to its choice alone, it has been taken, and Enter has to follow.
            if before.selected == read.selected and not await self._was_lost():
                return self._next(await self._gone(question))
        raise SessionError("waiting", f"The screen of {name} does not stand still.", _LOOK_AT_IT)

    async def _still(self, question: str, *, pressed: bool) -> ReadQuestion | None:
        """The question, if it is still asked; `None` where a key was pressed and it is gone. Raises `SessionError`."""
        try:
            return await self._whole(question)
        except SessionError as error:
            if not pressed or error.kind not in ("waiting", "dialog"):
                raise
        seen = await self._view.read_screen()
        return seen.reading.read if seen.reading.read and seen.reading.read.question.id == question else None

    async def _moved(self, before: ReadQuestion, aim: int) -> ReadQuestion:
        """The question with its mark on this choice, to which an arrow was to bring it. Raises `SessionError`: waiting:
        the mark went elsewhere, so nothing was chosen; or what `_whole` raises.
        """
        name, question = self._view.name, before.question.id
        moved = await self._view.wait_until(lambda now: now.reading.read != before)
        try:
            read = self._open(moved, question) if moved is not None else await self._whole(question)
        except SessionError as error:
            raise SessionError(error.kind, error.message, _ONLY_MOVED, error.asks) from error
        if read.selected not in (aim, before.selected):
            message = f"The mark in {name} is not where an arrow should have brought it."
            raise SessionError("waiting", message, _ONLY_MOVED)
        return read

    async def _typing(self, read: ReadQuestion, place: int) -> OpenQuestion | None:
        """The question with its mark on a choice that wants words: they are typed in its terminal."""

        def there(now: Seen) -> bool:
            found = now.reading.read
            return found is None or found.question.id != read.question.id or found.selected == place

        seen = await self._view.wait_until(there, _LOST_AFTER)
        return self._next(seen)

    async def _entered(self, read: ReadQuestion, letter: str) -> OpenQuestion | None:
        """Type a letter behind the question, see it there, and enter it."""
        name = self._view.name
        if not await self._press(letter, read.rows):
            raise SessionError("waiting", f"The question of {name} changed.", _NOT_PRESSED)
        typed = (*read.rows[:-1], ShownRow(f"{read.typed}{letter}"))
        shown = await self._view.wait_until(lambda now: any(row == typed[-1].text for row in now.marker().rows))
        if shown is None or not await self._press("Enter", typed):
            message = f"{letter!r} was typed into {name} and not entered, since its question shows no more as before."
            raise SessionError("unsure", message, _LOOK_AT_IT)
        entered = await self._view.wait_until(lambda now: now.marker().rows[now.info.cursor_y] != typed[-1].text)
        return self._next(entered)

    def _open(self, seen: Seen, question: str, *, choices: bool = True) -> ReadQuestion:
        """The question that is open, if it is this one. Raises `SessionError`."""
        name, read = self._view.name, seen.reading.read
        if seen.dead:
            raise SessionError("ended", f"{name} has ended.", "Restart it first.")
        if seen.info.in_mode and seen.info.attached:
            raise SessionError(
                "scrolled", f"Somebody is scrolling back in the terminal of {name}.", "Press q there to leave."
            )
        if read is None or seen.reading.status != "waiting":
            raise SessionError("waiting", f"{name} is not asking anything.", _NOT_PRESSED)
        if question and read.question.id != question:
            about = one_line(read.question.subject, 120)
            raise SessionError("waiting", f"The question of {name} changed: {about}", _NOT_PRESSED, seen.question)
        if choices and not read.question.choices:
            raise SessionError(
                "dialog", f"The answers of {name} cannot be read: {one_line(read.question.subject, 120)}.", _LOOK_AT_IT
            )
        return read

    async def _press(self, key: str, shown: tuple[ShownRow, ...]) -> bool:
        try:
            return await self._view.server.press_where_shown(self._view.pane, key, shown)
        except TmuxError as error:
            kind: Trouble = "unsure" if error.kind == "timeout" else "terminal"
            raise SessionError(kind, error.message, error.hint) from error

    async def _gone(self, question: str, within: float | None = None) -> Seen | None:
        """The first look that does not show this question; `None` if it is still there."""

        def gone(now: Seen) -> bool:
            return now.reading.read is None or now.reading.read.question.id != question

        return await self._view.wait_until(gone, within)

    async def _was_lost(self) -> bool:
        """Whether the program has read the key and done nothing about it: it rests, or has painted other things since.
        Only then may the key be pressed again: one that it has yet to act on would answer this question, and the second
        one the next, unseen.
        """
        rests, screens = 0, set[tuple[str, ...]]()
        for _ in range(_LOOKS):
            seen = await self._view.read_screen()
            if seen.dead or (taken := await asyncio.to_thread(input_taken, seen.info.local_pid)) == "":
                return False
            rests = rests + 1 if taken == "rests" else 0
            screens.add(seen.lines)
            if rests >= _RESTS or len(screens) >= _REPAINTED:
                return True
            await asyncio.sleep(LOOK)
        return False

    async def _unanswered(self, before: ReadQuestion, place: int) -> SessionError:
        """What became of a key to this choice, after which the question is still there."""
        name, now = self._view.name, (await self._view.read_screen()).reading.read
        if before.selected != place and now is not None and now.selected == place:
            message = f"{name} still asks the same: its mark is on that answer now, and nothing was chosen."
            return SessionError("waiting", message, "Press enter in its terminal.")
        return SessionError("unsure", f"The answer was given, but {name} still asks the same.", _LOOK_AT_IT)

    def _next(self, seen: Seen | None) -> OpenQuestion | None:
        """The question that came instead. Raises `SessionError` (unsure) if the answered one, or its like, is there."""
        if seen is None:
            message = f"The answer was given, but {self._view.name} still asks the same."
            raise SessionError("unsure", message, _LOOK_AT_IT)
        return seen.reading.read.question if seen.reading.read is not None and not seen.dead else None


def _next_key(read: ReadQuestion, place: int, *, again: bool) -> tuple[str, int]:
    """The program's key that chooses an answer, and -1; or one that brings the mark nearer, and the place to which.
    `again`: the digit has been pressed already.
    """
    digit = read.digits[place] if read.digits else ""
    if read.tick and digit:
        return (read.tick, -1) if read.selected == place else (digit, place)
    if read.tick:
        return "Enter", -1
    if digit and not (again and read.selected == place):
        return digit, -1
    if read.selected == place:
        return "Enter", -1
    ahead, back = ("Right", "Left") if read.buttons else ("Down", "Up")
    return (ahead, read.selected + 1) if read.selected < place else (back, read.selected - 1)
