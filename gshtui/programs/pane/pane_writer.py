"""The only way to send text, Enter or keys to the pane of an agent or of the shared shell.

Nothing is sent while a face of ours is in that terminal: its keys answer questions, which only a person does.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Literal, TypeVar

import msgspec

from gshtui.bus.agent_data import AT_WORK, OpenQuestion, ProgramMode
from gshtui.programs.pane.choice_presser import ChoicePresser, Otherwise
from gshtui.programs.pane.pane_view import (
    HEAD,
    LOOK,
    PaneView,
    Seen,
    SessionError,
    Trouble,
    asks_another,
    has_moved,
    is_alike,
    is_gone,
    is_taken,
    of_terminal,
    shows_other_mode,
    times_in,
    times_said,
)
from gshtui.programs.pane.typing_record import TypedText, TypingRecord, text_key
from gshtui.programs.screen.foreground import input_taken
from gshtui.programs.screen.text_wording import misunderstood, unfit, worded
from gshtui.settings import paths
from gshtui.system.face_mark import face_in_terminal
from gshtui.system.files.file_lock import LockHeld, file_lock
from gshtui.tmux.marker import Marker
from gshtui.tmux.quoting import ShownRow
from gshtui.tmux.tmux_errors import TmuxError

State = Literal["typed", "submitted"]
Whereabouts = Literal["input", "elsewhere", "unknown"]
"""input: it stands there. elsewhere: the input is to be seen without it. unknown: something is in front of that."""
T = TypeVar("T")
_TURN_WITHIN = 20.0
"""Seconds to wait while another process types into the pane; a text that is not accepted takes the longest."""
_BETWEEN_KEYS = 0.3
"""Seconds: two keys in one instant count as one in some programs."""
_ASKED_WITHIN = 3.0
"""Seconds that a busy program may take to say that it wants the same key again."""
_CLEAR_EVERY, _CLEARS = 0.15, 40
"""Seconds between two attempts to empty the input, and how many there are."""
_ENTERS = 3
"""Most times that Enter is pressed for one text."""
_STANDING_LOOKS, _RESTS, _REPAINTED = 20, 3, 4
"""Looks before it is pressed again, at how many of them the program must be at rest, or have painted other things."""
_SHOWN_ROWS = 6
"""Rows of a text that must be on the screen when it is."""
_MODES = 12
"""Most of its modes that a program is taken through."""
_GIVEN_BACK = 1.5
"""Seconds within which a text is in the input again that a program did not take: a command that it does not know, or an
Enter that came while it was painting everything anew."""
_LOOK_AT = "Look at its terminal before you send it again."


class Sent(msgspec.Struct, frozen=True):
    """An accepted text, with a marker of the moment before it, for reading the response."""

    marker: Marker
    text: str
    before: tuple[str, ...]
    """The conversation as it was to be seen, plain lines."""
    at: float
    """Seconds since 1970; a hook after it confirms that it was acted upon."""


class Pressed(msgspec.Struct, frozen=True):
    """Keys that were pressed. `left`: those that were not, since another question had come."""

    keys: tuple[str, ...]
    left: tuple[str, ...] = ()


class PaneWriter:
    """Writes into one pane; one text at a time, over all processes."""

    def __init__(self, view: PaneView) -> None:
        self.view = view
        self._server = view.server
        self._pane = view.pane
        self._presser = ChoicePresser(view)
        self._turns = asyncio.Lock()
        address = f"{self._server.socket_path or self._server.socket_name} {self._pane}"
        self._file = f"typing-{hashlib.sha256(address.encode()).hexdigest()[:12]}"
        """The name of the lock for typing, and of what is noted about it, without their endings."""

    async def write(
        self,
        text: str,
        *,
        enter: bool = True,
        even_busy: bool = False,
        elsewhere: bool = False,
        behind: bool = False,
        aside: bytes = b"",
        check: Callable[[Seen], None] | None = None,
        told: Callable[[State], None] | None = None,
    ) -> Sent:
        """Type a text and submit it.

        Args:
            enter: press Enter after it.
            even_busy: also while an AI program is working, which then handles it in its own way.
            elsewhere: also into a foreground program that is not the pane's own.
            behind: also after half-typed text.
            aside: the key with which this shell puts a half-typed line aside, and later restores it by itself.
            check: examines the terminal right before typing, and may raise.
            told: called when the text appears in the input line, and when it was accepted.

        Raises `SessionError`: what prevented it, or what happened to the text. Only the kinds `untaken` and `unsure`
        are raised after something was typed.
        """
        async with self._turn() as record:
            seen = await self.view.read_drawn()
            behind = behind or bool(aside)
            if not behind and seen.draft:
                if await self._take_back(record, seen):
                    seen = await self.view.read_screen()
                elif record.is_unread(seen.draft):
                    seen = await self._read(record)
            if trouble := self.view.obstacle(seen, even_busy=even_busy, elsewhere=elsewhere, behind=behind):
                raise trouble
            words = await self._worded(seen, text, enter)
            before = tuple(await self.view.conversation()) if seen.profile.ai else ()
            if check is not None:
                check(seen)
            if aside:
                await self._send(seen, self._server.type_bytes, aside)
                seen = await self._aside(seen)
            sent = Sent(seen.marker(), text, before, time.time())
            if words and enter and not seen.draft:
                self._note(record, text, words)
            typed = False
            try:
                if words:
                    await self._paste(seen, words, record)
                    typed = True
                if told is not None:
                    told("typed")
                if enter:
                    sent = await self._enter(sent, words, record)
                    record.accepted()
                    if told is not None:
                        told("submitted")
            except SessionError as error:
                if error.kind == "terminal" and typed:
                    error = SessionError("unsure", error.message, _LOOK_AT)
                if error.kind != "unsure":
                    record.drop()
                elif not self._server.host:  # else the next text takes out what a broken connection left in the input
                    record.left()
                raise error
            except BaseException:
                record.drop()
                raise
            return sent

    async def take_back(self, text: str = "") -> Literal["taken_back", "accepted", "unknown"]:
        """Remove from the input what a process that was killed had typed there and not entered, if that is all of it.
        `text`: as it was sent; empty: any text.

        Returns:
            taken_back: it was not entered, and is not in the input any more. accepted: the program took it.

        Raises `SessionError`: busy, terminal.
        """
        async with self._turn() as record:
            was = record.read()
            if was is None or (text and was.key != text_key(text)):
                return "unknown"
            if was.step == "accepted":
                return "accepted"
            back = await self._take_back(record, await self.view.read_screen())
            # Of an Enter nobody knows what came of it, even if the text still stands there.
            return "taken_back" if back and was.step == "typing" else "unknown"

    async def whereabouts(self, text: str) -> Whereabouts:
        """Where a text is that was typed and not seen to be taken. Raises `SessionError` (busy, terminal)."""
        async with self._turn() as record:
            return self._whereabouts(record.read(), text, await self.view.read_screen())

    async def enter_again(self, text: str) -> bool:
        """Enter a text that is still in the input, for a person; whether it was taken. Raises `SessionError`."""
        async with self._turn() as record:
            was, seen = record.read(), await self.view.read_screen()
            self._still_free(seen)
            if was is None or self._whereabouts(was, text, seen) != "input":
                raise SessionError("waiting", f"The text is no longer in the input of {self.view.name}.", "Look there.")
            said = tuple(await self.view.conversation())
            if not await self._press_enter(seen):
                raise SessionError("waiting", f"The input of {self.view.name} changed.", "Nothing was pressed.")
            taken = await self._left(seen, was.words, said) is not None
            if taken:
                record.drop()
            return taken

    async def take_out(self, text: str) -> bool:
        """Remove such a text from the input, for a person; whether it is out of it now. Raises `SessionError`."""
        async with self._turn() as record:
            seen = await self.view.read_screen()
            self._still_free(seen)
            gone = self._whereabouts(record.read(), text, seen) != "input" or await self._clear(seen)
            if gone:
                record.drop()
            return gone

    async def was_said(self, text: str) -> bool:
        """Whether the conversation on the screen has a text that the input has no longer. Raises `SessionError`."""
        seen = await self.view.read_screen()
        return seen.reading.input and not seen.draft and times_said(seen, worded(seen.profile, text)) > 0

    @staticmethod
    def _whereabouts(was: TypedText | None, text: str, seen: Seen) -> Whereabouts:
        if was is None or was.key != text_key(text) or was.step == "accepted":
            return "elsewhere"
        if was.is_draft(seen.draft):
            return "input"
        return "elsewhere" if seen.reading.input and not seen.dead else "unknown"

    async def unread(self) -> SessionError | None:
        """What prevents the next text while the program has yet to read the one before. Raises as `take_back` does."""
        async with self._turn() as record:
            return self._later() if record.is_unread((await self.view.read_screen()).draft) else None

    async def _read(self, record: TypingRecord) -> Seen:
        """The look after the program has read what was entered before. Raises `SessionError` (busy, terminal)."""
        seen = await self.view.wait_until(lambda now: not record.is_unread(now.draft))
        if seen is None:
            raise self._later()
        return seen

    def _later(self) -> SessionError:
        name = self.view.name
        return SessionError("busy", f"{name} has not read the text that was sent to it before.", "Wait until it has.")

    async def _take_back(self, record: TypingRecord, seen: Seen) -> bool:
        """Clear the input if nothing is in it but what a killed process typed; returns whether it did."""
        was = record.read()
        if was is None or was.step == "left" or seen.dead or seen.reading.status == "waiting":
            return False
        if not was.is_draft(seen.draft):
            return False
        if seen.info.in_mode and seen.info.attached:
            return False
        if cleared := await self._clear(seen):
            record.drop()
        return cleared

    def _note(self, record: TypingRecord, text: str, words: str) -> None:
        """Note what is about to be typed. Raises `SessionError` (terminal)."""
        try:
            record.begin(text, words)
        except OSError as error:
            message = f"Cannot note what is typed into {self.view.name}: {error.strerror or error}."
            raise SessionError("terminal", message, "Nothing was typed.") from error

    async def press(self, keys: tuple[str, ...], *, question: str | None = None, again: str = "") -> Pressed:
        """Press keys by name, in order.

        `question`: the question that they answer, as it was seen (empty: none was open). If a different one is open,
        nothing is pressed; if one appears in between, nothing more is pressed. `None`: any question.
        `again`: what its screen shows once it wants the same key once more.
        Raises `SessionError`: waiting, with the open question; ended, scrolled, terminal.
        """
        name, done = self.view.name, list[str]()
        async with self._turn():
            for number, key in enumerate(keys):
                if number:
                    await asyncio.sleep(_BETWEEN_KEYS)
                seen = await (self._asked_again(again) if again and number else self.view.read_screen())
                if number and (seen.dead or (question is not None and asks_another(seen, question))):
                    break
                if seen.dead:
                    raise SessionError("ended", f"{name} has ended.", "Restart it first.")
                if question is not None:
                    self._still_asks(seen, question, first=not number)
                await self._send(seen, self._server.send_keys, key)
                done.append(key)
        return Pressed(tuple(done), keys[len(done) :])

    async def _asked_again(self, words: str) -> Seen:
        """Its screen once it shows these words, or after a while: two Escapes that it reads at once are one to it."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _ASKED_WITHIN
        while True:
            seen = await self.view.read_screen()
            if any(words in line for line in seen.lines) or seen.dead or loop.time() >= until:
                return seen
            await asyncio.sleep(LOOK)

    async def change_mode(self, keys: tuple[str, ...], reached: Callable[[ProgramMode], bool]) -> ProgramMode:
        """Press the program's own keys for its modes, at rest, until its screen shows one that is reached; that one.
        Raises `SessionError`: what prevented it. Where none is reached, it is in the one that it was in before.
        """
        name = self.view.name
        async with self._turn():
            seen = await self.view.read_drawn()
            if trouble := self.view.obstacle(seen, behind=True):
                raise trouble
            began = now = seen.reading.mode
            if began is None or now is None:
                raise SessionError("busy", f"{name} does not show its mode now.", _LOOK_AT)
            for _ in range(_MODES):
                if reached(now):
                    return now
                for key in keys:
                    await self._send(seen, self._server.send_keys, key)
                before = now
                moved = await self.view.wait_until(lambda look, was=before: shows_other_mode(look, was))
                if moved is None or moved.dead or moved.reading.mode is None:
                    raise SessionError("unsure", f"{name} did not change from {before.name!r} by its key.", _LOOK_AT)
                seen, now = moved, moved.reading.mode
                if moved.reading.status == "waiting":
                    asked = f"{name} asks something before it changes its mode; it shows {now.name!r}."
                    raise SessionError("unsure", asked, _LOOK_AT, moved.question)
                if now == began:
                    break
        raise SessionError(
            "unfit", f"{name} does not come to that mode by its key.", "It is in the one that it was in."
        )

    async def answer(self, question: str, choice: str, otherwise: Otherwise = lambda _: False) -> OpenQuestion | None:
        """Choose one of the answers of an open question by its keys, and see that the question is gone.

        Every key is pressed only while exactly this question is on the screen. `otherwise` gives the answer without
        keys, if it can. Returns the question that came instead, if one did.

        Raises `SessionError`: waiting: nothing was pressed, or the question is still there; ended, scrolled, terminal.
        """
        async with self._turn():
            await self._refuse_face(await self.view.read_screen())
            return await self._presser.answer(question, choice, otherwise)

    async def open_question(self) -> OpenQuestion:
        """What is asked now, once the screen shows all of it; without choices where they cannot be read.
        Raises `SessionError`: waiting: nothing is; ended, scrolled, terminal.
        """
        return await self._presser.asked()

    def _still_asks(self, seen: Seen, question: str, *, first: bool) -> None:
        """Raise `SessionError` unless the open question is the one to answer."""
        name = self.view.name
        if seen.info.in_mode and seen.info.attached:
            raise SessionError(
                "scrolled", f"Somebody is scrolling back in the terminal of {name}.", "Press q there to leave."
            )
        if asks_another(seen, question):
            about = f" ({seen.reading.doing})" if seen.reading.doing else ""
            message = f"{name} is asking something that you have not seen{about}."
            raise SessionError("waiting", message, "Nothing was pressed.", seen.question)
        if question and first and not seen.question:
            raise SessionError("waiting", f"{name} no longer asks that.", "Nothing was pressed.")

    async def exit_text(self, text: str) -> bool:
        """Submit the program's exit command, if it accepts input now; returns whether it did."""
        try:
            await self.write(text, even_busy=True)
        except SessionError:
            return False
        return True

    async def _refuse_face(self, seen: Seen) -> None:
        """Raise `SessionError` (program) if a face of ours is in the terminal."""
        if not seen.info.remote and await asyncio.to_thread(face_in_terminal, seen.info.pid):
            message = f"gsh-tui itself asks and answers in {self.view.name}, where only a person types."
            raise SessionError("program", message, "Nothing was typed.")

    # -- the steps ---------------------------------------------------------------------------------------------------

    async def _worded(self, seen: Seen, text: str, enter: bool) -> str:
        """The text as this program takes it. Raises `SessionError` (unfit)."""
        profile = seen.profile
        if why := unfit(profile, text):
            raise SessionError("unfit", f"Cannot send this text to {self.view.name}: {why}.", "Nothing was typed.")
        if profile.shell and enter and text.strip() and (why := await misunderstood(seen.front.program, text)):
            raise SessionError(
                "unfit", f"{seen.front.program} does not understand that line: {why}", "Nothing was typed."
            )
        return worded(profile, text)

    async def _aside(self, before: Seen) -> Seen:
        """Wait until a half-typed line, if any, is put aside."""
        if not before.draft:
            return before
        seen = await self.view.wait_until(lambda now: not now.draft)
        if seen is None or seen.dead:
            raise SessionError(
                "draft", f"Something is typed in {self.view.name} but not submitted.", "Finish or clear it."
            )
        return seen

    async def _paste(self, before: Seen, words: str, record: TypingRecord) -> None:
        """Paste the text, and wait until it shows and Enter may follow it. Who is called off takes it out again."""
        await self._send(before, self._server.send_text, words)
        try:
            seen = await self._shown(before, words)
            record.seen(seen.draft)
            await asyncio.sleep(seen.profile.timing.enter)
        except asyncio.CancelledError:
            with contextlib.suppress(SessionError):
                now = await asyncio.shield(self.view.read_screen())
                if not before.draft and " ".join(words.split())[:HEAD] in " ".join(now.draft.split()):
                    await asyncio.shield(self._clear(now))
            raise

    async def _shown(self, before: Seen, words: str) -> Seen:
        """Once the text shows in the input; without that, Enter could answer something else."""
        head, tail = " ".join(words.split())[:HEAD], " ".join(words.rpartition("\n")[2].split())[-HEAD:]
        profile = before.profile
        own_input = bool(profile.input.line) and not profile.shell and profile.ai

        def shows(now: Seen) -> bool:
            if now.reading.status == "waiting" or now.front.kind != "program":
                return True
            if own_input:
                fresh = now.draft and now.draft != before.draft
                # An input that is full shows the end of a text alone.
                rows = now.marker().rows
                return bool(fresh) or any(part and any(part in row for row in rows) for part in (head, tail))
            return has_moved(before, now)

        name = self.view.name
        try:
            seen = await self.view.wait_until(shows)
        except SessionError as error:
            kind: Trouble = "ended" if is_gone(error) else "unsure"
            raise SessionError(kind, error.message, error.hint) from error
        if seen is None:
            message = f"The text does not appear in the input of {name}, so it was not submitted."
            raise SessionError("unsure", message, _LOOK_AT)
        if seen.dead:
            raise SessionError("ended", f"{name} ended during the typing.")
        self._still_free(seen)
        return seen

    def _still_free(self, seen: Seen) -> None:
        """Raise `SessionError` (unsure) if something came to the front after the text was pasted."""
        if seen.reading.status == "waiting":
            what = "opened a dialog" if seen.reading.dialog else "asked something"
            raise SessionError("unsure", f"{self.view.name} {what} during the typing.", _LOOK_AT, seen.question)
        if seen.front.kind != "program":
            raise SessionError("unsure", f"{seen.front.program} came to the front of {self.view.name}.", _LOOK_AT)

    async def _enter(self, sent: Sent, words: str, record: TypingRecord) -> Sent:
        """Press Enter, and verify that the text was accepted; again while exactly the text stands in the input of a
        program that has read all that was typed. Raises `SessionError` (untaken, unsure).
        """
        ready = await self.view.read_screen()
        if ready.dead:
            raise SessionError("ended", f"{self.view.name} ended during the typing.")
        self._still_free(ready)
        record.entering()
        await self._send(ready, self._server.send_keys, "Enter")
        at = time.time()
        try:
            taken = await self._left(ready, words, sent.before)
            for _ in range(_ENTERS - 1):
                if taken is not None or (stands := await self._stands(ready, record)) is None:
                    break
                if await self._press_enter(stands):
                    taken = await self._left(stands, words, sent.before)
        except SessionError as error:
            if not is_gone(error):
                raise SessionError("unsure", error.message, _LOOK_AT) from error
            return Sent(sent.marker, sent.text, sent.before, at)  # the text has ended the program, terminal and all
        if taken is None:
            await self._take_out(ready, sent, words)
        return Sent(sent.marker, sent.text, sent.before, at)

    async def _left(self, entered: Seen, words: str, before: tuple[str, ...]) -> Seen | None:
        """The look at which the text had left the input for good; `None` if it is still there, or again."""
        command = words.startswith("/")

        def settled(now: Seen) -> bool:
            acts = not command and (now.reading.status in AT_WORK or times_said(now, words) > times_in(before, words))
            return acts or not is_taken(entered, now, words)

        until = time.monotonic() + entered.profile.timing.shown
        while True:
            left = max(0.0, until - time.monotonic())
            taken = await self.view.wait_until(lambda now: is_taken(entered, now, words), left)
            if taken is None or taken.dead or not (entered.profile.ai and entered.draft):
                return taken
            later = await self.view.wait_until(settled, _GIVEN_BACK)
            if later is None or later.dead or is_taken(entered, later, words):
                return taken
            if command:
                return None

    async def _stands(self, entered: Seen, record: TypingRecord) -> Seen | None:
        """The look at exactly the text in the input of a program that has read the Enter and done nothing about it; one
        that it has yet to read would count twice, the second time for what the first leads to. `None`: it is not so.
        """
        was, rests, screens = record.read(), 0, set[tuple[str, ...]]()
        for _ in range(_STANDING_LOOKS):
            seen = await self.view.read_screen()
            free = not seen.dead and seen.reading.status != "waiting" and seen.front.own == entered.front.own
            if not (free and entered.profile.ai and was is not None and was.is_draft(seen.draft)):
                return None
            if (taken := await asyncio.to_thread(input_taken, seen.info.local_pid)) == "":
                return None
            rests = rests + 1 if taken == "rests" else 0
            screens.add(seen.lines)
            if rests >= _RESTS or len(screens) >= _REPAINTED:
                return seen
            await asyncio.sleep(LOOK)
        return None

    async def _press_enter(self, seen: Seen) -> bool:
        """Press Enter only while the rows with the text are on the screen; whether it was pressed."""
        await self._refuse_face(seen)
        lines = {" ".join(line.split()) for line in seen.draft.split("\n")}
        rows = [row for row in seen.marker().rows if any(line and line in " ".join(row.split()) for line in lines)]
        try:
            shown = [ShownRow(row) for row in rows[-_SHOWN_ROWS:]]
            return bool(shown) and await self._server.press_where_shown(self._pane, "Enter", shown)
        except TmuxError as error:
            raise of_terminal(error) from error

    async def _take_out(self, entered: Seen, sent: Sent, words: str) -> None:
        """The Enter was not taken: leave the input as it was found. Always raises `SessionError`."""
        name, profile = self.view.name, entered.profile
        taken = await asyncio.to_thread(input_taken, entered.info.local_pid)
        if profile.ai and not self._server.host and taken == "":
            # A key behind the Enter that it has yet to read would be read after that.
            raise SessionError("unsure", f"{name} has not read the Enter yet; the text is in its input.", _LOOK_AT)
        cleared = await self._clear(entered)
        if cleared and profile.ai:
            said = await self.view.conversation()
            if times_in(said, words) > times_in(sent.before, words):
                raise SessionError("unsure", f"{name} accepted the text late or only in part.", _LOOK_AT)
        if cleared:
            message = f"{name} did not accept the text, so it was removed from the input."
            raise SessionError("untaken", message, "Look at its terminal, or send a different text.")
        raise SessionError("unsure", f"{name} did not accept Enter; the text is still in its input.", _LOOK_AT)

    async def _clear(self, entered: Seen) -> bool:
        """Remove from the input what was typed here; returns whether it is empty. Stops at anything others typed."""
        if not (entered.draft or entered.profile.input.unfinished):
            return False
        for _ in range(_CLEARS):
            now = await self.view.read_screen()
            if now.dead or now.reading.status == "waiting" or now.front.own != entered.front.own:
                return False
            if not now.draft and not now.unfinished:
                return now.reading.input
            if not (now.unfinished or is_alike(now.draft, entered.draft)):
                return False
            for key in entered.profile.keys.clear:
                await self._send(now, self._server.send_keys, key)
            await asyncio.sleep(_CLEAR_EVERY)
        return False

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncGenerator[TypingRecord]:
        """Have the pane to oneself, so that two texts never mix. Raises `SessionError` (busy, terminal)."""
        async with self._turns, contextlib.AsyncExitStack() as stack:
            try:
                note = f"typing into {self.view.name}"
                path = paths.runtime_dir() / self._file
                lock = file_lock(path.with_suffix(".lock"), note=note, within=_TURN_WITHIN, keep=False)
                await stack.enter_async_context(lock)
            except LockHeld:
                message = f"Something else is being typed into {self.view.name}."
                raise SessionError("busy", message, "Try again in a moment.") from None
            except OSError as error:
                raise SessionError("terminal", f"Cannot get the lock for typing: {error}.") from error
            yield TypingRecord(path.with_suffix(".json"))

    async def _send(self, seen: Seen, send: Callable[[str, T], Awaitable[None]], what: T) -> None:
        """Send something to the pane, as the server does. Raises `SessionError`."""
        await self._refuse_face(seen)
        try:
            await send(self._pane, what)
        except TmuxError as error:
            raise of_terminal(error) from error
