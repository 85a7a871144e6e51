"""What a window opens. Imports nothing: the first frame waits for it."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than this
if TYPE_CHECKING:
    from typing import Literal

    from gshtui.bus.agent_data import GuardMode


class Opening:
    """What to open: the folder, the conversation, the agent, its model, its mode, and the pane in front.

    Attributes:
        alone: its hub is in its own process.
        lines: the face for screen readers, in place of a window.
    """

    __slots__ = ("agent", "alone", "cwd", "lines", "mode", "model", "pane", "provider", "session")

    def __init__(
        self,
        cwd: str = "",
        session: str = "",
        agent: str = "",
        provider: str = "",
        model: str = "",
        mode: GuardMode | Literal[""] = "",
        pane: str = "",
        alone: bool = False,
        lines: bool = False,
    ) -> None:
        self.cwd = cwd
        self.session = session
        self.agent = agent
        self.provider = provider
        self.model = model
        self.mode: GuardMode | Literal[""] = mode
        self.pane = pane
        self.alone = alone
        self.lines = lines
