"""What a face asks of its hub: where, which conversation, which model, which parts. Plain data, read by the hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gshtui.context.ports import Contribute
    from gshtui.guard.approval import Mode
    from gshtui.settings.loader import Loaded

ALL_PARTS = frozenset({"store", "guard", "socket", "providers", "agents", "fleet", "shell"})


@dataclass(frozen=True, slots=True)
class HubOptions:
    """What a face asks of its hub."""

    cwd: Path
    loaded: Loaded
    """Settings with their origins and problems."""
    session: str = "new"
    """`new`, `latest` (of this folder), an id or a unique prefix of one."""
    agent: str = "main"
    provider: str = ""
    model: str = ""
    approvals: Mode = "ask"
    max_iterations: int = 0
    """Model requests a turn; 0: as the settings say."""
    parts: frozenset[str] = ALL_PARTS
    visiting: bool = False
    """A command that is gone soon: it neither takes the shells' socket nor answers agents in terminals."""
    where: str = ""
    """Where this is, for another window that wants the same conversation."""
    more: tuple[Contribute, ...] = ()
    """What the face has to say along with the person's prompts."""
