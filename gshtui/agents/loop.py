"""The agent loop: one turn answers one prompt, iteration by iteration, until the model stops or a limit is reached.
Every tool call gets exactly one result, even after an interrupt or a fault.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from gshtui.agents.answer_stream import AnswerFailed, AnswerStream, Interrupted
from gshtui.agents.conversation import Conversation, unanswered_prompt
from gshtui.agents.ports import ModelHandle
from gshtui.agents.tool_selection import ToolSelection
from gshtui.agents.toolbox import Toolbox
from gshtui.bus.agent_data import InboxPrompt
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    IterationStarted,
    Status,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.messages import Medium, Message, ResultStatus, Stop, Text, ToolResult, Usage, user_message
from gshtui.context.engine import ContextDraft, ContextEngine, Prepared
from gshtui.context.log.conversation_log import distinct
from gshtui.context.views import ContextError
from gshtui.media.attachment import AttachmentError, attach
from gshtui.media.mentions import MOST_ATTACHED
from gshtui.providers.port import Capabilities, Completed, ProviderError
from gshtui.providers.wire import media_notes
from gshtui.providers.wire.request_hash import hash_of_body
from gshtui.python.python_blocks import OUTPUT, is_block_call
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.ids import new_id

_OWED = "Nothing is lost: what was said is recorded as soon as that is possible. Then send `continue`."
_FAULT = "The turn failed inside gsh-tui before this call had a result."
_STOPPED = "The turn was stopped before this call ran."
_WHOLE = ("end", "tool_use")
"""How an answer ends that the model ended itself."""


def attachment_blocks(paths: Sequence[str]) -> tuple[Medium, ...]:
    """Read the files. Blocks. Raises `ProviderError`: (`bad_request`) one can't be read, is too large, or is of a kind
    that no provider takes; or there are too many.
    """
    if len(paths) > MOST_ATTACHED:
        text = f"The prompt names more than {MOST_ATTACHED} pictures, PDFs and sounds, so it was not sent."
        raise ProviderError("bad_request", text, hint="Send some of them with a prompt of their own.")
    try:
        return tuple(attach(Path(path)) for path in paths)
    except AttachmentError as error:
        raise ProviderError("bad_request", error.message, hint=error.hint) from error


def attachment_notes(
    blocks: Sequence[Medium], model: str, abilities: Capabilities, earlier: Sequence[Medium] = ()
) -> list[str]:
    """What was done to the files, and what this model cannot take of them, as a sentence for each. `earlier`: the files
    of the conversation before them; what these push out of the request is said too.
    """
    notes = [f"{block.name}: {block.note}." for block in blocks if block.note]
    notes += [f"{model}: {instead}" for block in blocks if (instead := media_notes.instead_of(block, abilities))]
    if not blocks:
        return notes
    known = media_notes.beyond_limits(earlier, abilities)
    over = media_notes.beyond_limits([*earlier, *blocks], abilities)
    return notes + [f"{model}: {why}" for place, why in sorted(over.items()) if place not in known]


TurnLimit = Callable[[ModelHandle], Awaitable[str]]
"""Called before each request; a non-empty answer ends the turn with that reason. It may ask a person first."""


async def unlimited(_: ModelHandle) -> str:
    """No limit."""
    return ""


class TurnProgress(msgspec.Struct):
    """The progress of a turn."""

    text: str = ""
    usage: Usage = msgspec.field(default_factory=Usage)
    cost: float | None = 0.0
    stop: Stop = "end"
    error: str = ""
    error_kind: str = ""
    hint: str = ""


class PromptRefused(Exception):
    """A prompt that is not in the record, so nothing was sent and there is no turn."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint


BeforeEnd = Callable[[bool], Awaitable[str]]
"""(it has gone on already) → what is to be done before the turn ends; empty: it ends."""
_SENT_BACK = 5
"""Times that hooks can have a turn go on."""


class Turn:
    """One turn of one agent. `run` is called once."""

    def __init__(
        self,
        bus: Bus,
        agent: str,
        conversation: Conversation,
        toolbox: Toolbox,
        handle: Callable[[], ModelHandle],
        engine: ContextEngine,
        max_iterations: int,
        max_steps: int,
        limit: TurnLimit = unlimited,
        before_end: BeforeEnd | None = None,
    ) -> None:
        """`handle` is asked before each iteration, so that a model can be changed in the middle of a turn.

        `limit` too: what it says, if anything, ends the turn there and is told as the reason. `before_end` may have
        the agent go on with what it says, a few times.
        """
        self._bus = bus
        self._agent = agent
        self._conversation = conversation
        self._toolbox = toolbox
        self._model = handle
        self._engine = engine
        self._max_iterations = max_iterations
        self._steps_left = max_steps
        self._limit = limit
        self._before_end = before_end
        self._sent_back = 0
        self.paused = False
        """It ended because `limit` said so."""
        self._id = new_id()
        self._progress = TurnProgress()
        self._open: Message | None = None
        """The answer whose calls have no recorded result yet."""

    @property
    def id(self) -> str:
        """The id under which its messages are stored."""
        return self._id

    async def run(self, prompt: InboxPrompt) -> TurnFinished:
        """Answer the prompt. Returns the last event published; cancellation ends the turn as interrupted.
        Raises `PromptRefused`: the prompt could not be recorded, or was interrupted before that.
        """
        started, waited = time.monotonic(), self._toolbox.waited
        await self._take_prompt(prompt)
        try:
            await self._run(prompt)
            await self._close_calls(_STOPPED, "cancelled" if self._progress.stop == "interrupted" else "error")
        except Exception as error:  # a fault of ours: it costs this turn, and the agent goes on
            fault = self._bus.report(f"the turn of {self._agent}", error, shown=True)
            self._fail(fault.failure("The turn"), fault.kind, f"Send it again. {fault.details}".rstrip())
            await self._close_calls(_FAULT, "error")
        if self._toolbox.checkpoints is not None:
            self._toolbox.checkpoints.end()
        p = self._progress
        finished = TurnFinished(
            agent=self._agent,
            session=self._conversation.session,
            turn=self._id,
            stop=p.stop,
            text=p.text,
            usage=p.usage,
            cost=p.cost,
            error=p.error,
            error_kind=p.error_kind,
            hint=p.hint,
            duration=time.monotonic() - started,
            waited=self._toolbox.waited - waited,
        )
        self._bus.publish(finished)
        return finished

    async def _take_prompt(self, prompt: InboxPrompt) -> None:
        """Record the prompt and publish the start of its turn. Raises `PromptRefused`."""
        try:
            await self._record_prompt(prompt)
        except (StoreError, ProviderError) as error:
            raise PromptRefused(error.message, error.hint) from error
        except asyncio.CancelledError:
            if not any(message.id == prompt.id for message in await self._conversation.messages()):
                raise PromptRefused("It was interrupted before that.") from None
            self._progress.stop = "interrupted"
        except Exception as error:
            fault = self._bus.report(f"the prompt of {self._agent}", error, shown=True)
            raise PromptRefused(fault.failure("It"), fault.details) from error
        self._bus.publish(
            TurnStarted(
                agent=self._agent,
                session=self._conversation.session,
                turn=self._id,
                prompt=prompt.id,
                text=prompt.text,
            )
        )

    async def _run(self, prompt: InboxPrompt) -> None:
        """The turn, up to what can be expected to happen."""
        if self._progress.stop == "interrupted":
            return
        try:
            if self._toolbox.checkpoints is not None:
                self._toolbox.checkpoints.begin(self._conversation.session, prompt.id)
            await self._iterate()
        except AnswerFailed as failed:
            await self._keep_partial(failed.partial)
            self._fail(failed.error.message, failed.error.kind, failed.error.hint)
        except Interrupted as cut:
            await self._keep_partial(cut.partial)
            self._progress.stop = "interrupted"
        except asyncio.CancelledError:
            self._progress.stop = "interrupted"
        except ProviderError as error:
            self._fail(error.message, error.kind, error.hint)
        except ContextError as error:
            self._fail(error.message, "context", error.hint)
        except StoreError as error:
            self._fail(error.message, "record", f"{error.hint} {_OWED}".lstrip())

    async def _close_calls(self, why: str, status: ResultStatus) -> None:
        """Give every call of the last answer a result, so that the conversation can go on."""
        answer, self._open = self._open, None
        if answer is None:
            return
        results = tuple(ToolResult(call.id, call.name, why, status) for call in distinct(answer.calls))
        closing = self._results(answer, results)
        try:
            known = {message.id for message in await self._conversation.messages()}
            if answer.id in known and closing.id not in known:
                await self._conversation.append(closing)
        except StoreError:
            return  # it is owed
        except Exception as error:  # the next request closes them
            self._bus.report(f"the record of {self._agent}", error, shown=True)

    async def _record_prompt(self, prompt: InboxPrompt) -> None:
        messages = await self._conversation.messages()
        before = unanswered_prompt(messages, prompt.id)
        if before is not None:
            self._id = before.turn or self._id  # it was recorded, but the process that was to answer it died
        else:
            media = await asyncio.to_thread(attachment_blocks, prompt.attachments)
            handle = self._model()
            abilities = handle.provider.capabilities(handle.model)
            earlier = [b for message in messages for b in message.blocks if isinstance(b, Medium)] if media else []
            notes = attachment_notes(media, handle.label or handle.model, abilities, earlier)
            mentioned: tuple[Text, ...] = ()
            if prompt.source == "person":
                mentioned = await self._toolbox.mentioned(prompt.text, self._conversation.session)
                notes += await self._toolbox.missing_files(prompt.text)
            for note in notes:
                self._bus.publish(Noticed(level="warning", text=note, about=self._agent))
            message = user_message(prompt.text, id=prompt.id, turn=self._id, extra=(*media, *mentioned))
            await self._conversation.append(msgspec.structs.replace(message, agent=prompt.source))

    async def _iterate(self) -> None:
        for iteration in range(1, self._max_iterations + 1):
            self._publish_status("thinking")
            handle = self._model()
            if reached := await self._limit(handle):
                self._progress.stop, self._progress.hint, self.paused = "max_iterations", reached, True
                return
            completed = await self._answer(handle, iteration)
            answer = completed.message
            if not answer.blocks:
                raise ProviderError(
                    "garbage",
                    f"{handle.provider.name} sent an empty answer.",
                    hint="Send the prompt again, or change the model with /model.",
                )
            if completed.stop in _WHOLE:
                answer = self._toolbox.with_block_calls(answer)
            self._progress.text = answer.text or self._progress.text
            self._open = answer if answer.calls else None
            await self._conversation.append(answer)
            if not answer.calls:
                if completed.stop == "end" and await self._goes_on():
                    continue
                self._progress.stop = completed.stop
                return
            if not await self._run_tools(answer):
                self._progress.stop = "interrupted"
                return
            self._steps_left -= len(answer.calls)
            if self._steps_left <= 0:
                self._stop_at("[agent] max_steps")
                return
        self._stop_at("[context] max_iterations")

    async def _goes_on(self) -> bool:
        """Whether a hook has the agent go on; then what it says is recorded as the next input."""
        if self._before_end is None or self._sent_back >= _SENT_BACK:
            return False
        more = await self._before_end(self._sent_back > 0)
        if not more:
            return False
        self._sent_back += 1
        message = user_message(f"[a hook of the person says: {more}]", id=new_id(), turn=self._id)
        await self._conversation.append(msgspec.structs.replace(message, agent="hook"))
        return True

    def _stop_at(self, limit: str) -> None:
        self._progress.stop = "max_iterations"
        self._progress.hint = f"Type `continue` to let it go on, or raise `{limit}`."

    async def _answer(self, handle: ModelHandle, iteration: int) -> Completed:
        """Get one answer. If the provider rejects the request as too long before answering, retry with less."""
        await self._toolbox.prepare()
        while True:
            messages = await self._conversation.messages()
            draft = request_draft(handle, self._toolbox, messages, self._id, iteration)
            prepared = await self._engine.prepare(messages, draft)
            self._toolbox.max_output_bytes = self._engine.output_bytes(draft)
            self._toolbox.says_key = any(tool.name == "output" for tool in prepared.assembly.request.tools)
            try:
                return await self._ask(handle, prepared, iteration)
            except Interrupted:
                await self._engine.failed(prepared, "", hash_of_body(handle.provider.body(prepared.assembly.request)))
                raise
            except AnswerFailed as failed:
                sent = hash_of_body(handle.provider.body(prepared.assembly.request))
                await self._engine.failed(prepared, failed.error.message, sent)
                if failed.partial.blocks:
                    raise
                if failed.error.kind == "context":
                    again = self._engine.overflowed(prepared, failed.error.message)
                else:
                    again = failed.error.kind == "bad_request" and self._engine.suspected(prepared, failed.error)
                if not again:
                    raise

    async def _ask(self, handle: ModelHandle, prepared: Prepared, iteration: int) -> Completed:
        blank = Message(
            id=new_id(),
            role="assistant",
            blocks=(),
            at=time.time(),
            agent=self._agent,
            turn=self._id,
            iteration=iteration,
            provider=handle.provider.name,
            model=handle.model,
        )
        self._bus.publish(
            IterationStarted(
                agent=self._agent,
                session=self._conversation.session,
                turn=self._id,
                iteration=iteration,
                message=blank.id,
            )
        )
        completed = await AnswerStream(self._bus, self._conversation, self._agent, blank).stream(
            handle.provider, prepared.assembly.request
        )
        cost = self._count(handle, completed.usage, iteration)
        await self._engine.answered(prepared, completed.usage, cost, completed.sent)
        message = msgspec.structs.replace(
            blank, blocks=completed.message.blocks, stop=completed.stop, usage=completed.usage
        )
        return Completed(message, completed.stop, completed.usage)

    def _count(self, handle: ModelHandle, usage: Usage, iteration: int) -> float | None:
        cost = handle.provider.capabilities(handle.model).cost(usage)
        p = self._progress
        p.usage = p.usage + usage
        p.cost = None if p.cost is None or cost is None else p.cost + cost
        self._bus.publish(
            UsageReported(
                agent=self._agent,
                session=self._conversation.session,
                turn=self._id,
                iteration=iteration,
                provider=handle.provider.name,
                model=handle.model,
                usage=usage,
                cost=cost,
            )
        )
        return cost

    async def _run_tools(self, answer: Message) -> bool:
        """Run the answer's calls and record their results; False when the person interrupted."""
        results, interrupted = await self._toolbox.run(distinct(answer.calls), self._conversation.session, answer.id)
        await self._conversation.append(self._results(answer, results))
        self._open = None
        return not interrupted

    def _results(self, answer: Message, results: tuple[ToolResult, ...]) -> Message:
        return Message(
            id=f"{answer.id}-results",
            role="tool",
            blocks=tuple(_as_block_output(result) if is_block_call(result.call_id) else result for result in results),
            at=time.time(),
            agent=self._agent,
            turn=self._id,
            iteration=answer.iteration,
        )

    async def _keep_partial(self, partial: Message) -> None:
        if partial.blocks:
            self._progress.text = partial.text or self._progress.text
            try:
                await self._conversation.append(partial)
            except StoreError as error:
                self._fail(error.message, "record", f"{error.hint} {_OWED}".lstrip())

    def _fail(self, error: str, kind: str, hint: str) -> None:
        p = self._progress
        p.stop, p.error, p.error_kind, p.hint = "error", error, kind, hint

    def _publish_status(self, status: Status, doing: str = "") -> None:
        self._bus.publish(AgentStatusChanged(agent=self._agent, status=status, doing=doing))


def _as_block_output(result: ToolResult) -> ToolResult:
    """The result of a `<python>` block in the text, as its model was told that it looks."""
    return msgspec.structs.replace(result, content=f"{OUTPUT}{result.content}")


def request_draft(
    handle: ModelHandle, toolbox: Toolbox, messages: Sequence[Message], turn: str = "", iteration: int = 0
) -> ContextDraft:
    """The inputs for the context engine of a request with this model and the tools of this conversation."""
    tools = handle.provider.capabilities(handle.model).tools
    selected = toolbox.selector.select(messages) if tools else ToolSelection()
    return ContextDraft(
        handle.provider, handle.model, selected.specs, turn, iteration, handle.max_output, selected.findable
    )
