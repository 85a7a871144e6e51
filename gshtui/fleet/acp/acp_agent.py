"""An agent whose program speaks the Agent Client Protocol: its inbox, its turns, and what the program asks of us.

Lives in the hub, as our native agents do, and speaks the same events. A program that ends is started
again by the next prompt, with its session where it can continue one.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from gshtui.agents.conversation import Conversation, answered_turn, unanswered_prompt
from gshtui.agents.loop import PromptRefused, attachment_blocks
from gshtui.agents.prompt_inbox import PromptAgent
from gshtui.bus.agent_data import InboxPrompt, ProgramCommand
from gshtui.bus.bus import Bus
from gshtui.bus.context_data import Task
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    ContextAssembled,
    ModelChanged,
    ModelChangeRequested,
    ProgramOptionRequested,
    ProgramSessionChanged,
    QuestionAnswered,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.messages import Document, Image, Medium, ResultStatus, Stop, Usage, user_message
from gshtui.context.tasks.task_list import TaskError, TaskStore, written
from gshtui.fleet.acp.acp_files import AcpFiles, AcpTerminals
from gshtui.fleet.acp.acp_options import AcpProgramOptions
from gshtui.fleet.acp.acp_questions import CANCELLED, AcpQuestions
from gshtui.fleet.acp.acp_turn import STOPS, TurnRecorder, told_before
from gshtui.media import media_files
from gshtui.programs.acp.acp_commands import ASKING, STRICTER
from gshtui.programs.acp.acp_connection import AcpConnection, AcpError
from gshtui.programs.acp.acp_updates import (
    CallReport,
    CommandsReport,
    OptionsReport,
    PlanReport,
    Report,
    TitleReport,
    TokenReport,
    WindowReport,
    Words,
    call_report,
    report_of,
    usage_of,
)
from gshtui.providers.port import ProviderError
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.expected_error import ExpectedError
from gshtui.system.ids import new_id
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, end_all, keep_on
from gshtui.text.sanitise import one_line

_CANCELS_WITHIN = 15.0
"""Seconds that a program has to end an interrupted turn, before it is ended itself."""
_WAITING = 512
"""Reports that may wait; the program's next message is read when there are fewer."""
Connect = Callable[["AcpAgent"], AcpConnection]


class AcpAgent(PromptAgent):
    """See the module. `open` connects; `start` and `stop` bracket its life."""

    def __init__(
        self,
        bus: Bus,
        name: str,
        conversation: Conversation,
        connect: Connect,
        questions: AcpQuestions,
        files: AcpFiles,
        terminals: AcpTerminals,
        tasks: TaskStore,
        remember: Callable[[str], Awaitable[None]],
        *,
        model: str = "",
        spent: float = 0.0,
    ) -> None:
        """
        Args:
            connect: makes a connection to the program, not yet started, with this agent as its client.
            remember: keeps the id of the program's session for the next start.
            model: the one in which a new session begins; empty: the program's own choice.
            spent: what its conversation has cost so far, in US dollars.
        """
        super().__init__(bus, name, QuestionAnswered, ProgramOptionRequested, ModelChangeRequested)
        self._conversation = conversation
        self._connect = connect
        self._questions = questions
        self._files = files
        self._terminals = terminals
        self._tasks = tasks
        self._remember = remember
        self._inbox.move(conversation)
        self._connection: AcpConnection | None = None
        self._session = ""
        self._options = AcpProgramOptions(self.note)
        self._commands: tuple[ProgramCommand, ...] = ()
        self._window = WindowReport(0, 0)
        self._told_usage = Usage()
        """Of this turn, from a program that tells it while it works."""
        self._cost_before = spent
        self._model = model
        self._forgotten = False
        """The program has begun anew, and is told with the next prompt what was said before."""
        self._reports: deque[Report] = deque()
        self._reported = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._recorder: TurnRecorder | None = None
        self._recording = asyncio.Lock()
        self._handling: asyncio.Task[None] | None = None

    @property
    def session(self) -> str:
        return self._conversation.session

    async def open(self, known: str = "") -> None:
        """Start the program and open its session; `known`: the id of one to continue. Raises `AcpError`."""
        self._session = known
        await self._connected()

    async def start(self) -> None:
        """Start answering prompts. What a person left waiting is held. Raises `StoreError`."""
        await self._inbox.restore(held=lambda prompt: prompt.source == "person")
        self._handling = keep_on(self._handle_reports, f"the reports of {self.name}")
        self._life = keep_on(self._run, f"the agent {self.name}")
        if not self._inbox:
            self._publish_status("idle")

    async def stop(self, timeout: float = 5.0) -> None:
        """Interrupt the turn in progress, let it record its state, and end the program."""
        self.cease()
        self._questions.withdraw()
        await super().stop(timeout)
        await cancel_and_wait(self._handling, within=timeout)
        await end_all("the end of the program", self._terminals.close, self._disconnect)

    # What the program asks of its client

    def take_update(self, update: Mapping[str, Any]) -> None:
        """Queue one update of the session."""
        report = report_of(update)
        if report is not None:
            self._reports.append(report)
            self._reported.set()
            if len(self._reports) >= _WAITING:
                self._room.clear()

    async def caught_up(self) -> None:
        """Wait while too many reports wait."""
        await self._room.wait()

    def note(self, text: str) -> None:
        self._bus.publish(Noticed(level="warning", text=one_line(text, 500), about=self.name))

    async def answer_request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Answer one request of the program. Raises `KeyError` for an unknown one, `ExpectedError` with the reason."""
        match method:
            case "session/request_permission":
                return await self._ask(params)
            case "fs/read_text_file":
                return await self._files.read(params)
            case "fs/write_text_file":
                await self._files.write(params)
            case "terminal/create":
                return await self._terminals.create(params)
            case "terminal/output":
                return await self._terminals.output(params)
            case "terminal/wait_for_exit":
                return await self._terminals.wait(params)
            case "terminal/kill":
                await self._terminals.kill(params)
            case "terminal/release":
                await self._terminals.release(params)
            case _:
                raise KeyError(method)
        return None

    async def _ask(self, params: Mapping[str, Any]) -> dict[str, Any]:
        call = params.get("toolCall")
        report = call_report(call) if isinstance(call, dict) else None  # pyright: ignore[reportUnknownArgumentType]
        recorder = self._recorder
        if report is None or recorder is None:
            return CANCELLED
        await self._caught_up()
        async with self._recording:
            await recorder.announce(report)
        answer, meaning = await self._questions.ask(recorder.known(report), params)
        if meaning == "allowed":
            self._files.agree(params)
        elif meaning == "denied":
            recorder.refuse(report.id)
        return answer

    # Its intents

    async def _handle_intent(self, event: Event) -> None:
        match event:
            case QuestionAnswered():
                self._questions.handle_answer(event)
            case ProgramOptionRequested():
                await self._set_option(event.option, event.value)
            case ModelChangeRequested() if event.model:
                await self._set_option("model", event.model)
            case _:
                pass

    async def _set_option(self, wanted: str, value: str) -> None:
        try:
            if await self._options.set(self._connection, wanted, value):
                self._publish_session()
        except AcpError as error:
            self._bus.publish(Noticed(level="error", text=error.message, hint=error.hint, about=self.name))

    # Its turns

    async def _run(self) -> None:
        while True:
            while (prompt := await self._inbox.pop()) is not None:
                await self._answer(prompt)
            if self._inbox.closed:
                return
            await self._inbox.wake.wait()
            self._inbox.wake.clear()

    async def _answer(self, prompt: InboxPrompt) -> None:
        """Answer one prompt. Whatever happens, the agent can take the next one."""
        turn = asyncio.get_running_loop().create_task(self._take_turn(prompt), name=f"turn:{self.name}")
        self._inbox.turn = turn
        finished: TurnFinished | None = None
        try:
            finished = await turn
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
        except PromptRefused as refused:
            self._inbox.refuse_taken(f"The prompt was not sent: {refused.why}", refused.hint)
        except Exception as error:  # a fault of ours costs this turn
            fault = self._bus.report(f"the turn of {self.name}", error, shown=True)
            self._ended(self.session, "error", fault.failure("The turn"), fault)
        finally:
            self._inbox.done(recorded=self._conversation.has(prompt.id))
            self._recorder = None
        failed = finished is not None and finished.stop == "error"
        self._publish_status("failed" if failed else "idle", finished.error if finished is not None else "")

    async def _take_turn(self, prompt: InboxPrompt) -> TurnFinished:
        """Run the prompt's turn. Raises `PromptRefused`."""
        started, turn = time.monotonic(), new_id()
        try:
            messages = await self._conversation.messages()
        except StoreError as error:
            raise PromptRefused(error.message, error.hint) from error
        before = answered_turn(self.name, self.session, messages, prompt.id)
        if before is not None:  # its outcome is told again to those who missed it
            for event in before:
                self._bus.publish(event)
            return before[1]
        again = unanswered_prompt(messages, prompt.id)
        turn = again.turn if again is not None and again.turn else turn
        extra = await self._record_prompt(prompt, turn, recorded=again is not None)
        stop: Stop = "end"
        error: ExpectedError | None = None
        usage = self._told_usage = Usage()
        self._recorder = recorder = TurnRecorder(
            self._bus, self.name, self._conversation, turn, self._program, self._options.value("model")
        )
        try:
            answer = await self._prompt(await self._blocks(prompt, extra))
            stop = STOPS.get(str(answer.get("stopReason")), "end")
            usage = usage_of(answer)
        except asyncio.CancelledError:
            stop = "interrupted"
        except (AcpError, ProviderError, StoreError) as failure:
            stop, error = "error", failure
        ended: ResultStatus = "cancelled" if stop == "interrupted" else "error" if error is None else "lost"
        try:
            await self._caught_up()
            async with self._recording:
                await recorder.finish(ended)
        except StoreError as failure:
            stop, error = "error", failure
        usage = usage if usage.context else self._told_usage
        cost = self._spent(turn, usage)
        finished = TurnFinished(
            agent=self.name,
            session=self.session,
            turn=turn,
            stop=stop,
            text=recorder.text,
            usage=usage,
            cost=cost,
            error=error.message if error is not None else "",
            hint=error.hint if error is not None else "",
            error_kind="" if error is None else str(getattr(error, "kind", "program")),
            duration=time.monotonic() - started,
        )
        self._bus.publish(finished)
        return finished

    async def _record_prompt(self, prompt: InboxPrompt, turn: str, *, recorded: bool) -> Sequence[Medium]:
        """Record the prompt and publish the start of its turn; its files. Raises `PromptRefused`."""
        try:
            extra = await asyncio.to_thread(attachment_blocks, prompt.attachments)
            if recorded:
                await self._conversation.settle()
            else:
                message = user_message(prompt.text, id=prompt.id, turn=turn, extra=extra)
                await self._conversation.append(msgspec.structs.replace(message, agent=prompt.source))
        except (StoreError, ProviderError) as error:
            raise PromptRefused(error.message, error.hint) from error
        except asyncio.CancelledError:
            if any(message.id == prompt.id for message in await self._conversation.messages()):
                raise
            raise PromptRefused("It was interrupted before that.") from None
        self._bus.publish(
            TurnStarted(agent=self.name, session=self.session, turn=turn, prompt=prompt.id, text=prompt.text)
        )
        self._publish_status("thinking")
        return extra

    async def _blocks(self, prompt: InboxPrompt, extra: Sequence[Medium]) -> list[dict[str, Any]]:
        """The prompt as the program takes it."""
        blocks: list[dict[str, Any]] = [{"type": "text", "text": prompt.text}]
        if self._forgotten:
            said = told_before([one for one in await self._conversation.messages() if one.id != prompt.id])
            blocks.insert(0, {"type": "text", "text": said})
            self._forgotten = False
        for block in extra:
            if isinstance(block, Image):
                blocks.append({"type": "image", "mimeType": block.media_type, "data": media_files.encoded(block)})
            elif isinstance(block, Document):
                uri = f"file:///{block.name}"
                resource = {"uri": uri, "mimeType": block.media_type, "blob": media_files.encoded(block)}
                blocks.append({"type": "resource", "resource": resource})
        return blocks

    async def _prompt(self, blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Send the prompt, and wait for the end of the turn; an interrupt asks the program to end it first."""
        connection = await self._connected()
        prompting = asyncio.get_running_loop().create_task(connection.prompt(blocks), name=f"prompt:{self.name}")
        try:
            return await asyncio.shield(prompting)
        except asyncio.CancelledError:
            self._questions.withdraw()
            try:
                await connection.cancel()
                async with time_limit(_CANCELS_WITHIN):
                    await asyncio.shield(prompting)
            except (AcpError, TimeoutError):
                self.note(f"{self._program} did not end its turn, so it was ended; the next prompt starts it again.")
                await self._disconnect()
            finally:
                await cancel_and_wait(prompting, within=1.0)
            raise

    async def _connected(self) -> AcpConnection:
        """The connection to the living program; started again if it has ended. Raises `AcpError`."""
        if self._connection is not None and self._connection.alive:
            return self._connection
        await self._disconnect()
        connection = self._connect(self)
        try:
            await connection.start()
            answer, resumed = await connection.open_session(self._session)
        except BaseException:
            await asyncio.shield(connection.close())
            raise
        if self._session and not resumed:
            self._forgotten = bool(await self._conversation.messages())
            self._cost_before = 0.0
            words = "; the next prompt brings along what was said so far" if self._forgotten else ""
            self._bus.publish(
                Noticed(
                    level="warning", text=f"{connection.name} has begun a new conversation{words}.", about=self.name
                )
            )
        self._connection = connection
        self._options.open(answer)
        asking = ASKING.get(connection.name)
        if asking is not None and self._options.value("mode") not in STRICTER:
            await self._options.begin(connection, "mode", asking)
        if self._model and not resumed:
            await self._options.begin(connection, "model", self._model)
        if connection.session != self._session:
            self._session = connection.session
            await self._remember(self._session)
        self._publish_session()
        return connection

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    # What it reports

    async def _handle_reports(self) -> None:
        while True:
            await self._reported.wait()
            self._reported.clear()
            async with self._recording:
                while self._reports:
                    report = self._reports.popleft()
                    if len(self._reports) < _WAITING // 2:
                        self._room.set()
                    try:
                        await self._handle(report)
                    except StoreError as error:
                        self._bus.publish(Noticed(level="error", text=error.message, hint=error.hint, about=self.name))

    async def _caught_up(self) -> None:
        """Return once every report so far is handled."""
        while self._reports:
            self._reported.set()
            async with self._recording:
                pass
            await asyncio.sleep(0)

    async def _handle(self, report: Report) -> None:
        match report:
            case Words() | CallReport():
                if self._recorder is not None:
                    await self._recorder.record(self._with_terminals(report))
            case PlanReport():
                await self._take_plan(report)
            case OptionsReport(mode=mode) if mode:
                self._options.note_mode(mode)
                self._publish_session()
            case OptionsReport():
                self._options.offered = report.options or self._options.offered
                self._publish_session()
            case WindowReport():
                self._window = report
                self._publish_model()
                self._publish_window()
            case TokenReport():
                self._told_usage += report.usage
            case CommandsReport():
                self._commands = report.commands
                self._publish_session()
            case TitleReport():
                if not self._conversation.titled:
                    await self._conversation.set_title(report.title)

    def _with_terminals(self, report: Words | CallReport) -> Words | CallReport:
        """The report of a call that shows our terminals, with what they have printed."""
        if isinstance(report, Words) or self._recorder is None:
            return report
        terminals = self._recorder.known(report).terminals
        if not terminals:
            return report
        printed = "\n".join(filter(None, (self._terminals.text_of(id) for id in terminals)))
        return msgspec.structs.replace(report, text="\n".join(filter(None, (report.text, printed))))

    async def _take_plan(self, report: PlanReport) -> None:
        def new(before: tuple[Task, ...]) -> tuple[Task, ...]:
            try:
                return written(before, [("", text, state) for text, state in report.entries])
            except TaskError:
                return before

        await self._tasks.change(self.name, self.session, self.name, new)

    def _spent(self, turn: str, usage: Usage) -> float | None:
        """Report what the turn has used; its cost, where the program tells one."""
        total, before = self._window.cost, self._cost_before
        # Some count anew each time they start.
        cost = None if total is None else total - before if total >= before else total
        self._cost_before = before if total is None else total
        if usage.context or cost:
            self._bus.publish(
                UsageReported(  # of all its requests, and so of none of them
                    agent=self.name,
                    session=self.session,
                    turn=turn,
                    iteration=0,
                    provider=self._program,
                    model=self._options.value("model"),
                    usage=usage,
                    cost=cost,
                )
            )
        return cost

    @property
    def _program(self) -> str:
        return self._connection.name if self._connection is not None else "program"

    def _publish_session(self) -> None:
        connection = self._connection
        self._bus.publish(
            ProgramSessionChanged(
                agent=self.name,
                program=self._program,
                version=connection.version if connection is not None else "",
                external_id=self._session,
                options=self._options.offered,
                commands=self._commands,
            )
        )
        self._publish_model()

    def _publish_model(self) -> None:
        model = self._options.value("model")
        label = f"{self._program} {model}".strip()
        self._bus.publish(
            ModelChanged(agent=self.name, provider=self._program, model=model, window=self._window.size, label=label)
        )

    def _publish_window(self) -> None:
        """Publish how full the model's window is, as the program counts."""
        if self._window.used and (turn := self._recorder) is not None:
            self._bus.publish(
                ContextAssembled(
                    agent=self.name,
                    session=self.session,
                    turn=turn.id,
                    iteration=turn.iteration,
                    tokens=self._window.used,
                    window=self._window.size,
                )
            )
