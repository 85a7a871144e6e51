"""Commands that look at contexts, as code calls them, `await hub.call(ReadContext(agent="main"))`; their results.

These are for code alone, beside the parameters of the lines; panes name a request by its id and a text by its hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import msgspec

from gshtui.bus.context_data import Block, Difference, Iteration, Receipt
from gshtui.commands.declaration import Parameters, Returns
from gshtui.context.views import Carry, ContextView, Forecast, RequestText, WhatIf

CONTEXT_PARTS = frozenset({"store", "providers"})
"""The parts of the hub that the commands about contexts need."""


class RequestName(NamedTuple):
    """One side of a comparison, as the caller names it."""

    agent: str = ""
    """Id or name; empty: the agent whose context is shown."""
    request: str = ""
    """Number or id; empty: the next one."""


class FoundRequest(msgspec.Struct, frozen=True):
    """One request of an agent. `number` counts its requests from 1; 0 and an empty `id`: the next one."""

    agent: str
    id: str = ""
    number: int = 0

    def __str__(self) -> str:
        return f"{self.agent}:{self.number or 'next'}"


class ContextReport(msgspec.Struct, frozen=True):
    """The contents of one request, and how much of them is shown."""

    view: ContextView
    name: str
    """What people call the agent."""
    number: int
    """The request's number in its agent's timeline; 0: the next one."""
    section: str
    """Only this section; empty: all."""
    limit: int
    """Most blocks of each section; 0: all."""
    texts: Mapping[str, str] | None
    """By hash, if requested."""
    request: RequestText | None
    """The request's body, if requested."""
    forecast: Forecast | None
    """The forecast, if all of the next request is shown."""
    as_json: bool


class BlockText(msgspec.Struct, frozen=True):
    """One block of a request with its exact text."""

    number: int
    """Its place in the request."""
    block: Block
    text: str


class ContextDifference(msgspec.Struct, frozen=True):
    """The differences between two requests."""

    first: FoundRequest
    second: FoundRequest
    before: ContextView
    after: ContextView
    differences: Sequence[Difference]
    limit: int = 0
    """Most differences to show, the last ones; 0: all."""
    texts: Mapping[str, str] | None = None
    """By hash, if requested."""
    as_json: bool = False


class Timeline(msgspec.Struct, frozen=True):
    """An agent's requests and cuts, oldest first, and when the next cut comes."""

    agent: str
    name: str
    """What people call the agent."""
    iterations: Sequence[Iteration]
    receipts: Sequence[Receipt]
    forecast: Forecast
    limit: int
    """Most requests and cuts to list, the newest."""


class IterationList(msgspec.Struct, frozen=True):
    """An agent's requests, oldest first."""

    iterations: Sequence[Iteration]


class ReceiptList(msgspec.Struct, frozen=True):
    """An agent's cuts, oldest first."""

    receipts: Sequence[Receipt]


class WhatIfReport(msgspec.Struct, frozen=True):
    """The next request under other circumstances, compared with the current one."""

    agent: str
    now: ContextView
    then: WhatIf
    model: str
    """The other model, as the caller named it; empty: the same."""


class CarryCosts(msgspec.Struct, frozen=True):
    """The things that were read once and are paid for with every request, most expensive first."""

    costs: Sequence[Carry]
    limit: int
    """Most lines to show."""


class _OfAgent(Parameters):
    """Whose context is looked at."""

    agent: str = ""
    """Id or name; empty: the agent in front, or the calling agent."""


class CompareContexts(_OfAgent, Returns[ContextDifference]):
    """What differs between two requests, of one agent or of two."""

    COMMAND: ClassVar[str] = "context"
    before: RequestName
    after: RequestName = RequestName()
    section: str = ""
    limit: int = 0
    texts: bool = False
    as_json: bool = False


class ReadContext(_OfAgent, Returns[ContextView]):
    """A past request by its id or, without one, the next request."""

    COMMAND: ClassVar[str] = "context"
    iteration: str = ""


class ReadRequest(_OfAgent, Returns[RequestText]):
    """A past request by its id or, without one, the next request, in the form that its provider gets."""

    COMMAND: ClassVar[str] = "context"
    iteration: str = ""


class ReadText(Parameters, Returns[str]):
    """A block's text."""

    COMMAND: ClassVar[str] = "context"
    hash: str


class ShowReceipt(_OfAgent, Returns[Receipt]):
    """One cut by its id, or by the beginning or end of its id."""

    COMMAND: ClassVar[str] = "timeline"
    cut: str


class ReadIterations(_OfAgent, Returns[IterationList]):
    """An agent's newest requests."""

    COMMAND: ClassVar[str] = "timeline"
    limit: int = 500


class ReadReceipts(_OfAgent, Returns[ReceiptList]):
    """An agent's cuts; none if it has no conversation."""

    COMMAND: ClassVar[str] = "timeline"


class ForecastContext(_OfAgent, Returns[Forecast]):
    """When an agent's next compaction comes."""

    COMMAND: ClassVar[str] = "timeline"
