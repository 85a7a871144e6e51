"""What an agent's program lets a person choose for its session: its mode, its model and others, shown and set.

Only programs that speak the Agent Client Protocol have such options. A value counts as set once the program has said
so. Raises only `FleetError`.
"""

from __future__ import annotations

from gshtui.bus.agent_data import AgentRow, ProgramOption, ProgramValue
from gshtui.bus.events.agent_events import ProgramOptionRequested, ProgramSessionChanged
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.agent_buses import AgentBuses
from gshtui.text.sanitise import literal, one_line

_SET_WITHIN = 10.0
"""Seconds within which the program must have taken the value."""


class ProgramOptions:
    """See the module's text."""

    def __init__(self, buses: AgentBuses) -> None:
        self._buses = buses

    def check(self, row: AgentRow) -> None:
        """Raise `FleetError` where the agent's program offers nothing to choose."""
        if row.options:
            return
        why = "offers nothing to choose so far" if row.kind == "acp" else "has no options that can be set from here"
        hint = "A program names them once its session is open." if row.kind == "acp" else ""
        raise FleetError("invalid", f"{row.name} ({row.id}) {why}.", hint=hint)

    def find(self, row: AgentRow, word: str) -> ProgramOption:
        """The option with this id, category or name."""
        self.check(row)
        wanted = word.casefold()
        for one in row.options:
            if wanted in (one.id.casefold(), one.category.casefold(), one.name.casefold()):
                return one
        offered = ", ".join(_shown(one.id) for one in row.options)
        raise FleetError("invalid", f"{row.name} ({row.id}) has no option {_shown(word)!r}.", hint=f"It has {offered}.")

    def value(self, option: ProgramOption, word: str) -> ProgramValue:
        """The value of an option with this id or name, or the only one that begins so."""
        wanted = word.casefold()
        exact = [one for one in option.values if wanted in (one.value.casefold(), one.name.casefold())]
        begun = [one for one in option.values if (one.name or one.value).casefold().startswith(wanted)]
        if found := exact or (begun if len(begun) == 1 else []):
            return found[0]
        offered = ", ".join(_shown(one.value) for one in option.values)
        raise FleetError("invalid", f"{_shown(option.id)} cannot be {_shown(word)!r}.", hint=f"It can be {offered}.")

    async def set(self, row: AgentRow, option: ProgramOption, value: ProgramValue) -> tuple[ProgramOption, ...]:
        """Set it, and wait until the program has taken it; the options as they are then."""
        if option.value == value.value:
            return row.options

        def taken(event: ProgramSessionChanged) -> bool:
            now = next((one.value for one in event.options if one.id == option.id), "")
            return event.agent == row.id and now == value.value

        try:
            async with self._buses.reach(row) as bus:
                changed = bus.wait_for(ProgramSessionChanged, taken, timeout=_SET_WITHIN)
                bus.publish(ProgramOptionRequested(agent=row.id, option=option.id, value=value.value))
                return (await changed).options
        except TimeoutError:
            said = f"{row.name} ({row.id}) has not taken {_shown(value.value)} for {_shown(option.id)}."
            raise FleetError("busy", said, hint=f"`agent attach {row.id}` shows what its program says.") from None


def _shown(text: str) -> str:
    return one_line(literal(text), 60)
