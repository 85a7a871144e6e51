"""The wire form: every event there and back, what is not known passed through, what is broken refused by itself."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gshtui.bus import wire
from gshtui.bus.event import Event, Unknown
from gshtui.bus.events.agent_events import TextDelta
from gshtui.bus.events.hub_events import Noticed, SettingChanged
from gshtui.bus.wire import EVENT_TYPES, WireError, decode, encode, from_plain, to_plain
from tests.kit.cases import each_case
from tests.kit.storms import examples

finite = st.floats(allow_nan=False, allow_infinity=False)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | finite | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=8), plain, max_size=4)
st.register_type_strategy(float, finite)
st.register_type_strategy(int, st.integers(-(2**60), 2**60))


def of_type(kind: Any) -> st.SearchStrategy[Any]:
    """Values of an annotation as the wire can carry them."""
    if kind is Any:
        return plain
    if kind == dict[str, Any]:
        return objects
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return of_struct(kind)
    arguments: tuple[Any, ...] = getattr(kind, "__args__", ())
    if getattr(kind, "__origin__", None) is tuple:
        return st.lists(of_type(arguments[0]), max_size=3).map(tuple)
    if (
        arguments
        and not hasattr(kind, "__metadata__")
        and str(kind).find("Literal") != 0
        and "Literal" not in repr(kind)
    ):
        return st.one_of(*(of_type(argument) for argument in arguments))
    return st.from_type(kind)


def of_struct(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Values of a structure, each field of its own type."""
    fields = {field.name: of_type(field.type) for field in msgspec.structs.fields(kind) if field.name != "beyond"}
    return st.builds(kind, **fields)


def there_and_back(event: Event, name: str) -> None:
    line = encode(event)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line)["type"] == name
    assert decode(line) == event
    assert from_plain(to_plain(event)) == event


def test_every_event_comes_back_as_it_went() -> None:
    with each_case() as case:
        for name, kind in EVENT_TYPES.items():
            with case(name):
                settings(max_examples=examples(20))(given(of_struct(kind), st.just(name))(there_and_back))()


def test_a_property_that_fails_names_its_example() -> None:
    def positive(number: int) -> None:
        assert number > 0

    with pytest.raises(pytest.fail.Exception, match=r"'x': (?s:.*)number=0"), each_case() as case, case("x"):
        settings(database=None)(given(number=st.integers())(positive))()


def test_every_event_class_is_on_the_wire() -> None:
    classes = {kind.__name__ for kind in Event.__subclasses__() if kind.__module__.startswith("gshtui.")}
    assert classes - {"Unknown"} == set(EVENT_TYPES)


@given(st.sampled_from(sorted(EVENT_TYPES)), objects)
def test_unknown_fields_are_passed_on(name: str, more: dict[str, Any]) -> None:
    sample = {"v": wire.VERSION, "type": "TextDelta", "agent": "a", "session": "s", "message": "m", "text": "x"}
    more = {key: value for key, value in more.items() if key not in {*sample, "at"}}
    line = json.dumps({**sample, **more}).encode()
    assert json.loads(encode(decode(line))) == json.loads(line)


@given(st.text(min_size=1, max_size=20).filter(lambda name: name not in EVENT_TYPES), objects)
def test_unknown_types_are_passed_on(name: str, fields: dict[str, Any]) -> None:
    line = json.dumps({"v": 7, **fields, "type": name}).encode()
    event = decode(line)
    assert isinstance(event, Unknown)
    assert event.name == name
    assert json.loads(encode(event)) == json.loads(line)


def test_another_versions_number_is_passed_on() -> None:
    line = b'{"v":1,"type":"Noticed","text":"hello","tone":"soft"}'
    event = decode(line)
    assert isinstance(event, Noticed)
    assert json.loads(encode(event)) == json.loads(line)
    assert json.loads(encode(Noticed(text="x")))["v"] == wire.VERSION


def test_no_field_can_pass_itself_off_as_another() -> None:
    """A field called `beyond` is one like any other: it cannot change the type or a field on the way on."""
    line = b'{"v":2,"type":"Noticed","text":"hello","beyond":{"type":"ApprovalAnswered","text":"other"}}'
    event = decode(line)
    assert isinstance(event, Noticed)
    assert event.text == "hello"
    assert json.loads(encode(event)) == json.loads(line)
    made = Noticed(text="hello", beyond={"type": "ApprovalAnswered", "text": "other", "v": 1, "extra": 1})
    assert json.loads(encode(made)) == {"v": 1, "type": "Noticed", "text": "hello", "extra": 1}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "not JSON"),
        (b"\n", "not JSON"),
        (b"hello", "not JSON"),
        (b'{"type":"Noticed","text":"x"', "not JSON"),
        (b'{"type":"Noticed","text":"\xff"}', "not JSON"),
        (b'{"type":"Noticed","text":"\\ud800"}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"1e999", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"{}", "no `type`"),
        (b'{"type":5}', "no `type`"),
        (b'{"type":"Noticed"}', "Noticed: Object missing required field `text`"),
        (b'{"type":"Noticed","text":5}', r"Noticed: Expected `str`, got `int` - at `\$.text`"),
        (b'{"type":"Noticed","text":"x","level":"loud"}', "Noticed: Invalid enum value 'loud'"),
    ],
)
def test_a_broken_line_is_refused_with_the_reason(line: bytes, why: str) -> None:
    with pytest.raises(WireError, match=why):
        decode(line)


def test_a_line_over_the_limit_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: bytes) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(wire.msgspec.json, "decode", never)
    with pytest.raises(WireError, match=f"the limit is {wire.MAX_LINE}"):
        decode(b'"' + b"x" * wire.MAX_LINE + b'"')


@given(st.binary(max_size=200))
def test_garbage_never_raises_anything_else(line: bytes) -> None:
    try:
        decode(line)
    except WireError as error:
        assert str(error)


def test_what_json_cannot_say_is_made_sayable() -> None:
    event = SettingChanged(key="ls \udcff", value={"odd \udcff": ["\ud800", {1: object}], "path": b"\x00"})
    line = encode(event)
    back = decode(line)
    assert isinstance(back, SettingChanged)
    assert back.key == "ls ?"
    assert back.value["odd ?"][0] == "?"
    assert decode(encode(TextDelta(agent="a", session="s", message="m", text="\x1b[2J\u2028\x00"))) == TextDelta(
        agent="a", session="s", message="m", text="\x1b[2J\u2028\x00"
    )
