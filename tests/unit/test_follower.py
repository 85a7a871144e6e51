"""When a turn of another program is over: not while it waits for an answer in the midst of it."""

import asyncio
import contextlib
import itertools
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
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle import follower
from gshtui.fleet.lifecycle.answerer import Answerer
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.profiles.profile_files import load
from gshtui.programs.status.status import KnownStatus
from gshtui.programs.transcripts.transcript_readers import TurnText
from gshtui.system.tasks import cancel_and_wait
from tests.kit.native_agents import EventLog

ROW: Any = SimpleNamespace(id="a", pid=1, pane="%1", socket="", external_id="c", profile="")
KEY = ("a", "%1", 1)


class OneProgram:
    """A program's transcript, which ends with this turn."""

    def __init__(self, *, over: bool) -> None:
        self.turn = TurnText("m", time.time(), "do it", ("I make the file.",), "I make the file.", over)

    def watch(self, _: object) -> Any:
        return cancel_and_wait

    async def session(self, *_: object) -> Any:
        return SimpleNamespace(last_input="do it", forget_input=lambda: None)

    async def conversation(self, *_: object) -> str:
        return "c"

    async def whole_question(self, _server: object, _row: object, question: OpenQuestion) -> OpenQuestion:
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
    known: Any = SimpleNamespace(answer="", known=KnownStatus(status, "screen", time.time()))
    follows._statuses[KEY] = known
    await follows._answer(KEY, ROW, 5.0)
    await bus.drained()
    assert [event.text for event in heard.of(TurnFinished)] == (["I make the file."] if told else [])
    assert follows._worked == ({} if told else {"a": 5.0}), "its end will be seen"


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
    follows._statuses[KEY] = cast("Any", SimpleNamespace(version="", profile=None, known=None, takes_code=True))
    follows._whole["a", "q"] = replace(shown, detail="rm -rf ./build")
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
        follows._statuses[KEY] = cast("Any", SimpleNamespace(known=known, version="", takes_code=False))
        await follows._look_up(KEY, ROW, question)

    for question in (wide := drawn("q", "Yes, run it"), narrow := drawn("n", "Yes, r…")):
        await asks(question)
    assert (follows.seen("a", "q"), follows.seen("a", "n")) == (wide, narrow)
    follows._said(KEY, ROW, KnownStatus("waiting", "title", 2.0))
    assert follows.seen("a", "q") == wide, "it is only drawn anew"
    follows._said(KEY, ROW, KnownStatus("thinking", "screen", 2.0))
    assert not follows.seen("a", "q") and not follows.seen("a", "n")


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


@pytest.mark.parametrize(
    ("choice", "given", "told"), [("4", True, []), ("4", False, []), ("1", True, ["ask"]), ("1", False, ["ask", ""])]
)
async def test_an_answer_approves_a_mode_or_takes_back_what_it_approved_itself(
    choice: str, given: bool, told: list[str], tmp_path: Path
) -> None:
    async def choose(*_: object) -> None:
        if not given:
            raise SessionError("busy", "It asks something else now.")

    async def open_question() -> OpenQuestion:
        return PLAN

    async def session(*_: object) -> Any:
        return SimpleNamespace(choose=choose, open_question=open_question)

    async def profile(_: object) -> Profile:
        return load(tmp_path).get("claude")

    context: Any = SimpleNamespace(
        options=SimpleNamespace(data=tmp_path), terminals=SimpleNamespace(server=lambda _: None)
    )
    programs: Any = SimpleNamespace(session=session, profile=profile)
    heard = list[str]()
    answerer = Answerer(
        context, programs, cast("Any", None), None, lambda _, mode: heard.append(mode), lambda *_: None, lambda *_: None
    )
    row = AgentRow(id="a", name="it", kind="cli", profile="claude", status="waiting", question=PLAN)
    with contextlib.nullcontext() if given else pytest.raises(FleetError):
        await answerer.answer(row, choice, "q")
    assert heard == told


@pytest.mark.parametrize("painting", [False, True])
@pytest.mark.parametrize(
    ("seen", "now", "given"),
    [
        ("touch a", replace(PLAN, detail="touch a"), True),
        ("touch a", replace(PLAN, detail="rm -rf ~"), False),
        ("touch a", replace(PLAN, detail="to…", partial=True), False),
    ],
)
async def test_an_answer_to_a_question_that_is_cut_is_to_what_its_record_said(
    seen: str, now: OpenQuestion, given: bool, painting: bool, tmp_path: Path
) -> None:
    """The next question may begin with the same rows, and is the same for who sees no more than the screen."""
    cut = replace(PLAN, detail="to…", partial=True)
    looks = itertools.count()

    async def open_question() -> OpenQuestion:
        if painting and not next(looks):
            raise SessionError("waiting", "It is not asking anything.")
        return cut

    async def choose(*_: object) -> None:
        chosen.append(True)

    async def session(*_: object) -> Any:
        return SimpleNamespace(choose=choose, open_question=open_question)

    async def profile(_: object) -> Profile:
        return load(tmp_path).get("claude")

    async def whole_question(*_: object) -> OpenQuestion:
        return now

    context: Any = SimpleNamespace(
        options=SimpleNamespace(data=tmp_path), terminals=SimpleNamespace(server=lambda _: None)
    )
    programs: Any = SimpleNamespace(session=session, profile=profile, whole_question=whole_question)
    chosen = list[bool]()
    known = replace(cut, detail=seen, partial=False)
    answerer = Answerer(context, programs, cast("Any", None), None, lambda *_: None, lambda *_: known, lambda *_: None)
    row = AgentRow(id="a", name="it", kind="cli", profile="claude", status="waiting", question=known)
    with contextlib.nullcontext() if given else pytest.raises(FleetError, match="Nothing was pressed"):
        await answerer.answer(row, "1", "q")
    assert bool(chosen) == given
    await answerer.answer(row, "4", "q")


@pytest.mark.parametrize(("written", "given"), [("echo same; rm -rf ~", False), ("echo same; touch a", True)])
async def test_an_answer_is_to_what_was_told_of_a_question_only_as_long_as_its_record_says_it(
    written: str, given: bool, tmp_path: Path
) -> None:
    """The call before may have been told for it, which begins alike, when its own was not written down yet."""
    screen = replace(PLAN, detail=f"Command\n\n{written}")
    told = replace(screen, detail="echo same; touch a")
    chosen = list[bool]()

    async def open_question() -> OpenQuestion:
        return screen

    async def choose(*_: object) -> None:
        chosen.append(True)

    async def session(*_: object) -> Any:
        return SimpleNamespace(choose=choose, open_question=open_question)

    async def profile(_: object) -> Profile:
        return load(tmp_path).get("claude")

    async def whole_question(*_: object) -> OpenQuestion:
        return replace(screen, detail=written)

    context: Any = SimpleNamespace(
        options=SimpleNamespace(data=tmp_path), terminals=SimpleNamespace(server=lambda _: None)
    )
    programs: Any = SimpleNamespace(session=session, profile=profile, whole_question=whole_question)
    answerer = Answerer(context, programs, cast("Any", None), None, lambda *_: None, lambda *_: told, lambda *_: None)
    row = AgentRow(id="a", name="it", kind="cli", profile="claude", status="waiting", question=told)
    with contextlib.nullcontext() if given else pytest.raises(FleetError, match="Nothing was pressed"):
        await answerer.answer(row, "1", told.id)
    assert bool(chosen) == given


@pytest.mark.parametrize(
    ("screen", "told", "first"),
    [
        ("touch a\nMakes it", replace(PLAN, detail="touch a", beside="Makes it"), True),
        ("$ rm -rf ~; touch a", replace(PLAN, detail="touch a"), False),
        ("$ touch a", replace(PLAN, detail="touch b"), False),
    ],
    ids=["it is shown", "more is shown", "another is shown"],
)
async def test_a_question_of_which_its_record_says_nothing_any_more_can_be_allowed(
    screen: str, told: OpenQuestion, first: bool, tmp_path: Path
) -> None:
    """At once where its screen shows what was told of it, else once it is told as its screen shows it."""
    now, chosen, programs = replace(PLAN, detail=screen), list[bool](), OneProgram(over=False)

    async def open_question() -> OpenQuestion:
        return now

    async def choose(*_: object) -> None:
        chosen.append(True)

    async def session(*_: object) -> Any:
        return SimpleNamespace(choose=choose, open_question=open_question)

    async def profile(_: object) -> Profile:
        return load(tmp_path).get("claude")

    async def whole_question(*_: object) -> OpenQuestion:
        return now

    heard = EventLog(bus := Bus())
    follows = following(bus, tmp_path, programs)
    known = KnownStatus("waiting", "screen", time.time(), question=now)
    follows._statuses[KEY] = cast("Any", SimpleNamespace(known=known, version=""))
    follows.replace_question(ROW, told)
    asked: Any = SimpleNamespace(session=session, profile=profile, whole_question=whole_question)
    context: Any = SimpleNamespace(
        options=SimpleNamespace(data=tmp_path), terminals=SimpleNamespace(server=lambda _: None)
    )
    answerer = Answerer(
        context, asked, cast("Any", None), None, lambda *_: None, follows.seen, follows.replace_question
    )
    row = AgentRow(id="a", name="it", kind="cli", profile="claude", pane="%1", pid=1, status="waiting", question=told)
    if not first:
        with pytest.raises(FleetError, match="something else than was shown"):
            await answerer.answer(row, "1", told.id)
        row = replace(row, question=follows.seen(row.id, told.id))
    assert not chosen
    await answerer.answer(row, "1", told.id)
    assert chosen
    await bus.drained()
    assert heard.of(AgentStatusChanged)[-1].question == (told if first else now)


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
    status = SimpleNamespace(known=known, version="", takes_code=False)
    monkeypatch.setattr(follows, "_statuses", {KEY: status})
    for _ in range(2):
        follows._said(KEY, ROW, known)
    await asyncio.gather(*follows._answers)
    await bus.drained()
    assert [event.question for event in heard.of(AgentStatusChanged)] == [shown, shown, other, shown, whole]
    assert follows.seen("a", shown.id) == whole
    assert not list(looks) and not follows._looking
