"""Changes the mode of another vendor's program that runs: by its protocol, else by its key until its screen shows it.

By its key only at rest, since it may come through wider modes on the way. Refuses what the program does not have, or
takes only at its start. Raises only `FleetError`.
"""

from __future__ import annotations

from gshtui.bus.agent_data import AgentRow, GuardMode, ProgramMode
from gshtui.fleet.core.agent_programs import Programs, from_session_error
from gshtui.fleet.core.ports import FleetError
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.profiles.program_modes import offered, refusal
from gshtui.text.similar_names import known_names
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
