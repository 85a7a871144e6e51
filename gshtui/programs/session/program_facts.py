"""What is known of one program, look by look: its screen and title, what was typed, what it and its sources report.

A status watcher follows one (`status_watcher.py`); `gshtui.programs.status.status` weighs what is held here.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from gshtui.bus.agent_data import AgentRow, without_choices
from gshtui.programs.profiles.profile import Profile, takes_code
from gshtui.programs.screen.foreground import Foreground
from gshtui.programs.screen.line_styles import without_styles
from gshtui.programs.screen.screen_reading import (
    COMMANDS,
    ScreenReading,
    by_title,
    conversation,
    is_command,
    was_entered,
)
from gshtui.programs.status.evidence import WORKING, Evidence, LiveSource, Rank
from gshtui.programs.status.status import HookEvent, KnownStatus, StatusFacts, decide, hook_evidence
from gshtui.tmux.panes import PaneInfo

_RESTS = 8
"""Screens at rest that are remembered."""
_REMEMBERED = 90.0
"""Seconds for which a row's words are known."""
_STATES = 64
"""Most words that are known of one row, the newest."""


class ScreenNews:
    """One screen. `at`: when it last showed something new, in the clock of `note`; 0 before the first look."""

    def __init__(self) -> None:
        self.at = 0.0
        self._rows: dict[int, dict[str, float]] = {}
        """Row → its words, and when it had them last; those of the last look stand last."""
        self._lines: tuple[str, ...] = ()

    def note(self, lines: Sequence[str], now: float) -> None:
        """Look at it.

        Args:
            lines: as captured, with their styles.
            now: seconds.
        """
        same, self._lines = self._lines, tuple(lines)
        for row, line in enumerate(lines):
            known = self._rows.setdefault(row, {})
            if row < len(same) and same[row] == line:
                known[next(reversed(known))] = now
                continue
            words = _words(line)
            before = known.pop(words, None)
            known[words] = now
            if before is None or now - before > _REMEMBERED:
                self.at = now
            if len(known) > _STATES:
                del known[next(iter(known))]
        for row in [row for row in self._rows if row >= len(lines)]:
            del self._rows[row]

    def shift(self, seconds: float) -> None:
        """The clock was set: all that is known happened so many seconds later."""
        self.at += seconds if self.at else 0.0
        for known in self._rows.values():
            known.update({words: at + seconds for words, at in known.items()})


def _words(line: str) -> str:
    """The letters and digits of a row, and nothing of where they stand or what is drawn around them."""
    return "".join(filter(str.isalnum, without_styles(line)))


_STIRRED = 2.0
"""Seconds after which a program that rests has rested for a while."""
_KEEP_TELLING = frozenset(("record", "protocol"))
"""Sources that tell whatever comes next, also that a question was answered."""
BY_ITSELF = _KEEP_TELLING | {"hook"}
"""Sources by which a program tells its status itself."""
_OVERTAKEN = 5.0
"""Seconds by which a hook may be overtaken by one that began after it; more is a clock that was set."""
_SLEPT, _SET_BACK = 120.0, 1.0
"""Seconds by which the clock has to be ahead of what it should show for the machine to have slept, and behind."""
_DRAWN = 3.0
"""Seconds within which a busy machine's program shows what is typed, and draws its screen anew."""
_COMMAND = 10.0
"""Seconds that a command of a program's own may seem to work before it opens a dialog."""
_TIMES = (
    *("started", "moved", "grew", "titled", "busied", "since", "asked", "entered", "pressed", "answered", "doubted"),
    *("prompted", "typed", "written", "worked", "rested", "ended", "counted", "questioned", "looked"),
)
"""The facts that are times."""


class ProgramLook(msgspec.Struct, frozen=True):
    """One look at a program.

    Args:
        at: when it began, and `seen` when the screen was read; seconds since 1970.
        lines: as captured, with their styles.
        written: the time of the rest that its transcript told of before.
        outputs: how often it had printed before.
        width: of its terminal, in columns.
    """

    at: float
    seen: float
    lines: tuple[str, ...]
    reading: ScreenReading
    front: Foreground | None
    written: float
    outputs: int
    width: int = 0


class ProgramFacts:
    """What is known of one program.

    Args:
        sources: what tells its status besides its screen and its hooks.
    """

    def __init__(
        self, row: AgentRow, profile: Profile, sources: Sequence[LiveSource], clock: Callable[[], float]
    ) -> None:
        started = _started(row)
        self.known = KnownStatus("starting", "spawn", started)
        """The status now."""
        self._profile = profile
        self._sources = tuple(sources)
        self._clock = clock
        self._ticks = (clock(), time.monotonic())
        """The clock at the last look at it, and how long this machine had been awake then."""
        self._hook: HookEvent | None = None
        self._overruled = False
        """Its screen shows work after the rest that its newest hook tells of: of the turn which that has ended, painted
        late, or of the next one, which another hook will tell of before it rests."""
        fresh = row.status == "starting" and row.status_source == "spawn"
        rests = row.status == "idle" and not row.status_source.endswith("?")  # so whoever looked before has known
        self._facts: StatusFacts = StatusFacts(
            started=started,
            moved=started,
            grew=started,
            since=started,
            fresh=fresh,
            rested=row.status_at if rests else 0.0,
            unseen=bool(row.version_seen),
        )
        self._lines: tuple[str, ...] = ()
        self._news = ScreenNews()
        self._times: dict[str, float] = {}
        """Since when rows with a time have been on its screen, as they are now."""
        self._outputs: int = 0
        """How often it printed or was typed something, as far as that was told."""
        self._typed = float("-inf")
        """The last look that saw a draft in its input, in seconds since 1970. A rest that is reported after it is the
        end of the turn to which the draft has led."""
        self._width = 0
        self._redrawn = float("-inf")
        """When its terminal had another width first, in seconds since 1970."""
        self._echoed = "", float("-inf")
        """The row with the last prompt, and when it was seen last, in seconds since 1970."""
        self._rests = deque[tuple[str, ...]](maxlen=_RESTS)
        """The last screens that were surely at rest: one that comes back shows no new prompt."""
        self._undrawn = False
        """Nothing of the text that was entered last has been on its screen yet."""
        self._keyed = float("-inf")
        """When something was typed since the last Enter, in seconds since 1970."""
        self._seen_at = started
        """The last look, in seconds since 1970."""

    @property
    def hooked(self) -> bool:
        """Whether the program reports by itself."""
        return self._hook is not None or any(each.rank >= Rank.HOOK for each in self.evidences())

    @property
    def version(self) -> str:
        return next((source.version for source in self._sources if source.version), "")

    @property
    def files(self) -> list[Path]:
        return [source.file for source in self._sources if source.file is not None]

    @property
    def takes_code(self) -> bool:
        return takes_code(self._profile)

    @property
    def profile(self) -> Profile:
        return self._profile

    def evidences(self) -> tuple[Evidence, ...]:
        """What the sources above the screen say now, the highest rank first."""
        told = [source.evidence for source in self._sources]
        every = [*(each for each in told if each is not None), *hook_evidence(None if self._overruled else self._hook)]
        return tuple(sorted(every, key=lambda each: -each.rank))

    # -- what comes in ---------------------------------------------------------------------------------------------

    def _prompted(self, at: float) -> None:
        """It was given a prompt then."""
        prompted, written = max(self._facts.prompted, at), self._written()
        self._facts = msgspec.structs.replace(self._facts, prompted=prompted, typed=at, written=written, fresh=False)

    def _reported(self, event: HookEvent) -> bool:
        """It reports something of itself; whether that says what it does now."""
        if event.status == "ended":
            self._hook = msgspec.structs.replace(event, status="")  # it is going; what it said before counts no more
        elif event.status not in ("", "said"):
            self._hook, self._overruled = event, False
            return True
        return False

    def _was_overtaken(self, event: HookEvent) -> bool:
        """Of hooks that run beside each other, the one that began first may write last."""
        return self._hook is not None and 0 < self._hook.at - event.at < _OVERTAKEN

    def _printed_at_rest(self) -> None:
        now = self._now()
        if self.known.rests and self.known.at < now - _STIRRED:
            self._facts = msgspec.structs.replace(self._facts, doubted=now)

    def _was_typed_to(self, *, entered: bool) -> None:
        """Something is typed from here, and maybe entered; its screen shows that later, the later the busier it is."""
        prompts = self._has_draft() and not self._facts.reading.draft.lstrip().startswith(COMMANDS)
        now = self._now()
        just_typed = self._facts.printed or now < self._keyed + _DRAWN
        unseen = self._profile.ai and just_typed and self.known.status == "idle"
        waits = self.known.status == "waiting"
        self._keyed = float("-inf") if entered else now
        if entered and (prompts or unseen or waits):
            self._facts = msgspec.structs.replace(
                self._facts, pressed=now, answered=now if waits else self._facts.answered
            )

    def _handle_event(self, info: PaneInfo, gone: bool) -> None:
        now = self._now()
        ended = (info.dead or gone) and not (self._facts.dead or self._facts.gone)
        said = info.title != self._facts.title and self._speaks(info.title)
        self._facts = msgspec.structs.replace(
            self._facts,
            dead=info.dead,
            gone=gone,
            exit_status=info.exit_status,
            title=info.title,
            titled=now if info.title != self._facts.title else self._facts.titled,
            busied=now if by_title(self._profile, info.title) == "thinking" else self._facts.busied,
            since=now if ended or said else self._facts.since,
        )

    def _speaks(self, title: str) -> bool:
        """Whether a title says another status than the one before; spinners turn without saying anything new."""
        return self._voice(title) != self._voice(self._facts.title)

    def _voice(self, title: str) -> tuple[bool, bool]:
        facts = StatusFacts(title=title)
        known = decide(self._profile, (), msgspec.structs.replace(facts, ready=True), 0.0)
        return known.source == "title", known.status == "waiting"

    def _now(self) -> float:
        """The time. If the clock was set back, or the machine slept, what was seen is no older for that."""
        before, awake_before = self._ticks
        now, awake = self._ticks = self._clock(), time.monotonic()
        jump = now - before - (awake - awake_before)
        facts = self._facts
        if jump > _SLEPT:  # nothing could move meanwhile; how long a status has lasted, the night counts
            self._facts = msgspec.structs.replace(
                facts, moved=facts.moved + jump, grew=facts.grew + jump, titled=facts.titled + jump
            )
            self._news.shift(jump)
        elif jump < -_SET_BACK:
            self._facts = msgspec.structs.replace(facts, **{name: min(getattr(facts, name), now) for name in _TIMES})
            self._news.shift(jump)
            if self._hook is not None:
                self._hook = msgspec.structs.replace(self._hook, at=min(self._hook.at, now))
        return now

    def _written(self) -> float:
        """The time of the rest that its transcript tells of."""
        told = (source.evidence for source in self._sources)
        return max((each.at for each in told if each is not None and each.rank is Rank.TRANSCRIPT), default=0.0)

    def _has_draft(self) -> bool:
        """Whether its screen is at rest, with a text in its input."""
        return self._profile.ai and self._facts.reading.status == "idle" and bool(self._facts.reading.draft)

    def _rests_since(self, at: float) -> bool:
        """Whether the newest that it has reported is a rest that began after this, in seconds since 1970."""
        return self._hook is not None and self._hook.status == "idle" and self._hook.at > at

    # -- what a look shows -----------------------------------------------------------------------------------------

    def _rests_on(self, reading: ScreenReading, here: Foreground | None) -> bool:
        """Whether it shows the same rest as at the last look, and no other text in its input."""
        facts = self._facts
        said_before = _says(facts.reading), _has_terminal(facts.front)
        same = (_says(reading), _has_terminal(here)) == said_before
        return reading.status == "idle" and same and reading.draft in ("", facts.reading.draft)

    def _saw(self, look: ProgramLook) -> None:
        """Note what a look has shown."""
        lines, reading, here, now = look.lines, look.reading, look.front, look.seen
        facts = self._facts
        closed = facts.reading.dialog and reading.status == "idle"  # its person has, and no answer grows by that
        moved = now if lines != self._lines and not closed else facts.moved
        grows = moved == now and conversation(self._profile, lines) != conversation(self._profile, self._lines)
        self._news.note(lines, now)
        says, said_before = (_says(reading), _has_terminal(here)), (_says(facts.reading), _has_terminal(facts.front))
        ready = facts.ready or reading.status in ("idle", "waiting") or (here is not None and here.prompt)
        # What a first look finds may have been so since the start: it is no news that came after a hook's.
        since = facts.since if says == said_before or not self._lines else now
        asked = now if reading.status == "waiting" else facts.asked
        entered = facts.entered if reading.status == "idle" else 0.0
        rests = self._rests_since(self._typed)
        over = reading.status == "idle" and rests
        self._overruled = self._overruled and reading.status in WORKING
        doubted = facts.doubted if reading.status == "idle" else 0.0
        if self._has_draft() and not reading.draft and not over:
            doubted = now if reading.status == "idle" else 0.0
            if reading.status == "idle":
                entered = now if was_entered(self._profile, facts.reading.draft, self._lines, lines) else 0.0
            if (entered or reading.status in WORKING) and self._hook is not None and self._hook.status == "idle":
                self._overruled = rests
                if not rests:
                    self._hook = msgspec.structs.replace(self._hook, status="")  # it is over, and it says so later
        rests_on = self._rests_on(reading, here)
        # Its question, or a text that was entered, still stands there; or it works, which its source tells later.
        unread = reading.status == "waiting" and _asks(reading) == _asks(facts.reading)
        asks_anew = reading.status == "waiting" and not (unread or reading.dialog) and bool(self._lines)
        undrawn = lines == self._lines and reading.status == "idle"
        # The text was typed before the Enter, and is drawn only after it.
        drawn = bool(reading.draft) and says == said_before and (self._undrawn or facts.looked < facts.pressed)
        stands = undrawn or drawn or (rests_on and bool(reading.draft or facts.reading.draft))
        self._undrawn = undrawn and not reading.draft and now < facts.pressed + _DRAWN
        goes_on = reading.status in WORKING
        if reading.draft:
            self._typed = look.at
        told = bool(reading.echo) and not is_command(self._profile, reading.echo)
        if look.width != self._width:
            self._redrawn = now if self._width else self._redrawn
            self._width = look.width
        # A screen that is drawn anew has the same prompt again, and for another width in other rows.
        echo, seen = self._echoed
        anew = now < self._redrawn + _DRAWN or lines in self._rests or (reading.echo == echo and now < seen + _DRAWN)
        self._echoed = (reading.echo, now) if reading.echo else self._echoed
        echoes = told and not anew and reading.echo != facts.reading.echo and reading.status == facts.reading.status
        begun = (bool(entered) and not facts.entered) or (echoes and bool(self._lines))
        prompted = max(facts.prompted, self._seen_at) if begun else facts.prompted  # after the look before, at least
        self._seen_at = look.at
        ended = facts.ended if reading.ended == facts.reading.ended else now
        self._times = {row: min(self._times.get(row, self._stands_since(row, now)), now) for row in reading.times}
        counted = max(self._times.values(), default=0.0)
        self._lines = lines
        self._facts = msgspec.structs.replace(
            facts,
            reading=reading,
            moved=moved,
            grew=now if grows else facts.grew,
            news=self._news.at,
            since=since,
            asked=asked,
            questioned=now if asks_anew else facts.questioned,
            looked=look.at,
            entered=entered,
            pressed=facts.pressed if stands or unread or goes_on or facts.pressed >= look.at else 0.0,
            doubted=doubted,
            printed=facts.printed and self._outputs != look.outputs,
            prompted=prompted,
            written=look.written if begun else facts.written,
            fresh=facts.fresh and not prompted and not reading.echo,
            ended=ended,
            counted=counted,
            ready=ready,
            front=here,
        )

    def _stands_since(self, row: str, now: float) -> float:
        """Since when a row has been there that was not among those with a time: what has only scrolled has stood."""
        return self._facts.since if any(without_styles(line) == row for line in self._lines) else now

    def _told(self) -> bool:
        """Whether the program reports what comes next. That its question was answered, only its screen shows, and also
        the end of a turn that was reported early."""
        known, hook = self.known, self._hook
        if known.source in _KEEP_TELLING:
            return known.sure
        return known.source == "hook" and known.status != "waiting" and hook is not None and hook.status == known.status

    def _is_ending(self) -> bool:
        """Whether a source has just told of the end of a turn that its screen still shows."""
        now = self._now()
        told = any(each.status == "idle" and now < each.at + _STIRRED for each in self.evidences())
        return told and self.known.status in WORKING

    def _weighed(self, now: float) -> KnownStatus:
        """What all of this says, with what its screen asks."""
        known = decide(self._profile, self.evidences(), self._facts, now)
        read = self._facts.reading.read
        if known.status != "waiting" or read is None or known.question is not None:
            return known
        # Where its version is unknown to the rules, its choices count only if it says itself that it waits.
        alone = self._facts.unseen and not any(each.status == "waiting" for each in self.evidences())
        return msgspec.structs.replace(known, question=without_choices(read.question) if alone else read.question)

    def _remember(self, known: KnownStatus) -> None:
        """Note what this status says of its turns."""
        facts, hook = self._facts, self._hook
        asks = known.status == "waiting" and not facts.reading.dialog
        if known.status == "idle" and known.sure and self._lines not in self._rests:
            self._rests.append(self._lines)
        if known.sure and (known.status in WORKING or asks):
            # What is seen may have begun before; it rests after that only by newer evidence.
            began = known.at if known.source in BY_ITSELF else known.at - self._profile.timing.veto
            if not (asks and facts.fresh and not facts.prompted):  # what it asks at its start belongs to no turn
                self._facts = msgspec.structs.replace(facts, worked=max(facts.worked, began), fresh=False)
        elif known.rests:
            self._facts = msgspec.structs.replace(
                facts, rested=max(facts.rested, known.at, facts.prompted + 0.001, facts.worked + 0.001)
            )
        elif facts.prompted < facts.rested < facts.worked + _COMMAND and facts.reading.dialog:
            # Nobody has given it a text since it rested, and a dialog is open: the work was that of a command.
            self._facts = msgspec.structs.replace(facts, worked=min(facts.worked, facts.rested - 0.001))
        seen = known.sure and known.source in ("screen", "title")
        if seen and hook is not None and hook.status not in ("", "idle"):
            # What is seen has contradicted it for long enough: it is over, and says nothing of what comes later.
            self._hook = msgspec.structs.replace(hook, status="")


def _started(row: AgentRow) -> float:
    """When its program was started last, as far as that is known; seconds since 1970."""
    starts = row.status == "starting" and row.status_source == "spawn"
    return max(row.created, row.status_at) if starts else row.created


def _says(reading: ScreenReading) -> tuple[str, str]:
    """The parts of a reading that affect the status."""
    return reading.status, reading.contradicts


def _asks(reading: ScreenReading) -> str:
    """What a screen asks: the rows around it may change all the time."""
    return reading.read.question.id if reading.read is not None else reading.asked


def _has_terminal(front: Foreground | None) -> tuple[object, ...]:
    """The parts of a foreground program that affect the status."""
    if front is None:
        return ()
    return front.own, front.prompt, front.asks, (front.program, front.kind) if not front.own else ()
