"""The window's actions on the conversation in front: change the model, switch conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gshtui.bus.events.agent_events import ModelChangeRequested
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.ui.kit.feature import Feature

if TYPE_CHECKING:
    from gshtui.providers.model_command import ListedModel
    from gshtui.store.session_table import SessionInfo


class ConversationFeature(Feature):
    """The model and the conversation of the agent in front."""

    KEYS = ("app.models", "model.effort", "app.sessions")
    OPENS = {"models": "app.models", "sessions": "app.sessions"}

    def press(self, key: str) -> None:
        if key == "model.effort":
            from gshtui.providers.model_command import ChangeEffort

            self.window.perform(ChangeEffort(level="next"))
            return
        work = self._pick_model() if key == "app.models" else self._pick_session()
        self.window.run_worker(work, exit_on_error=False, group="pick", exclusive=True)

    async def models(self) -> list[ListedModel]:
        """The models to choose from; empty if unavailable."""
        from gshtui.providers.model_command import ListModels

        found = await self.window.result_of(ListModels())
        return found.models if found is not None else []

    async def _pick_model(self) -> None:
        from gshtui.ui.conversation.pickers import ModelsScreen

        self.window.push_screen(ModelsScreen(await self.models()), lambda chosen: self.choose_model(chosen or ""))

    def choose_model(self, chosen: str) -> None:
        """Use `provider/model` from the next request."""
        if chosen:
            provider, _, model = chosen.partition("/")
            self.window.publish(ModelChangeRequested(agent=self.window.front, provider=provider, model=model))

    async def sessions(self) -> list[SessionInfo]:
        """This folder's conversations, newest first; empty if unavailable."""
        from gshtui.store.session_calls import ListSessions

        found = await self.window.result_of(ListSessions())
        return found.sessions if found is not None else []

    async def _pick_session(self) -> None:
        from gshtui.ui.conversation.pickers import SessionsScreen

        picker = SessionsScreen(await self.sessions(), self.window.clock(), self.window.session)
        self.window.push_screen(picker, lambda chosen: self.choose_session(chosen or ""))

    def choose_session(self, chosen: str) -> None:
        """Continue a conversation (`new` starts one); the current one is kept."""
        if chosen:
            self.window.publish(SessionChangeRequested(agent=self.window.front, session=chosen))
