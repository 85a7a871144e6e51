"""A native agent: its inbox, one turn at a time, and the intents it handles. The roster holds this hub's agents."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

from gshtui.agents.conversation import Conversation, answered_turn
from gshtui.agents.hooks.agent_hooks import AgentHooks
from gshtui.agents.loop import PromptRefused, Turn, TurnLimit, request_draft, unlimited
from gshtui.agents.ports import ModelHandle, Record
from gshtui.agents.prompt_inbox import PromptAgent
from gshtui.agents.sessions import OpenedSession, OpenSessions
from gshtui.agents.side_question import SideAnswer, SideQuestions
from gshtui.agents.toolbox import Toolbox
from gshtui.bus.agent_data import EffortChoice, InboxPrompt
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    ModelChanged,
    ModelChangeRequested,
    TurnFinished,
)
from gshtui.bus.events.context_events import CutRequested
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.bus.messages import Message, ToolCall, ToolResult
from gshtui.context.assembly.assembly import CutRequest
from gshtui.context.engine import ContextDraft, ContextEngine
from gshtui.context.views import ContextError
from gshtui.providers.port import ProviderError
from gshtui.store.engine.store_errors import PASSING, StoreError
from gshtui.system.ids import new_id
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, end_all, keep_on, start_job

ChooseModel = Callable[[str, str], Awaitable[ModelHandle]]
"""(provider, model) → the model's handle; either may be empty. Raises `ProviderError`."""
Attend = Callable[[str], AbstractAsyncContextManager[Conversation]]
"""Opens its conversation in a call (empty: its own) for one turn. Raises `StoreError`."""


class Agent(PromptAgent):
    """One peer. Made by the roster; `start` and `stop` bracket its life."""

    def __init__(
        self,
        bus: Bus,
        name: str,
        toolbox: Toolbox,
        engine: ContextEngine,
        choose: ChooseModel,
        max_iterations: int,
        max_steps: int,
        limit: TurnLimit = unlimited,
        hooks: AgentHooks | None = None,
    ) -> None:
        """`max_iterations`: model requests a turn; `max_steps`: tool calls a turn; `limit`: see `Turn`.

        `hooks`: asked before each prompt and after each turn; `None`: there are none.
        """
        super().__init__(bus, name, ModelChangeRequested, CutRequested)
        self._toolbox = toolbox
        self.engine = engine
        self._choose = choose
        self._max_iterations = max_iterations
        self._max_steps = max_steps
        self._limit = limit
        self._hooks = hooks
        self._conversation: Conversation | None = None
        self._home: Conversation | None = None
        self._cuts_of_home: list[CutRequested] = []
        """Requested while it answers beside its home, which they are about."""
        self.model_handle: ModelHandle | None = None
        self.attend: Attend | None = None
        """Where it has a conversation in each call; `None`: it answers everything in the one that is open."""
        self.open_late: Callable[[], Awaitable[object]] | None = None
        """Opens its conversation, which could not be opened when it was added; raises `StoreError`."""
        self.holds: Callable[[str], bool] = lambda source: True
        """Whether a prompt that an earlier process left waits for a person, by its source."""
        self._expects_prompt = False
        self._questions = SideQuestions()
        self.answering = False
        """Whether a prompt was taken and is not done: from before its turn begins until after it ended."""
        self._changes = 0
        """Conversations that are being opened for it."""
        self._ahead: asyncio.Task[None] | None = None

    @property
    def session(self) -> str:
        """Id of the conversation in hand; empty before there is one."""
        return self._conversation.session if self._conversation else ""

    @property
    def conversation(self) -> Conversation | None:
        """The conversation in hand; `None` where it is open for reading only."""
        return self._conversation

    @property
    def home(self) -> str:
        """Id of the conversation that people see of it, also while it answers beside it; empty before there is one."""
        return self._home.session if self._home else ""

    def start(self) -> None:
        self._life = keep_on(self._run, f"the agent {self.name}")

    def hold(self, why: str) -> None:
        """Have every prompt that waits wait for a person."""
        self._inbox.hold(why)

    def cease(self) -> None:
        super().cease()
        self._questions.cease()

    async def stop(self, timeout: float = 5.0) -> None:
        await super().stop(timeout)
        await cancel_and_wait(self._ahead, within=timeout)
        with contextlib.suppress(TimeoutError):
            async with time_limit(timeout):
                await self.engine.settle()
        if self._toolbox.checkpoints is not None:
            await self._toolbox.checkpoints.close()

    async def settle(self) -> None:
        """Return once the files are kept as its last turn has left them."""
        if self._toolbox.checkpoints is not None:
            await self._toolbox.checkpoints.settled()

    async def restore_queue(self) -> None:
        """Take over what an earlier process left waiting in the conversation, held. Raises `StoreError`."""
        await self._inbox.restore(held=lambda prompt: self.holds(prompt.source))

    def converse(self, conversation: Conversation | None) -> None:
        """Open this conversation; `None`: it is read-only, and prompts are refused. Raises `RuntimeError`: a turn is in
        progress.
        """
        if self.working:
            raise RuntimeError(f"{self.name} is busy")
        self._home = conversation
        self.open_late = None
        self._inbox.move(conversation)
        self._turn_to(conversation)
        self._look_ahead()
        self._publish_status("starting" if self._expects_prompt else "idle")
        self._inbox.wake.set()

    @contextlib.contextmanager
    def changing(self) -> Generator[None]:
        """Keep prompts waiting while a conversation is opened, so that they are answered in that one."""
        self._changes += 1
        try:
            yield
        finally:
            self._changes -= 1
            self._inbox.wake.set()

    @contextlib.contextmanager
    def beside(self, conversation: Conversation) -> Generator[Conversation]:
        """Use another conversation meanwhile; nobody is told."""
        self._turn_to(conversation)
        try:
            yield conversation
        finally:
            self._turn_to(self._home)
            waiting, self._cuts_of_home = self._cuts_of_home, []
            for event in waiting:
                self._request_cut(event)

    def _look_ahead(self) -> None:
        """Begin what the next request of a resumed conversation would take long for."""
        if self._ahead is not None:
            self._ahead.cancel()
        if self.model_handle is not None and self._conversation is not None and not self._conversation.fresh:
            job = self._get_ready(self._conversation, self.model_handle)
            self._ahead = start_job(job, f"looking ahead for {self.name}")

    async def _get_ready(self, conversation: Conversation, handle: ModelHandle) -> None:
        with contextlib.suppress(StoreError):  # the request reports it
            await self.engine.get_ready(await conversation.messages(), handle.provider, handle.model)

    def _turn_to(self, conversation: Conversation | None) -> None:
        self._conversation = conversation
        if conversation is not None:
            self.engine.converse(conversation.session, conversation.settle)

    def expect_prompt(self) -> None:
        """Its first prompt is on its way: it is not idle before that."""
        self._expects_prompt = True

    def expect_nothing(self) -> None:
        """No prompt is on its way."""
        self._expects_prompt = False
        if not self.working:
            self._publish_status("idle")

    async def think_with(self, provider: str, model: str) -> None:
        """Use another model from the next iteration on. Raises `ProviderError`: there is no such provider or model, or
        its key is missing; the old one stays in use.
        """
        handle = await self._choose(provider, model)
        if handle.instead_of and (self.model_handle is None or self.model_handle.model != handle.model):
            text = f"{handle.instead_of} is no longer served; {handle.label or handle.model} is used instead."
            hint = f"Set providers.{handle.provider.name}.default_model to one of `model list`."
            self._bus.publish(Noticed(level="warning", text=text, hint=hint, about="models"))
        self.model_handle = handle
        self._look_ahead()
        await self.publish_model()

    async def publish_model(self) -> None:
        """Publish which model it uses, and how hard that one is told to think in this conversation."""
        if (handle := self.model_handle) is None:
            return
        abilities = handle.provider.capabilities(handle.model)
        effort: EffortChoice = ""
        with contextlib.suppress(StoreError):  # each request reads it again
            effort = await self.engine.effort() if self.session else ""
        if effort and not abilities.effort:
            text = f"{handle.label or handle.model} takes no reasoning effort, so “{effort}” is not sent."
            self._bus.publish(Noticed(level="warning", text=text, about=self.name))
        self._bus.publish(
            ModelChanged(
                agent=self.name,
                provider=handle.provider.name,
                model=handle.model,
                window=abilities.window,
                label=handle.label,
                effort=effort if abilities.effort else "",
            )
        )

    async def _handle_intent(self, event: Event) -> None:
        match event:
            case ModelChangeRequested():
                await self._change_model(event)
            case CutRequested() if self._home is not None and self._conversation is not self._home:
                self._cuts_of_home.append(event)
            case CutRequested():
                self._request_cut(event)
            case _:
                pass

    def _request_cut(self, event: CutRequested) -> None:
        self.engine.request_cut(event.kind, CutRequest(event.by, "Requested by you.", event.focus, event.request))
        self._inbox.wake.set()

    async def _change_model(self, event: ModelChangeRequested) -> None:
        try:
            if event.effort is not None and self.session:
                await self.engine.set_effort(event.effort)
            if event.model or event.provider:
                await self.think_with(event.provider, event.model)
            else:
                await self.publish_model()
        except ProviderError as error:
            self._tell_no_model(error)
        except StoreError as error:
            self._bus.publish(Noticed(level="error", text=error.message, hint=error.hint, about=self.name))

    def _tell_no_model(self, error: ProviderError) -> None:
        text, hint = error.message, error.hint
        self._bus.publish(Noticed(level="error", text=text, hint=hint, about=self.name, ends_with_model=True))

    async def _run(self) -> None:
        while True:
            while self._conversation is not None and not self._changes:
                if (prompt := await self._inbox.pop()) is None:
                    break
                await self._answer(prompt)
            if self._inbox.closed:
                return
            if self._inbox and not self._changes and await self._opened_late():
                continue
            await self._cut()
            await self._inbox.wake.wait()
            self._inbox.wake.clear()

    async def _opened_late(self) -> bool:
        """Open the conversation that prompts wait for; where that cannot be, they are given back. False: it cannot."""
        if self.open_late is None:
            why = "This conversation is open for reading only, so the prompt was not sent."
            self._inbox.refuse(why, "`/clear` starts a new conversation.")
            return False
        try:
            await self.open_late()
        except StoreError as error:
            self._inbox.refuse(f"The prompt was not sent: {error.message}", error.hint)
            return False
        return True

    @contextlib.asynccontextmanager
    async def _conversation_of(self, prompt: InboxPrompt) -> AsyncGenerator[Conversation]:
        """The one in which a prompt is answered, for its turn. Raises `StoreError`."""
        if self.attend is not None:
            async with self.attend(prompt.call) as conversation:
                yield conversation
        else:
            assert self._conversation is not None
            yield self._conversation

    async def _cut(self) -> None:
        """Make the requested cuts that no request has made yet."""
        try:
            if self.engine.wished and self._conversation is not None:
                await self.engine.grant(await self._conversation.messages(), await self.draft())
        except (ProviderError, StoreError, ContextError) as error:
            self.engine.forget(str(error))
        except Exception as error:  # our own fault: drop the request instead of retrying forever
            self.engine.forget(self._bus.report("a cut", error, shown=True).failure("The cut"))

    async def draft(self) -> ContextDraft:
        """The inputs of its next request for the context engine. Raises `ProviderError`, `StoreError`."""
        if self.model_handle is None:
            await self.think_with("", "")
        if not self.working:
            await self._toolbox.prepare(learn=False)
        return request_draft(self._current_model(), self._toolbox, await self.messages(), self._turn_id)

    async def ask(self, prompt: str, tokens: int = 0) -> SideAnswer:
        """Ask its model one question beside the conversation, within its budgets. Raises `ProviderError`. `tokens`:
        most tokens of the answer; 0: the model's maximum.
        """
        if self.model_handle is None:
            await self.think_with("", "")
        return await self._questions.ask(
            self._bus, self.name, self.session, self._current_model(), self._limit, prompt, tokens
        )

    async def use_tool(self, name: str, arguments: dict[str, object]) -> ToolResult:
        """Run one of its tools as part of another call of its own, judged by the same guard."""
        call = ToolCall(f"within-{new_id()}", name, arguments)
        results, _ = await self._toolbox.run([call], self.session, call.id)
        return results[0]

    async def messages(self) -> list[Message]:
        """The log of the conversation in hand; empty without one. Raises `StoreError`."""
        return [] if self._conversation is None else await self._conversation.messages()

    async def _answer(self, prompt: InboxPrompt) -> None:
        """Answer one prompt. Whatever happens, the agent can take the next one."""
        session, finished, recorded = self.session, None, False
        place: Conversation | None = None
        self.answering = True
        try:
            async with self._conversation_of(prompt) as conversation:
                session, place = conversation.session, conversation
                self._toolbox.limit_mode(prompt.mode, prompt.source)
                finished = await self._take_turn(prompt, conversation)
                recorded = conversation.has(prompt.id)
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            finished = self._ended(session, "interrupted")  # before the turn's first step
        except StoreError as error:  # not in another conversation instead
            self._inbox.refuse_taken(f"The prompt was not sent: {error.message}", error.hint)
        except PromptRefused as refused:
            self._inbox.refuse_taken(f"The prompt was not sent: {refused.why}", refused.hint)
        except Exception as error:  # our own fault, before the turn or while reporting its end
            fault = self._bus.report(f"the agent {self.name}", error, shown=True)
            finished = self._ended(session, "error", fault.failure("The prompt"), fault)
            recorded = place is not None and place.has(prompt.id)
        finally:
            self._toolbox.limit_mode("")
            self._inbox.done(recorded=recorded)
            self._turn_id = ""
            self.answering = self._expects_prompt = False
        if finished is None and self.status == "starting":
            self._publish_status("idle")
        elif finished is not None:
            self._publish_status("failed" if finished.stop == "error" else "idle", finished.error)

    async def _take_turn(self, prompt: InboxPrompt, conversation: Conversation) -> TurnFinished | None:
        """Run the prompt's turn; `None` if there is none."""
        try:
            if self.model_handle is None:
                await self.think_with("", "")
        except ProviderError as error:
            self._tell_no_model(error)
            return None
        if await self._republish_outcome(prompt, conversation):
            return None
        turn = Turn(
            self._bus,
            self.name,
            conversation,
            self._toolbox,
            self._current_model,
            self.engine,
            self._max_iterations,
            self._max_steps,
            self._limit,
            None if self._hooks is None else self._after_turn,
        )
        self._turn_id = turn.id
        work = turn.run(prompt) if self._hooks is None else self._hooked(turn, prompt)
        self._inbox.turn = asyncio.get_running_loop().create_task(work, name=f"turn:{self.name}")
        finished = await self._inbox.turn
        if turn.paused:
            self._inbox.hold("The budget is used up, so what was queued waits.")
        return finished

    async def _hooked(self, turn: Turn, prompt: InboxPrompt) -> TurnFinished | None:
        """Run a turn, unless a hook stops its prompt: then `None`."""
        if self._hooks is not None:
            verdict = await self._hooks.ask("UserPromptSubmit", self.name, self.session, {"prompt": prompt.text})
            if verdict.denied:
                text = f"A hook stopped the prompt: {verdict.denied}"
                self._inbox.refuse_taken(text, "`hook ls` lists the hooks.", returned=False)
                return None
            self._hooks.add_note(self.name, verdict.text)
        return await turn.run(prompt)

    async def _after_turn(self, again: bool) -> str:
        """What hooks want done before the turn ends; empty: it ends. `again`: they have wanted something already."""
        assert self._hooks is not None
        given: dict[str, object] = {"stop_hook_active": again}
        return (await self._hooks.ask("Stop", self.name, self.session, given)).denied

    async def _republish_outcome(self, prompt: InboxPrompt, conversation: Conversation) -> bool:
        """Return whether this prompt already had its turn; if so, publish the outcome again for those who missed it."""
        try:
            messages = await conversation.messages()
        except StoreError:
            return False  # the turn will report it
        before = answered_turn(self.name, conversation.session, messages, prompt.id)
        for event in before or ():
            self._bus.publish(event)
        if before is not None:
            self._publish_status("idle")
        return before is not None

    def _current_model(self) -> ModelHandle:
        assert self.model_handle is not None
        return self.model_handle


class LocalRoster:
    """Agents by id, in the order in which they were added."""

    def __init__(self, bus: Bus, sessions: OpenSessions, cwd: str) -> None:
        self._bus = bus
        self._sessions = sessions
        self._cwd = cwd
        self._agents: dict[str, Agent] = {}
        self._ids: dict[str, str] = {}
        """By name, of agents whose name is not their id."""
        self._subscription = bus.subscribe(self._listen, SessionChangeRequested, name="roster")

    def __iter__(self) -> Iterator[Agent]:
        return iter(tuple(self._agents.values()))

    @property
    def record(self) -> Record:
        """Where their conversations are kept."""
        return self._sessions.record

    def get(self, name: str) -> Agent | None:
        return self._agents.get(self._ids.get(name, name))

    async def add(self, agent: Agent, session: str, *, name: str = "", or_new: bool = False) -> OpenedSession:
        """Add an agent, give it a conversation and start it.

        `name`: what people call it, where that is not its id. `or_new`: where the conversation is gone, or open
        elsewhere, begin a new one. Raises `StoreError`: there is no such conversation. If one cannot be opened for the
        moment, as on a full disk, the agent opens it with the next prompt.
        """
        self._agents[agent.name] = agent
        if name:
            self._ids[name] = agent.name
        try:
            opened = await self.open(agent, session, or_new=or_new)
        except StoreError as error:
            if error.kind in PASSING:
                agent.open_late = partial(self.open, agent, session, or_new=or_new)
                agent.start()
            raise
        agent.start()
        return opened

    def show(self, agent: Agent) -> None:
        """Add an agent that is only looked at: it has no conversation, and is not started."""
        self._agents[agent.name] = agent

    async def open(self, agent: Agent, session: str, *, or_new: bool = False) -> OpenedSession:
        """Give the agent another conversation, as `OpenSessions.open` does. Raises `StoreError`."""
        handle = agent.model_handle
        opened = await self._sessions.open(
            session,
            agent=agent.name,
            cwd=self._cwd,
            provider=handle.provider.name if handle else "",
            model=handle.model if handle else "",
            or_new=or_new,
        )
        agent.converse(opened.conversation)
        await agent.restore_queue()
        if opened.conversation is not None:
            await agent.publish_model()
        return opened

    @contextlib.asynccontextmanager
    async def open_beside(self, agent: Agent, session: str) -> AsyncGenerator[Conversation]:
        """Let the agent use another conversation for one turn; people go on seeing its own. Raises `StoreError`:
        another process has it open (`held`), or the store failed.
        """
        async with self._sessions.open_beside(session, agent.name) as conversation:
            with agent.beside(conversation):
                yield conversation

    def hold(self, why: str) -> None:
        """Have every prompt that waits wait for a person."""
        for agent in self:
            agent.hold(why)

    def cease(self) -> None:
        """Have no agent start anything from now on."""
        for agent in self:
            agent.cease()

    async def stop(self) -> None:
        """Stop every agent, then close their conversations."""
        self._subscription.unsubscribe()
        await end_all("the end of agents", *(agent.stop for agent in self))
        await self._sessions.close_all()

    async def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, SessionChangeRequested) and (agent := self._agents.get(event.agent)) is not None:
                await self._change(agent, event.session)

    async def _change(self, agent: Agent, session: str) -> None:
        if agent.answering:
            hint = "Interrupt it with `escape`, then try again."
            self._bus.publish(Noticed(level="warning", text=f"{agent.name} is busy.", hint=hint, about=agent.name))
            return
        try:
            with agent.changing():
                await self.open(agent, session)
        except StoreError as error:
            self._bus.publish(Noticed(level="error", text=error.message, hint=error.hint, about=agent.name))
