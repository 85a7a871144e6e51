"""One turn for a face that has no window: opens the conversation, sends the prompt, and follows the turn to its end.

The face gets the events of the hub's bus and what `TurnFace` names; it may be in this process, or connected to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptSubmitted, PromptWithdrawn, TurnFinished, TurnStarted
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.context.log.ports import Contribute, Contribution
from gshtui.hub.faces.large_input import PART, read_in_parts, summarise
from gshtui.hub.faces.turn_request import WIND_DOWN, TurnEnd, TurnFace, TurnRequest
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import Loaded
from gshtui.system.caller_environment import caller_environ
from gshtui.system.expected_error import ExpectedError
from gshtui.system.ids import new_id

KEPT_IN_TMUX = "It is kept of shells inside tmux, and of what you run by `gsh run -- COMMAND`."


class PromptTurn:
    """See the module's text."""

    def __init__(self, request: TurnRequest, loaded: Loaded, face: TurnFace) -> None:
        self._request = request
        self._face = face
        self._hub: Hub | None = None
        self._session = self._held_by = self._prompt = ""
        self._started = False
        self._finished = asyncio.Event()
        self.options = HubOptions(
            cwd=loaded.cwd,
            loaded=loaded,
            session=request.session,
            continues=request.continues,
            agent=request.agent,
            provider=request.provider,
            model=request.model,
            respondent=request.respondent,
            mode=request.mode,
            max_iterations=request.max_iterations,
            visiting=True,
            where=request.where,
            more=(self._recent_commands,) if request.recent else (),
        )
        """Of the hub that it needs."""

    async def run(self, hub: Hub) -> TurnEnd:
        """Start the hub, which was made with `options`, and take the turn."""
        request = self._request
        self._hub = hub
        hub.bus.subscribe(self._follow, SessionOpened, TurnStarted, TurnFinished, PromptWithdrawn, Noticed, name="turn")
        await hub.start()
        if (ended := self._unusable(hub)) is not None:
            return ended
        if request.printed:
            from gshtui.store.sessions.session_calls import ShowSession

            await hub.bus.drained()
            before = await hub.run(ShowSession(session=self._session, all=True, limit=10_000))
            self._face.show(f"{before.text}\n\n")
            if not request.text:
                return "printed"
        expanded = await self._expanded(hub, request.text)
        if isinstance(expanded, str):
            return expanded
        if request.piped:
            instead = await self._instead(hub, expanded.text)
            if instead is None:
                return "unreachable"
            expanded = msgspec.structs.replace(expanded, text=f"{expanded.text}\n\n{instead}")
        return await self._answered(hub, expanded)

    async def interrupt(self) -> None:
        """Start nothing more, and give the turn some seconds to record what it has."""
        if self._hub is not None:
            self._hub.cease()
        if self._prompt:
            await asyncio.wait({asyncio.ensure_future(self._finished.wait())}, timeout=WIND_DOWN)

    def _follow(self, batch: Sequence[Event]) -> None:
        for event in batch:
            match event:
                case SessionOpened():
                    self._session = event.session
                    self._held_by = "" if event.writable else event.held_by or "another window"
                case PromptWithdrawn() if event.prompt == self._prompt:
                    self._finished.set()
                case Noticed(level="error") if event.about != "settings" and self._prompt and not self._started:
                    self._finished.set()  # there will be no turn
                case TurnStarted():
                    self._started = True
                case TurnFinished():
                    self._finished.set()
                case _:
                    pass

    def _unusable(self, hub: Hub) -> TurnEnd | None:
        """If no turn is possible, say why and return how it ends; otherwise `None`."""
        ends: tuple[tuple[str, TurnEnd], ...] = (("providers", "unreachable"), ("guard", "error"), ("agents", "error"))
        for part, end in ends:
            if (failed := hub.failed.get(part)) is not None:
                self._face.complain(failed.why, failed.hint)
                return end
        if (failed := hub.failed.get("store")) is not None:
            self._face.complain(f"this conversation will not be saved: {failed.why}", failed.hint)
        return None

    async def _expanded(self, hub: Hub, text: str) -> PromptSubmitted | TurnEnd:
        """The text and files that `/init` or a kept prompt stands for, or the text as it is."""
        from gshtui.agents.commands.prompt_commands import PROMPT_COMMANDS
        from gshtui.agents.prompts.commands import FAMILY
        from gshtui.commands.declaration import CommandError, UsageError

        as_it_is = PromptSubmitted(prompt=new_id(), agent=self._request.agent, text=text)
        line = text.strip()
        name = line.partition(" ")[0].removeprefix("/")
        if self._request.verbatim or "\n" in line or not line.startswith("/") or not name or "/" in name:
            return as_it_is
        if name not in (*PROMPT_COMMANDS, "prompt"):
            await hub.read_prompts()
            if name not in hub.registry or hub.registry.get(name).family != FAMILY:
                return as_it_is
        try:
            intent = (await hub.run(line)).intent
        except CommandError as error:
            self._face.complain(error.message, error.hint)
            if error.data == {"kind": "denied"}:
                return "denied"
            return "usage" if isinstance(error, UsageError) else "error"
        if not isinstance(intent, PromptSubmitted):
            return as_it_is
        return msgspec.structs.replace(as_it_is, text=intent.text, attachments=intent.attachments)

    async def _instead(self, hub: Hub, question: str) -> str | None:
        """What is sent in place of long input; `None`: the model does not answer, which the face was told."""
        request = self._request
        try:
            if request.large == "summary":
                return await summarise(question, request.piped, hub.small_model.ask, self._face.note)
            agent = hub.local_agent(request.agent)
            handle = agent.model_handle if agent is not None else None
            window = handle.provider.capabilities(handle.model).window if handle is not None else 0
            size = max(8_000, min(PART, 2 * window))  # half the window, as four characters are a token
            ask, note = hub.small_model.ask, self._face.note
            return await read_in_parts(question, request.piped, size, request.agent, ask, note)
        except ExpectedError as error:
            self._face.complain(error.message, error.hint)
            return None

    async def _answered(self, hub: Hub, prompt: PromptSubmitted) -> TurnEnd:
        """Send the prompt, and wait for its turn to end."""
        from gshtui.media.mentions import attachments

        await hub.bus.drained()
        if self._held_by:
            self._face.complain(
                f"this conversation is open in {self._held_by}; close it there, or leave out --session."
            )
            return "error"
        if self._session:
            self._face.opened(self._session)
        named = await asyncio.to_thread(attachments, prompt.text, hub.options.cwd)
        files = (*([self._request.file] if self._request.file else []), *prompt.attachments, *named)
        self._prompt = prompt.prompt
        hub.bus.publish(msgspec.structs.replace(prompt, attachments=files))
        await self._finished.wait()
        return "finished"

    async def _recent_commands(self, new: bool) -> Contribution:
        if self._hub is None:
            return Contribution()
        lines = self._request.context_lines
        told = await recent_commands(self._hub, lines)(new)
        if lines and not any("\n  " in text.text for text in told.along) and not caller_environ().get("TMUX"):
            self._face.complain("none of what your commands printed is known.", KEPT_IN_TMUX)
        return told


def recent_commands(hub: Hub, output_lines: int = 0) -> Contribute:
    """Tells a conversation what people ran last, unless it was told the same before. `output_lines`: of output, at
    most; 0: as the settings say.
    """

    async def contribute(new: bool) -> Contribution:
        if hub.store is None:
            return Contribution()
        from gshtui.context.retrieval.shell_summary import shell_summary

        lines = output_lines or hub.settings.shell.context_lines
        context = hub.settings.context
        return await shell_summary(hub.store.shells, context, hub.sync_shells, always=True, output_lines=lines)(new)

    return contribute
