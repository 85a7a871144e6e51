"""What an agent's program lets a person choose for its session: its mode, its model and others, shown and set.

Only programs that speak the Agent Client Protocol have such options. A value counts as set once the program has said
so. A mode is changed by its protocol, else by its key until its screen shows it, only at rest: it may come through
wider modes on the way. Raises only `FleetError`.
"""

from __future__ import annotations

from gshtui.bus.agent_data import AgentRow, GuardMode, ProgramMode, ProgramOption, ProgramValue
from gshtui.bus.events.agent_events import ProgramOptionRequested, ProgramSessionChanged
from gshtui.fleet.core.agent_programs import Programs, from_session_error
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.agent_buses import AgentBuses
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.profiles.program_modes import offered, refusal
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import literal, one_line
from gshtui.tmux.server import TmuxServer


async def change_mode(programs: Programs, server: TmuxServer, row: AgentRow, mode: GuardMode) -> ProgramMode:
    """Put the agent's program into a mode; the one that it shows then."""
    profile = await programs.profile(row)
    who = f"{row.name} ({row.id})"
    if why := refusal(profile, mode, row.argv[:1]):
        raise FleetError("invalid", why, hint=_has(profile))
    session = await programs.session(server, row)
    try:
        if (told := await session.change_mode(mode)) is not None:
            return told
    except SessionError as error:
        raise from_session_error(error) from error
    if not (profile.modes.keys and any(rule.shown for rule in profile.modes.each if rule.like == mode)):
        hint = f"Start one with `agent spawn --cli {profile.name} --mode {mode}`, or change it in its terminal."
        how = "is not connected to its server" if profile.protocol == "codex" else "takes its mode only when it starts"
        raise FleetError("invalid", f"{profile.title} {how}, so {who} keeps its own mode.", hint=hint)
    try:
        return await session.writer.change_mode(profile.modes.keys, lambda now: now.like == mode)
    except SessionError as error:
        raise from_session_error(error) from error


def next_of(profile: Profile, row: AgentRow) -> GuardMode:
    """The mode that follows in the program's own; `yolo` is chosen by its name alone. Raises `FleetError`."""
    modes: list[GuardMode] = [mode for mode in offered(profile) if mode != "yolo"]
    if not modes:
        raise FleetError("invalid", refusal(profile, "ask", row.argv[:1]))
    now: GuardMode | str = (row.program_mode.like if row.program_mode is not None else "") or row.held_to
    at = next((number for number, mode in enumerate(modes) if mode == now), -1)
    return modes[(at + 1) % len(modes)]


def _has(profile: Profile) -> str:
    return known_names("modes", modes) if (modes := offered(profile)) else "Change it in its terminal."


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
