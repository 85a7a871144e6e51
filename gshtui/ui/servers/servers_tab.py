"""The tab of MCP servers: each with its state in this window and for agents in terminals, its tools, and how it is
configured.

Owns what is said of a server; the actions are the command `mcp`'s.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.content import Content

from gshtui.bus.event import Event
from gshtui.bus.events.server_events import ToolServerChanged
from gshtui.text.sanitise import literal, one_line, visible
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.row_actions import row_bindings
from gshtui.ui.kit.widgets.list_rows import ListRow
from gshtui.ui.kit.widgets.list_tab import ListTab

if TYPE_CHECKING:
    from gshtui.mcp_client.mcp_calls import ServerRow

EMPTY = "No MCP servers yet. Press a to add one, i to import from other programs."
_SIGNS = {
    "ready": ("●", "$success"),
    "starting": ("◌", "$primary"),
    "waiting": ("◌", "$warning"),
    "failed": ("✗", "$error"),
}
_SOURCES = {"yours": "your configuration", "project": "the project's configuration", "editor": "your editor"}
_MUTED = "$foreground-muted"
_TOOLS = 200
LoadServers = Callable[[], Awaitable["Sequence[ServerRow] | None"]]


class ServersTab(ListTab["ServerRow"]):
    """See the module."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (ToolServerChanged,)
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("servers.menu", "want('servers.menu')"),
        *row_bindings("servers"),
        bind("servers.add", "want_here('servers.add')"),
        bind("servers.import", "want_here('servers.import')"),
        bind("servers.details", "details"),
        bind("servers.reload", "reload"),
        bind("servers.close", "close"),
    ]

    def __init__(self, load: LoadServers, perform: Callable[[str, ServerRow | None], None]) -> None:
        super().__init__(EMPTY)
        self._perform = perform
        self._load_rows = load

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        if events:
            self.reload()

    def action_want(self, key: str) -> None:
        """Request an action on the server under the cursor."""
        if self.chosen is not None:
            self._perform(key, self.chosen)

    def action_want_here(self, key: str) -> None:
        """Request an action that needs no server."""
        self._perform(key, None)

    def action_reload(self) -> None:
        """Read the servers again."""
        self.reload()

    async def load(self) -> Sequence[ServerRow] | None:
        return await self._load_rows()

    def name_of(self, row: ServerRow) -> str:
        return row.definition.name

    def row_of(self, row: ServerRow) -> ListRow:
        sign, colour = state_sign(row)
        tools = _count(len(row.pins.accepted), "tool") if row.is_known else ""
        others = f"+{len(row.elsewhere)}" if row.elsewhere else ""
        detail = " ".join(filter(None, (others, tools)))
        return ListRow(row.definition.name, detail, short_state(row), mark=f"{sign} ", colour=colour)

    def heading(self) -> Content:
        ready = sum(row.state == "ready" for row in self.rows)
        waiting = sum(needs_person(row) for row in self.rows)
        words = " MCP servers" + f" · {ready} of {len(self.rows)} running in this window" * bool(self.rows)
        asks = f" · {waiting} to accept" if waiting else ""
        return Content.assemble((words, "bold"), (asks, "bold $warning"))

    def details_of(self, row: ServerRow) -> Content:
        return Content("\n").join(server_lines(row))


def needs_person(row: ServerRow) -> bool:
    """Whether a person must accept it, or its changed tools, before agents get them."""
    return row.definition.settings.enabled and (not row.agreed or (row.is_known and bool(row.pins.changed)))


def short_state(row: ServerRow) -> str:
    """Its state in a word or two."""
    if not row.definition.settings.enabled:
        return "disabled"
    if not row.agreed:
        return "not accepted"
    if row.is_known and row.pins.changed:
        return "tools changed"
    return {"off": "not started", "waiting": "starts again soon"}.get(row.state, row.state)


def state_sign(row: ServerRow) -> tuple[str, str]:
    """A sign for its state, and its colour."""
    if not row.definition.settings.enabled:
        return "–", _MUTED
    if needs_person(row):
        return "◆", "$warning"
    return _SIGNS.get(row.state, ("○", _MUTED))


def server_lines(row: ServerRow) -> list[Content]:
    """All about a server."""
    definition, settings = row.definition, row.definition.settings
    sign, colour = state_sign(row)
    begun = f" · started in {row.started_in:.1f} s" if row.state == "ready" else ""
    lines = [Content.assemble((f"{sign} {short_state(row)}", f"bold {colour}"), (begun, _MUTED))]
    if row.why:
        lines.append(Content.styled(_shown(row.why), "$error"))
    if row.about:
        lines.append(Content.styled(_shown(row.about), _MUTED))
    if row.elsewhere:
        lines.append(_field("agents", ", ".join(f"{agent}: {state}" for agent, state in row.elsewhere)))
    lines += [Content(), _field("runs" if not definition.is_http else "address", definition.line)]
    lines.append(_field("from", _SOURCES[definition.source]))
    if settings.cwd:
        lines.append(_field("starts in", settings.cwd))
    for label, values in (("variable", settings.env), ("header", settings.headers)):
        lines += [_field(label, f"{name} = {value}") for name, value in values.items()]
    if not definition.is_http:
        where = row.outside and f"outside it: {row.outside}"
        lines.append(_field("sandbox", where or ("yes" if settings.sandbox else "no")))
    for label, values in (("may reach", definition.hosts), ("may write", settings.writable)):
        lines += [_field(label, ", ".join(values))] if values else []
    return [*lines, Content(), *_offered(row), *_said(row)]


def _offered(row: ServerRow) -> list[Content]:
    if not row.is_known:
        return [Content.styled("Its tools are unknown until its first run.", _MUTED)]
    changed = {pin.name: pin for pin in row.pins.changed}
    lines: list[Content] = []
    if changed:
        told = f"New or changed, held back until you accept: {_count(len(changed), 'tool')}"
        lines += [Content.styled(told, "bold $warning")]
        lines += [_tool("◆", pin.name, pin.description) for pin in changed.values()]
        lines.append(Content())
    lines.append(Content.styled(_count(len(row.pins.accepted), "tool"), "bold"))
    lines += [_tool("·", pin.name, pin.description) for pin in row.pins.accepted[:_TOOLS] if pin.name not in changed]
    if row.pins.prompts:
        lines += [Content(), Content.styled(_count(len(row.pins.prompts), "prompt"), "bold")]
        lines += [_tool("/", pin.name, pin.description) for pin in row.pins.prompts]
    if row.pins.has_resources:
        told = f"Resources: write @{row.definition.name}:ADDRESS in a prompt to add one."
        lines += [Content(), Content.styled(told, _MUTED)]
    return lines


def _said(row: ServerRow) -> list[Content]:
    if not row.said:
        return []
    lines = [Content(visible(line)[:400]) for line in row.said[-20:]]
    return [Content(), Content.styled("Last lines of its error output", "bold"), *lines]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _tool(sign: str, name: str, description: str) -> Content:
    return Content.assemble(f"{sign} ", (_shown(name), "$primary"), (f"  {_shown(description)}", _MUTED))


def _field(label: str, value: str) -> Content:
    return Content.assemble((f"{label:<10}", _MUTED), _shown(value))


def _shown(text: str) -> str:
    return one_line(literal(text), 400)
