"""Follows one program as long as its row exists, and decides when its screen is looked at."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from gshtui.bus.agent_data import AgentRow, ProgramMode
from gshtui.programs.hooks.hook_reports import HookFeed
from gshtui.programs.pane.pane_view import Profiles, unless_loading
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.screen.foreground import front, wake
from gshtui.programs.screen.screen_reading import read_screen
from gshtui.programs.session.program_facts import BY_ITSELF, ProgramFacts, ProgramLook
from gshtui.programs.status.disagreements import Disagreements
from gshtui.programs.status.evidence import WORKING, LiveSource, Rank
from gshtui.programs.status.status import HookEvent, KnownStatus
from gshtui.programs.transcripts.conversation_loading import ConversationLoading
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, keep_on
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.tmux_errors import TmuxError
from gshtui.tmux.watcher import PaneChange

_APART = 0.005
"""Seconds. A look costs about a fifth of it, and fifty that are wanted at once are over in a quarter of a second."""


class Pacer:
    """Lets callers pass one at a time; the first passes at once.

    Attributes:
        close: the programs that are looked at all the time at this moment.
        steady: those that go on as they did.
    """

    def __init__(self) -> None:
        self.close = set[object]()
        self.steady = set[object]()
        self._next = 0.0

    async def wait(self) -> None:
        """Until it is this caller's turn."""
        now = asyncio.get_running_loop().time()
        at = max(now, self._next)
        self._next = at + _APART
        if at > now:
            await asyncio.sleep(at - now)


_SHIFT, _GOLDEN = 0.25, 0.618
"""The greatest part of a wait that is added to it, and how that part goes from look to look: if all waits were equal, a
spinner that turns once in each would seem to stand still."""


def uneven(wait: float, number: int) -> float:
    """The seconds before look `number`, where they are to be at least `wait`."""
    return wait * (1 + _SHIFT * (number * _GOLDEN % 1))


_LOOKS_APART = 0.4
"""Seconds between two looks at the screen of a program that keeps printing."""
_SECOND = 1.0
"""Seconds within which there are only as many looks as their distance allows, the first of them at once."""
_SOON = 0.03
_AT_PROMPT = 0.1
"""Seconds between two looks at a shell or an interpreter that prints at its prompt, what is typed as a rule, and at a
program that waits: its question is answered, as a rule."""
_SETTLED = 1.2
_CLOSELY = 0.2
"""Seconds between two looks at a program that is about to do something else and that does not report by itself: tmux
tells of output once a second only, and of nothing that a program takes away from its screen in the same second."""
_EACH = 0.04
"""What every program that is looked at closely adds to them: together they cost no more than 25 looks a second."""
_FADES, _STIRRED = 10.0, 2.0
"""Seconds after its screen's last change, of a program that works and of one that rests: then what tmux tells is
enough."""
_MOST_LOOKS, _MOVES = 32, 3
"""Looks that are remembered, and changes of a screen after which it counts as one that goes on moving."""
_GOES_ON = 10.0
"""Seconds for which a shell's command has printed and said nothing else, after which it is expected to go on."""
_NOW_AND_THEN, _SILENT = 2.5, 1.3
"""Seconds between two looks at it then, and after its last output, of which tmux tells once a second."""
_STEADY_EACH = 0.25
"""What every such program adds to them: together they cost no more than four looks a second."""
_NEWS = frozenset(("first", "dead", "gone", "bell", "alternate"))
"""Changes of a pane that are no mere output, and no name of one program after the other."""
OnKnown = Callable[[KnownStatus], None]


def unheard(*_: object) -> None:
    """Hears what nobody is to hear."""


class PaneWatcher(Protocol):
    """Reports changes of panes (`gshtui.tmux.watcher`)."""

    def watch(self, pane: str, callback: Callable[[PaneChange], None]) -> Callable[[], None]: ...
    def next_output(self, pane: str, callback: Callable[[], None]) -> Callable[[], None]: ...
    def watch_keys(self, pane: str, callback: Callable[[bool], None]) -> Callable[[], None]: ...


class ScreenServer(Protocol):
    """A tmux server whose screens are read (`gshtui.tmux.server.TmuxServer`)."""

    @property
    def watcher(self) -> PaneWatcher: ...
    async def capture_screen(self, pane: str) -> tuple[PaneInfo, tuple[str, ...]]: ...


class CliStatus(ProgramFacts):
    """The status of one program.

    Args:
        changed: called with every status that differs by more than its age.
        bound: called with the conversation's id whenever the program reports a new one.
        acted: called with the time at which the program reports that it accepted a prompt.
        moded: called with each mode in which the program shows or tells that it is.
        pace: shared with other programs' watchers, so that they do not all look at once.
        disagreed: called with a sentence when two of its sources part for longer than a moment.
        loading: whether it has yet to read the conversation that it was started with.
        sources: what else tells its status while it runs; they are started and stopped here.
        profiles: finds that of another program, which a person runs in a shell's terminal.
    """

    def __init__(
        self,
        server: ScreenServer,
        row: AgentRow,
        profile: Profile,
        changed: OnKnown,
        *,
        feed: HookFeed | None = None,
        bound: Callable[[str], None] = unheard,
        acted: Callable[[float], None] = unheard,
        moded: Callable[[ProgramMode], None] = unheard,
        pace: Pacer | None = None,
        loading: ConversationLoading | None = None,
        sources: Sequence[LiveSource] = (),
        disagreed: Callable[[str], None] | None = None,
        profiles: Profiles | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(row, profile, sources, clock)
        self.idle = asyncio.Event()
        """Set while the program reports that it is idle or waiting."""
        self.answer = ""
        """Its last answer, as reported by itself; empty while it works on the next one, and once it was taken."""
        self._told_answer = ""
        """What its protocol says that it answered."""
        self._server = server
        self._row = row
        self._changed = changed
        self._feed = feed
        self._bound = bound
        self._acted = acted
        self._moded = moded
        self._mode: ProgramMode | None = None
        self._conversation: str = row.external_id
        self._pace = pace or Pacer()
        self._loading = loading
        self._disagreed = disagreed
        self._profiles = profiles
        self._inside = False
        """A program with a profile of its own runs in the shell's terminal: it may ask at any moment."""
        self._disagreements = Disagreements()
        self.looked = asyncio.Event()
        """Set once its screen has been read."""
        self._stirred = asyncio.Event()
        self._at_once = asyncio.Event()
        self._looked = float("-inf")
        self._answers = deque[float](maxlen=_MOST_LOOKS)
        """When it looked because something had stirred, by the monotonic clock."""
        self._moves = deque[float](maxlen=_MOVES)
        """When its screen changed last."""
        self._drafted = float("-inf")
        """When the draft in its input was last seen to change, by the monotonic clock."""
        self._idles = deque[float](maxlen=_MOVES)
        """When it last printed something that changed nothing about its rest, by the monotonic clock."""
        self._looks = 0
        self._moving = False
        self._printed = float("-inf")
        """When tmux last told of output, by the monotonic clock: what prints one line again and again moves nothing."""
        self._same_since = time.monotonic()
        """Since when it has had its status, by the monotonic clock."""
        self._task: asyncio.Task[None] | None = None
        self._ends: list[Callable[[], None]] = []
        self._listening: Callable[[], None] = unheard
        """Ends the wait for its next output."""

    def know_version(self, *, unseen: bool) -> None:
        """Whether the rules about its screen were never seen to hold for its version."""
        if unseen != self._facts.unseen:
            self._facts = msgspec.structs.replace(self._facts, unseen=unseen)
            self._at_once.set()
            self._stirred.set()

    def use(self, profile: Profile, profiles: Profiles | None = None) -> None:
        """Go by these profiles from now on, and look again."""
        self._profiles = profiles
        if profile != self._profile:
            self._profile = profile
            self._at_once.set()
            self._stirred.set()

    async def start(self) -> None:
        """Start following; the first status arrives at once."""
        if self._feed is not None and self._profile.hooks.kind:
            self._ends.append(await self._feed.subscribe(self._row.id, self._profile, self._on_hook))
        self._ends.append(self._server.watcher.watch(self._row.pane, self._on_change))
        self._ends.append(self._server.watcher.watch_keys(self._row.pane, self._on_keys))
        for source in self._sources:
            await source.start(self._on_source)
        self._stirred.set()
        self._task = keep_on(self._run, f"the status of {self._row.id}")

    async def stop(self) -> None:
        """Follow no longer."""
        for end in self._ends:
            end()
        self._ends.clear()
        self._listening()
        self._pace.close.discard(self)
        self._pace.steady.discard(self)
        task, self._task = self._task, None
        await cancel_and_wait(task)
        for source in self._sources:
            await source.stop()

    def given_prompt(self, at: float) -> None:
        """It was given a prompt then (seconds since 1970): what it said of its rest before is over."""
        self._prompted(at)
        self._reconsider()

    def take_answer(self) -> str:
        """Its last answer, if that is news."""
        answer, self.answer = self.answer, ""
        return answer

    def check_now(self) -> None:
        """Something was typed: look again."""
        self._stirred.set()

    def _on_source(self) -> None:
        for source in self._sources:
            self._bind(source.conversation)
            self._note_mode(source.mode)
            protocol = (said := source.evidence) is not None and said.rank is Rank.PROTOCOL
            if protocol and source.answer_text != self._told_answer:
                self.answer = self._told_answer = source.answer_text
        self._at_once.set()  # what it asks, and how it goes on, its screen shows
        self._reconsider()

    def _bind(self, conversation: str) -> None:
        if conversation and conversation != self._conversation:
            self._conversation = conversation
            self._bound(conversation)

    def _note_mode(self, mode: ProgramMode | None) -> None:
        if mode is not None and mode != self._mode:
            self._mode = mode
            self._moded(mode)

    def _on_hook(self, event: HookEvent) -> None:
        self._bind(event.conversation)
        if self._was_overtaken(event):
            return
        before = self._hook.status if self._hook is not None else ""
        if self._reported(event):
            if event.status == "waiting" or self._profile.hooks.early:
                # At once: only of a question that was seen can it be seen that it is answered, and what is reported
                # early is so when the screen shows it.
                self._at_once.set()
            self.answer = event.answer if event.status == "idle" else ""
            taken_up = event.event == self._profile.hooks.prompt and (event.prompt or before not in WORKING)
            if taken_up:
                self._acted(event.at)
        self._reconsider()

    def _reconsider(self) -> None:
        if self._task is not None:
            self._judge()
        self._stirred.set()

    def _on_change(self, change: PaneChange) -> None:
        self._handle_event(change.info, "gone" in change.what)
        if "activity" in change.what:
            self._printed = time.monotonic()
        self._stirred.set()
        if change.what & _NEWS:
            self._at_once.set()

    def _on_output(self) -> None:
        """It prints: what its rest is worth, the next look tells; what comes of a text, maybe only a later one. What
        has printed again and again at rest, such as a clock, rests on.
        """
        ticks = len(self._idles) == _MOVES and self._idles[0] > time.monotonic() - _MOVES * _STIRRED
        if ticks and self.known.rests and not self._facts.reading.draft:
            self._stirred.set()
            return
        self._printed_at_rest()
        self._doubt()

    def _on_keys(self, entered: bool) -> None:
        self._was_typed_to(entered=entered)
        self._doubt()

    def _doubt(self) -> None:
        """Its rest is not sure until the next look."""
        self._outputs += 1
        self._facts = msgspec.structs.replace(self._facts, printed=True)
        self._reconsider()

    def _is_steady(self) -> bool:
        """Whether it is a shell's command, or a program that nobody knows, which prints and prints. That it is over,
        its silence shows."""
        known = self.known
        works = known.status in WORKING and known.source in ("process", "activity") and not self._profile.ai
        if not works or self._inside or self._facts.dead or self._facts.gone:
            return False
        prints = self._facts.moved > self._now() - _STIRRED or self._printed > time.monotonic() - _STIRRED
        return prints and time.monotonic() > self._same_since + _GOES_ON

    async def _go_on(self) -> None:
        """Return when the next look at a steady program is due, or once it falls silent or does something else."""
        self._pace.steady.add(self)
        self._pace.close.discard(self)
        self._listening()
        while not self._at_once.is_set():
            self._stirred.clear()
            due = self._looked + uneven(max(_NOW_AND_THEN, _STEADY_EACH * len(self._pace.steady)), self._looks)
            stirred = asyncio.ensure_future(self._stirred.wait())
            at_once = asyncio.ensure_future(self._at_once.wait())
            try:
                heard, _ = await asyncio.wait({stirred, at_once}, timeout=_SILENT, return_when=asyncio.FIRST_COMPLETED)
            finally:
                stirred.cancel()
                at_once.cancel()
            if not heard or time.monotonic() >= due:
                break
        self._looks += 1

    async def _run(self) -> None:
        while True:
            if self._is_steady():
                await self._go_on()
                self._looked = time.monotonic()
                self._at_once.clear()
                await self._pace.wait()
                await self._check_screen()
                self._judge()
                continue
            self._pace.steady.discard(self)
            # Activity is told once a second, so what comes later in that second is seen by a second look.
            waits = (self.known.again, _SETTLED if self._moving else 0.0, self._closely())
            again = min((wait for wait in waits if wait), default=None)
            try:
                async with time_limit(max(again, _SOON) if again is not None else None):
                    await self._stirred.wait()
            except TimeoutError:
                pass
            with contextlib.suppress(TimeoutError):
                async with time_limit(self._until_next()):
                    await self._at_once.wait()
            await self._pace.wait()
            self._looked = time.monotonic()
            if self._stirred.is_set():
                self._answers.append(self._looked)
            self._stirred.clear()
            self._at_once.clear()
            await self._look()

    async def _look(self) -> None:
        deaf = not self._listen()
        await self._check_screen()
        self._judge()
        self.looked.set()
        if deaf and self._listen():  # by what was just seen; what came between the two, another look shows
            self._stirred.set()

    def _listen(self) -> bool:
        """Look again at its next output, where nothing else tells in time that it does something else; whether it does.
        Called before a look, so that nothing between the two is missed."""
        self._listening()
        over = self._facts.dead or self._facts.gone
        # That a text is typed and entered, its screen shows first.
        told = self._told() and not (self.known.status == "idle" and self._profile.ai)
        quiet = told or over or (self._moving_without_a_word() and not self._is_entering())
        self._listening = unheard if quiet else self._server.watcher.next_output(self._row.pane, self._on_output)
        return not quiet

    def _moving_without_a_word(self) -> bool:
        """Whether the screen changes without new text, such as a spinner: there is nothing to read then."""
        facts, now = self._facts, self._now()
        goes_on = len(self._moves) == _MOVES and self._moves[0] > now - _MOVES * _SECOND - _STIRRED
        return 0 < facts.news < now - _STIRRED and facts.moved > now - _STIRRED and goes_on

    def _closely(self) -> float:
        """Seconds until the next look, where its status is about to change; 0: it is not, or is told by the program."""
        now, known, facts = self._now(), self.known, self._facts
        still = now - min(facts.moved, facts.news or facts.moved)
        flux = known.status in WORKING or known.status == "starting" or facts.reading.draft
        until = _FADES if flux else _STIRRED
        if self._told() or known.source == "spawn" or still > until or facts.dead or facts.gone:
            self._pace.close.discard(self)
            return 0.0
        if self._is_ending():
            return _SOON
        if known.source == "activity" and facts.reading.status == "idle" and self._sources and still < _STIRRED:
            return _AT_PROMPT  # at any moment its transcript has the end of the turn
        self._pace.close.add(self)
        return max(_CLOSELY, still / 16, _EACH * len(self._pace.close))

    def _is_entering(self) -> bool:
        """Whether its next output may be what an Enter leads to: at rest, the draft in its input has just changed."""
        if not self._profile.ai or self._facts.reading.status != "idle" or self.known.status != "idle":
            return False
        return time.monotonic() < self._drafted + _STIRRED

    def _until_next(self) -> float:
        """Seconds until it looks because something has stirred."""
        if self._is_ending() or self._is_entering():
            return _SOON
        apart = _CLOSELY if self in self._pace.close else _LOOKS_APART
        if self.known.status == "waiting" or (not self._profile.ai and self.known.status == "idle"):
            apart = _AT_PROMPT
        now = time.monotonic()
        if sum(at > now - _SECOND for at in self._answers) + 1 < _SECOND / apart:
            return _SOON
        self._looks += 1
        return max(_SOON, self._looked + uneven(apart, self._looks) - now)

    async def _check_screen(self) -> None:
        """Read the screen. Where tmux does not answer, everything stays as it was."""
        self._moving = False
        if self._facts.dead or self._facts.gone:
            return
        looked, written, outputs = self._now(), self._written(), self._outputs
        try:
            info, lines = await self._server.capture_screen(self._row.pane)
        except TmuxError as error:
            if error.kind in ("no_such_pane", "gone"):
                now = self._now()
                self._facts = msgspec.structs.replace(self._facts, gone=True, since=now)
            return
        self._handle_event(info, False)
        place = (info.cursor_x, info.cursor_y)
        reading = read_screen(self._profile, lines, info.title, place, info.width)
        if not any(source.mode for source in self._sources):
            self._note_mode(reading.mode)
        if reading.status == "idle" and self._loading is not None and self._loading.possible:
            reading = await unless_loading(reading, self._loading, lines)
        here = await asyncio.to_thread(front, info) if not self._profile.ai else None
        if self._profile.ai and self._profile.input.line and not reading.status and not reading.input:
            await asyncio.to_thread(wake, info)
        other = self._profiles(here.argv) if here is not None and not here.own and self._profiles else None
        self._inside = other is not None and other.ai
        if other is not None and other.ai:
            theirs = read_screen(other, lines, info.title, place, info.width)
            if "waiting" in (theirs.status, theirs.contradicts):
                reading = msgspec.structs.replace(theirs, status="waiting", contradicts="")
        for source in self._sources:
            await source.refresh(quiet=reading.status in ("", "idle"))
        now = self._now()
        facts = self._facts
        if here is not None and here.reads is None and facts.front is not None and here.argv == facts.front.argv:
            here = msgspec.structs.replace(here, reads=facts.front.reads)  # it runs just now, so it does not tell
        self._moving = lines != self._lines or looked < info.activity + 1
        if lines != self._lines:
            self._moves.append(now)
        if reading.status == "idle" and reading.draft != facts.reading.draft:
            self._drafted = time.monotonic()
        if self._rests_on(reading, here) and not self._has_draft() and lines != self._lines:
            self._idles.append(time.monotonic())
        self._saw(ProgramLook(looked, now, lines, reading, here, written, outputs, info.width))

    def _judge(self) -> None:
        now = self._now()
        before, known = self.known, self._weighed(now)
        self._remember(known)
        if known.source in BY_ITSELF and known.status in ("idle", "waiting"):
            self.idle.set()
        else:
            self.idle.clear()
        if known.status in ("thinking", "tool") and not known.doing and before.status == known.status:
            known = msgspec.structs.replace(known, doing=before.doing)
        if self._disagreed is not None:
            said, left = self._disagreements.news(known.evidences, now)
            known = msgspec.structs.replace(known, again=min(known.again or left, left)) if left else known
            for sentence in said:
                self._disagreed(sentence)
        self.known = known
        if (known.status, known.source, known.sure) != (before.status, before.source, before.sure):
            self._same_since = time.monotonic()
        if _said_by(known) != _said_by(before):
            self._changed(known)


def _said_by(known: KnownStatus) -> tuple[object, ...]:
    """What differs in a status that is news."""
    return known.status, known.source, known.doing, known.sure, known.question
