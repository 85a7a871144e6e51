"""How often a key is pressed for one answer."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from gshtui.bus.agent_data import OpenQuestion, QuestionChoice
from gshtui.programs.pane import choice_presser
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.screen.asked_question import ReadQuestion


@pytest.mark.parametrize(("partial", "pressed"), [(True, ["1"]), (False, ["1", "Enter", "Enter"])])
async def test_a_key_is_pressed_again_only_where_the_next_question_cannot_look_the_same(
    partial: bool, pressed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = (QuestionChoice("1", "Yes", "once"), QuestionChoice("2", "No", "deny"))
    read = ReadQuestion(OpenQuestion("q", "Run it?", "touch a", choices, partial=partial), 0, digits=("1", "2"))
    info = SimpleNamespace(in_mode=False, attached=False, local_pid=1)
    look = SimpleNamespace(dead=False, reading=SimpleNamespace(read=read, status="waiting"), info=info, lines=())
    keys = list[str]()

    async def press(_pane: str, key: str, _rows: object) -> bool:
        keys.append(key)
        return True

    async def read_screen() -> Any:
        return look

    async def wait_until(true: Any, _within: object = None) -> Any:
        return look if true(look) else None

    monkeypatch.setattr(choice_presser, "input_taken", lambda _: "rests")
    profile = SimpleNamespace(question=SimpleNamespace(denied=""))
    view = SimpleNamespace(
        name="it",
        pane="%1",
        profile=profile,
        server=SimpleNamespace(press_where_shown=press),
        read_screen=read_screen,
        wait_until=wait_until,
    )
    with pytest.raises(SessionError, match="still asks the same"):
        await choice_presser.ChoicePresser(cast("Any", view)).answer("q", "1", lambda _: False)
    assert keys == pressed
