"""The window's actions on conversations: change the model, switch conversations, show an agent's in a tab."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    IterationStarted,
    MessageAppended,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.ui.kit.bridge import EventConsumer, NotReady
from gshtui.ui.kit.feature import Feature, FeatureRoute
from gshtui.ui.kit.widget_messages import (
    ChooseModel,
    ConnectModel,
    EditPrompt,
    ForkAt,
    KeyGiven,
    OpenConversation,
    SendPrompt,
    ShowQuestion,
    Unsent,
)
from gshtui.ui.kit.widgets.tabs import PaneTabs
from gshtui.ui.kit.workbench_port import WorkbenchPort

if TYPE_CHECKING:
    from gshtui.agents.agent_snapshot import AgentSnapshot
    from gshtui.bus.agent_data import AgentRow
    from gshtui.bus.events.agent_events import PromptSubmitted
    from gshtui.commands.declaration import Returns
    from gshtui.providers.model_command import ListedModel, ModelList
    from gshtui.store.tables.message_table import StoredMessage
    from gshtui.store.tables.session_table import SessionInfo
    from gshtui.ui.conversation.conversation_tab import ConversationTab


_LISTED = 500
"""Conversations that the picker lists at most."""


class TurnsInProgress:
    """What other agents have said and done so far in the turns that they are in, for a tab that is opened meanwhile."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (
        AgentStatusChanged,
        TurnStarted,
        IterationStarted,
        TextDelta,
        ThinkingDelta,
        ToolStarted,
        ToolFinished,
        MessageAppended,
        ApprovalRequested,
        ApprovalSettled,
        TurnFinished,
    )

    def __init__(self, window: WorkbenchPort) -> None:
        self._window = window
        self._agents: dict[str, AgentSnapshot] = {}

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        for event in events:
            agent: str = getattr(event, "agent", "")
            if agent and agent != self._window.front:
                self._snapshot(agent).note(0, event)

    def read_turn(self, agent: str) -> list[Event]:
        """The turn that this agent is in, so far; empty: it is in none."""
        return self._snapshot(agent).turn_events()

    def _snapshot(self, agent: str) -> AgentSnapshot:
        if agent not in self._agents:
            from gshtui.agents.agent_snapshot import AgentSnapshot  # most windows have one agent

            self._agents[agent] = AgentSnapshot()
        return self._agents[agent]


class ConversationFeature(Feature):
    """The model and the conversation of the agent in front."""

    KEYS = ("app.models", "model.effort", "app.sessions", "tabs.view")
    OPENS = {"models": "app.models", "sessions": "app.sessions", "rewind": "app.rewind"}

    def __init__(self, window: WorkbenchPort) -> None:
        super().__init__(window)
        self._turns = TurnsInProgress(window)
        self._tabs: PaneTabs[ConversationTab] = PaneTabs(window.deck, "conversation")

    def watchers(self) -> Sequence[EventConsumer]:
        return (self._turns,)

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        return (
            FeatureRoute(OpenConversation, self._open_soon),
            FeatureRoute(SendPrompt, self._send),
            FeatureRoute(ChooseModel, lambda message: self.window.bring(self._offer_models(message), group="pick")),
            FeatureRoute(EditPrompt, self._ask_to_edit),
            FeatureRoute(ForkAt, self._fork),
        )

    def press(self, key: str) -> None:
        if key == "tabs.view":
            self._turn_view()
            return
        if key == "model.effort":
            from gshtui.providers.model_command import ChangeEffort

            self.window.perform(ChangeEffort(level="next"))
            return
        picks = {"app.models": self._pick_model, "app.rewind": self._pick_prompt}
        work = picks.get(key, self._pick_session)()
        self.window.bring(work, group="pick", exclusive=True)

    async def models(self) -> ModelList:
        """The models to choose from, as the agent that prompts go to uses them; empty if unavailable."""
        from gshtui.providers.model_command import ListModels, ModelList

        return await self.window.result_of(ListModels()) or ModelList([], [])

    async def _pick_model(self) -> None:
        from gshtui.providers.model_command import ChangeEffort
        from gshtui.settings.known_providers import lone_key
        from gshtui.ui.conversation.pickers import ModelsScreen

        models = await self.models()
        without_key = {f"{one.provider}/{one.model}" for one in models.models if one.usable is False}

        def chosen(name: str | None) -> None:
            if key := lone_key(name or ""):
                self.window.post_message(KeyGiven(key, agreed=True))
            elif name in without_key:
                self.window.post_message(ConnectModel(*name.split("/", 1)))
            else:
                self.choose_model(name or "")

        async def harder() -> list[ListedModel]:
            done = await self.window.bridge.run(ChangeEffort(level="next"))
            if done.is_error:
                self.warn(done.text)
            return (await self.models()).models

        self.window.push_screen(ModelsScreen(models.models, models.agent, harder), chosen)

    async def _offer_models(self, message: ChooseModel) -> None:
        from gshtui.ui.conversation.pickers import HEADINGS, model_choice
        from gshtui.ui.kit.widgets.dialogs import Picker

        models = [one for one in (await self.models()).models if one.usable and one.origin != "offline"]
        picker = Picker(
            "Model",
            [model_choice(one, models) for one in models],
            empty="No model connected: /setup to connect one.",
            hint="{list.choose} to keep it · {list.close} to go back",
            headings=HEADINGS,
        )
        self.window.push_screen(picker, lambda name: message.chosen(*name.split("/", 1)) if name else None)

    def choose_model(self, chosen: str) -> None:
        """Use `provider/model` from the next request."""
        if chosen:
            provider, _, model = chosen.partition("/")
            from gshtui.providers.model_command import ChangeModel

            self.window.perform(ChangeModel(name=model, provider=provider))

    async def sessions(self, limit: int = 20) -> list[SessionInfo]:
        """This folder's conversations, newest first; empty if unavailable."""
        from gshtui.store.sessions.session_calls import ListSessions

        found = await self.window.result_of(ListSessions(limit=limit))
        return found.sessions if found is not None else []

    async def _pick_session(self) -> None:
        from gshtui.fleet.core.agent_calls import ListAgents
        from gshtui.settings.git_info import branch
        from gshtui.ui.conversation.session_picker import SessionsScreen

        listed, here = await self.here(), str(self.window.bridge.opening.cwd)
        agents = await self.window.result_of(ListAgents(windows=False))
        names = {row.id: row.name for row in agents.rows} if agents is not None else {}
        picker = SessionsScreen(listed, self.window.clock(), self.window.session, self, branch, names)

        def chosen(session: str | None) -> None:
            if session and picker.folder_of(session) not in ("", here):
                folder = picker.folder_of(session)
                line = f"cd {shlex.quote(folder)} && gsh-tui session resume {session}"
                self.window.copy_to_clipboard(line)
                self.window.notify(f"It belongs to {folder}. Copied: {line}", markup=False, timeout=8)
            else:
                self.choose_session(session or "")

        self.window.push_screen(picker, chosen)

    async def here(self) -> list[SessionInfo]:
        """The conversations of this folder, newest first."""
        return await self.sessions(_LISTED)

    def change(self, call: Returns[object], then: Callable[[], None]) -> None:
        """Rename, archive or remove a conversation."""
        self.window.perform(call, then)

    async def everywhere(self, *, archived: bool = False) -> list[SessionInfo]:
        """The conversations of all folders, newest first."""
        from gshtui.store.sessions.session_calls import ListSessions

        found = await self.window.result_of(ListSessions(all=True, archived=archived, limit=_LISTED))
        return found.sessions if found is not None else []

    async def saying(self, words: str) -> list[str]:
        """The conversations with a message that has these words."""
        from gshtui.store.sessions.session_calls import SearchSessions

        found = await self.window.result_of(SearchSessions(query=words, all=True, limit=_LISTED))
        return [hit.session for hit in found.hits] if found is not None else []

    async def newest(self, session: str, limit: int) -> Sequence[StoredMessage]:
        """The newest messages of a conversation, in order."""
        from gshtui.store.engine.store_errors import StoreError

        try:
            return await self.window.bridge.messages(session, None, limit)
        except (NotReady, StoreError):
            return ()

    async def _pick_prompt(self) -> None:
        """Choose a prompt to go back to; it is then in the input, to be changed and sent again."""
        from gshtui.agents.commands.rewind_commands import RewindConversation
        from gshtui.ui.conversation.pickers import PromptsScreen

        found = await self.window.result_of(RewindConversation(session=self.window.session))
        prompts = found.prompts if found is not None else ()

        def answered(chosen: str | None) -> None:
            prompt = next((one for one in prompts if str(one.number) == chosen), None)
            if prompt is not None:
                self.edit_prompt(prompt.id, prompt.text)

        self.window.push_screen(PromptsScreen(prompts, self.window.clock()), answered)

    def _ask_to_edit(self, message: EditPrompt) -> None:
        """Ask first: the key is a letter, which may have been meant for the input."""
        self.edit_prompt(message.message, message.text, asks=True)

    def edit_prompt(self, message: str, text: str, session: str = "", *, asks: bool = False) -> None:
        """Go back to before a prompt, with the files as they were, and put it into the input. `session`: the
        conversation; empty: the one in front; `asks`: ask even if nothing of the person's is overwritten.
        """
        from gshtui.agents.commands.rewind_commands import RewindConversation

        back = RewindConversation(message=message, session=session or self.window.session, asks=asks)
        self.window.perform(back, lambda: self.window.write(text))

    def _fork(self, message: ForkAt) -> None:
        """Go on from a message in a new conversation, which may have a worktree of its own; ask about that first."""
        from gshtui.agents.commands.rewind_commands import ForkConversation
        from gshtui.ui.kit.widgets.dialogs import InputScreen

        def forked(branch: str) -> None:
            if message.prompt and not branch:
                self.window.write(message.prompt)

        def answered(branch: str | None) -> None:
            if branch is not None:
                branch = branch.strip()
                fork = ForkConversation(message=message.message, session=self.window.session, worktree=branch)
                self.window.perform(fork, lambda: forked(branch))

        where = "before this prompt, which returns to the input" if message.prompt else "from this message"
        hint = "enter a branch name to fork into a git worktree, with the files as they were"
        self.window.push_screen(InputScreen(f"Fork the conversation {where}", hint=hint, exact=True), answered)

    def choose_session(self, chosen: str) -> None:
        """Continue a conversation (`new` starts one); the current one is kept."""
        if chosen:
            self.window.show_chat()
            self.window.publish(SessionChangeRequested(agent=self.window.front, session=chosen))

    # Other agents

    def _open_soon(self, message: OpenConversation) -> None:
        self.window.bring(self._open(message.row), group="conversations")

    async def _open(self, row: AgentRow) -> None:
        """Bring the tab with an agent's conversation to the front, creating it if needed."""
        from gshtui.ui.kit.widgets.agent_line import tab_title  # not needed for the first screen

        if (opened := self._tabs.find_tab(row.id)) is not None:
            opened.show_row(row)
        attach = await self._attach_line(row)
        await self._tabs.open(row.id, tab_title(row), lambda: self._make_tab(row, attach))
        self.window.input_line.focus()
        self.window.post_message(ShowQuestion(row.id))

    def _make_tab(self, row: AgentRow, attach: str) -> ConversationTab:
        from gshtui.ui.conversation.conversation_pane import ConversationPane
        from gshtui.ui.conversation.conversation_tab import ConversationTab, TabSources, empty_words

        bridge = self.window.bridge
        pane = ConversationPane(
            bridge.messages,
            None,
            bridge.cuts,
            bridge.output,
            load_failure=bridge.last_failure,
            agent=row.id,
            elsewhere=True,
            empty=empty_words(row.name),
        )
        if bridge.settings is not None:
            pane.transcript.result_lines = bridge.settings.ui.result_lines

        async def newer(session: str, after: int) -> Sequence[StoredMessage]:
            return await (await bridge.running()).newer_messages(session, after)

        sources = TabSources(newer, bridge.connected, self._turns.read_turn, self.window.clock)
        return ConversationTab(row, pane, sources, attach)

    async def _attach_line(self, row: AgentRow) -> str:
        """The command that attaches to its terminal; empty: it has none."""
        try:
            hub = await self.window.bridge.running()
        except NotReady:
            return ""
        server = hub.terminal_server(row.socket) if row.socket and row.tmux_session else None
        return "" if server is None else server.attach_line(row.tmux_session)

    def _turn_view(self) -> None:
        """Show the terminal of the agent in front in place of its conversation, or back."""
        pane = self.window.deck.panes.get(self.window.deck.front)
        if pane is None or not pane.show_other_view():
            words = "This key switches the tab of one of our own agents between its conversation and its terminal."
            self.window.notify(words, markup=False, timeout=4)

    def _send(self, message: SendPrompt) -> None:
        """Hand a prompt to an agent's own hub; while that does not listen, it waits as mail."""
        self.run_work(self._hand_over(message.prompt), "prompts")

    async def _hand_over(self, prompt: PromptSubmitted) -> None:
        if await self.window.bridge.connected(prompt.agent):
            self.window.publish(prompt)
            return
        from gshtui.fleet.core.agent_calls import SendToAgent

        unsent = Unsent(prompt.text, prompt.agent)
        self.window.perform(SendToAgent(agent=prompt.agent, text=prompt.text), unsent=unsent)
