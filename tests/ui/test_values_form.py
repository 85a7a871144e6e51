"""The form of a server's question: reached by its key, checked before it is sent, safe with any schema."""

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Select, Static

from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.ui.approvals.approvals_pane import ApprovalsPane
from gshtui.ui.approvals.values_form import ValuesForm
from tests.kit.keyboard import Keyboard
from tests.kit.snapshots import Snap, screens, snap
from tests.kit.storms import some
from tests.kit.terminal_agents import wait_until
from tests.kit.window import Window
from tests.ui.test_pictures import settled

__all__ = ["snap"]
FIELDS: dict[str, Any] = {
    "project": {"type": "string", "title": "Project", "description": "Where the issue is filed.", "minLength": 2},
    "kind": {"type": "string", "oneOf": [{"const": "bug", "title": "A bug"}, {"const": "idea", "title": "An idea"}]},
    "days": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
    "urgent": {"type": "boolean"},
}


def question(fields: object = FIELDS, required: object = ("project", "kind")) -> ApprovalRequested:
    return ApprovalRequested(
        approval="q1",
        agent="main",
        session="s",
        call="c",
        tool="mcp_question",
        effect="execute",
        subject="The MCP server tracker asks: Where does this belong?",
        detail="It asks for values.",
        arguments={"question": "?", "fields": fields, "required": required},
    )


async def opened(app: Window, pilot: Pilot[int], request: ApprovalRequested) -> ValuesForm:
    await wait_until(pilot, lambda: app.hub is not None)
    app.feed(request)
    pane = app.bench.query_one(ApprovalsPane)
    await wait_until(pilot, lambda: pane.display and pane.region.height)
    await pilot.press("alt+a")
    await wait_until(pilot, lambda: pane._keys.question == "q1")
    Keyboard(app).post("1", after=60)
    await wait_until(pilot, lambda: isinstance(app.screen, ValuesForm))
    assert isinstance(app.screen, ValuesForm)
    return app.screen


def wrong(form: ValuesForm) -> str:
    return str(form.query_one(".dialog-wrong", Static).render())


async def test_what_is_filled_in_is_the_answer_once_it_is_right() -> None:
    app = Window()
    async with app.run_test(size=(120, 40)) as pilot:
        form = await opened(app, pilot, question())
        assert app.hub is not None
        await pilot.press("ctrl+s")
        assert "Project, kind are missing" in wrong(form)
        await pilot.press("x", "ctrl+s")
        assert "Project must be at least 2 characters" in wrong(form)
        await pilot.press("y", "ctrl+s")
        assert "kind is missing" in wrong(form)
        assert [words for words, _ in form.query_one("#value-1", Select)._options[1:]] == ["A bug", "An idea"]
        form.query_one("#value-1", Select).value = "bug"
        days = form.query_one("#value-2", Input)
        assert days.value == "3"
        days.value = "12"
        await pilot.press("ctrl+s")
        assert "days must be at most 9" in wrong(form)
        days.value = "soon"
        await pilot.press("ctrl+s")
        assert wrong(form) == "days must be a whole number, such as 3."
        days.value = "5"
        form.query_one("#value-3", Select).value = "yes"
        form.query_one("#value-1", Select).value = "idea"
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: any(isinstance(one, ApprovalAnswered) for one in app.hub.said))  # type: ignore[union-attr]
        answers = [one for one in app.hub.said if isinstance(one, ApprovalAnswered)]
        values = {"project": "xy", "kind": "idea", "days": 5, "urgent": True}
        assert [(one.approval, one.decision, one.values) for one in answers] == [("q1", "once", values)]


async def test_leaving_it_answers_nothing_and_a_withdrawn_question_is_not_answered() -> None:
    app = Window()
    async with app.run_test(size=(120, 40)) as pilot:
        form = await opened(app, pilot, question(required=()))
        await pilot.press("escape")
        pane = app.bench.query_one(ApprovalsPane)
        await wait_until(pilot, lambda: pane.display and pane.state.front == "q1")
        Keyboard(app).post("1", after=120)
        await wait_until(pilot, lambda: isinstance(app.screen, ValuesForm) and app.screen is not form)
        app.feed(ApprovalSettled(approval="q1", agent="main", call="c", decision="withdrawn"))
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert app.hub is not None
        assert not [one for one in app.hub.said if isinstance(one, ApprovalAnswered)]


@pytest.mark.parametrize(
    "fields",
    [
        {"a": None, "b": 7, "c": [], "d": {"type": ["string", "null"]}, "e": {"enum": [1, None, "x" * 5_000]}},
        {"\x1b[31mred": {"title": "\x1b]0;t\x07", "description": "[bold]\x1b[2J", "default": "\x1b[0m[/]"}},
        {f"field{number}": {"type": "array", "items": {"enum": ["a", "b"]}} for number in range(300)},
        {"deep": {"type": "array", "items": {"items": {"items": {}}}, "default": [[[1]]]}},
    ],
    ids=["odd", "escapes", "many", "deep"],
)
async def test_any_schema_is_shown_and_none_drives_the_terminal(fields: dict[str, Any]) -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        form = await opened(app, pilot, question(fields, ("nothing", 3)))
        texts = "".join(str(one.render()) for one in form.query(Static))
        assert "\x1b" not in texts
        await pilot.press("ctrl+s")
        await pilot.pause()


def in_sight(form: ValuesForm) -> None:
    for shown in (".dialog-wrong", ".dialog-hint", "#send", "#close", "#value-0"):
        region = form.query_one(shown).region
        assert region and region.bottom < form.size.height, shown


@pytest.mark.parametrize("size", some([(80, 24), (61, 20), (40, 18)], 2))
async def test_its_keys_and_what_is_wrong_are_in_sight_however_many_fields_it_has(size: tuple[int, int]) -> None:
    fields = {f"field{n}": {"title": f"Title {n}", "description": "About it"} for n in range(30)}
    fields["field0"] |= {"title": f"Title 0{' and more' * 5}", "format": "email"}
    app = Window()
    async with app.run_test(size=size) as pilot:
        form = await opened(app, pilot, question(fields, ("field0",)))
        await pilot.press("ctrl+s")
        await settled(pilot)
        assert wrong(form) == f"{fields['field0']['title']} is missing."
        in_sight(form)
        await pilot.press(*"no mail", "ctrl+s")
        await settled(pilot)
        assert "an email address" in wrong(form) and form.query_one(".dialog-wrong").region.height > 1
        in_sight(form)


@screens(light=True)
async def test_how_it_looks(snap: Snap, theme: str, size: tuple[int, int]) -> None:
    app = Window(theme=theme)
    async with app.run_test(size=size) as pilot:
        await opened(app, pilot, question())
        await pilot.press("ctrl+s")
        await settled(pilot)
        snap(app)
