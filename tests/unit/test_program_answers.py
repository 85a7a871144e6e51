"""A person's answer to another program's question: to exactly what was told of it, and to no other one like it."""

import contextlib
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.answerer import Answerer
from gshtui.fleet.lifecycle.asked_questions import AskedQuestions
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.profiles.profile_files import load
from gshtui.programs.screen.same_question import as_told
from gshtui.programs.status.status import KnownStatus
from gshtui.programs.transcripts.asked_call import with_call
from gshtui.programs.transcripts.program_transcript import TranscriptBuilder
from tests.kit.native_agents import EventLog
from tests.unit.test_follower import KEY, PLAN, ROW, OneProgram, following


class Asking:
    """A program that shows a question, of which its transcript says something, maybe something else.

    Attributes:
        chosen: the answers that it was given.
        later: what its transcript says from the second look at it on; `None`: the same.
        after: what its screen asks next.
        paints: looks at which it shows nothing yet.
        trouble: what becomes of an answer.
    """

    def __init__(self, folder: Path, shown: OpenQuestion, whole: OpenQuestion | None = None) -> None:
        self.shown, self.whole = shown, whole or shown
        self.chosen = list[str]()
        self.later: OpenQuestion | None = None
        self.after: OpenQuestion | None = None
        self.paints = 0
        self.trouble: SessionError | None = None
        self.modes = list[str]()
        self._folder = folder

    async def session(self, *_: object) -> Any:
        return SimpleNamespace(choose=self._choose, open_question=self._open_question)

    async def profile(self, _: object) -> Any:
        return load(self._folder).get("claude")

    async def whole_question(self, *_: object) -> OpenQuestion:
        whole, self.whole = self.whole, self.later or self.whole
        return as_told(self.shown, whole)

    async def _open_question(self) -> OpenQuestion:
        self.paints -= 1
        if self.paints >= 0:
            raise SessionError("waiting", "It is not asking anything.")
        return self.shown

    async def _choose(self, _question: str, choice: str, *_: object) -> OpenQuestion | None:
        if self.trouble is not None:
            raise self.trouble
        self.chosen.append(choice)
        return self.after

    def answerer(self, questions: AskedQuestions, tell: Any = None) -> Answerer:
        options, terminals = SimpleNamespace(data=self._folder), SimpleNamespace(server=lambda _: None)
        context: Any = SimpleNamespace(options=options, terminals=terminals)
        return Answerer(
            context,
            cast("Any", self),
            cast("Any", None),
            None,
            lambda _, mode: self.modes.append(mode),
            questions,
            tell or (lambda *_: None),
        )


def told(question: OpenQuestion) -> tuple[AskedQuestions, AgentRow]:
    """A question as it was told, and the row of who asks it."""
    questions = AskedQuestions()
    questions.note_told("a", question)
    row = AgentRow(
        id="a", name="it", kind="cli", profile="claude", pane="%1", pid=1, status="waiting", question=question
    )
    return questions, row


@pytest.mark.parametrize(
    ("choice", "given", "heard"), [("4", True, []), ("4", False, []), ("1", True, ["ask"]), ("1", False, ["ask", ""])]
)
async def test_an_answer_approves_a_mode_or_takes_back_what_it_approved_itself(
    choice: str, given: bool, heard: list[str], tmp_path: Path
) -> None:
    program = Asking(tmp_path, PLAN)
    program.trouble = None if given else SessionError("busy", "It asks something else now.")
    questions, row = told(PLAN)
    with contextlib.nullcontext() if given else pytest.raises(FleetError):
        await program.answerer(questions).answer(row, choice, "q")
    assert program.modes == heard


@pytest.mark.parametrize("paints", [0, 1])
@pytest.mark.parametrize(
    ("now", "given"),
    [
        (replace(PLAN, detail="touch a"), True),
        (replace(PLAN, detail="rm -rf ~"), False),
        (replace(PLAN, detail="to…", partial=True), False),
    ],
)
async def test_an_answer_to_a_question_that_is_cut_is_to_what_its_record_said(
    now: OpenQuestion, given: bool, paints: int, tmp_path: Path
) -> None:
    """The next question may begin with the same rows, and is the same for who sees no more than the screen."""
    shown = replace(PLAN, detail="to…", partial=True)
    program = Asking(tmp_path, shown, now)
    program.paints = paints
    before = as_told(shown, replace(PLAN, detail="touch a"))
    questions, row = told(before)
    answerer = program.answerer(questions)
    with contextlib.nullcontext() if given else pytest.raises(FleetError, match="Nothing was pressed"):
        await answerer.answer(row, "1", before.id)
    assert program.chosen == ["1"] * given
    await answerer.answer(row, "4", before.id)


@pytest.mark.parametrize(("written", "given"), [("echo same; rm -rf ~", False), ("echo same; touch a", True)])
async def test_an_answer_is_to_what_was_told_of_a_question_only_as_long_as_its_record_says_it(
    written: str, given: bool, tmp_path: Path
) -> None:
    """The call before may have been told for it, which begins alike, when its own was not written down yet."""
    screen = replace(PLAN, detail=f"Command\n\n{written}")
    program = Asking(tmp_path, screen, replace(screen, detail=written))
    before = as_told(screen, replace(screen, detail="echo same; touch a"))
    questions, row = told(before)
    with contextlib.nullcontext() if given else pytest.raises(FleetError, match="Nothing was pressed"):
        await program.answerer(questions).answer(row, "1", before.id)
    assert program.chosen == ["1"] * given


@pytest.mark.parametrize(
    ("screen", "said", "first"),
    [
        ("touch a\nMakes it", replace(PLAN, detail="touch a", beside="Makes it", call="c1"), True),
        ("$ rm -rf ~; touch a", replace(PLAN, detail="touch a"), False),
        ("$ touch a", replace(PLAN, detail="touch b"), False),
    ],
    ids=["it is shown", "more is shown", "another is shown"],
)
async def test_a_question_of_which_its_record_says_nothing_any_more_can_be_allowed(
    screen: str, said: OpenQuestion, first: bool, tmp_path: Path
) -> None:
    """At once where its screen shows what was told of it, else once it is told as its screen shows it."""
    now = replace(PLAN, detail=screen)
    said = as_told(now, said)
    program = Asking(tmp_path, now)
    heard = EventLog(bus := Bus())
    follows = following(bus, tmp_path, OneProgram(over=False))
    known = KnownStatus("waiting", "screen", time.time(), question=now)
    follows._statuses[KEY] = cast("Any", SimpleNamespace(known=known, version=""))
    follows.replace_question(ROW, said)
    answerer = program.answerer(follows.questions, follows.replace_question)
    _, row = told(said)
    if not first:
        with pytest.raises(FleetError, match="something else than was shown"):
            await answerer.answer(row, "1", said.id)
        row = replace(row, question=follows.questions.seen(row.id, now.id))
    assert not program.chosen
    await answerer.answer(row, "1", said.id if first else now.id)
    assert program.chosen
    await bus.drained()
    assert heard.of(AgentStatusChanged)[-1].question == (said if first else now)


LIKE = "; ".join(f"touch file-{n}.txt" for n in range(40))
"""The beginning of two commands, of which a screen shows no more."""


CUT = replace(PLAN, detail=LIKE, partial=True)
ONE, TWO = (as_told(CUT, replace(PLAN, detail=f"{LIKE}; {end}", call=end)) for end in ("ls", "rm -rf ~"))
PAST = as_told(CUT, replace(PLAN, detail=f"rm -rf ~; {LIKE}"))
"""By what its terminal has above the screen."""


@pytest.mark.parametrize("later", [None, "rm -rf ~", ""], ids=["it still waits", "another one", "none"])
async def test_a_cut_question_is_allowed_once_its_call_waits_for_a_moment(later: str | None, tmp_path: Path) -> None:
    """What tells that the call before is over may be written down just after the next one is asked about."""
    program = Asking(tmp_path, CUT, ONE)
    program.later = None if later is None else replace(ONE, detail=later, call="c2") if later else CUT
    questions, row = told(ONE)
    with pytest.raises(FleetError, match="Nothing was pressed") if program.later else contextlib.nullcontext():
        await program.answerer(questions).answer(row, "1", ONE.id)
    assert program.chosen == ["1"] * (later is None)


@pytest.mark.parametrize(
    "after", [CUT, replace(PLAN, id="next"), None], ids=["it wants words", "it asks again", "it goes on"]
)
async def test_a_question_that_wants_words_is_asked_next_as_it_was_told(
    after: OpenQuestion | None, tmp_path: Path
) -> None:
    program = Asking(tmp_path, CUT, ONE)
    program.after = after
    questions, row = told(ONE)
    assert await program.answerer(questions).answer(row, "1", ONE.id) == (ONE if after == CUT else after)
    assert bool(questions.answered_calls("a")) == (after != CUT)


@pytest.mark.parametrize("now", [TWO, PAST])
@pytest.mark.parametrize("known", [(), (ONE,), (ONE, None, TWO), (ONE, TWO), (CUT,)])
async def test_an_answer_is_to_what_was_told_and_not_to_what_looks_the_same(
    known: tuple[OpenQuestion | None, ...], now: OpenQuestion, tmp_path: Path
) -> None:
    """However much was told of either in between, and by whichever face: the one that answers has it from before."""
    questions, row = AskedQuestions(), told(PLAN)[1]
    for each in known:
        questions.as_told("a", each, goes_on=each is None)
        if each is not None:
            questions.note_told("a", each)
            row = replace(row, question=each)
    program = Asking(tmp_path, CUT, now)
    answerer = program.answerer(questions, lambda row, asked: questions.note_told(row.id, asked))
    for before in (ONE.id, CUT.id):
        for _ in range(2):
            with pytest.raises(FleetError, match="Nothing was pressed"):
                await answerer.answer(replace(row, question=known[-1] if known else None), "1", before)
    assert not program.chosen
    await answerer.answer(row, "1", now.id)
    await answerer.answer(row, "4", CUT.id)  # a denial is of whatever it asks below these rows
    assert program.chosen == ["1", "4"]


async def test_who_saw_all_rows_of_a_question_answers_it_while_it_is_told_anew(tmp_path: Path) -> None:
    """By the command that its record has: its rows have signs of its program beside it."""
    shown = replace(PLAN, detail="$ touch a")
    whole = as_told(shown, replace(shown, detail="touch a", call="c1"))
    questions, row = told(shown)
    program = Asking(tmp_path, shown, whole)
    await program.answerer(questions).answer(row, "1", shown.id)
    assert program.chosen == ["1"]


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("changed", [False, True])
async def test_who_saw_all_rows_answers_it_where_it_was_told_whole_and_then_cut(
    changed: bool, partial: bool, tmp_path: Path
) -> None:
    """The terminal had become narrower after its record was read, and its program cuts a choice there."""
    seen = replace(PLAN, detail="$ touch a", partial=partial)
    whole = as_told(seen, replace(seen, detail="touch a", partial=False, call="c1"))
    cut = replace(
        PLAN, id="n", choices=tuple(replace(each, label=f"{each.label[:3]}…") for each in PLAN.choices), detail="$ tou"
    )
    now = as_told(
        cut, replace(whole, id="n", screen="", choices=cut.choices, detail="rm -rf ~" if changed else "touch a")
    )
    questions, row = told(seen)
    questions.note_told("a", whole)
    given = not changed and not partial
    program = Asking(tmp_path, cut, now)
    with contextlib.nullcontext() if given else pytest.raises(FleetError, match="Nothing was pressed"):
        await program.answerer(questions).answer(replace(row, question=now), "1", seen.id)
    assert program.chosen == ["1"] * given


async def test_a_question_is_known_however_often_its_program_paints_it_anew(tmp_path: Path) -> None:
    """As of a terminal that becomes narrower: each look may show fewer of its choices."""
    asked = replace(PLAN, detail="touch a")
    questions, row = told(asked)
    for look in range(12):
        questions.note_seen("a", replace(asked, id=f"paint {look}", choices=asked.choices[: look % 3]))
    cut = replace(asked, id="n", choices=tuple(replace(each, label=f"{each.label[:3]}…") for each in asked.choices))
    program = Asking(tmp_path, cut)
    await program.answerer(questions).answer(replace(row, question=cut), "1", asked.id)
    assert program.chosen == ["1"]


@pytest.mark.parametrize("known", ["the next one", "it, still"])
async def test_two_commands_with_the_same_rows_are_two_questions(known: str, tmp_path: Path) -> None:
    """What is wrapped in one is a line of its own in the other, and runs; both are whole on the screen."""
    words = f"echo {'a' * 60}"
    shown = replace(PLAN, detail=f"{words}\nrm -rf ~")
    one, two = (as_told(shown, replace(shown, detail=f"{words}{by}rm -rf ~", call=by)) for by in " \n")
    questions, row = told(one)
    if known == "the next one":
        questions.as_told("a", None, goes_on=True)
        questions.note_told("a", two)
        row = replace(row, question=two)
    program = Asking(tmp_path, shown, two)
    with pytest.raises(FleetError, match="Nothing was pressed"):
        await program.answerer(questions).answer(row, "1", one.id)
    assert not program.chosen


@pytest.mark.parametrize("over", ["answered", "answered, and another like it is asked", "gone on", "not yet"])
async def test_a_call_is_asked_about_once(over: str, tmp_path: Path) -> None:
    """The next question may look like it before its own call is written, while the one before still runs."""
    book = TranscriptBuilder(tmp_path / "t.jsonl", "claude")
    book.add_text("user", "Do it.", 1.0, "m1")
    book.add_call("c1", "Bash", {"command": f"{LIKE}; ls"}, 2.0, "m2")
    shown = replace(PLAN, detail=LIKE, partial=True)
    whole = with_call(shown, book.transcript, tmp_path)
    assert (whole.call, whole.partial) == ("c1 of m2", False)
    questions, row = told(whole)
    program = Asking(tmp_path, shown, whole)
    if over.startswith("answered"):
        another = "another" in over
        program.trouble = SessionError("unsure", "It still asks the same.") if another else None
        with pytest.raises(FleetError) if another else contextlib.nullcontext():
            await program.answerer(questions).answer(row, "1", "q")
    else:
        questions.as_told("a", None, goes_on=over == "gone on")

    def now() -> OpenQuestion:
        return with_call(shown, book.transcript, tmp_path, questions.answered_calls("a"))

    assert now() == (whole if over == "not yet" else shown)
    book.add_call("c1", "Bash", {"command": f"{LIKE}; rm -rf ~"}, 3.0, "m4")  # some number them anew
    assert (now().call, now().partial) == (("", True) if over == "not yet" else ("c1 of m4", False))
    for call in ("c2", "c3"):
        questions.note_told("a", replace(whole, call=call))
        questions.end_question("a")
    assert questions.answered_calls("a") >= {"c2", "c3"} | ({"c1 of m2"} if over != "not yet" else set())
    questions.forget("a")
    assert not questions.answered_calls("a")
