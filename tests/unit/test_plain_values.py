"""What processes tell each other comes back as it was, and nothing that comes in runs anything."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus import wire
from gshtui.bus.shell_rows import Filter
from gshtui.client.window_protocol import error_of, may_publish, plain_error
from gshtui.commands.catalogue import Catalogue, CommandEntry
from gshtui.commands.declaration import (
    Command,
    Effect,
    Invocation,
    Outcome,
    Question,
    ToastView,
    Unconfirmed,
    UnknownCommand,
    UsageError,
)
from gshtui.commands.registry import Registry
from gshtui.fleet.core.agent_calls import ListAgents
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.plain_values import PlainValueError, from_plain, to_plain
from gshtui.tmux.tmux_errors import TmuxError
from tests.kit.samples import sample

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)  # lone surrogates, too
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | TEXT
    | st.binary(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(TEXT, inner, max_size=3)
        | st.dictionaries(st.integers(0, 9) | st.just("%"), inner, max_size=3)
        | st.frozensets(TEXT, max_size=3)
        | inner.map(lambda data: Outcome(data=data, view=ToastView("t")))
        | TEXT.map(lambda text: Filter(text=text, cwd=text))
        | TEXT.map(Path)
    ),
    max_leaves=12,
)


def through(value: object) -> Any:
    """As it arrives at the other end of a connection."""
    return from_plain(msgspec.json.decode(json.dumps(to_plain(value)).encode("ascii")))


@given(PLAIN)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    back = through(value)
    assert back == value and type(back) is type(value)


def test_every_event_comes_back() -> None:
    for kind in wire.EVENT_TYPES.values():
        assert through(sample(kind)) == sample(kind)


def test_parameters_and_questions_come_back() -> None:
    value = ListAgents(windows=False)
    question = Question(value, "Do it?", losses=("a", "b"))
    assert through(question) == question and through([value, Effect.READ, math.inf]) == [value, Effect.READ, math.inf]


@pytest.mark.parametrize(
    "foreign",
    [
        {"%": "os:system", "of": {"command": "touch RAN"}},
        {"%": "subprocess:Popen", "of": {"args": ["touch", "RAN"]}},
        {"%": "gshtui.system.processes.processes:kill_child", "of": {}},
        {"%": "gshtui.system.plain_values:import_module", "of": {"name": "os"}},
        {"%": "gshtui.commands.registry:Registry", "of": {}},
        {"%": "gshtui.bus.shell_rows:Filter", "of": {"unknown": 1}},
        {"%": "gshtui.bus.shell_rows:Filter", "of": 3},
        {"%": "gshtui.no_such:Thing", "of": {}},
        {"%": "bytes", "of": 3},
        {"%": "tuple", "of": None},
        {"%": ["list"], "of": None},
        {"%": "gshtui.fleet.core.agent_calls:ListAgents", "of": {"windows": {"%": "os:system", "of": {}}}},
    ],
)
def test_what_is_no_data_of_ours_is_refused(foreign: Any) -> None:
    with pytest.raises(PlainValueError):
        from_plain(foreign)


@pytest.mark.parametrize("value", [object(), len, print, Registry()])
def test_what_is_no_data_is_not_told(value: object) -> None:
    with pytest.raises(PlainValueError):
        to_plain(value)


def _unconfirmed() -> Unconfirmed:
    return Unconfirmed("It costs.", hint="Say yes.", data={"kind": "cost"})


@pytest.mark.parametrize(
    "make",
    [
        _unconfirmed,
        lambda: UsageError("Wrong.", hint="So."),
        lambda: UnknownCommand("There is none."),
        lambda: StoreError("full", "The disk is full.", hint="Make room."),
        lambda: TmuxError("gone", "No server.", "Start it."),
    ],
)
def test_failures_come_back_as_what_they_were(make: Callable[[], Any]) -> None:
    error = make()
    back = error_of(msgspec.json.decode(json.dumps(plain_error(error)).encode("ascii")))
    assert type(back) is type(error) and str(back) == str(error) and vars(back) == vars(error)
    assert back.args == error.args


def test_a_window_says_what_a_person_wants_and_never_a_fact() -> None:
    said = {name for name, kind in wire.EVENT_TYPES.items() if may_publish(sample(cast("Any", kind)))}
    assert {"PromptSubmitted", "ApprovalAnswered", "InterruptRequested", "QuitRequested", "Noticed"} <= said
    assert "ApprovalRequested" not in said, "a question is a fact"
    assert not said & {"TurnFinished", "MessageAppended", "AgentStatusChanged", "ApprovalSettled", "ToolFinished"}
    assert not {name for name in said if name.endswith(("Finished", "Started", "Changed", "Settled", "Appended"))}


def test_a_command_as_a_list_of_commands_shows_it() -> None:
    async def nothing(_invocation: Invocation, _parameters: ListAgents) -> Outcome:
        return Outcome()

    catalogue = Catalogue(Registry([Command("garden", "Water it", ListAgents, nothing, aliases=("g",))]))
    entry = CommandEntry("garden", "Water it", ("g",), frozenset(ListAgents.model_fields))
    assert catalogue["garden"] == entry == through(entry)
    assert "garden" in catalogue and "no such command" not in catalogue
    with pytest.raises(KeyError):
        catalogue["no such command"]
