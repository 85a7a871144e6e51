"""When a turn of another program is over: not while it waits for an answer in the midst of it."""

import asyncio
import functools
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow, OpenQuestion, ProgramMode, QuestionChoice
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import AgentStatusChanged, TurnFinished
from gshtui.bus.events.hub_events import Noticed
from gshtui.fleet.lifecycle import follower
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.session.status_watcher import CliStatus
from gshtui.programs.status.status import KnownStatus
from gshtui.programs.transcripts.transcript_readers import TurnText
from gshtui.system.tasks import cancel_and_wait
from tests.kit.native_agents import EventLog

ROW: Any = SimpleNamespace(id="a", pid=1, pane="%1", socket="", external_id="c", profile="")
KEY = ("a", "%1", 1)
SPELL = follower._Spell(5.0, doubted=False)


class OneProgram:
    """A program's transcript, which ends with this turn."""

    def __init__(self, *, over: bool, final: bool = False) -> None:
        said = "I make the file."
        self.turn = TurnText("m", time.time(), "do it", (said,), said, over, final=final)

    def watch(self, _: object) -> Any:
        return cancel_and_wait

    async def session(self, *_: object) -> Any:
        return SimpleNamespace(last_input="do it", forget_input=lambda: None, takes_code=False)

    async def conversation(self, *_: object) -> str:
        return "c"

    async def whole_question(self, _server: object, _row: object, question: OpenQuestion, _: object) -> OpenQuestion:
        return question

    async def last_turn(self, _: object) -> TurnText:
        return self.turn


def following(bus: Bus, data: Path, programs: Any) -> follower.AgentFollower:
    rows = SimpleNamespace(get=lambda _: ROW, all=list)
    terminals, options = SimpleNamespace(server=lambda _: None), SimpleNamespace(data=data)
    context: Any = SimpleNamespace(bus=bus, rows=rows, terminals=terminals, options=options, store=None)
    return follower.AgentFollower(context, programs, lambda: None)


@pytest.mark.parametrize(
    ("status", "over", "told"),
    [
        ("idle", True, True),
        ("idle", False, True),  # it was interrupted
        ("waiting", True, True),  # a person has opened a dialog meanwhile
        ("waiting", False, False),
        ("thinking", True, False),
        ("tool", False, False),
    ],
)
async def test_a_program_that_only_looked_idle_is_still_in_its_turn(
    status: str, over: bool, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "_WRITTEN_EVERY", 0.0)
    bus = Bus()
    heard = EventLog(bus)
    follows = following(bus, tmp_path, OneProgram(over=over))
    known: Any = SimpleNamespace(answer="", take_answer=str, known=KnownStatus(status, "screen", time.time()))
    follows._statuses[KEY] = known
    await follows._answer(KEY, ROW, SPELL)
    await bus.drained()
    assert [(one.text, one.stop) for one in heard.of(TurnFinished)] == ([("I make the file.", "end")] if told else [])
    assert follows._worked == ({} if told else {"a": SPELL}), "its end will be seen"


@pytest.mark.parametrize(
    ("turn", "doubted", "told"),
    [
        ({"stop": "interrupted", "over": False}, False, [("I make the file.", "interrupted", "")]),
        ({"stop": "interrupted", "over": False}, True, [("I make the file.", "end", "")]),
        ({"over": True}, False, [("I make the file.", "end", "")]),
        ({"stop": "error", "error": "no mood"}, False, [("I make the file.", "error", "no mood")]),
        ({"stop": "error", "error": "no mood", "answer": ""}, False, [("", "error", "no mood")]),
    ],
)
async def test_a_turn_is_told_as_its_transcript_says_it_ended(
    turn: dict[str, Any], doubted: bool, told: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    heard = EventLog(bus := Bus())
    follows = following(bus, tmp_path, program := OneProgram(over=False))
    program.turn = replace(program.turn, **turn)
    known: Any = SimpleNamespace(answer="", take_answer=str, known=KnownStatus("idle", "screen", time.time()))
    follows._statuses[KEY] = known
    await follows._answer(KEY, ROW, follower._Spell(5.0, doubted=doubted))
    await bus.drained()
    assert [(one.text, one.stop, one.error) for one in heard.of(TurnFinished)] == told


@pytest.mark.parametrize(
    ("again", "report", "prompt", "later", "told"),
    [
        ("thinking", "I make the file.", "m", 0.0, ["report", "report"]),
        ("thinking?", "I make the file.", "m", 0.0, ["report"]),
        ("thinking?", "Another.", "m", 0.0, ["report", "report"]),
        ("thinking?", "", "m", 0.0, ["report"]),
        ("thinking?", "I make the file.", "n", 60.0, ["report", "transcript"]),
        ("thinking?", "", "n", 60.0, ["report", "transcript"]),
        ("thinking", "", "n", 60.0, ["report", "transcript"]),
        ("thinking?", "I make the file.\n", "m", 0.0, ["report"]),
    ],
    ids=["worked", "rested", "other answer", "tells none", "missed a turn", "tells nothing", "silent", "blanks"],
)
async def test_a_rest_that_was_only_doubted_is_no_turn_unless_there_is_another_answer(
    again: str, report: str, prompt: str, later: float, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`again`: what it seems to do after its turn. `report`: its answer, as it says itself then. `prompt`, `later`: of
    the last turn in its transcript, and how many seconds after the first answer it began.
    """
    monkeypatch.setattr(follower, "_WRITTEN_EVERY", 0.0)
    heard = EventLog(bus := Bus())
    follows = following(bus, tmp_path, program := OneProgram(over=True, final=True))
    status: Any = SimpleNamespace(answer="", hooked=True, takes_code=False, version="")
    status.take_answer = functools.partial(CliStatus.take_answer, status)
    follows._statuses[KEY] = status
    follows._rested.add(KEY)

    async def seen(*shown: str, report: str) -> None:
        for each in shown:
            status.answer = report if each == "idle" else status.answer
            status.known = KnownStatus(each.rstrip("?"), "protocol", time.time(), sure="?" not in each)
            follows._said(KEY, ROW, status.known)
        await asyncio.gather(*follows._answers)

    await seen("thinking", "idle", report="I make the file.")
    program.turn = replace(program.turn, message=prompt, at=program.turn.at + later)
    await seen(again, "idle", report=report)
    await bus.drained()
    assert [event.source for event in heard.of(TurnFinished)] == told


@pytest.mark.parametrize("final", [False, True])
async def test_what_it_asks_to_be_allowed_is_of_its_turn_unless_that_is_over_for_sure(
    final: bool, tmp_path: Path
) -> None:
    """Its call may be written down after it asks, so that the words before look like the last ones."""
    heard = EventLog(bus := Bus())
    follows = following(bus, tmp_path, OneProgram(over=True, final=final))
    known = KnownStatus("waiting", "screen", time.time(), question=PLAN)
    follows._statuses[KEY] = cast("Any", SimpleNamespace(answer="", take_answer=str, known=known))
    await follows._answer(KEY, ROW, SPELL)
    await bus.drained()
    assert bool(heard.of(TurnFinished)) is final


@pytest.mark.parametrize(("asks", "final", "told"), [(True, False, False), (False, False, True), (True, True, True)])
async def test_words_that_are_followed_by_a_question_are_no_turn_that_was_too_short_to_be_noticed(
    asks: bool, final: bool, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing may have shown yet that it works, and the call that it is about to ask about may not be written down."""
    monkeypatch.setattr(follower, "_LOOK_EVERY", 0.0)
    heard = EventLog(bus := Bus())
    follows = following(bus, tmp_path, OneProgram(over=True, final=final))
    rest = KnownStatus("idle", "screen", time.time())
    status: Any = SimpleNamespace(known=rest, hooked=False, version="")
    new_turn = follows._new_turn

    async def seen(row: AgentRow, began: float) -> TurnText | None:
        turn = await new_turn(row, began)
        status.known = KnownStatus("waiting", "screen", time.time(), question=PLAN) if asks else rest
        return turn

    monkeypatch.setattr(follows, "_new_turn", seen)
    monkeypatch.setattr(follows, "_start_count", lambda *_: None)
    follows._statuses[KEY] = status
    await follows._short_turn(KEY, ROW, status)
    await bus.drained()
    assert bool(heard.of(TurnFinished)) is told


@pytest.mark.parametrize(
    ("then", "binds"), [("quiet", ["", "", "c"]), ("tool", [""])], ids=["it still seems to rest", "it works"]
)
async def test_the_conversation_of_a_program_that_seems_to_rest_is_found_once_it_is_there(
    then: str, binds: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its transcript tells that it rests, and it may begin that after its screen has come up."""
    monkeypatch.setattr(follower, "_BEGUN_AFTER", (0.0,) * 7)
    program = OneProgram(over=True)
    follows = following(Bus(), tmp_path, program)
    row = SimpleNamespace(**vars(ROW) | {"external_id": ""})
    monkeypatch.setattr(follows._context, "rows", SimpleNamespace(get=lambda _: row, all=list))
    monkeypatch.setattr(follows, "_bound", lambda _, id: setattr(row, "external_id", id))
    status: Any = SimpleNamespace(known=KnownStatus("quiet", "screen", time.time(), sure=False), version="")
    follows._statuses[KEY] = status
    found = list[str]()

    async def conversation(*_: object) -> str:
        found.append("c" if len(found) == 2 else "")
        status.known = KnownStatus(then, "screen", time.time(), sure=False)
        return found[-1]

    monkeypatch.setattr(program, "conversation", conversation)
    await follows._bind_late(KEY, cast("Any", row))
    assert found == binds
    assert row.external_id == binds[-1]


async def test_one_that_could_not_be_followed_is_at_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look ends with whoever has asked for it, or with a fault."""
    begun = asyncio.Event()
    ends: list[BaseException] = []
    server = SimpleNamespace(watcher=SimpleNamespace(watch=lambda *_: lambda: ends.append(KeyError())))
    row: Any = SimpleNamespace(id="a", pid=1, pane="%1", socket="", kind="cli")
    follows = following(Bus(), tmp_path, OneProgram(over=False))
    monkeypatch.setattr(follows._context.terminals, "server", lambda _: server)

    async def hangs(_: object) -> Profile:
        begun.set()
        return await asyncio.Future()

    monkeypatch.setattr(follows._programs, "profile", hangs, raising=False)
    for _ in range(2):
        begun.clear()
        look = asyncio.create_task(follows.follow([row]))
        await begun.wait()
        await cancel_and_wait(look)
    assert len(ends) == 2 and not follows._statuses and not follows._ends


async def test_a_question_that_looks_like_the_last_one_is_shown_as_it_is(tmp_path: Path) -> None:
    """What is known of the last one, the whole of which its transcript had, is nothing about this."""
    bus = Bus()
    heard = EventLog(bus)
    shown = OpenQuestion("q", "Run it?", "rm -rf ./bu…", (QuestionChoice("1", "Yes"),))
    follows = following(bus, tmp_path, OneProgram(over=False))
    follows._statuses[KEY] = cast(
        "Any", SimpleNamespace(version="", profile=None, known=None, takes_code=True, take_answer=str)
    )
    follows.questions.note_told("a", replace(shown, detail="rm -rf ./build"))
    for question, status in ((shown, "waiting"), (None, "tool"), (shown, "waiting")):
        follows._said(KEY, ROW, KnownStatus(status, "screen", time.time(), question=question))
    await bus.drained()
    said = [event.question and event.question.detail for event in heard.of(AgentStatusChanged)]
    assert said == ["rm -rf ./build", None, "rm -rf ./bu…"]


async def test_a_question_is_known_at_each_width_until_its_program_goes_on(tmp_path: Path) -> None:
    follows = following(Bus(), tmp_path, OneProgram(over=False))

    def drawn(id: str, label: str) -> OpenQuestion:
        return OpenQuestion(
            id, "Run it?", "rm x", (QuestionChoice("1", label, "once"), QuestionChoice("4", "No", "deny"))
        )

    async def asks(question: OpenQuestion) -> None:
        known = KnownStatus("waiting", "screen", 1.0, question=question)
        follows._statuses[KEY] = cast(
            "Any", SimpleNamespace(known=known, version="", takes_code=False, take_answer=str)
        )
        await follows._look_up(KEY, ROW, question)

    for question in (wide := drawn("q", "Yes, run it"), narrow := drawn("n", "Yes, r…")):
        await asks(question)
    assert (follows.questions.seen("a", "q"), follows.questions.seen("a", "n")) == (wide, narrow)
    follows._said(KEY, ROW, KnownStatus("waiting", "title", 2.0))
    assert follows.questions.seen("a", "q") == wide, "it is only drawn anew"
    follows._said(KEY, ROW, KnownStatus("thinking", "screen", 2.0))
    assert not follows.questions.seen("a", "q") and not follows.questions.seen("a", "n")


async def test_the_mode_that_a_person_approved_is_no_deviation_until_another_one_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = Bus()
    heard = EventLog(bus)
    follows = following(bus, tmp_path, OneProgram(over=False))
    rows = {"a": AgentRow(id="a", name="it", kind="cli", pane="%1", pid=1, held_to="plan")}

    def change(id: str, fields: dict[str, Any]) -> None:
        rows[id] = replace(rows[id], **fields)

    monkeypatch.setattr(follows._context, "rows", SimpleNamespace(get=rows.get, all=list, change_soon=change))
    plan, manual, edits = ProgramMode("plan", "plan"), ProgramMode("manual", "ask"), ProgramMode("edits", "edit")

    def shown(*modes: ProgramMode) -> str:
        for mode in modes:
            follows._moded(rows["a"], mode)
        return rows["a"].mode_words

    assert shown(plan, manual) == "manual, not plan!", "it went there by itself"
    assert shown(plan) == "plan"
    follows.approve(rows["a"], "ask")
    assert (shown(manual), rows["a"].held_to) == ("manual, approved", "plan")
    assert shown(edits) == "edits, not plan!"
    assert shown(plan, manual) == "manual, not plan!"
    shown(plan)
    follows.approve(rows["a"], "ask")
    follows.approve(rows["a"], "")
    assert shown(manual) == "manual, not plan!", "the answer was not given"
    follows.approve(replace(rows["a"], pid=2), "ask")
    assert shown(plan, manual) == "manual, not plan!", "it was another one's"
    await bus.drained()
    assert len(heard.of(Noticed)) == 5
    shown(plan)
    follows.approve(rows["a"], "ask")
    shown(manual)
    follows._approved.clear()  # as the next hub's
    assert shown(manual) == "manual, approved"
    assert shown(edits, manual) == "manual, not plan!"
    await bus.drained()
    assert len(heard.of(Noticed)) == 6, "of edits"


PLAN = OpenQuestion(
    "q",
    "Would you like to proceed?",
    choices=(QuestionChoice("1", "Yes, manually approve edits", "once"), QuestionChoice("4", "No", "deny")),
)


@pytest.mark.parametrize("cut", [True, False])
async def test_a_call_that_is_written_down_late_is_shown_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: bool
) -> None:
    """Some programs ask before the call is in their transcript, in which another one may stand at first."""
    monkeypatch.setattr(follower, "_RECORDED", 0.0)
    shown = replace(PLAN, detail="touch a\nIt makes a file", partial=cut)
    other, whole = (replace(shown, detail=detail, partial=False) for detail in ("touch", "touch a"))
    looks = iter((*[shown] * 9, other, shown, whole, whole))
    programs = OneProgram(over=False)

    async def look(*_: object) -> OpenQuestion:
        return next(looks)

    monkeypatch.setattr(programs, "whole_question", look)
    heard = EventLog(bus := Bus())
    follows = following(bus, tmp_path, programs)
    known = KnownStatus("waiting", "screen", time.time(), question=shown)
    status = SimpleNamespace(known=known, version="", takes_code=False, take_answer=str)
    monkeypatch.setattr(follows, "_statuses", {KEY: status})
    for _ in range(2):
        follows._said(KEY, ROW, known)
    await asyncio.gather(*follows._answers)
    await bus.drained()
    assert [event.question for event in heard.of(AgentStatusChanged)] == [shown, shown, other, shown, whole]
    assert follows.questions.seen("a", shown.id) == whole
    assert not list(looks) and not follows._looking
