"""How often a key is pressed for one answer."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from gshtui.bus.agent_data import OpenQuestion, QuestionChoice
from gshtui.programs.pane import choice_presser
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.screen.asked_question import ReadQuestion

GIVEN, MOVED = "^The answer was given, but it still asks", "^it still asks the same: its mark is on that answer now"


@pytest.mark.parametrize(
    ("partial", "marked", "pressed", "said"),
    [
        (True, 0, ["1"], GIVEN),
        (False, 0, ["1", "Enter", "Enter"], GIVEN),
        (True, 1, ["1"], MOVED),
        (False, 1, ["1", "Enter", "Enter"], GIVEN),
    ],
)
async def test_a_key_is_pressed_again_only_where_the_next_question_cannot_look_the_same(
    partial: bool, marked: int, pressed: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program's digit brings its mark to its choice, from `marked`, and no more."""
    choices = (QuestionChoice("1", "Yes", "once"), QuestionChoice("2", "No", "deny"))
    read = ReadQuestion(OpenQuestion("q", "Run it?", "touch a", choices, partial=partial), 0, digits=("1", "2"))
    info = SimpleNamespace(in_mode=False, attached=False, local_pid=1)
    reading = SimpleNamespace(read=structs.replace(read, selected=marked), status="waiting")
    look = SimpleNamespace(dead=False, reading=reading, info=info, lines=())
    keys = list[str]()

    async def press(_pane: str, key: str, _rows: object) -> bool:
        keys.append(key)
        reading.read = read
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
    with pytest.raises(SessionError, match=said):
        await choice_presser.ChoicePresser(cast("Any", view)).answer("q", "1", lambda _: False)
    assert keys == pressed
