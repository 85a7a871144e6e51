"""What another program is doing, and how we know: from its own events first; its screen can only contradict them.

Pure: (profile, last hook event, facts about its pane, time) → `KnownStatus`. A dead pane is never ready; events that
are too old do not count; a guess is marked as unsure. Called by the status watcher.
"""

from __future__ import annotations

from dataclasses import dataclass

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.foreground import EDITORS, Foreground
from gshtui.programs.profile import GENERIC, Profile
from gshtui.programs.screen_reading import ScreenReading, by_title, search

NOTHING = ScreenReading()
ANIMATED = "only an animation moves"
"""What an unknown program does whose screen moves without a word that is new; that it rests is a guess."""
_ANIMATED, _ANIMATED_INPUT = 30.0, 6.0
"""Seconds of that until a program counts as idle: one of which nothing is known, and one whose input looks idle."""
_TAKEN_UP = 1.0
"""Seconds within which a program shows that it works on a text that was entered."""
WORKING = frozenset({"thinking", "tool"})


@dataclass(frozen=True, slots=True)
class HookEvent:
    """What the program reported about itself. `status` is the profile's status for the event."""

    at: float
    """Seconds since 1970."""
    event: str
    status: str
    doing: str = ""
    conversation: str = ""
    prompt: str = ""
    """The submitted text, if the event contains it."""
    answer: str = ""
    """Its answer, if the event that ends a turn contains it."""


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """What a pane shows from outside. Times are seconds since 1970."""

    dead: bool = False
    gone: bool = False
    """Whether the pane no longer exists, so that nothing shows how it ended."""
    exit_status: int | None = None
    title: str = ""
    started: float = 0.0
    moved: float = 0.0
    """When the screen last changed."""
    news: float = 0.0
    """When it last showed words that are new; 0: whenever it moved."""
    titled: float = 0.0
    """When its title last changed."""
    reading: ScreenReading = NOTHING
    since: float = 0.0
    """When the screen and the title last changed."""
    asked: float = 0.0
    """When the screen last showed a question."""
    entered: float = 0.0
    """When a text was seen to have been entered; 0: not since the screen last showed anything but rest."""
    ready: bool = False
    """It has been idle before."""
    front: Foreground | None = None
    """What has the terminal, of a program that does not think."""


@dataclass(frozen=True, slots=True)
class KnownStatus:
    """A status with its grounds."""

    status: str
    source: str
    """process, hook, title, screen, activity or spawn."""
    at: float
    """Since when; seconds since 1970."""
    doing: str = ""
    sure: bool = True
    question: OpenQuestion | None = None
    """What its screen asks, if it waits."""
    again: float = 0.0
    """Seconds after which it may be different without anything else happening; 0: it stays."""

    @property
    def needs_you(self) -> bool:
        """It waits for a person."""
        return self.status == "waiting"

    def label(self, now: float) -> str:
        """For the sidebar: `thinking · hook · 4 s`, `idle? · screen · 40 s`."""
        age = max(0, round(now - self.at))
        shown = f"{age} s" if age < 120 else f"{age // 60} min" if age < 7200 else f"{age // 3600} h"
        return f"{self.status}{'' if self.sure else '?'} · {self.source} · {shown}"


def decide(profile: Profile, hook: HookEvent | None, facts: StatusFacts, now: float) -> KnownStatus:
    """The current status.

    Args:
        hook: the newest event with a status; `None` if there is none.
    """
    if facts.gone:
        return KnownStatus("lost", "process", facts.since, "its terminal is gone")
    if facts.dead:
        good = facts.exit_status == 0
        return KnownStatus(
            "done" if good else "failed", "process", facts.since, "" if good else _ending(facts.exit_status)
        )
    if facts.front is not None and (known := _by_front(profile, facts, facts.front)) is not None:
        return known
    outside = _outside(profile, facts, now)
    if hook is None or not hook.status:
        rests = outside is None or outside.status == "idle"
        return (_entered(facts, now) if rests else None) or outside or _by_activity(profile, facts, now)
    if outside is None:
        return _alone(profile, hook, facts, now)
    if _same(hook.status, outside.status):
        return KnownStatus(hook.status, "hook", hook.at, hook.doing or outside.doing)
    if hook.status == "idle" and outside.source == "title" and facts.reading.status == "idle":
        if facts.titled <= hook.at:  # the title was left behind
            return KnownStatus(hook.status, "hook", hook.at, hook.doing)
    elif hook.status == "waiting" and facts.asked > hook.at:
        return outside  # its question was on the screen and is answered: no program reports that
    # They contradict each other. What is seen has to last, since a screen is painted later than a hook is told.
    lasted = now - max(outside.at, hook.at)
    if lasted >= profile.timing.veto:
        return outside
    again = profile.timing.veto - lasted
    if profile.hooks.early and hook.status == "idle" and outside.status in WORKING:
        return KnownStatus(outside.status, "hook", hook.at, outside.doing, again=again)
    return KnownStatus(hook.status, "hook", hook.at, hook.doing, again=again)


def _same(one: str, other: str) -> bool:
    return one == other or (one in WORKING and other in WORKING)


def _ending(status: int | None) -> str:
    if status is None:
        return "it ended"
    return f"ended by signal {status - 128}" if status > 128 else f"ended with {status}"


def by_foreground(
    profile: Profile, reading: ScreenReading, front: Foreground, *, ready: bool = True
) -> tuple[str, str, str] | None:
    """The status of a shell or an interpreter by its foreground program, what it does, and the source of that.

    `None` if the foreground program does not show it.

    Args:
        ready: whether it has been idle before.
    """
    if not front.own and front.kind != "program":
        # Whoever started an editor works in it; one that another program has opened waits for somebody, as a page does.
        waits = front.kind == "pager" or front.program not in EDITORS
        opened = f"{'a pager' if front.kind == 'pager' else 'an editor'} is open: {front.program}"
        return "waiting" if waits else "tool", opened, "process"
    if front.asks == "secret":
        return "waiting", "asks for a secret", "process"
    if reading.status == "waiting":
        return "waiting", reading.doing, "screen"
    at_prompt = front.own and not profile.shell and (profile.name == GENERIC or reading.status == "idle")
    if front.asks and not at_prompt:
        return "waiting", f"{front.program} waits for input", "process"
    runs = "tool", "" if front.own else f"a command is running: {front.program}", "process"
    if not front.own:
        return runs
    if profile.shell:
        if front.prompt:
            return "idle", "", "process"
        return runs if ready else None
    if profile.name == GENERIC:
        return runs if reading.status != "idle" and front.reads is False else None
    return runs if ready and reading.status != "idle" else None  # its prompt is known


def _by_front(profile: Profile, facts: StatusFacts, front: Foreground) -> KnownStatus | None:
    known = by_foreground(profile, facts.reading, front, ready=facts.ready)
    if known is not None:
        status, doing, source = known
        return KnownStatus(status, source, facts.since, doing)
    rests = profile.name == GENERIC and not profile.shell and facts.reading.status != "idle" and front.reads
    return KnownStatus("idle", "process", facts.moved, sure=False) if rests else None


def _outside(profile: Profile, facts: StatusFacts, now: float) -> KnownStatus | None:
    """The status according to title and screen; `None` if they show none."""
    reading, titles = facts.reading, profile.titles
    if reading.status == "waiting":
        return KnownStatus("waiting", "screen", facts.since, reading.doing)
    said = by_title(profile, facts.title)
    if said == "waiting":
        return KnownStatus("waiting", "title", facts.since, reading.doing)
    if said == "thinking" and reading.status == "idle":
        still = now - max(facts.moved, facts.titled)
        if still < profile.timing.idle:
            return KnownStatus("thinking", "title", facts.since, again=profile.timing.idle - still)
        # What works shows that by more than a title that stays the same: this one was left behind.
    elif said == "thinking":
        doing = reading.doing if reading.status in WORKING else ""
        return KnownStatus(reading.status if reading.status in WORKING else "thinking", "title", facts.since, doing)
    if reading.status != "idle":
        return KnownStatus(reading.status, "screen", facts.since, reading.doing) if reading.status else None
    if titles.idle and search(titles.idle, facts.title):
        return KnownStatus("idle", "title", facts.since, reading.doing)
    if _animated(facts, now, _ANIMATED_INPUT):
        return KnownStatus("idle", "screen", facts.since, reading.doing)
    moving = profile.timing.rest - (now - facts.moved)
    if profile.ai and not titles.busy and not reading.draft and moving > 0:
        # An input that looks idle above an answer that still grows.
        return KnownStatus("thinking", "activity", facts.moved, sure=False, again=moving)
    return KnownStatus("idle", "screen", facts.since, reading.doing)


def _entered(facts: StatusFacts, now: float) -> KnownStatus | None:
    """That it takes up a text that was entered, of which its screen shows nothing yet; `None`: there is none."""
    left = _TAKEN_UP - (now - facts.entered)
    if facts.reading.status != "idle" or left <= 0:
        return None
    return KnownStatus("thinking", "screen", facts.entered, sure=False, again=left)


def _alone(profile: Profile, hook: HookEvent, facts: StatusFacts, now: float) -> KnownStatus:
    """The status from a hook, when the screen shows none."""
    if hook.status not in WORKING:
        return KnownStatus(hook.status, "hook", hook.at, hook.doing)
    quiet = now - max(hook.at, facts.moved)
    if quiet < profile.timing.fresh:
        return KnownStatus(hook.status, "hook", hook.at, hook.doing, again=profile.timing.fresh - quiet)
    return KnownStatus("idle", "activity", facts.moved, "no sign of life", sure=False)


def _by_activity(profile: Profile, facts: StatusFacts, now: float) -> KnownStatus:
    """Nothing is known but whether the screen moves."""
    still = now - max(facts.moved, facts.started)
    if _animated(facts, now, _ANIMATED):
        return KnownStatus("idle", "activity", facts.news, ANIMATED, sure=False)
    if not facts.ready and now - facts.started < profile.timing.start and profile.rules:
        return KnownStatus("starting", "spawn", facts.started, again=profile.timing.start - (now - facts.started))
    if still >= profile.timing.idle:
        return KnownStatus("idle", "activity", facts.moved or facts.started, sure=False)
    again = profile.timing.idle - still
    if facts.news:
        again = max(0.1, min(again, _ANIMATED - (now - facts.news)))
    return KnownStatus("thinking", "activity", facts.moved or facts.started, sure=False, again=again)


def _animated(facts: StatusFacts, now: float, enough: float) -> bool:
    """Whether the screen has moved for so long without a new word."""
    return 0 < facts.news <= now - enough and facts.moved > facts.news
