"""A hub for a window that plays a recorded conversation: the record can be read, and nothing is changed or run.

Its bus carries only the replay; commands that read are run by a hub of the record alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import HubStarted
from gshtui.commands.declaration import CommandError, Effect
from gshtui.features.replay.replay_player import Recording, ReplayPlayer, read_recording
from gshtui.hub.composition import build_hub
from gshtui.hub.faces.window_hub import WindowHub
from gshtui.hub.hub_options import HubOptions

if TYPE_CHECKING:
    from pathlib import Path

    from gshtui.bus.shell_rows import Filter
    from gshtui.commands.declaration import Outcome, Question, R, Returns
    from gshtui.commands.evaluation import Ask
    from gshtui.settings.loader import Loaded
    from gshtui.store.tables.message_table import StoredMessage


class ReplayHub(WindowHub):
    """See the module.

    Args:
        session: the conversation, by its id.
        speed: at which it begins.
        recorded: what is played in place of a conversation of the record.
    """

    def __init__(
        self, cwd: Path, loaded: Loaded, session: str, speed: float, recorded: Recording | None = None
    ) -> None:
        options = HubOptions(cwd=cwd, loaded=loaded, parts=frozenset({"store"}), visiting=True)
        super().__init__(build_hub(options))
        self._session = session
        self._recorded = recorded
        self._speed = speed
        self._cwd = cwd
        self.bus = Bus()
        self.player: ReplayPlayer | None = None
        ui = loaded.settings.ui.model_copy(update={"notifications": []})
        notify = type(loaded.settings.notify)()
        self.settings = loaded.settings.model_copy(update={"ui": ui, "notify": notify})
        """The person's, but nobody is told of what happened long ago."""

    async def start(self) -> None:
        """Read the recording and play it. Raises `ExpectedError`."""
        await self._hub.start()
        if self._hub.store is None:
            raise CommandError("The record cannot be read.", hint="`gsh-tui doctor` says why.")
        recorded = self._recorded or await read_recording(self._hub.store, self._session)
        self.bus.publish(HubStarted(cwd=str(self._cwd), project=str(self._hub.project), branch=self._hub.branch.name))
        self.player = ReplayPlayer(self.bus, recorded, self._speed)
        self.player.start()

    def cease(self) -> None:
        """Nothing starts here."""

    async def stop(self) -> None:
        if self.player is not None:
            await self.player.close()
        await self._hub.stop()
        await self.bus.close()

    def _reads(self, parameters: Returns[Any]) -> None:
        action = self._hub.registry.action(parameters)
        if action.effect is not Effect.READ:
            raise CommandError("This is a replay: nothing is changed or run in it.", hint="ctrl+q to end it.")

    async def run(self, line: str | Returns[object], *, ask: Ask | None = None, front: str = "") -> Outcome:
        value = self._hub.bound(line) if isinstance(line, str) else line
        if value is None:
            raise CommandError("This is a replay: it runs no such line.", hint="ctrl+q to end it.")
        self._reads(value)
        return await self._hub.run(value, ask=ask, front=front)

    async def call(self, parameters: Returns[R], *, front: str = "") -> R:
        self._reads(parameters)
        return await self._hub.call(parameters, front=front)

    async def question(self, parameters: Returns[object], *, front: str = "") -> Question | None:
        self._reads(parameters)
        return await self._hub.question(parameters, front=front)

    async def messages(self, session: str, before: int | None = None, limit: int = 200) -> list[StoredMessage]:
        """None: the replay tells them one by one."""
        return []

    async def newer_messages(self, session: str, after: int) -> list[StoredMessage]:
        return []

    async def shell_rows(self, wanted: Filter, start: int, limit: int) -> None:
        """None: what was run meanwhile is told with the rest."""

    async def output(self, key: str) -> str:
        return ""

    async def prompts(self, cwd: str, limit: int) -> list[str]:
        return []

    async def keep_prompt(self, cwd: str, text: str) -> None:
        """Nothing is sent."""
