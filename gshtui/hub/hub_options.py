"""What a face asks of its hub: where, which conversation, which model, which parts. Plain data, read by the hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from gshtui.bus.agent_data import GuardMode, Respondent
    from gshtui.context.log.ports import Contribute
    from gshtui.hub.native_agent import NativeAgent
    from gshtui.settings.loader import Loaded

NATIVE_PARTS = frozenset({"store", "guard", "providers", "native"})
"""The parts that the hub of a native agent runs."""
ACP_PARTS = frozenset({"store", "guard", "acp"})
"""The parts that the hub of an agent over ACP runs: its program has a model of its own."""
ALL_PARTS = frozenset({"store", "guard", "socket", "providers", "agents", "fleet", "shell"})
"""The parts that a window runs."""
KEEPER_PARTS = frozenset({"store", "fleet", "shell"})
"""What the keeper runs, which is there while no window is."""


class HubOptions(msgspec.Struct, frozen=True):
    """What a face asks of its hub."""

    cwd: Path
    loaded: Loaded
    """Settings with their origins and problems."""
    session: str = "new"
    """`new`, `latest` (of this folder), an id or a unique prefix of one."""
    continues: bool = False
    """Where that conversation is gone, or open elsewhere, a new one is begun."""
    agent: str = "main"
    provider: str = ""
    model: str = ""
    respondent: Respondent = "person"
    """Who answers the questions of the guard."""
    mode: GuardMode | None = None
    """The mode in which the agents begin; `None`: the settings decide."""
    max_iterations: int = 0
    """Most model requests per turn; 0: the settings decide."""
    parts: frozenset[str] = ALL_PARTS
    keeper: bool = False
    """It is the keeper: it looks after the agents and shells of every folder, and asks and answers nothing."""
    visiting: bool = False
    """A command that ends soon: it neither takes the shells' socket nor answers agents in terminals."""
    where: str = ""
    """Where this is, for another window that wants the same conversation."""
    more: tuple[Contribute, ...] = ()
    """Texts that the face adds to the person's prompts."""
    record: Path | None = None
    """Folder of the record; `None`: the settings' `general.session_dir`."""
    auto_approve: tuple[str, ...] | None = None
    """Tools outside this list need approval, whatever the settings say; `None`: the settings decide."""
    paths: tuple[tuple[str, ...], ...] = ()
    """Lists of the only paths that the file tools of its agents reach, each of which must allow a path."""
    about: str = ""
    """The subject of notices about settings and record; empty: the part itself."""
    looks: bool = False
    """What its agent would send is only looked at: it has no conversation, answers nothing, and nothing is recorded."""
    native: NativeAgent | None = None
    """The agent whose own hub this is; with it, the first part that fails ends the start."""
