"""What the session of a program over ACP lets a person choose: its mode, its model and whatever else it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gshtui.bus.agent_data import ProgramOption
from gshtui.programs.acp.acp_connection import AcpConnection, AcpError
from gshtui.programs.acp.acp_updates import options_of
from gshtui.text.sanitise import one_line


class AcpProgramOptions:
    """The options as the program last told them."""

    def __init__(self, note: Callable[[str], None]) -> None:
        """`note`: tells a person of something that harms nothing."""
        self.offered: tuple[ProgramOption, ...] = ()
        self._note = note

    def open(self, answer: Mapping[str, Any]) -> None:
        """Take those that the answer to the opening of a session has."""
        self.offered = options_of(answer)

    def value(self, wanted: str) -> str:
        """The value of the option of this id or category; empty: there is none."""
        option = self._find(wanted)
        return option.value if option is not None else ""

    def note_mode(self, mode: str) -> None:
        """The program has changed its mode by itself."""
        self.offered = tuple(_with_value(one, "mode", mode) for one in self.offered)

    async def set(self, connection: AcpConnection | None, wanted: str, value: str) -> bool:
        """Set an option for a person, who hears it if that cannot be; returns whether it was. Raises `AcpError`."""
        option = self._find(wanted)
        if option is None or connection is None:
            offered = ", ".join(one.id for one in self.offered) or "none"
            self._note(f"This program has no option {one_line(wanted, 60)}; it has: {offered}.")
            return False
        if value not in {one.value for one in option.values}:
            self._note(f"{option.id} cannot be {one_line(value, 60)}.")
            return False
        await self._choose(connection, option, value)
        return True

    async def begin(self, connection: AcpConnection, wanted: str, value: str) -> None:
        """Set an option at the start, where the program has it; a person hears it if it cannot be."""
        option = self._find(wanted)
        if option is None or option.value == value:
            return
        if value not in {one.value for one in option.values}:
            self._note(f"{connection.name} has no {wanted} {one_line(value, 60)}; it goes on with {option.value}.")
            return
        try:
            await self._choose(connection, option, value)
        except AcpError as error:
            self._note(f"{error.message} It goes on with the {wanted} {option.value}.")

    def _find(self, wanted: str) -> ProgramOption | None:
        return next((one for one in self.offered if wanted in (one.id, one.category)), None)

    async def _choose(self, connection: AcpConnection, option: ProgramOption, value: str) -> None:
        told = options_of(await connection.set_option(option.way, option.id, value))
        self.offered = told or tuple(_with_value(one, option.id, value) for one in self.offered)


def _with_value(option: ProgramOption, id: str, value: str) -> ProgramOption:
    return msgspec.structs.replace(option, value=value) if id in (option.id, option.category) else option
