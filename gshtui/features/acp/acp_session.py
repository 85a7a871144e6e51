"""One session of a client over ACP: a hub of its own with our agent, whose events the client is told as updates.

Questions of the guard go to the client, which is where the person is; without an answer nothing runs. Raises
`ExpectedError` with words for the client.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec
from acp.schema import (
    ConfigOptionUpdate,
    PromptResponse,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
)

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    ContextAssembled,
    InterruptRequested,
    ModelChanged,
    PromptSubmitted,
    PromptWithdrawn,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import (
    AgentModeChanged,
    ApprovalAnswered,
    ApprovalRequested,
    ApprovalSettled,
    Decision,
    ModeChangeRequested,
)
from gshtui.commands.declaration import CommandError
from gshtui.features.acp import session_updates
from gshtui.guard.modes import MODES, mode_named
from gshtui.hub.command_offers import load_rooms
from gshtui.hub.hub import Hub
from gshtui.providers.model_command import ChangeEffort, ChangeModel, ListModels
from gshtui.settings.loader import ClientServers
from gshtui.system.expected_error import ExpectedError
from gshtui.system.ids import new_id
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text.sanitise import one_line

_MOST = 20 * 1024 * 1024
"""Bytes of one attachment."""
_SUFFIXES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "application/pdf": ".pdf",
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "audio/mpeg": ".mp3",
    "audio/mp3": ".mp3",
    "audio/flac": ".flac",
    "audio/ogg": ".ogg",
    "audio/mp4": ".m4a",
    "audio/aac": ".aac",
    "audio/aiff": ".aiff",
}
_INLINED = 200_000
"""Characters of an embedded text that become part of the prompt."""
_DECISIONS: dict[str, Decision] = {"once": "once", "session": "session", "always": "always"}


class SessionClient(Protocol):
    """The client, as far as a session needs it. Raises `ConnectionError` once it has gone."""

    def session_update(self, session_id: str, update: Any) -> Awaitable[None]: ...
    def request_permission(self, session_id: str, tool_call: Any, options: Any) -> Awaitable[Any]: ...


class AcpSession:
    """See the module. `close` stops its hub."""

    def __init__(self, hub: Hub, client: SessionClient) -> None:
        """`hub`: started, with our agent in it."""
        self._hub = hub
        self._client = client
        self._agent = hub.options.agent
        self.id = hub.session_of(self._agent)
        self._turns: dict[str, asyncio.Future[TurnFinished]] = {}
        self._current = ""
        self._prompts: dict[str, str] = {}
        """Turn → the prompt that it answers."""
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._runs = session_updates.TextRuns()
        self._printed: dict[str, str] = {}
        """What the calls in progress have printed so far."""
        self._filled = (0, 0)
        """Tokens in the model's window, and its size."""
        self.options = SessionOptions(hub, self._agent)
        self._offering: asyncio.Task[None] | None = None
        self._attachments = tempfile.TemporaryDirectory(prefix="gsh-acp-")
        self._subscription = hub.bus.subscribe(self._tell, name="ACP client")

    async def replay(self) -> None:
        """Tell the client the whole conversation so far."""
        agent = self._hub.local_agent(self._agent)
        messages = await agent.messages() if agent is not None else []
        for update in session_updates.replayed(messages, self._hub.options.cwd):
            await self._client.session_update(self.id, update)
        await self._tell_waiting()

    async def _tell_waiting(self) -> None:
        """Tell the client of prompts that another face left unsent here."""
        from acp import update_agent_message_text

        waiting = await self._hub.store.queue.find_all(self.id) if self._hub.store is not None else []
        if waiting:
            number = "1 prompt waits" if len(waiting) == 1 else f"{len(waiting)} prompts wait"
            said = (
                f"{number} in this conversation, unsent: `/queue send` sends, `/queue drop` discards, `/queue` lists."
            )
            await self._client.session_update(self.id, update_agent_message_text(said))

    def offer_commands(self) -> None:
        """Tell the client which commands there are, once they are loaded."""

        async def offer() -> None:
            await asyncio.to_thread(load_rooms, self._hub.settings.features)
            update = session_updates.offered(self._hub.registry)
            with contextlib.suppress(ConnectionError, OSError):
                await self._client.session_update(self.id, update)

        self._offering = start_job(offer(), "the commands for the ACP client")

    @property
    def _cost(self) -> float | None:
        """What the conversation has cost in US dollars; `None`: not known."""
        state = self._hub.agent_states.get(self._agent)
        return None if state is None else state.row.cost

    async def prompt(self, blocks: Sequence[Any]) -> PromptResponse:
        """One turn. Raises `ExpectedError` if it failed, or cannot begin."""
        if self._turns:
            raise ExpectedError("A turn is in progress in this session.", "Wait for its end, or cancel it.")
        text, attachments = await asyncio.to_thread(self._words, blocks)
        if not text and not attachments:
            raise ExpectedError("The prompt is empty.")
        if text.startswith("/") and (said := await self._command(text)) is not None:
            from acp import update_agent_message_text

            await self._client.session_update(self.id, update_agent_message_text(said))
            return PromptResponse(stop_reason="end_turn")
        prompt = self._current = new_id()
        finished = self._turns[prompt] = asyncio.get_running_loop().create_future()
        self._hub.bus.publish(
            PromptSubmitted(prompt=prompt, agent=self._agent, text=text, attachments=tuple(attachments))
        )
        try:
            end = await finished
        finally:
            self._turns.pop(prompt, None)
        if end.error:
            raise ExpectedError(end.error, end.hint)
        used = session_updates.used(end.usage) if end.usage.context else None
        return PromptResponse(stop_reason=session_updates.STOPS.get(end.stop, "end_turn"), usage=used)

    def cancel(self) -> None:
        """Interrupt the turn; its prompt then returns as cancelled."""
        for task in self._asking.values():
            task.cancel()
        self._hub.bus.publish(InterruptRequested(agent=self._agent))

    def cease(self) -> None:
        """Start nothing from now on: the client has gone."""
        self._hub.cease()

    async def close(self) -> None:
        """Interrupt what runs, keep what was said, and stop."""
        self.cease()
        self._subscription.unsubscribe()
        await cancel_and_wait(*self._asking.values(), self._offering, within=2.0)
        for finished in self._turns.values():
            if not finished.done():
                finished.cancel()
        await self._hub.stop()
        if not self._hub.owns_bus:
            await self._hub.bus.close()
        await asyncio.to_thread(self._attachments.cleanup)

    async def _tell(self, batch: Sequence[Event]) -> None:
        for event in batch:
            match event:
                case TurnStarted():
                    self._runs.begin()
                case ToolStarted():
                    self._runs.call()
                case TextDelta():
                    event = msgspec.structs.replace(event, text=self._runs.text(event.text))
                case _:
                    pass
            with contextlib.suppress(ConnectionError, OSError):  # the client has gone: the record has it all
                for update in (*session_updates.updates_of(event, self._hub.options.cwd), *await self._state(event)):
                    await self._client.session_update(self.id, update)
            match event:
                case ApprovalRequested():
                    self._asking[event.approval] = start_job(self._ask(event), "a question to the ACP client")
                case ApprovalSettled():
                    if (task := self._asking.pop(event.approval, None)) is not None:
                        task.cancel()
                case TurnStarted():
                    self._prompts[event.turn] = event.prompt
                case TurnFinished():
                    finished = self._turns.get(self._prompts.pop(event.turn, self._current))
                    if finished is not None and not finished.done():
                        finished.set_result(event)
                case PromptWithdrawn():
                    finished = self._turns.get(event.prompt)
                    if finished is not None and not finished.done():
                        finished.set_exception(ExpectedError(event.why or "The prompt was withdrawn."))
                case _:
                    pass

    async def _state(self, event: Event) -> list[Any]:
        """The updates that take more than this one event: the output of a call so far, the window with the cost."""
        match event:
            case ToolOutput():
                so_far = (self._printed.get(event.call, "") + event.text)[-_INLINED:]
                self._printed[event.call] = so_far
                return [session_updates.printed(event.call, so_far)]
            case ToolFinished():
                self._printed.pop(event.call, None)
                return []
            case ContextAssembled() if event.agent == self._agent and event.window:
                self._filled = event.size, event.window
                return [session_updates.window(*self._filled, self._cost)]
            case TurnFinished() if event.agent == self._agent and self._filled[1]:
                return [session_updates.window(*self._filled, self._cost)]
            case ModelChanged() if event.agent == self._agent:
                options = await self.options.now(event)
                return [ConfigOptionUpdate(session_update="config_option_update", config_options=options)]
            case _:
                return []

    async def _ask(self, request: ApprovalRequested) -> None:
        call, options = session_updates.permission(request, self._hub.options.cwd)
        decision: Decision = "deny"
        reason = ""
        try:
            answer = await self._client.request_permission(self.id, call, options)
            decision = _DECISIONS.get(str(getattr(answer.outcome, "option_id", "")), "deny")
        except Exception as error:  # whatever a client does wrong, nothing runs without an answer
            reason = f"The client gave no answer: {one_line(str(error), 120)}"
        self._hub.bus.publish(ApprovalAnswered(approval=request.approval, decision=decision, reason=reason))

    async def _command(self, line: str) -> str | None:
        """Run one of our commands; its text. `None`: there is no such command, so it is words for the model."""
        name = line[1:].split(None, 1)[0] if line[1:].strip() else ""
        if "\n" in line or name not in self._hub.registry:
            return None
        try:
            return (await self._hub.run(line)).text
        except CommandError as error:
            return str(error)

    def _words(self, blocks: Sequence[Any]) -> tuple[str, list[str]]:
        """The prompt's text, and the files to send along. Raises `ExpectedError` for what cannot be taken."""
        texts: list[str] = []
        files: list[str] = []
        for block in blocks:
            match getattr(block, "type", ""):
                case "text":
                    texts.append(block.text)
                case "image" | "audio":
                    files.append(self._file(block.data, block.mime_type))
                case "resource_link":
                    texts.append(f"@{_path_of(block.uri)}")
                case "resource":
                    resource = block.resource
                    if (text := getattr(resource, "text", None)) is not None:
                        texts.append(f"{_path_of(resource.uri)}:\n```\n{text[:_INLINED]}\n```")
                    else:
                        files.append(self._file(resource.blob, resource.mime_type or ""))
                case other:
                    raise ExpectedError(f"gsh-tui takes no {one_line(str(other), 40)} in a prompt.")
        return "\n".join(texts).strip(), files

    def _file(self, data: str, media_type: str) -> str:
        suffix = _SUFFIXES.get(media_type)
        if suffix is None:
            raise ExpectedError(f"gsh-tui takes no {one_line(media_type, 60) or 'such file'} in a prompt.")
        try:
            raw = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ExpectedError("An attachment is not valid base64.") from error
        if len(raw) > _MOST:
            raise ExpectedError(f"An attachment has {len(raw):,} bytes; the limit is {_MOST:,}.")
        file = Path(self._attachments.name) / f"{new_id()}{suffix}"
        file.write_bytes(raw)
        return str(file)


OpenHub = Callable[[Path, str, ClientServers], Awaitable[Hub]]
"""(folder, conversation: `new` or an id, the client's MCP servers) → a started hub with our agent.

Raises `ExpectedError`.
"""


def _path_of(uri: str) -> str:
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


_LISTS_WITHIN, _SETS_WITHIN = 3.0, 10.0
"""Seconds for the list of models, some of which may be on a server that does not answer, and for taking a value."""
_MODELS = 200
_DEFAULT = "default"
_EFFORTS = {_DEFAULT: "As its provider decides", "low": "Low", "medium": "Medium", "high": "High"}
E = TypeVar("E", bound=Event)


class SessionOptions:
    """See the module."""

    def __init__(self, hub: Hub, agent: str) -> None:
        self._hub = hub
        self._agent = agent
        self._models: dict[str, str] = {}

    @property
    def mode(self) -> GuardMode:
        return self._hub.gate.modes.mode_of(self._agent) if self._hub.gate is not None else "plan"

    async def now(
        self, changed: ModelChanged | None = None
    ) -> list[SessionConfigOptionSelect | SessionConfigOptionBoolean]:
        """The choices as they are now. `changed`: the model that has just come into use."""
        modes = {mode: mode.capitalize() for mode in MODES}
        found: list[SessionConfigOptionSelect | SessionConfigOptionBoolean] = [
            _select("mode", "Mode", "mode", self.mode, modes)
        ]
        if (used := changed or self._hub.agent_states.in_use(self._agent)) is None:
            return found
        name = f"{used.provider}/{used.model}"
        models = {name: used.label or used.model} | await self._usable()
        found.append(_select("model", "Model", "model", name, models))
        agent = self._hub.local_agent(self._agent)
        handle = agent.model_handle if agent is not None else None
        if handle is not None and handle.provider.capabilities(handle.model).effort:
            found.append(_select("effort", "Effort", "thought_level", used.effort or _DEFAULT, _EFFORTS))
        return found

    async def choose(self, id: str, value: str) -> None:
        """Choose a value of one of them, and wait until the agent has taken it."""
        match id:
            case "mode" if (mode := mode_named(value)) is not None:
                if self.mode != mode:
                    heard = self._next(AgentModeChanged)
                    self._hub.bus.publish(ModeChangeRequested(agent=self._agent, mode=mode))
                    await _taken(heard, value)
            case "model" | "effort":
                provider, _, model = value.partition("/")
                heard = self._next(ModelChanged)
                try:
                    if id == "model":
                        await self._hub.call(ChangeModel(name=model, provider=provider))
                    else:
                        await self._hub.call(ChangeEffort.model_validate({"level": value}))
                except BaseException:
                    heard.cancel()
                    raise
                await _taken(heard, value)
            case _:
                raise ExpectedError(f"{one_line(id, 40)} cannot be {one_line(value, 60)} here.")
        await self._hub.bus.drained()

    async def _usable(self) -> dict[str, str]:
        """The models that can be chosen, by what chooses them; asked for once."""
        if not self._models:
            with contextlib.suppress(CommandError, TimeoutError):
                async with time_limit(_LISTS_WITHIN):
                    listed = (await self._hub.call(ListModels())).models
                    usable = [one for one in listed if one.usable is not False]
                    self._models = {f"{one.provider}/{one.model}": one.label for one in usable[:_MODELS]}
        return self._models

    def _next(self, kind: type[E]) -> asyncio.Future[E]:
        """The next such event about the agent."""
        return self._hub.bus.wait_for(
            kind, lambda event: getattr(event, "agent", "") == self._agent, timeout=_SETS_WITHIN
        )


def _select(id: str, name: str, category: str, value: str, values: Mapping[str, str]) -> SessionConfigOptionSelect:
    offers = [SessionConfigSelectOption(value=one, name=words or one) for one, words in values.items()]
    kind: Any = category
    return SessionConfigOptionSelect(
        id=id, name=name, type="select", category=kind, current_value=value, options=offers
    )


async def _taken(heard: asyncio.Future[Any], value: str) -> None:
    try:
        await heard
    except TimeoutError:
        raise ExpectedError(f"The agent has not taken {one_line(value, 60)} yet.") from None
