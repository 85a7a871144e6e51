"""A conversation with another program in its terminal: wait until ready, send, read the answer, interrupt, exit."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Callable, Sequence

from gshtui.bus.agent_data import AgentRow, GuardMode, OpenQuestion, ProgramMode
from gshtui.programs.pane.choice_presser import Otherwise
from gshtui.programs.pane.pane_view import LOOK, PaneView, Profiles, Seen, SessionError
from gshtui.programs.pane.pane_writer import PaneWriter, Sent, State
from gshtui.programs.pane.program_link import ProgramLink
from gshtui.programs.profiles.profile import GENERIC, Profile, takes_code
from gshtui.programs.screen.screen_reading import ScreenReading, search
from gshtui.programs.transcripts.conversation_loading import ConversationLoading
from gshtui.tmux.marker import Marker, capture_marker, text_since
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError

_ANCHORS = (6, 4, 3, 2, 1)
_NARROW, _BLANK = 10, 4
"""Columns of the narrowest terminal that is reckoned with, and empty rows that may stand before an echo."""
_HIGHEST = 4
"""Rows of the tallest prompt that is reckoned with."""
_BAR = frozenset("▀▁▂▃▄▅▆▇█▐▌│┃")
_ECHO = "❯›>┃│▌▄▀─ \xa0"


def added_lines(before: Sequence[str], after: Sequence[str], prompt: str = "") -> str:
    """The lines of `after` that came since `before`, without the echo of the prompt.

    Args:
        before, after: plain lines of the conversation, oldest first.
        prompt: what was submitted in between.
    """
    old = [bare for line in before if (bare := _without_scroll_bar(line))]
    plain = [_without_scroll_bar(line) for line in after]
    places = [number for number, line in enumerate(plain) if line]
    new = [plain[number] for number in places]
    rest = list(after) if not old else None
    for size in _ANCHORS:
        if rest is not None or size > len(old):
            continue
        anchor = old[-size:]
        found = next((n for n in range(len(new) - size, -1, -1) if new[n : n + size] == anchor), None)
        if found is not None:
            rest = list(after[places[found + size - 1] + 1 :])
    if rest is None:  # it has scrolled on for longer than can be seen
        known = set(old)
        rest = [line for line, bare in zip(after, plain, strict=True) if not bare or bare not in known]
    return "\n".join(_without_echo(rest, prompt)).strip("\n")


def _without_scroll_bar(line: str) -> str:
    """The row without a cell far at its right that moves when something comes: the same row is the same with it."""
    text = line.rstrip()
    return text[:-1].rstrip() if text[-1:] in _BAR and text[:-1].endswith("  ") else text


def _without_echo(lines: list[str], prompt: str) -> list[str]:
    words = [line.strip() for line in prompt.split("\n") if line.strip()]
    left, at = list(words), 0
    while at < len(lines):
        shown = lines[at].strip(_ECHO)
        # With a sign of the program's own in front, it is one once: the answer may say the same.
        if not (shown in words or not shown or (left and _is_marked(shown, left[0]))):
            break
        left = left[1:] if left and shown.endswith(left[0]) else left
        at += 1
    return lines[at:]


def _is_marked(shown: str, words: str) -> bool:
    return shown.endswith(words) and not any(sign.isalnum() for sign in shown.removesuffix(words))


async def said_since(view: PaneView, sent: Sent) -> str:
    """What the screen and the past of an AI program show of its conversation since a text was entered there.

    Such a program draws its screen anew, so no place in its output says where that begins. Raises `SessionError`.
    """
    rows = added_lines(sent.before, await view.conversation(_PAST), sent.text).rstrip().split("\n")
    while rows[1:] and any(search(mark, rows[-1]) for mark in view.profile.rest.done):
        rows.pop()  # it says that the turn is over, and is no part of the answer
    return "\n".join(rows).rstrip()


def printed_output(before: Marker, now: Marker, came: str, entered: str) -> str:
    """The output of a program with a prompt.

    Args:
        before, now: its terminal, at its prompt both times.
        came: everything in between: the echo of the input, the output, and the prompt.
    """
    rows = came.split("\n")
    rows = rows[_echoed(rows, entered) :]
    prompt = now.unfinished.rstrip()
    if rows and prompt and rows[-1].rstrip() == prompt:
        rows.pop()
        # A prompt of several lines: those above its last one were there before as well. So are those of an output that
        # is the same as the one before, which does not stand above each prompt.
        most = min(_rows_above(before, prompt), _rows_above(now, prompt))
        for above, was in itertools.islice(zip(reversed(now.anchor()), reversed(before.anchor()), strict=False), most):
            if not (rows and above and rows[-1].rstrip() == above == was):
                break
            rows.pop()
    return "\n".join(rows).strip("\n")


def _rows_above(marker: Marker, prompt: str) -> int:
    """Most rows above a prompt's last one that may belong to it: those that are the same above each one shown."""
    rows = [row.rstrip() for row in marker.rows[: marker.info.cursor_y + 1]]
    ends = [at for at, row in enumerate(rows) if row.startswith(prompt)]
    if marker.info.history:  # what is above the first one on the screen is not to be seen
        ends = [at for at in ends if at >= _HIGHEST]
    for count in range(1, _HIGHEST + 1):
        if len({rows[at - count] if at >= count else "" for at in ends}) > 1:
            return count - 1
    return _HIGHEST


def _echoed(rows: Sequence[str], entered: str) -> int:
    """How many rows at the start show the input; a long line takes several rows, a block has prompts in front."""
    at = 0
    lines = [line for line in entered.split("\n") if line.strip()]
    for line in lines:
        wanted, shown = "".join(line.split()), ""
        for end in range(at, min(at + len(line) // _NARROW + _BLANK, len(rows))):
            shown += "".join(rows[end].split())
            if wanted in shown:
                at = end + 1
                break
        else:
            return at
    while len(lines) > 1 and at < len(rows) and rows[at].strip() in ("...", ">"):
        at += 1
    return at


__all__ = ["CliSession", "SessionError"]
_COMMAND = re.compile(r"/[a-z][a-z0-9_:-]*(?:\s|\Z)")
"""A command of the program's own, which only its input knows."""
_PAST = 3000
"""Lines above the screen that an answer may have scrolled."""


class CliSession:
    """One program in one pane. One text at a time: later ones wait for their turn."""

    def __init__(
        self,
        server: TmuxServer,
        row: AgentRow,
        profile: Profile,
        profiles: Profiles | None = None,
        loading: ConversationLoading | None = None,
        link: ProgramLink | None = None,
    ) -> None:
        """
        Args:
            profiles: finds the profile of another program that is in front.
            loading: whether it has yet to read the conversation that it was started with.
            link: the connection to it by its own protocol, by which it is told what else would be typed.
        """
        self._server = server
        self._name = row.name
        self._profile = profile
        self._view = PaneView(server, row.pane, row.name, profile, profiles, loading)
        self._link = link
        self.writer = PaneWriter(self._view)
        """What types into its terminal."""
        self._last: Sent | None = None
        """The last input whose answer has not been read yet."""

    def use(self, profile: Profile, profiles: Profiles) -> None:
        """Go by these profiles from now on."""
        self._profile = profile
        self._view.use(profile, profiles)

    async def start(self, *, timeout: float | None = None) -> ScreenReading:
        """Wait until the program takes input, or asks something. Raises `SessionError` (starting, ended)."""
        timing = self._profile.timing
        loop = asyncio.get_running_loop()
        until = loop.time() + (timing.start if timeout is None else timeout)
        last: tuple[ScreenReading, tuple[str, ...]] | None = None
        still = settled = loop.time()
        while True:
            seen = await self._view.read_screen()
            now = loop.time()
            if seen.dead:
                raise SessionError("ended", f"{self._name} ended while it was starting.", "Its terminal shows why.")
            # A picture may move for ever, a changing hint or a logo; what it says has to stand still.
            if last is None or seen.reading != last[0]:
                settled = now
            if last is None or seen.lines != last[1]:
                still = now
            last = (seen.reading, seen.lines)
            quiet = now - still
            known = seen.reading.status in ("idle", "waiting") and now - settled >= timing.settle
            # Of a program that nothing is known of, that it reads; or else that it has stood still for long enough.
            unknown = not self._profile.rules or self._profile.name == GENERIC
            if known or (unknown and (bool(seen.front.reads) or quiet >= timing.idle)):
                return seen.reading
            if now >= until:
                raise SessionError(
                    "starting",
                    f"{self._name} was not ready for input within {timeout or timing.start:g} s.",
                    "Look at its terminal.",
                )
            await asyncio.sleep(LOOK)

    async def question_with_past(self, question: OpenQuestion) -> OpenQuestion:
        """A question whose beginning is above the screen, with that beginning where the terminal still has it."""
        return await self._view.with_past(question)

    async def read_screen(self) -> Seen:
        """Its terminal now. Raises `SessionError` (terminal)."""
        return await self._view.read_screen()

    async def shows_input(self) -> bool:
        """Whether its input is to be seen now, whatever else it shows."""
        try:
            seen = await self._view.read_screen()
        except SessionError:
            return False
        return seen.reading.input and not seen.dead

    @property
    def takes_code(self) -> bool:
        return takes_code(self._profile)

    async def obstacle(self, *, even_busy: bool = False) -> SessionError | None:
        """What prevents typing now; `None` if nothing does. Raises `SessionError` (busy, terminal).

        What a killed process has left half typed in the input is removed, and is no obstacle; a text that was sent, and
        that the program has yet to read, is one only until it has.
        """
        if self._link is not None and await self._link.connected():
            return self._beside(self._link, await self._view.read_screen(), even_busy)
        trouble = self._view.obstacle(await self._view.read_drawn(), even_busy=even_busy)
        if trouble is None or trouble.kind != "draft":
            return trouble
        if await self.writer.take_back() == "taken_back":
            return self._view.obstacle(await self._view.read_screen(), even_busy=even_busy)
        return await self.writer.unread() or trouble

    async def send(self, text: str, *, told: Callable[[State], None] | None = None, even_busy: bool = False) -> Sent:
        """Give it a text by its protocol, or type and enter it. Raises `SessionError`; see `PaneWriter.write`."""
        if self._link is not None and not _COMMAND.match(text) and await self._link.connected():
            seen = await self._view.read_screen()
            if (trouble := self._beside(self._link, seen, even_busy)) is not None:
                raise trouble
            if await self._link.prompt(text):
                self._last = None  # its answer comes in the same way
                if told is not None:
                    told("submitted")
                return Sent(seen.marker(), text, (), time.time())
        self._last = await self.writer.write(text, told=told, even_busy=even_busy)
        return self._last

    async def text_so_far(self) -> str:
        """What its screen shows to have come since the last text that was entered here, until `answer` told it.
        Raises `SessionError`: terminal.
        """
        return "" if self._last is None else await self._since(self._last)

    async def answer(self) -> str:
        """The same, but each obstacle is returned only once. Raises `SessionError` (terminal)."""
        last, self._last = self._last, None
        return "" if last is None else await self._since(last)

    @property
    def last_input(self) -> Sent | None:
        """The last input whose answer has not been read yet."""
        return self._last

    def forget_input(self) -> None:
        """The answer to the last input is known from elsewhere: it is not to be read again from the screen."""
        self._last = None

    async def is_still(self) -> bool:
        """Whether a program with a prompt shows it, and so has finished with its input. Raises `SessionError`."""
        seen = await self._view.read_screen()
        return seen.dead or (seen.front.own and seen.reading.status == "idle" and not seen.unfinished)

    async def _since(self, sent: Sent) -> str:
        """The output since then. A program with its own input line redraws its screen; others only print."""
        if self._profile.ai:
            return await said_since(self._view, sent)
        try:
            now = await capture_marker(self._server, sent.marker.info)
            came = await text_since(self._server, sent.marker, now)
        except TmuxError as error:
            raise SessionError("terminal", error.message, error.hint) from error
        return printed_output(sent.marker, now, came, sent.text)

    def _beside(self, link: ProgramLink, seen: Seen, even_busy: bool) -> SessionError | None:
        """What keeps a text from being given to it by its protocol: none is where it would have to be typed first."""
        if seen.dead or seen.reading.status == "waiting":
            return self._view.obstacle(seen, even_busy=even_busy)
        told = link.evidence
        if told is not None and told.status == "waiting":
            about = f" ({told.doing})" if told.doing else ""
            return SessionError("waiting", f"{self._name} waits for an answer{about}.", "Answer it first.")
        if told is not None and told.status != "idle" and not even_busy:
            return SessionError("busy", f"{self._name} is busy.", "Wait until it is done.")
        return None

    async def open_question(self) -> OpenQuestion:
        """What it asks now. Raises `SessionError` as `PaneWriter.open_question` does."""
        if self._link is not None and await self._link.connected():
            question = await self._link.question()
            if question is not None and question.choices:
                return question
        return await self.writer.open_question()

    async def choose(self, question: str, choice: str, otherwise: Otherwise, reason: str = "") -> OpenQuestion | None:
        """Answer a question; what is asked next, if anything is. See `PaneWriter.answer`, and `ProgramLink.answer`."""
        if self._link is not None and await self._link.connected():
            asked = question or (await self.open_question()).id
            if self._link.asks(asked):
                return await self._link.answer(asked, choice, reason)
        if reason:
            raise SessionError("dialog", f"{self._name} takes no reason.", "Choose one of its answers.")
        return await self.writer.answer(question, choice, otherwise)

    async def change_mode(self, mode: GuardMode) -> ProgramMode | None:
        """Put it into a mode by its own protocol; the one that it is in then, `None`: it has to be done by its keys.
        Raises `SessionError`: it did not take that; unsure.
        """
        if self._link is not None and await self._link.connected() and await self._link.change_mode(mode):
            return self._link.mode
        return None

    async def interrupt(self) -> None:
        """Interrupt it, by its own protocol or with its own keys. Raises `SessionError` (terminal)."""
        if self._link is not None and await self._link.connected() and await self._link.interrupt():
            return
        keys = self._profile.keys
        await self.writer.press(keys.interrupt, again=keys.again)

    async def exit(self, *, timeout: float = 10.0) -> bool:
        """Ask it to end by its own keys; whether it did. Raises `SessionError` (terminal)."""
        if (await self._view.read_screen()).dead:
            return True
        keys = self._profile.keys
        if not keys.exit_text or not await self.writer.exit_text(keys.exit_text):
            await self.writer.press(keys.exit)
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        while not (await self._view.read_screen()).dead:
            if loop.time() >= until:
                return False
            await asyncio.sleep(LOOK)
        return True
