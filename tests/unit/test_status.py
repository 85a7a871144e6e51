"""Which source of a status counts: events first, the screen to contradict, stillness last."""

import itertools
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.profiles.profile import GENERIC, Profile
from gshtui.programs.screen.foreground import Foreground
from gshtui.programs.screen.screen_reading import ScreenReading, read_screen, search
from gshtui.programs.status import status as statuses
from gshtui.programs.status.evidence import Evidence, Rank
from gshtui.programs.status.status import HookEvent, KnownStatus, StatusFacts, hook_evidence

LOADED = profiles.load(Path("/nonexistent"))
CLAUDE, CODEX, REPL = LOADED.get("claude"), LOADED.get("codex"), LOADED.get("repl")
NOW = 10_000.0


def decide(profile: Profile, hook: HookEvent | None, facts: StatusFacts, now: float) -> KnownStatus:
    return statuses.decide(profile, hook_evidence(hook), facts, now)


def hook(status: str, age: float, doing: str = "") -> HookEvent:
    return HookEvent(NOW - age, "X", status, doing)


def facts(
    status: str = "", since: float = 100.0, moved: float = 100.0, title: str = "", draft: str = "", over: bool = False
) -> StatusFacts:
    """A pane whose screen has said `status` for `since` seconds and last changed `moved` seconds ago; `over`: it shows
    the end of a turn."""
    return StatusFacts(
        title=title,
        started=NOW - 5000,
        moved=NOW - moved,
        grew=NOW - moved,
        reading=ScreenReading(status, "", draft, True, ended="Interrupted" if over else ""),
        since=NOW - since,
        ended=NOW - since if over else 0.0,
        ready=True,
    )


def test_a_hook_is_believed_and_dated() -> None:
    known = decide(CLAUDE, hook("tool", 4, "Bash make"), facts("thinking"), NOW)
    assert (known.status, known.source, known.doing, known.at) == ("tool", "hook", "Bash make", NOW - 4)
    assert known.label(NOW) == "tool · hook · 4 s"


def test_a_dead_pane_is_never_ready() -> None:
    dead = StatusFacts(dead=True, exit_status=0, reading=ScreenReading("idle", input=True), since=NOW - 1)
    assert decide(CLAUDE, hook("idle", 1), dead, NOW).status == "done"
    failed = decide(CLAUDE, hook("thinking", 1), StatusFacts(dead=True, exit_status=137), NOW)
    assert (failed.status, failed.source, failed.doing) == ("failed", "process", "ended by signal 9")
    assert decide(CLAUDE, None, StatusFacts(gone=True), NOW).status == "lost"


def test_an_interrupt_that_no_hook_tells_is_seen_on_the_screen() -> None:
    fresh = decide(CLAUDE, hook("thinking", 1), facts("idle", since=0.5, over=True), NOW)
    assert (fresh.status, fresh.source) == ("thinking", "hook"), "a screen is painted later than a hook is told"
    assert 0 < fresh.again <= CLAUDE.timing.veto
    over = decide(CLAUDE, hook("thinking", 5), facts("idle", since=3, over=True), NOW)
    assert (over.status, over.source, over.at) == ("idle", "screen", NOW - 3)
    before = decide(CLAUDE, hook("thinking", 5), facts("idle", since=9, over=True), NOW)
    assert before.status == "thinking", "it is the end of the turn before"


def test_a_mere_input_raises_a_doubt_about_a_hook_and_no_more() -> None:
    known = decide(CLAUDE, hook("tool", 25, "Bash make"), facts("idle", since=20, moved=0.2), NOW)
    assert (known.status, known.source, known.sure, known.doing) == ("tool", "hook", False, "Bash make")
    silent = decide(CLAUDE, hook("tool", 200), facts("idle", since=190, moved=180), NOW)
    assert (silent.status, silent.sure) == ("quiet", False)


def test_the_end_of_a_turn_that_is_reported_before_it_is_shown_waits_for_the_screen() -> None:
    opencode = LOADED.get("opencode")
    early = decide(opencode, hook("idle", 1), facts("thinking", since=4), NOW)
    assert (early.status, early.source) == ("thinking", "hook")
    assert 0 < early.again <= opencode.timing.veto
    assert decide(opencode, hook("idle", 1), facts("idle", since=0.1), NOW).status == "idle"
    assert decide(CLAUDE, hook("idle", 1), facts("thinking", since=4), NOW).status == "idle", (
        "its hook tells it in time"
    )


@pytest.mark.parametrize("rank", [Rank.RECORD, Rank.PROTOCOL])
def test_a_rest_between_a_helper_and_what_follows_is_none_while_the_screen_shows_work(rank: Rank) -> None:
    told = (Evidence(rank, "record", "idle", NOW - 0.1),)
    between = statuses.decide(CLAUDE, told, facts("thinking", since=4), NOW)
    assert (between.status, between.sure) == ("thinking", False)
    assert 0 < between.again <= CLAUDE.timing.veto
    assert statuses.decide(CLAUDE, told, facts("idle", since=0.1), NOW).rests


@pytest.mark.parametrize("rank", [Rank.HOOK, Rank.RECORD, Rank.PROTOCOL])
def test_a_question_that_comes_after_a_rest_counts_at_once_and_one_that_is_left_over_does_not(rank: Rank) -> None:
    told = (Evidence(rank, "told", "idle", NOW - 1),)
    assert statuses.decide(CLAUDE, told, facts("waiting", since=0.5), NOW).status == "waiting"
    assert statuses.decide(CLAUDE, told, facts("waiting", since=1.5), NOW).status == "idle"


@pytest.mark.parametrize(("rank", "sure"), [(Rank.TRANSCRIPT, False), (Rank.HOOK, False), (Rank.RECORD, True)])
def test_a_rest_behind_something_unknown_is_not_sure_unless_its_program_keeps_telling(rank: Rank, sure: bool) -> None:
    told = (Evidence(rank, "told", "idle", NOW - 60, final=True),)
    hidden = replace(facts(since=5), reading=ScreenReading())
    known = statuses.decide(CLAUDE, told, hidden, NOW)
    assert (known.status, known.sure) == ("idle", sure)
    painted = statuses.decide(CLAUDE, told, replace(hidden, since=NOW - 0.5), NOW)
    assert painted.sure and (sure or painted.again > 0), "its screen may just be being painted"


@pytest.mark.parametrize("rank", [Rank.TRANSCRIPT, Rank.HOOK])
def test_what_goes_on_beside_its_turns_is_work_whoever_tells_of_the_end_of_one(rank: Rank) -> None:
    screens = {
        "qwen": ("  ➜ project · fake", "  ⏸ Ask permissions (shift + tab to cycle) · 2 shells, 1 local agent"),
        "claude": ("  ⏸ manual mode on · ← for agents", "  ◯ general-purpose  Look around      0s · ↑ 1 tokens"),
    }
    for name, below in screens.items():
        profile, sign = LOADED.get(name), "❯" if name == "claude" else ">"
        rule = "─" * 60
        reading = read_screen(profile, ["● Done.", "", rule, f"{sign} a draft", rule, *below])
        told = (Evidence(rank, "told", "idle", NOW - 0.1, final=True),)
        known = statuses.decide(profile, told, replace(facts(), reading=reading, since=NOW - 0.1), NOW)
        assert known.status == "thinking", name
    works = ["  ⠏ Poking the bear... (3s · esc to cancel)", "─" * 60, "> a draft", "─" * 60, "  ⏸ Ask · 1 local agent"]
    assert read_screen(LOADED.get("qwen"), works).beside, "that is known before its turn ends"
    lines = [
        "─" * 60,
        "> a draft",
        "─" * 60,
        "  ⏸ Ask permissions (shift + tab to cycle) · 1 local agent ⚠ needs approval",
    ]
    assert read_screen(LOADED.get("qwen"), lines).status == "waiting"


def test_a_time_that_something_took_does_not_pass() -> None:
    for row, passes in (('● Agent "Look around" finished · 5s', False), ("● Agent Look around · 5s", True)):
        reading = read_screen(CLAUDE, [row, "● Hello.", "─" * 60, "❯ a draft", "─" * 60, "  ⏸ manual mode on"])
        assert (reading.contradicts, reading.times) == (("thinking", (row,)) if passes else ("", ()))


def test_a_question_on_the_screen_contradicts_a_hook() -> None:
    known = decide(CLAUDE, hook("idle", 60), facts("waiting", since=10), NOW)
    assert (known.status, known.needs_you) == ("waiting", True)


def test_an_answered_question_is_not_waited_for_any_longer() -> None:
    """No hook tells that a person has answered; the next one comes when the tool is done."""
    known = decide(CLAUDE, hook("waiting", 30), facts("tool", since=5), NOW)
    assert (known.status, known.source) == ("tool", "screen")


def test_a_question_that_was_seen_and_is_gone_is_answered_at_once() -> None:
    """What is on the screen then is no older than the hook, so it need not last."""
    working = replace(facts("tool", since=0.1), asked=NOW - 1)
    assert decide(CLAUDE, hook("waiting", 2), working, NOW).status == "tool"
    next_one = decide(CLAUDE, hook("waiting", 0.2), working, NOW)
    assert next_one.status == "waiting", "another question, which is still to be painted"


def test_a_question_that_is_gone_leaves_the_end_of_its_turn_to_what_tells_of_it() -> None:
    """A denial, of which no hook tells, and the transcript does."""
    seen = replace(facts("idle", since=4), asked=NOW - 5, prompted=NOW - 30, worked=NOW - 20)
    waits = hook_evidence(hook("waiting", 6))
    rest = Evidence(Rank.TRANSCRIPT, "transcript", "idle", NOW - 4.5, final=True)
    known = statuses.decide(LOADED.get("qwen"), (*waits, rest), seen, NOW)
    assert (known.status, known.source, known.sure) == ("idle", "transcript", True)
    unknown = statuses.decide(LOADED.get("qwen"), waits, seen, NOW)
    assert (unknown.status, unknown.sure) == ("quiet", False)


def test_a_hook_that_says_working_for_hours_is_stale() -> None:
    known = decide(CLAUDE, hook("thinking", 7200), facts("", moved=7000), NOW)
    assert (known.status, known.sure) == ("quiet", False)
    assert known.label(NOW) == "quiet? · activity · 116 min"


def test_a_long_job_that_still_moves_is_no_stale_hook() -> None:
    known = decide(CLAUDE, hook("tool", 7200), facts("", moved=2), NOW)
    assert (known.status, known.source) == ("tool", "hook")


def test_an_idle_hook_is_never_stale() -> None:
    known = decide(CLAUDE, hook("idle", 90_000), facts("", moved=90_000), NOW)
    assert (known.status, known.source, known.sure) == ("idle", "hook", True)


def test_a_title_that_spins_contradicts_an_input_that_looks_idle() -> None:
    spins = replace(facts("idle", title="⠹ project"), titled=NOW - 1)
    known = decide(CODEX, None, spins, NOW)
    assert (known.status, known.source) == ("thinking", "title")
    asks = decide(CODEX, None, facts("idle", title="[ ! ] Action Required | project"), NOW)
    assert (asks.status, asks.source) == ("waiting", "title")


def test_a_title_that_a_turn_left_behind_says_nothing() -> None:
    left = replace(facts("idle", since=3, moved=3, title="⠂ shop"), titled=NOW - 4)
    assert decide(CLAUDE, None, left, NOW).status == "thinking"
    assert 0 < decide(CLAUDE, None, left, NOW).again <= CLAUDE.timing.idle
    later = NOW + CLAUDE.timing.idle
    known = decide(CLAUDE, None, left, later)
    assert (known.status, known.source) == ("quiet", "screen"), "what works moves, and what rests says so"
    told = decide(CLAUDE, hook("idle", 3), left, NOW)
    assert (told.status, told.source) == ("idle", "hook"), "it has not changed since"
    anew = decide(CLAUDE, hook("idle", 60), left, NOW)
    assert (anew.status, anew.source) == ("thinking", "title")


def test_an_input_above_which_an_answer_grows_is_unsure() -> None:
    amp, opencode = LOADED.get("amp"), LOADED.get("opencode")
    known = decide(amp, None, facts("idle", moved=0.2), NOW)
    assert (known.status, known.sure) == ("thinking", False)
    assert known.again > 0
    typing = decide(amp, None, replace(facts("idle", moved=0.2, draft="half"), rested=NOW - 9), NOW)
    assert typing.status == "idle", "it is a person who types"
    rests = decide(opencode, None, facts("idle", moved=0.0, over=True), NOW)
    assert (rests.status, rests.sure) == ("idle", True), "it says all the time that it works"


def test_a_text_that_was_just_entered_is_taken_up_until_its_program_should_have_said_so() -> None:
    entered = replace(facts("idle", over=True), entered=NOW - 0.2, prompted=NOW - 0.3)
    known = decide(CLAUDE, None, entered, NOW)
    assert (known.status, known.source, known.sure) == ("thinking", "screen", False)
    assert decide(CLAUDE, None, entered, NOW + known.again).status == "quiet", "the turn that is over is the one before"
    assert decide(CLAUDE, hook("idle", 1), entered, NOW).status == "thinking", "so is the rest that it reported"
    assert decide(CLAUDE, hook("idle", 0.1), entered, NOW).status == "idle"
    asks = replace(entered, title="[ ! ] Action Required | project")
    assert decide(CODEX, None, asks, NOW).status == "waiting"


def test_a_program_that_nothing_is_known_of_is_idle_when_still_for_long_enough() -> None:
    moving = decide(CLAUDE, None, facts("", moved=5), NOW)
    assert (moving.status, moving.sure, moving.again) == ("thinking", False, CLAUDE.timing.idle - 5)
    still = decide(CLAUDE, None, facts("", moved=CLAUDE.timing.idle + 1), NOW)
    assert (still.status, still.sure) == ("quiet", False)
    assert CLAUDE.timing.idle >= 10


def test_a_program_that_was_just_started_is_starting() -> None:
    begun = StatusFacts(started=NOW - 3, moved=NOW - 3)
    assert decide(CLAUDE, None, begun, NOW).status == "starting"


def test_a_start_with_an_animation_is_a_start_for_as_long_as_it_may_take() -> None:
    kilo = LOADED.get("kilo")
    blank = StatusFacts(started=NOW - 35, moved=NOW - 0.1, news=NOW - 33)
    assert decide(kilo, None, blank, NOW).status == "starting"
    assert decide(kilo, None, replace(blank, started=NOW - kilo.timing.start - 1), NOW).status == "quiet"


def test_what_ended_says_nothing_any_more() -> None:
    ended = HookEvent(NOW - 5, "SessionEnd", "")
    assert decide(CLAUDE, ended, facts("idle"), NOW).source == "screen"


@pytest.mark.parametrize("name", ["generic", "claude"])
def test_an_animation_alone_is_rest_after_a_while_and_said_to_be_a_guess(name: str) -> None:
    profile = Profile(name=GENERIC, title="X", ai=False) if name == "generic" else LOADED.get(name)

    def status(news: float, moved: float = 0.2) -> KnownStatus:
        return decide(profile, None, StatusFacts(ready=True, moved=NOW - moved, news=NOW - news, started=1.0), NOW)

    assert (status(5).status, status(5).sure) == ("thinking", False)
    assert 0 < status(25).again <= 12
    rest = status(40)
    assert (rest.status, rest.source, rest.sure, rest.doing) == ("quiet", "activity", False, "only an animation moves")
    assert status(40, moved=40).doing == "", "nothing moves at all"


def _unseen(status: str, **given: float | bool | str) -> StatusFacts:
    return replace(facts(status, **given), unseen=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("status", ["thinking", "tool", "waiting", "idle"])
@pytest.mark.parametrize("program", ["claude", "codex", "aider", "gemini"])
def test_what_only_the_screen_of_an_unseen_version_says_is_a_guess(program: str, status: str) -> None:
    profile = LOADED.get(program)
    known = decide(profile, None, replace(_unseen(status, over=True), prompted=NOW - 200), NOW)
    assert not known.sure
    assert known.status == ("quiet" if status == "idle" else status), "it is no evidence of rest"
    titled = decide(profile, None, replace(_unseen(status), title="⠂ Working"), NOW)
    assert not titled.sure


def test_the_screen_of_an_unseen_version_does_not_end_what_a_hook_tells() -> None:
    known = decide(CLAUDE, hook("tool", 25, "Bash make"), _unseen("idle", since=20, moved=0.2, over=True), NOW)
    assert (known.status, known.source, known.sure) == ("tool", "hook", False)
    rests = decide(CLAUDE, hook("idle", 25), _unseen("idle", since=20), NOW)
    assert (rests.status, rests.source, rests.sure) == ("idle", "hook", True)


def test_a_program_of_an_unseen_version_that_was_given_nothing_rests_by_a_guess() -> None:
    known = decide(CLAUDE, None, replace(_unseen("idle"), fresh=True), NOW)
    assert (known.status, known.source, known.sure) == ("idle", "screen", False)


LIVE = (Rank.HOOK, Rank.RECORD, Rank.PROTOCOL)
ASSISTANTS = sorted(name for name, profile in LOADED.profiles.items() if profile.ai)


def says(rank: Rank, status: str, age: float) -> Evidence:
    return Evidence(rank, rank.name.lower(), status, NOW - age)


@pytest.mark.parametrize("rank", [Rank.TRANSCRIPT, Rank.HOOK])
def test_what_was_told_before_a_restart_is_no_status_of_a_program_that_comes_up(rank: Rank) -> None:
    """Its screen is blank until then, and what it had told of its rest is on the disk."""
    for program in (CLAUDE, LOADED.get("opencode")):
        blank = StatusFacts(started=NOW - 0.2, moved=NOW - 0.2, grew=NOW - 0.2, since=NOW - 0.2)
        assert statuses.decide(program, (says(rank, "idle", 30),), blank, NOW).status == "starting"
        assert statuses.decide(program, (says(rank, "idle", 0.1),), blank, NOW).status == "idle"
        up = replace(blank, ready=True, reading=ScreenReading("idle", "", "", True))
        assert statuses.decide(program, (says(rank, "idle", 30),), up, NOW).rests


@pytest.mark.parametrize("status", ["thinking", "tool", "waiting"])
def test_work_and_questions_of_any_live_source_beat_rest(status: str) -> None:
    """Unless a higher one has said since that it rests."""
    for one, other, screen in itertools.product(LIVE, (*LIVE, Rank.TRANSCRIPT), ("", "idle")):
        if one is other:
            continue
        seen = facts(screen, moved=1)
        newer = statuses.decide(CLAUDE, (says(one, status, 5), says(other, "idle", 50)), seen, NOW)
        assert newer.status == status
        older = statuses.decide(CLAUDE, (says(one, status, 50), says(other, "idle", 5)), seen, NOW)
        assert older.status == ("idle" if other > one else status)
        ranks = [each.rank for each in older.evidences]
        assert ranks == sorted(ranks, reverse=True)


def test_what_goes_on_behind_a_turn_is_work_until_its_program_is_started_again() -> None:
    """The end of the turn that started it, which its screen shows, ends nothing of it."""
    helper = replace(says(Rank.TRANSCRIPT, "thinking", 30), behind=True)
    for profile in (LOADED.get("codex"), CLAUDE):
        assert statuses.decide(profile, (helper,), facts("idle", since=20, over=True), NOW).status == "thinking"
        again = replace(facts("idle", since=5), started=NOW - 10, fresh=True)
        assert statuses.decide(profile, (helper,), again, NOW).rests


@pytest.mark.parametrize("name", ASSISTANTS)
def test_an_input_alone_is_no_rest_of_a_program_that_thinks(name: str) -> None:
    profile = LOADED.get(name)
    known = statuses.decide(profile, (), replace(facts("idle"), prompted=NOW - 300), NOW)
    assert (known.status == "idle") == profile.rest.input
    unasked = statuses.decide(profile, (), replace(facts("idle"), fresh=True), NOW)
    assert (unasked.status, unasked.sure) == ("idle", True), "it has been given nothing to do"
    finished = says(Rank.TRANSCRIPT, "idle", 200)
    assert statuses.decide(profile, (finished,), replace(facts("idle"), prompted=NOW - 300), NOW).status == "idle"
    before = statuses.decide(profile, (finished,), replace(facts("idle"), prompted=NOW - 100), NOW)
    assert (before.status == "idle") == profile.rest.input, "that turn was the one before"


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize("name", [name for name in ASSISTANTS if not LOADED.get(name).rest.input])
def test_a_turn_that_was_over_before_its_prompt_was_seen_is_its_rest_all_the_same(name: str, final: bool) -> None:
    """A look came seconds after the prompt, as on a slow machine, and found both on the screen."""
    over = replace(says(Rank.TRANSCRIPT, "idle", 12.1), final=final, began=NOW - 13)
    seen = replace(facts("idle"), prompted=NOW - 12, written=over.at, rested=NOW - 14)
    assert statuses.decide(LOADED.get(name), (over,), seen, NOW).rests
    soon = replace(seen, prompted=NOW - 9)
    assert not statuses.decide(LOADED.get(name), (over,), soon, NOW).rests, "a prompt may be written down late"
    behind = replace(seen, typed=NOW - 12)  # a turn of which no look saw anything
    for before in (replace(seen, rested=NOW - 12.05), replace(seen, rested=0.0), behind):
        assert not statuses.decide(LOADED.get(name), (over,), before, NOW).rests, "that turn was the one before"


@pytest.mark.parametrize("status", ["thinking", "tool", "waiting"])
@pytest.mark.parametrize("name", ASSISTANTS)
def test_what_the_screen_shows_ends_a_rest_of_the_transcript_at_once(name: str, status: str) -> None:
    """Before it calls a tool and asks about that, an answer that was written down looks whole."""
    written = says(Rank.TRANSCRIPT, "idle", 0.2)
    seen = replace(facts(status, since=0, moved=0), prompted=NOW - 1)
    assert statuses.decide(LOADED.get(name), (written,), seen, NOW).status == status


@pytest.mark.parametrize("name", [name for name in ASSISTANTS if LOADED.get(name).titles.busy])
def test_a_title_that_turns_before_it_was_given_anything_is_its_start(name: str) -> None:
    """Such work is no turn, after which only its end could be a rest."""
    busy = LOADED.get(name).titles.busy
    title = next(mark for mark in ("⠋ project", "✦ Working", ">> project", "◐ project") if search(busy, mark))
    new = replace(facts("idle", since=0, moved=0, title=title), fresh=True)
    assert statuses.decide(LOADED.get(name), (), new, NOW).status == "starting"
    asked = replace(new, fresh=False, prompted=NOW - 1)
    assert statuses.decide(LOADED.get(name), (), asked, NOW).status == "thinking"


def test_an_answer_that_has_left_the_screen_is_longer_on_its_way_than_one_that_has_not() -> None:
    asks = says(Rank.PROTOCOL, "waiting", 10)
    for status, said in (("thinking", "thinking"), ("waiting", "waiting")):
        answered = replace(facts(status, since=2), answered=NOW - 3, pressed=NOW - 3)
        assert statuses.decide(CLAUDE, (asks,), answered, NOW).status == said
    late = replace(facts("thinking", since=7), answered=NOW - 8)
    assert statuses.decide(CLAUDE, (asks,), late, NOW).status == "waiting", "it was no answer to that"


def test_words_that_do_not_say_what_it_waits_for_hide_no_question() -> None:
    asks = "Do you want to make this edit to notes.txt?"
    screen = replace(facts("waiting"), reading=ScreenReading("waiting", asks))
    for told, said in (
        (Evidence(Rank.RECORD, "record", "waiting", NOW - 5, doing="asks for permission", vague=True), asks),
        (Evidence(Rank.RECORD, "record", "waiting", NOW - 5, doing="a new word"), "a new word"),
        (*hook_evidence(hook("waiting", 5, "ExitPlanMode")), asks),
        (*hook_evidence(hook("waiting", 5, "Bash make test")), "Bash make test"),
    ):
        assert statuses.decide(CLAUDE, (told,), screen, NOW).doing == said
        assert statuses.decide(CLAUDE, (told,), facts(""), NOW).doing == told.doing


def test_a_title_that_tells_of_whole_turns_tells_of_their_end() -> None:
    qwen = LOADED.get("qwen")
    works = replace(facts("idle", since=0, moved=0, title="◐ Qwen"), prompted=NOW - 5, busied=NOW, titled=NOW - 4)
    over = replace(works, title="Qwen", busied=NOW - 1, titled=NOW - 0.5)
    older = says(Rank.TRANSCRIPT, "idle", 60)
    for told in ((), (older,)):
        assert statuses.decide(qwen, told, works, NOW).status == "thinking"
        known = statuses.decide(qwen, told, over, NOW)
        assert (known.status, known.source, known.sure, known.at) == ("idle", "title", True, NOW - 0.5)
        assert decide(qwen, hook("thinking", 3), over, NOW).rests, "no hook tells of an interrupt"
        assert not decide(qwen, hook("thinking", 0.1), over, NOW).rests
        again = replace(over, prompted=NOW - 0.2)
        assert statuses.decide(qwen, told, again, NOW).status != "idle", "of the turn before"
    words = replace(says(Rank.TRANSCRIPT, "idle", 0.2), began=NOW - 3, timed=True)
    for draft in ("", "do:touch"):  # which may stand there for a moment after it was taken
        asks = replace(works, reading=replace(works.reading, draft=draft), looked=NOW)
        known = statuses.decide(qwen, (words,), asks, NOW)
        assert (known.status, known.rests) == ("thinking", False), "its words are followed by a call"
    still = decide(qwen, None, works, NOW + 30)
    assert (still.status, still.sure) == ("quiet", False), "it says that it works, and shows nothing of that"


@pytest.mark.parametrize("rank", LIVE)
def test_what_passes_on_the_screen_is_never_rest(rank: Rank) -> None:
    """Whatever the rules make of it: a time that passes, or a way to interrupt it below its input."""
    rows = ["● Bash(make)", "", "✽ Hullaballooing… (9s · ↓ 5 tokens)", "", "─" * 80, "❯ ", "─" * 80]
    for footer in ("  a new word on · esc to interrupt", "  ESC to cancel all of it", "  nothing new"):
        reading = read_screen(with_new_words(CLAUDE), [*rows, footer], "Claude Code")
        assert reading.contradicts == "thinking"
        seen = StatusFacts(started=1.0, moved=NOW, since=NOW - 20, counted=NOW - 1, reading=reading, ready=True)
        alone = statuses.decide(CLAUDE, (), replace(seen, fresh=True), NOW)
        assert (alone.status, alone.sure) == ("thinking", False)
        assert statuses.decide(CLAUDE, (says(rank, "idle", 60),), seen, NOW).status == "thinking"


@pytest.mark.parametrize("rank", LIVE)
def test_a_persons_own_clock_below_the_input_ends_no_rest_that_is_told(rank: Rank) -> None:
    """Where nothing tells, or only a hook once did, it stays a doubt."""
    rows = ["● Done.", "", "─" * 80, "❯ ", "─" * 80, "  main · session (1h 2m 9s)", "  ⏸ manual mode on"]
    reading = read_screen(CLAUDE, rows, "✳ Claude Code")
    seen = StatusFacts(started=1.0, moved=NOW, since=NOW - 20, counted=NOW - 1, reading=reading, ready=True)
    known = statuses.decide(CLAUDE, (says(rank, "idle", 60),), seen, NOW)
    assert (known.status == "idle" and known.sure) == (rank > Rank.HOOK), known
    assert statuses.decide(CLAUDE, (), seen, NOW).status == "thinking"


def test_a_turn_is_over_whatever_claude_calls_it() -> None:
    """Not all of its words are of ASCII's letters."""
    for word in ("Baked", "Sautéed", "Flambéed"):
        rows = ["❯ do it", "● Done.", f"✻ {word} for 2s · done 4:47 AM", "─" * 80, "❯ ", "─" * 80, "  ? for shortcuts"]
        assert read_screen(CLAUDE, rows, "").ended == rows[2]


@pytest.mark.parametrize("name", [GENERIC, "shell"])
def test_what_reads_a_key_for_a_choice_needs_a_person(name: str) -> None:
    """In an unknown program, and in a shell's command; what stands above a shell's prompt asks nothing."""
    profile, own = LOADED.get(name), name == GENERIC
    for rows, wanted in ((["Do it?", "  ▸ Sure", "    Rather not"], "waiting"), (["Done.", "Say more"], "")):
        reading = read_screen(profile, rows, "", (0, len(rows)))
        seen = StatusFacts(reading=reading, since=NOW - 20, moved=NOW - 20, ready=True)
        asking = replace(seen, front=Foreground("bash", reads=True, own=own, prompt=own))
        busy = replace(seen, front=Foreground("mystery", reads=False, own=own))
        there = replace(seen, front=Foreground("bash", reads=True, prompt=True))
        assert statuses.decide(profile, (), asking, NOW).status == (wanted or ("idle" if own else "tool"))
        assert statuses.decide(profile, (), busy, NOW).status == "tool"
        assert own or statuses.decide(profile, (), there, NOW).status == "idle"


def with_new_words(profile: Profile) -> Profile:
    """The profile of a program all of whose words have changed but those of its input."""
    return msgspec.structs.replace(profile, rules=profile.rules[-1:])


def test_a_marked_choice_without_an_input_needs_a_person() -> None:
    rows = [
        "Make auto mode your default permission mode?",
        "",
        "❯ Yes, set auto mode as my default",
        "  No, keep manual",
    ]
    reading = read_screen(with_new_words(CLAUDE), rows, "Claude Code")
    known = statuses.decide(CLAUDE, (), replace(facts(), reading=reading, since=NOW - 5), NOW)
    assert (known.status, known.needs_you) == ("waiting", True)
    assert known.evidences[0].why == f"it shows: {rows[0]}"


@pytest.mark.parametrize(
    ("front", "says"),
    [
        (Foreground("bash", prompt=True), ("process", "idle", "bash has the terminal, at its prompt")),
        (Foreground("sleep", own=False), ("process", "tool", "sleep has the terminal")),
        (Foreground("less", own=False, kind="pager"), ("process", "waiting", "less has the terminal")),
    ],
)
def test_what_has_the_terminal_of_a_shell_is_a_source_too(front: Foreground, says: tuple[str, str, str]) -> None:
    shell = profiles.load(Path("/nonexistent")).get("shell")
    known = statuses.decide(shell, (), StatusFacts(front=front, ready=True, since=90.0), 100.0)
    assert [(one.source, one.status, one.why) for one in known.evidences] == [says]
    assert known.evidences[0].rank is Rank.PROCESS
