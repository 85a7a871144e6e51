"""Values for a server's question, in words: typed as it asks for them, complete, and its own names only."""

import pytest

from gshtui.mcp_client.elicitations import (
    Elicitations,
    FieldError,
    checked_values,
    defaults,
    parsed_values,
    question_text,
)
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


@pytest.mark.parametrize(
    ("form", "right", "wrong"),
    [
        ("email", ["ann@example.org", "ann+x@localhost"], ["notmail", "a@", "@b", "a b@c.org", "a@b@c", "a@.org"]),
        ("uri", ["https://example.org/a?b", "urn:isbn:1"], ["example.org", "https:", "https://a b", "1:x"]),
        ("date", ["2026-02-28"], ["2026-02-30", "20260228", "2026-W01-1", "28.2.2026"]),
        ("date-time", ["2026-01-31T09:30:00Z", "2026-01-31T09:30:00.5+02:00"], ["2026-01-31", "2026-01-31T25:00:00Z"]),
        ("unknown", ["anything"], []),
    ],
)
def test_a_text_has_the_format_that_is_asked_for(form: str, right: list[str], wrong: list[str]) -> None:
    asked = Elicitation("", {"mail": {"type": "string", "format": form, "title": "Your address"}}, ("mail",))
    for text in right:
        assert checked_values(asked, {"mail": text}) == {"mail": text}
    for text in wrong:
        with pytest.raises(FieldError, match=r"^Your address must be an? ") as refused:
            checked_values(asked, {"mail": text})
        assert refused.value.field == "mail"
        with pytest.raises(FieldError, match=r"^mail must be an? "):
            parsed_values(asked, f"mail='{text}'")


def test_a_question_says_what_it_asks_for_in_plain_words() -> None:
    fields = {**ASKED.fields, "mail": {"format": "email", "title": "Your address", "description": "For the receipt."}}
    assert question_text(Elicitation("Which?", fields)).split("\n") == [
        "It asks for:",
        "- colour (red or blue)",
        "- bright (yes or no)",
        "- count (a whole number)",
        "- Your address (an email address): For the receipt.",
    ]


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
