"""The variables of an interpreter as they are kept for the next one: opaque texts, and where they were made.

They are code to whoever loads them. So only an interpreter does, and only one that can reach no more than the one that
made them: where that was is noted by the hub, and not by what ran there. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gshtui.python.protocol import KeptVariables
from gshtui.system.struct_types import learned

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandbox import ProjectSandbox


class Confinement(msgspec.Struct, frozen=True):
    """What an interpreter could reach. No `program`: all that the person can."""

    program: str = ""
    project: str = ""
    read_only: bool = False
    network: bool = True
    hosts: frozenset[str] = frozenset()
    writable: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    visible: frozenset[str] = frozenset()

    @classmethod
    def from_sandbox(cls, sandbox: ProjectSandbox | None) -> Confinement:
        if sandbox is None:
            return cls()
        return cls(
            sandbox.program,
            str(sandbox.project),
            sandbox.read_only,
            sandbox.network,
            frozenset(map(repr, sandbox.hosts.rules)),
            frozenset(map(str, sandbox.writable)),
            frozenset(map(str, sandbox.hidden)),
            frozenset(sandbox.visible),
        )

    def holds(self, made: Confinement) -> bool:
        """Whether what was made there may be loaded here: nothing can be reached here that could not be there."""
        if not made.program:
            return True
        return (
            (self.program, self.project) == (made.program, made.project)
            and (self.read_only or not made.read_only)
            and (made.network or (not self.network and self.hosts <= made.hosts))
            and self.writable <= made.writable
            and self.hidden >= made.hidden
            and self.visible <= made.visible
        )


class KeptState(msgspec.Struct, frozen=True):
    """What the file of a conversation holds."""

    made: Confinement
    kept: KeptVariables


def encode_state(state: KeptState) -> bytes:
    return msgspec.json.encode(state)


def decode_state(data: bytes) -> KeptState:
    """What a file holds. Raises `msgspec.MsgspecError`."""
    return msgspec.json.decode(data, type=learned(KeptState))
