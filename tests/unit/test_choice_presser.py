"""How often a key is pressed for one answer."""

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

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
    read = asks(partial=partial)
    reading = SimpleNamespace(read=structs.replace(read, selected=marked), status="waiting")

    def press() -> None:
        reading.read = read

    terminal, keys = shown(lambda: reading, press)
    monkeypatch.setattr(choice_presser, "input_taken", lambda _: "rests")
    with pytest.raises(SessionError, match=said):
        await choice_presser.ChoicePresser(terminal).answer("q", "1", lambda _: False)
    assert keys == pressed


@pytest.mark.parametrize("partial", [True, False])
async def test_a_cut_question_that_goes_and_comes_again_is_not_answered(partial: bool) -> None:
    """Somebody has answered the one before it, and it is about something else; or it was only painted anew."""
    looks = ["thinking", "waiting"]
    terminal, keys = shown(
        lambda: SimpleNamespace(
            read=asks(partial=partial) if looks[0] == "waiting" and not keys else None,
            status=looks.pop(0) if len(looks) > 1 else looks[0],
        ),
        lambda: None,
    )
    with pytest.raises(SessionError, match="asks again") if partial else contextlib.nullcontext():
        await choice_presser.ChoicePresser(terminal).answer("q", "1", lambda _: False)
    assert keys == ([] if partial else ["1"])


def asks(*, partial: bool) -> ReadQuestion:
    choices = (QuestionChoice("1", "Yes", "once"), QuestionChoice("2", "No", "deny"))
    return ReadQuestion(OpenQuestion("q", "Run it?", "touch a", choices, partial=partial), 0, digits=("1", "2"))


def shown(reading: Callable[[], Any], pressed: Callable[[], None]) -> tuple[Any, list[str]]:
    """A terminal that shows this at each look; the keys that are pressed in it."""
    keys = list[str]()
    info = SimpleNamespace(in_mode=False, attached=False, local_pid=1)

    async def press(_pane: str, key: str, _rows: object) -> bool:
        keys.append(key)
        pressed()
        return True

    async def read_screen() -> Any:
        return SimpleNamespace(dead=False, reading=reading(), info=info, lines=())

    async def wait_until(true: Any, _within: object = None) -> Any:
        look = await read_screen()
        return look if true(look) else None

    view = SimpleNamespace(
        name="it",
        pane="%1",
        profile=SimpleNamespace(question=SimpleNamespace(denied="")),
        server=SimpleNamespace(press_where_shown=press),
        read_screen=read_screen,
        wait_until=wait_until,
    )
    return view, keys
