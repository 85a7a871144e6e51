"""A program's terminal as it is now: the foreground, what the screen shows, and what prevents typing.

Defines the error that typing raises. Every look is fresh, and reads the foreground program, which may not be the one
that the pane was started with. Called by the pane writer and the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.bus.agent_data import OpenQuestion, ProgramMode
from gshtui.programs.profiles.profile import GENERIC, Profile
from gshtui.programs.profiles.profile_files import script_of
from gshtui.programs.screen.foreground import Foreground, front, typed_at_prompt
from gshtui.programs.screen.line_styles import plain_lines, without_styles
from gshtui.programs.screen.screen_reading import (
    ScreenReading,
    asked_of,
    by_title,
    conversation,
    read_screen,
    same_question,
)
from gshtui.programs.transcripts.conversation_loading import ConversationLoading
from gshtui.system.expected_error import ExpectedError
from gshtui.text.linear_regex import compile_linear
from gshtui.text.sanitise import one_line
from gshtui.tmux.marker import Marker
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError

LOOK = 0.06
_PAST = 500
"""Lines above a screen in which the beginning of a question is looked for."""
_DRAWN_WITHIN = 1.0
"""Seconds for an input line that should be there."""
"""Seconds between two looks while something is expected at once."""
Trouble = Literal[
    "busy",
    "quiet",
    "starting",
    "waiting",
    "dialog",
    "program",
    "draft",
    "scrolled",
    "ended",
    "unfit",
    "untaken",
    "unsure",
    "terminal",
]
"""busy, starting: it works. quiet: it may rest, and nothing shows it. waiting: it asks. dialog, program: something else
is in front. draft: somebody has half typed something. scrolled: somebody reads its past. unfit: this text cannot be
given to this program. untaken: it was typed, not taken, and taken out again. unsure: it may have been taken. terminal:
tmux failed."""
PASSES: frozenset[Trouble] = frozenset(
    ("busy", "quiet", "starting", "waiting", "dialog", "program", "draft", "scrolled", "terminal")
)
"""Nothing was typed, and it may be different later."""
BLOCKS: frozenset[Trouble] = frozenset(("waiting", "dialog", "program", "draft", "scrolled"))
"""The kinds that last until somebody does something in the terminal."""
Profiles = Callable[[Sequence[str]], Profile]
"""The profile of a command line."""


class SessionError(ExpectedError):
    """It was not done, or it is not known whether it was (`unsure`). One sentence, and what to do.

    `asks`: the lines of the question that is open, for `waiting`.
    """

    def __init__(self, kind: Trouble, message: str, hint: str = "", asks: str = "") -> None:
        super().__init__(message, hint)
        self.kind: Trouble = kind
        self.asks = asks


class Seen(msgspec.Struct, frozen=True):
    """A look at the terminal. `profile` is that of the program in front."""

    reading: ScreenReading
    lines: tuple[str, ...]
    info: PaneInfo
    front: Foreground
    profile: Profile

    @property
    def dead(self) -> bool:
        return self.info.dead

    @property
    def draft(self) -> str:
        return self.reading.draft

    @property
    def question(self) -> str:
        """The lines of its question; empty if it does not ask one."""
        return self.reading.asked if self.reading.status == "waiting" else ""

    @property
    def prompted(self) -> bool:
        """Whether the prompt of the program in front is known, so that without one it works."""
        if self.profile.name == GENERIC:
            return self.front.program in self.profile.programs and not script_of(self.front.argv[1:])
        return not self.profile.ai

    @property
    def unfinished(self) -> bool:
        """Whether it is waiting for the rest of an incomplete input."""
        return _unfinished(self.profile, _row(self.lines, self.info.cursor_y))

    def marker(self) -> Marker:
        """A marker of the same moment, for reading what comes after it."""
        return Marker(self.info, tuple(without_styles(line) for line in self.lines))


def _half_drawn(seen: Seen) -> bool:
    """Whether a program that neither works nor asks has yet to show the input line that it has."""
    usable = seen.front.own and seen.front.kind == "program" and not seen.dead
    missing = bool(seen.profile.input.line) and not seen.reading.input
    return usable and missing and seen.reading.status not in ("starting", "thinking", "tool", "waiting")


class PaneView:
    """One program's terminal.

    Args:
        name: of the agent (or of the shell), for messages.
        profile: of the program that the pane was started with.
        profiles: finds that of another program, when one is in front.
        loading: whether the program has yet to read the conversation that it was started with.
    """

    def __init__(
        self,
        server: TmuxServer,
        pane: str,
        name: str,
        profile: Profile,
        profiles: Profiles | None = None,
        loading: ConversationLoading | None = None,
    ) -> None:
        self.server = server
        self.pane = pane
        self.name = name
        self.profile = profile
        self._profiles = profiles or _generic
        self._loading = loading

    def use(self, profile: Profile, profiles: Profiles) -> None:
        """Go by these profiles from now on."""
        self.profile, self._profiles = profile, profiles

    async def read_screen(self) -> Seen:
        """Its terminal now. Raises `SessionError` (terminal)."""
        try:
            info, lines = await self.server.capture_screen(self.pane)
        except TmuxError as error:
            raise SessionError("terminal", error.message, error.hint) from error
        now = await asyncio.to_thread(front, info)
        profile = self._in_front(now)
        reading = _read(profile, info, lines, now)
        if reading.status == "idle" and self._loading is not None and self._loading.possible:
            reading = await unless_loading(reading, self._loading, lines)
        return Seen(reading, lines, info, now, profile)

    def _in_front(self, now: Foreground) -> Profile:
        return self.profile if now.own else self._profiles(now.argv or (now.program,))

    async def read_drawn(self) -> Seen:
        """Its terminal, with the input line where it has one. Raises `SessionError` (terminal).

        A program may report that it is ready a moment before it draws the line: that is waited for, but not long.
        """
        seen = await self.read_screen()
        if not _half_drawn(seen):
            return seen
        return await self.wait_until(lambda now: not _half_drawn(now), _DRAWN_WITHIN) or await self.read_screen()

    async def wait_until(self, good: Callable[[Seen], bool], within: float | None = None) -> Seen | None:
        """The first look that satisfies `good` or shows that the program has ended; `None` if none did in time."""
        loop = asyncio.get_running_loop()
        until = loop.time() + (self.profile.timing.shown if within is None else within)
        while True:
            seen = await self.read_screen()
            if seen.dead or good(seen):
                return seen
            if loop.time() >= until:
                return None
            await asyncio.sleep(LOOK)

    async def conversation(self, lines: int = 0) -> list[str]:
        """The text above its input line, starting this many lines above the screen."""
        try:
            seen = await self.server.capture(self.pane, start=-lines if lines else None)
        except TmuxError as error:
            raise SessionError("terminal", error.message, error.hint) from error
        return conversation(self.profile, seen)

    async def with_past(self, question: OpenQuestion) -> OpenQuestion:
        """A question whose beginning is above the screen, with that beginning where the terminal still has it."""
        try:
            info, lines = await self.server.capture_screen(self.pane)
            past = await self.server.capture(self.pane, start=-_PAST)
        except TmuxError:
            return question
        profile, above = self._in_front(await asyncio.to_thread(front, info)), len(past) - info.height
        here = read_screen(profile, lines, info.title, (info.cursor_x, info.cursor_y), info.width)
        if info.alternate or above <= 0 or here.read is None or here.read.question.id != question.id:
            return question
        place = (info.cursor_x, info.cursor_y + above)
        read = read_screen(profile, past, info.title, place, info.width).read
        if read is None or read.question.choices != question.choices or read.question.partial:
            return question
        whole = read.question
        return msgspec.structs.replace(
            question, subject=whole.subject, detail=whole.detail, beside=whole.beside, partial=False
        )

    def obstacle(
        self, seen: Seen, *, even_busy: bool = False, elsewhere: bool = False, behind: bool = False
    ) -> SessionError | None:
        """What prevents typing a text now; `None` if nothing does.

        Args:
            even_busy: allow typing to an AI program while it works, if its input line is visible.
            elsewhere: the foreground program may be a different one than the pane was started with.
            behind: allow half-typed text.
        """
        name, here, reading = self.name, seen.front, seen.reading
        if seen.dead:
            return SessionError("ended", f"{name} has ended.", "Restart it first.")
        if seen.info.in_mode and seen.info.attached:
            return SessionError(
                "scrolled", f"Somebody is scrolling back in the terminal of {name}.", "Press q there to leave."
            )
        program = one_line(here.program, 40) or "a program"
        if here.kind != "program":
            what = f"An editor ({program})" if here.kind == "editor" else f"A pager ({program})"
            return SessionError("program", f"{what} is in front in {name}.", "Close it in that terminal, or with keys.")
        if "waiting" in (reading.status, reading.contradicts):
            return _question(name, reading)
        if not here.own and not elsewhere:
            return SessionError("busy", f"A command is running in {name}: {program}.", _LATER)
        if seen.profile.shell and not here.prompt:
            return SessionError("busy", f"A command is running in {name}.", _LATER)
        if works := self._at_work(seen, program, even_busy):
            return works
        if not behind and (reading.draft or seen.unfinished):
            half = f": {one_line(reading.draft, 120)!r}" if reading.draft else ""
            return SessionError(
                "draft", f"Somebody has typed something into {name} without submitting it{half}.", "Finish or clear it."
            )
        return None

    def _at_work(self, seen: Seen, program: str, even_busy: bool) -> SessionError | None:
        """The foreground program's own activity that prevents typing."""
        name, here, reading = self.name, seen.front, seen.reading
        if seen.prompted:
            return None if reading.status == "idle" else SessionError("busy", f"{name} is busy ({program}).", _LATER)
        if seen.profile.name == GENERIC:
            return self._unknown(seen, program)
        contradicted = bool(reading.contradicts) and not reading.counts
        if not even_busy and (contradicted or reading.status in ("thinking", "tool", "starting")):
            return SessionError("busy", f"{name} is busy.", _LATER)
        if seen.profile.input.line and not reading.input:
            return SessionError("busy", f"The input line of {name} is not visible.", "Look at its terminal.")
        if not here.own and not seen.profile.input.line and here.reads is False:
            return SessionError("busy", f"{name} is busy ({program}).", _LATER)
        return None

    def _unknown(self, seen: Seen, program: str) -> SessionError | None:
        """A program of which nothing is known: what the kernel says of it counts, then what its screen shows."""
        here = seen.front
        if seen.reading.status == "idle" or here.reads:
            return None
        if here.reads is False:
            return SessionError("busy", f"{self.name} is busy ({program}).", _LATER)
        if seen.info.alternate and (not here.own or here.program in seen.profile.programs):
            return SessionError(
                "program",
                f"{program} is using the whole screen of {self.name}.",
                "Send it keys; text is not typed there.",
            )
        if not here.own and not _row(seen.lines, seen.info.cursor_y)[: seen.info.cursor_x].strip():
            return SessionError("busy", f"A command is running in {self.name}: {program}.", _LATER)
        return None


_LATER = "Wait until it is done."


async def unless_loading(reading: ScreenReading, loading: ConversationLoading, lines: Sequence[str]) -> ScreenReading:
    """What an input that looks idle means while its program has yet to read its conversation: it takes no text."""
    if not await asyncio.to_thread(loading.is_loading, lines):
        return reading
    return msgspec.structs.replace(reading, status="starting", doing="reads its conversation", input=False)


def _generic(argv: Sequence[str]) -> Profile:
    name = Path(argv[0]).name if argv else "program"
    return Profile(name=GENERIC, title=name, ai=False)


def _question(name: str, reading: ScreenReading) -> SessionError:
    about = f" ({reading.doing})" if reading.doing else ""
    if reading.dialog:
        return SessionError("dialog", f"{name} shows a dialog{about}.", "Close it in that terminal, or with keys.")
    hint = "Answer it in its terminal, or with keys; text is not typed into a question."
    return SessionError("waiting", f"{name} waits for an answer{about}.", hint, reading.asked)


def _read(profile: Profile, info: PaneInfo, lines: tuple[str, ...], now: Foreground) -> ScreenReading:
    place = (info.cursor_x, info.cursor_y)
    if profile.shell and now.prompt:  # then nothing on the screen means anything but what is typed
        rows = [without_styles(line) for line in lines]
        half = _row(lines, info.cursor_y) if _unfinished(profile, _row(lines, info.cursor_y)) else ""
        return ScreenReading("idle", "", half or typed_at_prompt(info, rows), True)
    reading = read_screen(profile, lines, info.title, place, info.width)
    if profile.shell:
        runs = "" if now.own else f"a command is running: {now.program}"
        return reading if reading.status == "waiting" else ScreenReading("tool", runs)
    said = by_title(profile, info.title)
    if said and reading.status == "idle":  # an answer may be written above an input that looks idle
        asked = asked_of(plain_lines(lines)) if said == "waiting" else ""
        reading = msgspec.structs.replace(reading, status=said, asked=asked)
    return reading


def _row(lines: Sequence[str], row: int) -> str:
    return without_styles(lines[row]) if row < len(lines) else ""


def _unfinished(profile: Profile, row: str) -> bool:
    return bool(profile.input.unfinished) and compile_linear(profile.input.unfinished).search(row) is not None


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


def is_gone(error: SessionError) -> bool:
    return isinstance(error.__cause__, TmuxError) and error.__cause__.kind in ("no_such_pane", "gone")


def shows_other_mode(seen: Seen, was: ProgramMode) -> bool:
    """Whether it shows another mode, or something in front of that."""
    return seen.reading.status == "waiting" or (seen.reading.mode is not None and seen.reading.mode != was)


def asks_another(seen: Seen, question: str) -> bool:
    return bool(seen.question) and not same_question(seen.question, question)


def of_terminal(error: TmuxError) -> SessionError:
    """The error of something that was sent to the pane; `unsure` where nobody knows whether it arrived."""
    kind: Trouble = "unsure" if error.kind in ("timeout", "unreachable") else "terminal"
    return SessionError(kind, error.message, error.hint)
