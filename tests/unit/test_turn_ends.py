"""Each way in which a turn of the hub ends has an exit code."""

from typing import get_args

from gshtui.headless.turns import prompt_turn
from gshtui.hub.faces.turn_request import TurnEnd


def test_each_end_has_its_code() -> None:
    assert {*get_args(TurnEnd)} == {"finished", "printed", *prompt_turn._CODES}
