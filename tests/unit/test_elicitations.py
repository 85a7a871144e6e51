"""Values for a server's question, in words: typed as it asks for them, complete, and its own names only."""

import pytest

from gshtui.mcp_client.elicitations import Elicitations, defaults, parsed_values
from gshtui.mcp_client.server_definition import McpError
from gshtui.mcp_client.server_requests import Elicitation

ASKED = Elicitation(
    "Which?",
    {
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "bright": {"type": "boolean"},
        "count": {"type": "integer", "default": 3},
    },
    ("colour",),
)


def test_values_are_typed_and_defaults_added() -> None:
    assert parsed_values(ASKED, "colour=red bright=yes") == {"colour": "red", "bright": True, "count": 3}
    assert parsed_values(ASKED, "'colour=red bright=yes'")["bright"] is True
    assert parsed_values(Elicitation("", {"text": {}}), "text='two words'") == {"text": "two words"}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("bright=yes", "colour is missing"),
        ("colour=green", "colour must be one of "),
        ("colour=red count=x", "count must be a "),
        ("colour=red \x1b[31mother=1", "not one of its values"),
        ("colour='red", "not complete"),
    ],
)
def test_other_values_are_refused(words: str, why: str) -> None:
    with pytest.raises(McpError, match=why) as refused:
        parsed_values(ASKED, words)
    assert "\x1b" not in str(refused.value)
    assert "red or blue" in refused.value.hint


def test_agreeing_is_enough_only_where_nothing_else_is_asked() -> None:
    assert defaults(ASKED) is None
    assert defaults(Elicitation("Sure?", {"sure": {"type": "boolean"}}, ("sure",))) == {"sure": True}


async def test_one_question_a_server_and_an_answer_once() -> None:
    open_ones = Elicitations()
    answer = open_ones.open("kit", ASKED)
    with pytest.raises(McpError, match="asks already"):
        open_ones.open("kit", ASKED)
    open_ones.answer("kit", "colour=blue")
    assert (await answer)["colour"] == "blue"
    with pytest.raises(McpError, match="is not asking anything"):
        open_ones.answer("kit", "colour=blue")
