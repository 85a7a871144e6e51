"""What another program is doing, and how we know: every source says what it knows, and the ranks decide.

Pure: (profile, what the sources say, facts about its pane, time) → `KnownStatus`. A dead pane is never ready. *Working*
and *waiting* beat *idle*, which needs positive evidence for this turn; without it, a program that seems to rest is
`quiet`. Called by the status watcher.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.profiles.profile import GENERIC, Profile
from gshtui.programs.screen.foreground import EDITORS, Foreground
from gshtui.programs.screen.screen_reading import ScreenReading, by_title, search
from gshtui.programs.status.evidence import QUIET, WORKING, Evidence, Rank

NOTHING = ScreenReading()
ANIMATED = "only an animation moves"
"""What an unknown program does whose screen moves without a word that is new; that it rests is a guess."""
_ANIMATED, _ANIMATED_INPUT = 30.0, 6.0
"""Seconds of that until a program counts as quiet: one of which nothing is known, and one whose input looks idle."""
_TAKEN_UP = 1.0
"""Seconds within which a program shows that it works on a text that was entered."""
_TOLD = 10.0
"""Seconds within which a source tells that a text which was entered is worked on: until then, its older rest is none.
After them, it was a text that begins no turn."""
_TELLS_PROMPTS = Rank.RECORD
"""The lowest rank whose unchanged rest counts after that: it is read anew, while a hook only once said so."""
_WRITTEN, _WRITTEN_WITHIN = 0.4, 60.0
"""Seconds until another look at a program that seems to rest: evidence for it may come without a change of its screen,
for so long."""
_WRITTEN_EARLIER = 2.0
"""Seconds by which a transcript's time may be before the prompt was seen."""
TYPED = "a text stands in its input"
"""Why the rest of a program is not sure: at any moment an Enter may put it to work, which is seen a moment later."""
PRINTED = "its screen has just changed"
"""Why else it is not sure: what it shows now, the next look tells."""
HIDDEN = "its input is not on its screen"
"""Why else: something is in front of it, of which nothing is known."""
_READ_WITHIN = {"idle": 6.0, QUIET: 6.0, "waiting": 1.5}
"""Seconds for which an Enter below a text, or at a question, counts, where its screen shows nothing that came of it."""
_COUNTS = 3.0
"""Seconds within which a row with a time that passes has to change."""


class HookEvent(msgspec.Struct, frozen=True):
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


class StatusFacts(msgspec.Struct, frozen=True):
    """What a pane shows from outside. Times are seconds since 1970."""

    dead: bool = False
    gone: bool = False
    """Whether the pane no longer exists, so that nothing shows how it ended."""
    exit_status: int | None = None
    title: str = ""
    started: float = 0.0
    moved: float = 0.0
    """When the screen last changed."""
    grew: float = 0.0
    """When the screen above its input last changed."""
    news: float = 0.0
    """When it last showed words that are new; 0: whenever it moved."""
    titled: float = 0.0
    """When its title last changed."""
    busied: float = 0.0
    """When its title last said that it works."""
    reading: ScreenReading = NOTHING
    since: float = 0.0
    """When the screen and the title last changed."""
    ended: float = 0.0
    """Since when the screen has shown the end of a turn that it shows now."""
    counted: float = 0.0
    """When the time that passes on its screen last changed."""
    asked: float = 0.0
    """When the screen last showed a question."""
    questioned: float = 0.0
    """When it began to show the last one, unless that was a dialog of its own."""
    looked: float = 0.0
    """When the screen was last read."""
    entered: float = 0.0
    """When a text was seen to have been entered; 0: not since the screen last showed anything but rest."""
    prompted: float = 0.0
    """When it was last given a prompt."""
    typed: float = 0.0
    """When one was last typed for it, exactly: what was begun before is none of its turn."""
    written: float = 0.0
    """The time of the rest that its transcript told of when it was given that prompt: it is no rest of its turn."""
    pressed: float = 0.0
    """When Enter was pressed below a text in its input or at a question, while its screen shows nothing of that.
    0: it was not."""
    answered: float = 0.0
    """When Enter was last pressed while it waited."""
    doubted: float = 0.0
    """When something last happened at rest that may begin a turn: it printed after a while, or a text was gone from its
    input; 0: not since it last showed anything but rest."""
    printed: bool = False
    """It has printed something, or was typed something, since the last look."""
    worked: float = 0.0
    """When it last began to work, as far as was seen."""
    fresh: bool = False
    """It has been given no prompt since it was started."""
    rested: float = 0.0
    """When it was last known to rest."""
    ready: bool = False
    """It has been idle before."""
    front: Foreground | None = None
    """What has the terminal, of a program that does not think."""
    unseen: bool = False
    """The rules about its screen were never seen to hold for its version: what they say is a guess."""


class KnownStatus(msgspec.Struct, frozen=True):
    """A status with its grounds."""

    status: str
    source: str
    """process, protocol, record, hook, transcript, title, screen, activity or spawn."""
    at: float
    """Since when; seconds since 1970."""
    doing: str = ""
    sure: bool = True
    question: OpenQuestion | None = None
    """What its screen asks, if it waits."""
    again: float = 0.0
    """Seconds after which it may be different without anything else happening; 0: it stays."""
    evidences: tuple[Evidence, ...] = ()
    """What every source said, the highest rank first."""

    @property
    def needs_you(self) -> bool:
        """It waits for a person."""
        return self.status == "waiting"

    @property
    def rests(self) -> bool:
        """There is evidence that it rests, whatever stands in its input."""
        return self.status == "idle" and (self.sure or self.doing in (TYPED, PRINTED))

    def label(self, now: float) -> str:
        """For the sidebar: `thinking · hook · 4 s`, `quiet? · screen · 40 s`."""
        age = max(0, round(now - self.at))
        shown = f"{age} s" if age < 120 else f"{age // 60} min" if age < 7200 else f"{age // 3600} h"
        return f"{self.status}{'' if self.sure else '?'} · {self.source} · {shown}"


def hook_evidence(hook: HookEvent | None) -> tuple[Evidence, ...]:
    """What the newest event with a status says."""
    if hook is None or not hook.status:
        return ()
    return (
        Evidence(
            Rank.HOOK, "hook", hook.status, hook.at, hook.at, hook.doing, vague=" " not in hook.doing, why=hook.event
        ),
    )


def decide(profile: Profile, evidences: Sequence[Evidence], facts: StatusFacts, now: float) -> KnownStatus:
    """The current status. `evidences`: of the sources above the screen: protocol, record, hooks and transcript."""
    if (ended := _ended(facts)) is not None:
        return ended
    if facts.front is not None and (known := _by_front(profile, facts, facts.front)) is not None:
        return msgspec.structs.replace(known, evidences=(_front_evidence(known, facts.front, facts, now),))
    seen = _by_screen(profile, facts, now)
    if facts.unseen and seen is not None:
        seen = msgspec.structs.replace(seen, sure=False)
    moves = _by_movement(profile, facts, now)
    told = sorted((each for each in evidences if each.status), key=lambda each: -each.rank)
    every = (*told, *((_as_evidence(seen, Rank.SCREEN, facts, now),) if seen is not None else ()))
    every = (*every, _as_evidence(moves, Rank.MOVEMENT, facts, now))
    known = _weighed(profile, told, seen, moves, facts, now)
    if profile.ai and known.status in _READ_WITHIN:
        known = _pressed(known, facts, now) or _unsure(known, facts, now)
    return msgspec.structs.replace(known, evidences=every)


def _pressed(known: KnownStatus, facts: StatusFacts, now: float) -> KnownStatus | None:
    """That it is about to take up a text or an answer, by the Enter that was pressed for that; `None`: it is not."""
    asks = "waiting" in (facts.reading.status, facts.reading.contradicts)
    pressed = facts.pressed if asks or known.status != "waiting" else max(facts.pressed, facts.answered)
    left = _READ_WITHIN[known.status if asks else "idle"] - (now - pressed)  # off its screen, it has been read
    if left <= 0 or known.at > pressed:
        return None
    return KnownStatus("thinking", "screen", pressed, sure=False, again=left)


def _unsure(rest: KnownStatus, facts: StatusFacts, now: float) -> KnownStatus:
    """Its rest, with what makes that unsure."""
    left = _TAKEN_UP - (now - facts.doubted) if rest.at < facts.doubted else 0.0
    why = TYPED if facts.reading.draft else PRINTED if facts.printed or left > 0 else ""
    if not why or rest.status != "idle" or not rest.sure:
        return rest
    return msgspec.structs.replace(rest, sure=False, doing=why, again=max(0.0, left) or rest.again)


def _as_evidence(known: KnownStatus, rank: Rank, facts: StatusFacts, now: float) -> Evidence:
    why = facts.reading.why if rank is Rank.SCREEN and known.source == "screen" else ""
    if known.source == "title":
        why = facts.title
    elif rank is Rank.MOVEMENT:
        why = f"its screen last changed {max(0, round(now - facts.moved))} s ago"
    return Evidence(
        rank, known.source, known.status, known.at, now, known.doing, False, known.sure, known.question, why
    )


def _ended(facts: StatusFacts) -> KnownStatus | None:
    if facts.gone:
        return KnownStatus("lost", "process", facts.since, "its terminal is gone")
    if facts.dead:
        good = facts.exit_status == 0
        return KnownStatus(
            "done" if good else "failed", "process", facts.since, "" if good else _ending(facts.exit_status)
        )
    return None


def _ending(status: int | None) -> str:
    if status is None:
        return "it ended"
    return f"ended by signal {status - 128}" if status > 128 else f"ended with {status}"


# -- weighing -----------------------------------------------------------------------------------------------------


def _weighed(
    profile: Profile,
    told: Sequence[Evidence],
    seen: KnownStatus | None,
    moves: KnownStatus,
    facts: StatusFacts,
    now: float,
) -> KnownStatus:
    told = [each for each in told if not _is_answered(each, seen, facts) and not _is_of_an_earlier_start(each, facts)]
    best = _best(told)
    if best is None:
        rests = seen is None or seen.status in ("idle", QUIET)
        return (_entered(facts, now) if rests else None) or seen or moves
    if best.status == "idle" and not _is_of_this_turn(best, facts):
        # A source may not have noticed a turn that was over at once; another one may have.
        best = next((each for each in told if each.status == "idle" and _is_of_this_turn(each, facts)), best)
        if not _is_of_this_turn(best, facts) and seen is not None and seen.status == "idle":
            return seen
    if best.status == "idle":
        return _against_rest(profile, best, seen, facts, now)
    if best.status == "waiting":
        return _against_question(profile, best, seen, now)
    return _against_work(profile, best, seen, facts, now)


def _is_answered(told: Evidence, seen: KnownStatus | None, facts: StatusFacts) -> bool:
    """Whether a question was on the screen, and is gone, which no hook tells of."""
    gone = seen is not None and seen.status not in ("waiting", "starting")
    return gone and told.status == "waiting" and told.rank <= Rank.HOOK and facts.asked > told.at


def _is_of_an_earlier_start(told: Evidence, facts: StatusFacts) -> bool:
    """Whether it was written down before a restart, after which its program has yet to come up, or works no longer."""
    over = not facts.ready or (told.rank is Rank.TRANSCRIPT and told.status in WORKING)
    return told.rank <= Rank.HOOK and told.at < facts.started and over


_WEIGHT = {"waiting": 2, "thinking": 1, "tool": 1, "starting": 1}


def _best(told: Sequence[Evidence]) -> Evidence | None:
    """The evidence that counts, of sources above the screen, the highest first: waiting before working before rest.

    What a lower source said before a higher one last changed its mind is over.
    """
    current: list[Evidence] = []
    for each in told:
        if all(higher.at < each.at for higher in current if higher.rank > each.rank):
            current.append(each)
        elif _same(current[0].status, each.status) and each.doing and not current[0].doing:
            current[0] = msgspec.structs.replace(current[0], doing=each.doing)
    return max(current, key=lambda each: _WEIGHT.get(each.status, 0), default=None)


def _said(told: Evidence, status: str = "", doing: str = "", *, sure: bool = True, again: float = 0.0) -> KnownStatus:
    """This evidence as the status; `doing` is what a lower source adds."""
    status = status or told.status
    return KnownStatus(status, told.source, told.at, told.doing or doing, sure and told.sure, told.question, again)


def _against_rest(
    profile: Profile, told: Evidence, seen: KnownStatus | None, facts: StatusFacts, now: float
) -> KnownStatus:
    """A source says that it rests: what the screen shows to the contrary counts."""
    if seen is None and told.rank <= Rank.HOOK and profile.input.line and not facts.reading.input:
        return _behind_something(profile, _rest_of_this_turn(told, facts, now), facts, now)
    if seen is None or seen.status in ("idle", QUIET):
        return _rest_of_this_turn(told, facts, now)
    if seen.status in WORKING and facts.reading.beside:
        return seen
    guessed = told.rank is Rank.TRANSCRIPT and not told.final
    is_left = seen.source == "title" and facts.reading.status == "idle" and facts.titled <= told.at
    if is_left and not (guessed and profile.titles.whole):  # which says so until the turn is over
        return _rest_of_this_turn(told, facts, now)
    if told.rank is Rank.TRANSCRIPT:
        grows = seen.source == "activity" and facts.reading.status == "idle" and not facts.reading.contradicts
        if grows and told.final:
            return _rest_of_this_turn(told, facts, now)
        return seen  # what it has written so far may not be all, and it is read only while no work is to be seen
    # A time that passes below the input may be a person's own clock, and what is read anew all the time knows better.
    if seen.source == "activity" or (facts.reading.aside and seen.source == "screen" and told.rank > Rank.HOOK):
        return _rest_of_this_turn(told, facts, now)
    lasted = now - max(seen.at, told.at)
    # A question that came after that is none of which it told the end.
    newer = seen.at > told.at + (0.0 if seen.status == "waiting" and seen.source == "screen" else profile.timing.veto)
    if lasted >= profile.timing.veto or newer:
        return msgspec.structs.replace(seen, sure=seen.sure and (told.rank <= Rank.HOOK or seen.status == "waiting"))
    # What is seen has to last, since a screen is painted later than a source tells.
    again = profile.timing.veto - lasted
    early = profile.hooks.early and told.rank is Rank.HOOK
    if seen.status in WORKING and (early or told.rank > Rank.HOOK) and _is_of_this_turn(told, facts):
        # What goes on by itself once a helper of its has ended tells of a rest in between.
        return _said(told, seen.status, seen.doing, sure=early, again=again)
    return msgspec.structs.replace(_rest_of_this_turn(told, facts, now), again=again)


def _behind_something(profile: Profile, rest: KnownStatus, facts: StatusFacts, now: float) -> KnownStatus:
    """A rest whose screen shows no input, and nothing that a rule knows: what is in front of it may want a person."""
    left = profile.timing.veto - (now - facts.since)
    if left > 0 or not rest.sure:
        return msgspec.structs.replace(rest, again=rest.again or max(0.0, left))
    return msgspec.structs.replace(rest, sure=False, doing=HIDDEN)


def _is_of_this_turn(told: Evidence, facts: StatusFacts) -> bool:
    """Whether a rest is newer than its last prompt. Some transcripts have only the time of that, and no exact one."""
    if told.rank is Rank.TRANSCRIPT and not told.final:
        if _may_go_on(told, facts):
            return False
        return told.at >= facts.prompted or facts.written < told.at >= facts.prompted - _WRITTEN_EARLIER
    return told.at >= max(facts.prompted, facts.worked) or not (facts.prompted or facts.worked)


def _may_go_on(told: Evidence, facts: StatusFacts) -> bool:
    """Whether what a transcript has may be the words before a call, which some write down only once it has run."""
    if not told.timed or told.final:
        return False
    asked = facts.rested <= told.began and told.at < facts.questioned  # a question after its rest is none of that turn
    return asked or facts.looked < told.at <= told.confirmed


def _rest_of_this_turn(told: Evidence, facts: StatusFacts, now: float) -> KnownStatus:
    """Its rest, if that is newer than its last prompt."""
    if _is_of_this_turn(told, facts):
        return _said(told)
    since = max(facts.prompted, facts.worked)
    left = _TOLD - (now - since)
    if left > 0:
        return KnownStatus("thinking", told.source, since, sure=False, again=left)
    if 0 < facts.rested < told.began >= facts.typed and not _may_go_on(told, facts):
        return _said(told)  # the turn was over before a look could show that it had begun
    # It has begun no turn since; but what has not noticed the text may have missed its turn, too.
    return (
        _said(told, sure=False) if told.rank >= _TELLS_PROMPTS else KnownStatus(QUIET, told.source, since, sure=False)
    )


def _against_question(profile: Profile, told: Evidence, seen: KnownStatus | None, now: float) -> KnownStatus:
    """A source says that it waits."""
    if seen is not None and seen.status == "waiting":
        another = told.rank <= Rank.HOOK and seen.at > told.at + profile.timing.veto
        words = seen.doing or told.doing if told.vague else told.doing or seen.doing
        return seen if another else _said(msgspec.structs.replace(told, doing=words))
    if told.rank > Rank.HOOK or seen is None or seen.status == "starting":
        return _said(told)
    lasted = now - max(seen.at, told.at)
    if seen.status in WORKING or seen.status == "idle":
        return seen if lasted >= profile.timing.veto else _said(told, again=profile.timing.veto - lasted)
    return _said(told, sure=(seen.status, seen.source) != (QUIET, "screen") or lasted < profile.timing.veto)


def _against_work(
    profile: Profile, told: Evidence, seen: KnownStatus | None, facts: StatusFacts, now: float
) -> KnownStatus:
    """A source says that it works."""
    if seen is not None and _same(told.status, seen.status):
        return _said(told, doing=seen.doing)
    if seen is not None and seen.source != "activity":
        lasted = now - max(seen.at, told.at)
        # A question is the costliest to miss; the end of a turn counts only where the source may have missed it.
        over = seen.status == "idle" and seen.sure and told.rank <= Rank.HOOK and seen.at > told.at and not told.behind
        counts = seen.status == "waiting" or over
        # A title that tells of whole turns is the program's own word, and no picture that is painted late.
        veto = 0.0 if over and seen.source == "title" and profile.titles.whole else profile.timing.veto
        if counts:
            return seen if lasted >= veto else _said(told, again=veto - lasted)
    if told.rank > Rank.HOOK:
        return _said(told)
    still = now - max(told.at, facts.moved)
    if still >= profile.timing.fresh:
        return KnownStatus(QUIET, "activity", facts.moved, "no sign of life", sure=False)
    if seen is None or seen.status != QUIET:
        return _said(told, again=profile.timing.fresh - still)
    lasted = now - max(seen.at, told.at)
    if lasted < profile.timing.veto:
        return _said(told, again=profile.timing.veto - lasted)
    return _said(told, sure=False, again=profile.timing.fresh - still)


def _same(one: str, other: str) -> bool:
    return one == other or (one in WORKING and other in WORKING)


# -- shells and interpreters --------------------------------------------------------------------------------------


def by_foreground(
    profile: Profile, reading: ScreenReading, front: Foreground, *, ready: bool = True
) -> tuple[str, str, str] | None:
    """The status of a shell or an interpreter by its foreground program, what it does, and the source of that.

    `None` if the foreground program does not show it. `ready`: whether it has been idle before.
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
    if _is_choice_open(profile, facts, front):
        return None
    known = by_foreground(profile, facts.reading, front, ready=facts.ready)
    if known is not None:
        status, doing, source = known
        return KnownStatus(status, source, facts.since, doing)
    # The system says that it waits for a line from its terminal, which is all that such a program does at rest.
    rests = profile.name == GENERIC and not profile.shell and facts.reading.status != "idle" and front.reads
    return KnownStatus("idle", "process", facts.moved, sure=False) if rests else None


def _is_choice_open(profile: Profile, facts: StatusFacts, front: Foreground) -> bool:
    """Whether what has the terminal reads single keys below a choice."""
    command = front.kind == "program" and not (profile.shell and front.own)
    return command and bool(front.reads) and facts.reading.contradicts == "waiting"


def _front_evidence(known: KnownStatus, front: Foreground, facts: StatusFacts, now: float) -> Evidence:
    if known.source != "process":
        return _as_evidence(known, Rank.SCREEN, facts, now)
    why = f"{front.program} has the terminal" if front.program else "what has the terminal"
    if front.prompt:
        why += ", at its prompt"
    elif front.reads:
        why += ", and reads from it"
    return msgspec.structs.replace(_as_evidence(known, Rank.PROCESS, facts, now), why=why)


# -- the screen ---------------------------------------------------------------------------------------------------


def _by_screen(profile: Profile, facts: StatusFacts, now: float) -> KnownStatus | None:
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
            status = "starting" if _is_coming_up(facts) else "thinking"
            return KnownStatus(status, "title", facts.since, again=profile.timing.idle - still)
        # What works shows that by more than a title that stays the same: this one was left behind.
    elif said == "thinking" and (reading.status in WORKING or not _is_coming_up(facts)):
        doing = reading.doing if reading.status in WORKING else ""
        return KnownStatus(reading.status if reading.status in WORKING else "thinking", "title", facts.since, doing)
    elif said == "thinking":
        return KnownStatus("starting", "title", facts.since)
    if reading.status not in ("", "idle"):
        return KnownStatus(reading.status, "screen", facts.since, reading.doing)
    if (known := _contradicted(profile, facts, now)) is not None:
        return known
    if not reading.status:
        return None
    if titles.whole and facts.busied > facts.prompted and said != "thinking":
        return KnownStatus("idle", "title", facts.titled, reading.doing)
    if titles.idle and search(titles.idle, facts.title):
        return KnownStatus("idle", "title", facts.since, reading.doing)
    return _at_input(profile, facts, now)


def _is_coming_up(facts: StatusFacts) -> bool:
    """Whether it has been given nothing to do, so that what it does is its start."""
    return facts.fresh and not facts.entered and not facts.reading.echo


def _contradicted(profile: Profile, facts: StatusFacts, now: float) -> KnownStatus | None:
    """What something on the screen says that forbids to call it rest; `None` if nothing does."""
    reading = facts.reading
    if not reading.contradicts:
        return None
    again = 0.0
    if reading.counts:
        again = _COUNTS - (now - facts.counted)
        if again <= 0:
            return None  # that time does not pass
    if reading.contradicts == "waiting" and now - facts.since < profile.timing.veto:
        again = profile.timing.veto - (now - facts.since)
        return KnownStatus("thinking", "activity", facts.since, sure=False, again=again)
    return KnownStatus(reading.contradicts, "screen", facts.since, reading.doing, sure=False, again=again)


def _at_input(profile: Profile, facts: StatusFacts, now: float) -> KnownStatus:
    """Its input is to be seen, and nothing shows that it works: that it rests needs more than that."""
    reading = facts.reading
    moving = profile.timing.rest - (now - facts.grew)
    grows = profile.ai and not profile.titles.busy and not reading.draft and moving > 0
    if grows and not _animated(facts, now, _ANIMATED_INPUT):
        # An input that looks idle above an answer that still grows.
        return KnownStatus("thinking", "activity", facts.grew, sure=False, again=moving)
    if _shows_rest(profile, facts):
        # What it did in between may never have been seen.
        return KnownStatus("idle", "screen", max(facts.since, facts.ended if reading.ended else 0.0), reading.doing)
    # What it writes down of the turn may come a moment after its screen has come to rest.
    still = now - max(since := facts.since, facts.moved)
    again = max(_WRITTEN, still / 2) if still < _WRITTEN_WITHIN else 0.0
    return KnownStatus(QUIET, "screen", since, reading.doing, sure=False, again=again)


def _shows_rest(profile: Profile, facts: StatusFacts) -> bool:
    """Whether there is positive evidence that its turn is over: an input that is to be seen is none with most."""
    if not profile.ai:
        # Of an unknown program's prompt it is not known that it means rest, unless it reads from its terminal.
        here = facts.front
        return profile.name != GENERIC or here is None or bool(here.reads) or here.program in profile.programs
    since = max(facts.prompted, facts.worked)
    ended = profile.rest.input or (bool(facts.reading.ended) and facts.ended >= since)
    return (ended and not facts.unseen) or (facts.fresh and not since) or facts.rested > since


def _entered(facts: StatusFacts, now: float) -> KnownStatus | None:
    """That it takes up a text that was entered, of which its screen shows nothing yet; `None`: there is none."""
    left = _TAKEN_UP - (now - facts.entered)
    if facts.reading.status != "idle" or left <= 0:
        return None
    return KnownStatus("thinking", "screen", facts.entered, sure=False, again=left)


def _by_movement(profile: Profile, facts: StatusFacts, now: float) -> KnownStatus:
    """Nothing is known but whether the screen moves."""
    still = now - max(facts.moved, facts.started)
    if not facts.ready and now - facts.started < profile.timing.start and profile.rules:
        return KnownStatus("starting", "spawn", facts.started, again=profile.timing.start - (now - facts.started))
    if _animated(facts, now, _ANIMATED):
        return KnownStatus(QUIET, "activity", facts.news, ANIMATED, sure=False)
    if still >= profile.timing.idle:
        return KnownStatus(QUIET, "activity", facts.moved or facts.started, sure=False)
    again = profile.timing.idle - still
    if facts.news:
        again = max(0.1, min(again, _ANIMATED - (now - facts.news)))
    return KnownStatus("thinking", "activity", facts.moved or facts.started, sure=False, again=again)


def _animated(facts: StatusFacts, now: float, enough: float) -> bool:
    """Whether the screen has moved for so long without a new word."""
    return 0 < facts.news <= now - enough and facts.moved > facts.news
