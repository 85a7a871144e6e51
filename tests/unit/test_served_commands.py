"""What programs are sent by MCP: no secret passes, whatever value of ours it is in."""

import dataclasses
import json
from collections import OrderedDict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gshtui.features.mcp_server.served_commands import written

SECRET = "hunter2-hunter2"


class Held(msgspec.Struct, frozen=True):
    value: Any


@dataclasses.dataclass(frozen=True)
class Kept:
    value: Any


class Told:
    """It says what it holds in its text."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __str__(self) -> str:
        return f"it has {self.value}"


LEAVES = st.sampled_from((SECRET, f"a {SECRET} b", Path(SECRET), SECRET.encode(), bytearray(SECRET, "ascii")))

HOLDERS = (
    Held,
    Kept,
    Told,
    lambda one: (one,),
    lambda one: frozenset((str(one),)),
    lambda one: [one, 1],
    lambda one: {str(one)},
    lambda one: {"k": one},
    lambda one: {str(one): 1},
    lambda one: OrderedDict(k=one),
    lambda one: MappingProxyType({"k": one}),
)
VALUES = st.recursive(LEAVES, lambda inner: st.builds(lambda make, one: make(one), st.sampled_from(HOLDERS), inner))


@given(VALUES)
def test_no_secret_passes(value: object) -> None:
    sent = written(value, lambda text: text.replace(SECRET, "*"))
    assert SECRET not in sent and "*" in sent and json.loads(sent) is not None
