"""What goes into the record comes out of it: any message, whatever a tool or a model put into it."""

from __future__ import annotations

import math
import sqlite3
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.messages import Document, Image, Message, Text, Thinking, ToolCall, ToolResult, Usage, user_message
from gshtui.store.engine import encoding, migrations
from gshtui.store.tables import message_table, session_table

_texts = st.text(st.characters(exclude_categories=["Cs"]))
_any_text = st.text(st.characters())
_numbers = st.integers() | st.integers(2**62, 2**80) | st.floats(allow_nan=False, allow_infinity=False)
_json = st.recursive(
    st.none() | st.booleans() | _numbers | _texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4),
    max_leaves=12,
)
_anything = st.recursive(
    st.none() | st.integers() | st.floats() | _any_text | st.binary() | st.sets(st.integers()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_any_text | st.integers(), inner, max_size=4),
    max_leaves=12,
)


def _messages(text: st.SearchStrategy[str], value: st.SearchStrategy[Any], seconds: st.SearchStrategy[float]) -> Any:
    objects = st.dictionaries(text, value, max_size=3)
    count = st.integers(0, 2**40)
    blocks = st.one_of(
        st.builds(Text, text=text, opaque=objects),
        st.builds(Thinking, text=text, opaque=objects),
        st.builds(Image, media_type=text, data=text, name=text),
        st.builds(Document, media_type=text, data=text, name=text),
        st.builds(ToolCall, id=text, name=text, arguments=objects, broken=text, opaque=objects),
        st.builds(ToolResult, call_id=text, name=text, content=text, duration=seconds, bytes=count, diff=text),
    )
    return st.builds(
        Message,
        id=text,
        role=st.sampled_from(["user", "assistant", "tool"]),
        blocks=st.lists(blocks, max_size=4).map(tuple),
        at=seconds,
        agent=text,
        turn=text,
        iteration=count,
        provider=text,
        model=text,
        stop=text,
        usage=st.none() | st.builds(Usage, input=count, output=count, cache_read=count),
    )


@pytest.fixture(scope="module")
def log() -> Any:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrations.migrate(connection, migrations.Path(":memory:"))
    yield connection
    connection.close()


def _through(log: sqlite3.Connection, message: Message) -> Message:
    info = session_table.create_session(log, cwd="/", agent="main", provider="", model="", title="", parent="")
    assert message_table.append_message(log, info.id, message) == 1
    (stored,), unreadable = message_table.page_of(log, info.id, None, None)
    assert unreadable == 0
    return stored.message


@given(message=_messages(_texts, _json, st.floats(allow_nan=False, allow_infinity=False)))
def test_a_message_comes_back_as_it_was(log: sqlite3.Connection, message: Message) -> None:
    assert _through(log, message) == message


@given(message=_messages(_any_text, _anything, st.floats()))
def test_an_odd_message_is_kept_and_then_stays_as_it_is(log: sqlite3.Connection, message: Message) -> None:
    kept = _through(log, message)
    assert [type(block) for block in kept.blocks] == [type(block) for block in message.blocks]
    kept.text.encode()  # raises where anything is left that UTF-8 cannot say
    assert _through(log, kept) == kept


def test_what_json_cannot_hold_is_kept_as_words() -> None:
    odd: dict[Any, Any] = {"half": "a\udc80b", "nan": math.nan, "big": 2**70, "down": -math.inf, "set": {1}, 7: "x"}
    call = ToolCall("c", "t", odd)
    kept = encoding.decode_message(encoding.encode_message(Message("m", "assistant", (call,)))).calls[0].arguments
    assert kept == {"half": "a\ufffdb", "nan": "nan", "big": 2**70, "down": "-inf", "set": "{1}", "7": "x"}


def test_bottomless_and_endless_values_are_cut_and_said() -> None:
    deep: list[Any] = []
    inner = deep
    for _ in range(5_000):
        inner.append([])
        inner = inner[0]
    message = Message("m", "assistant", (ToolCall("c", "t", {"deep": deep, "long": 1 << 20_000}),))
    kept = encoding.decode_message(encoding.encode_message(message))
    text = msgspec.json.encode(kept).decode()
    assert encoding.TOO_DEEP in text
    assert kept.calls[0].arguments["long"] == "(an integer of 20001 bits)"


def test_a_whole_pair_of_surrogates_becomes_its_character() -> None:
    assert encoding.clean_text("\ud83d\ude00 \ude00") == "😀 \ufffd"


def test_control_characters_are_written_out_for_printing() -> None:
    assert encoding.visible("a\x1b[2Jb\x9bc\r\n\td") == "a\\x1b[2Jb\\x9bc\\x0d\n\td"


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("\n\n  fix   the\ttests \nand more", "fix the tests"),
        ("\x1b[31mred\x1b[0m \x07bell", "red bell"),
        ("x" * 300, "x" * 79 + "…"),
        ("", ""),
    ],
)
def test_a_title_is_the_first_line_in_one_line(prompt: str, title: str) -> None:
    assert session_table.title_of(user_message(prompt, id="p").text) == title
