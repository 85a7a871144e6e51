"""Runs the tool calls of one answer: checks, asks the gate, runs and shortens each; every call gets one result.

Consecutive reads run in parallel, everything else one at a time in the model's order. Only cancellation raises, and
only after every call has its result.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import difflib
import json
import time
import zlib
from collections.abc import Awaitable, Callable, Collection, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from gshtui.agents.checkpoints import Checkpoints
from gshtui.agents.hooks.agent_hooks import AgentHooks, HookVerdict
from gshtui.agents.tool_selection import ToolSelector
from gshtui.bus.agent_data import GuardMode
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import AgentStatusChanged, ToolFinished, ToolOutput, ToolStarted
from gshtui.bus.events.context_events import OutputTruncated
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.messages import Message, Picture, ResultStatus, Text, ToolCall, ToolResult, png_text
from gshtui.commands.declaration import (
    Assessment,
    Caller,
    CommandError,
    Drawing,
    Effect,
    Invocation,
    Outcome,
    UsageError,
)
from gshtui.commands.execution import command_error, run_parsed
from gshtui.commands.language import validate
from gshtui.commands.line_parser import ACTION
from gshtui.commands.line_values import LANGUAGE, Variables
from gshtui.commands.registry import AnyCommand, Registry, may_run, refused
from gshtui.commands.schema import lowered
from gshtui.commands.tool_search import FIND_TOOL
from gshtui.guard.approval.gate import Call, Gate, Verdict
from gshtui.media.mentions import missing, readable
from gshtui.python.python_blocks import TOOL, block_calls
from gshtui.system.expected_error import ExpectedError
from gshtui.system.ids import new_id
from gshtui.text.file_name import written_name
from gshtui.text.sanitise import one_line
from gshtui.text.truncation import is_too_long, original_size, shorten
from gshtui.tools.familiar_calls import HINTS, our_call

_WITHIN = "within-"
"""How the ids of calls begin that are part of another call."""
_KEY = "0" * 32
"""As long as every key of a kept output."""
_AT_ONCE = 20_000
"""Characters whose secrets are looked for at once; more, in a thread."""
_CANCELLED = "The turn was interrupted; this call was not finished."


PrepareTools = Callable[[Registry, str, bool], Awaitable[None]]
"""(the agent's tools, the agent) → once they are complete. Raises nothing."""
READ = "read"
"""The tool by which what a prompt names is read."""
ReadMentions = Callable[[str, str], Awaitable[list[tuple[str, str]]]]
"""(a person's prompt, the agent) → what it names besides files: each name with its text. Raises nothing."""


class WorkDirs(msgspec.Struct, frozen=True):
    """Where an agent works: its folder and the project's root."""

    cwd: Path
    project: Path


class _Stage(msgspec.Struct):
    """A command of a line that is run as a call: its validated parameters, and its whole outcome once it ran."""

    parameters: Any
    outcome: Outcome | None = None


class Toolbox:
    """The tools of one agent, and how they are run."""

    def __init__(
        self,
        bus: Bus,
        registry: Registry,
        gate: Gate,
        agent: str,
        dirs: WorkDirs,
        keep_output: Callable[[str, str, str], Awaitable[str]],
        max_output_bytes: int,
        redact: Callable[[str], str] | None = None,
        *,
        blocks: bool = False,
        always_tools: Collection[str] = (),
        prepare: PrepareTools | None = None,
        read_mentions: ReadMentions | None = None,
        hooks: AgentHooks | None = None,
        note_path: Callable[[Path], str] | None = None,
    ) -> None:
        """
        Args:
            keep_output: called with a session, a call and a text; keeps a full output and returns its key.
            redact: takes secrets out of what tools return, before anything stores, shows or sends it.
            blocks: whether `<python>` blocks in an answer's text are run, where it has the tool `python`.
            always_tools: names of tools to describe in every request besides the usual ones; `*`: all.
            prepare: called before each request; adds tools that can change while the agent works.
            read_mentions: reads what a person's prompt names besides files.
            hooks: asked before and after each call; `None`: there are none.
            note_path: learns, in a thread, which path a tool has worked on; what it says goes with the result.
        """
        self.selector = ToolSelector(registry, always_tools)
        self._blocks = blocks
        self._prepare = prepare
        self._read_mentions = read_mentions
        self._hooks = hooks
        self._note_path = note_path
        self.checkpoints: Checkpoints | None = None
        """Keeps the files as they are before and after turns; `None`: nothing does."""
        self._bus = bus
        self._registry = registry
        self._gate = gate
        self.waited = 0.0
        """Seconds so far in which calls waited for a person; those that waited together count once."""
        self._reviews = 0
        self._reviews_since = 0.0
        self._agent = agent
        self._dirs = dirs
        self._keep_output = keep_output
        self._redact = redact
        self._variables: dict[str, Variables] = {}
        """Of each conversation, for the lines of `pipe`."""
        self.max_output_bytes = max_output_bytes
        """Bytes of one result that are sent; the whole of a longer one goes to the store. 0: all."""
        self.says_key = True
        """Whether a cut says how to read the whole: only to who is offered `output`."""

    async def prepare(self, *, learn: bool = True) -> None:
        """See to it that the tools are those that the agent may use now."""
        if self._prepare is not None:
            await self._prepare(self._registry, self._agent, learn)

    async def mentioned(self, prompt: str, session: str) -> tuple[Text, ...]:
        """The files, folders and resources that a person's prompt names with `@`, each as a text for the model.

        None is longer than a tool's result. What may not be read without a question is named as such instead.
        """
        if "@" not in prompt:
            return ()
        names = await asyncio.to_thread(readable, prompt, self._dirs.cwd)
        texts = [(name, await self._read_mentioned(name, session)) for name in names if READ in self._registry]
        if self._read_mentions is not None:
            texts += await self._read_mentions(prompt, self._agent)
        most = self.max_output_bytes
        found: list[Text] = []
        for name, whole in texts:
            text = whole if self._redact is None else self._redact(whole)
            text = shorten(text, most) if is_too_long(text, most) else text
            found.append(Text(text, named=one_line(written_name(name), 120)))
        return tuple(found)

    async def _read_mentioned(self, name: str, session: str) -> str:
        """A file or folder as the agent's own tool reads it, so that the agent may edit it, too."""
        call = ToolCall(f"{_WITHIN}{new_id()}", READ, {"path": name})
        shown = one_line(written_name(name.removeprefix("./")), 200)
        invocation = self._invocation(call, session)
        try:
            command, arguments = self.usable(call)
            parameters = validate(command, arguments)
            assessment = await assess(command, invocation, parameters, arguments)
            asked = Call(self._agent, session, call.id, READ, call.arguments)
            decided = await self._gate.decide(asked, assessment)
            if not (isinstance(decided, Verdict) and decided.allowed):
                return f"[@{shown} was not read: that needs the person's approval.]"
            outcome = await run_parsed(command, parameters, invocation)
        except CommandError as error:
            return f"[@{shown} could not be read: {error}]"
        note = await self._note_of(call)
        return f"{shown}, which the prompt names:\n\n{outcome.text}" + (f"\n\n{note}" if note else "")

    async def _note_of(self, call: ToolCall) -> str:
        """What there is to know where the call has worked."""
        named = call.arguments.get("path")
        if self._note_path is None or not isinstance(named, str) or not named or "\0" in named:
            return ""
        return await asyncio.to_thread(self._note_path, self._dirs.cwd / named)

    async def missing_files(self, prompt: str) -> list[str]:
        """A sentence for each picture, PDF or sound that a person's prompt names and that is not there."""
        if "@" not in prompt:
            return []
        names = await asyncio.to_thread(missing, prompt, self._dirs.cwd, self._dirs.project)
        shown = (one_line(written_name(name), 120) for name in names)
        return [f"There is no file {name}, so it did not go with the prompt." for name in shown]

    def limit_mode(self, mode: GuardMode | Literal[""], source: str = "") -> None:
        """Hold the agent to a mode for a turn that another agent asked for; empty: no longer. `source`: who asked for
        it, for people.
        """
        modes = self._gate.modes
        if modes.limit(self._agent, mode) and mode:
            now = modes.mode_of(self._agent)
            text = f"This turn runs in {now} mode, which is {one_line(source, 60)}'s; yours is back afterwards."
            self._bus.publish(Noticed(level="info", text=text, about=self._agent))

    @property
    def runs_blocks(self) -> bool:
        """Whether `<python>` blocks in an answer's text are run."""
        return self._blocks and TOOL in self._registry and self._registry.get(TOOL).tool

    def with_block_calls(self, answer: Message) -> Message:
        """A whole answer with the calls that the `<python>` blocks of its text stand for."""
        calls = block_calls(answer.text, answer.id) if self.runs_blocks else ()
        return msgspec.structs.replace(answer, blocks=(*answer.blocks, *calls)) if calls else answer

    async def run(self, calls: Sequence[ToolCall], session: str, message: str) -> tuple[tuple[ToolResult, ...], bool]:
        """Run the calls of an answer; its results in order, and whether the person interrupted."""
        results: dict[str, ToolResult] = {}
        interrupted = False
        names = {call.id: call.name for call in calls}
        calls = [our_call(call, self._is_tool) for call in calls]  # as guard, hooks and views know them
        try:
            blocks = {call.id: f"{message}-results/{number}" for number, call in enumerate(calls)}
            for group in self._groups(calls):
                async with asyncio.TaskGroup() as tasks:
                    for call in group:
                        tasks.create_task(self._run_one(call, session, message, blocks[call.id], results))
        except asyncio.CancelledError:
            interrupted = True
        except Exception as error:  # a fault of ours between the calls: those that are left get a result all the same
            why = self._bus.report(f"the tools of {self._agent}", error, shown=True).why
            for call in calls:
                if call.id not in results:
                    failed = ToolResult(call.id, call.name, f"{call.name} was not run: {why}", status="error")
                    self._finish(failed, session, results)
        for call in calls:
            if call.id not in results:
                self._finish(ToolResult(call.id, call.name, _CANCELLED, status="cancelled"), session, results)
        # A result bears the name that the model called, since some servers look for the call by it.
        named = (msgspec.structs.replace(results[call.id], name=names[call.id]) for call in calls)
        return tuple(named), interrupted

    def _is_tool(self, name: str) -> bool:
        return name in self._registry and self._registry.get(name).tool

    def _groups(self, calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
        group: list[ToolCall] = []
        for call in calls:
            if self._is_read(call):
                group.append(call)
                continue
            if group:
                yield group
            yield [call]
            group = []
        if group:
            yield group

    def _is_read(self, call: ToolCall) -> bool:
        try:
            return self._registry.called(call.name, call.arguments)[0].effect is Effect.READ
        except UsageError:
            return False

    async def _run_one(
        self,
        call: ToolCall,
        session: str,
        message: str,
        block: str,
        results: dict[str, ToolResult],
        stage: _Stage | None = None,
    ) -> None:
        started = time.monotonic()
        try:
            result = await self._result(call, session, message, block, stage)
        except asyncio.CancelledError:
            spent = time.monotonic() - started
            result = ToolResult(call.id, call.name, _CANCELLED, status="cancelled", duration=spent)
            self._finish(result, session, results)
            raise
        except Exception as error:  # a fault of ours, or a guard that can't decide: nothing runs, and the model is told
            fault = self._bus.report(f"the tool {call.name}", error, shown=True)
            result = ToolResult(call.id, call.name, f"{call.name} failed: {fault.why}", status="error")
        self._finish(result, session, results)

    def _finish(self, result: ToolResult, session: str, results: dict[str, ToolResult]) -> None:
        results[result.call_id] = result
        self._bus.publish(
            ToolFinished(
                agent=self._agent,
                session=session,
                call=result.call_id,
                tool=result.name,
                status=result.status,
                content=result.content,
                duration=result.duration,
                bytes=result.bytes,
                output=result.output,
                diff=result.diff,
                sandboxed=result.sandboxed,
                pictures=result.pictures,
                reads=result.reads,
            )
        )

    def _announce(self, call: ToolCall, session: str, message: str, subject: str) -> None:
        self._bus.publish(
            ToolStarted(
                agent=self._agent,
                session=session,
                message=message,
                call=call.id,
                tool=call.name,
                arguments=call.arguments,
                subject=subject,
                cwd=str(self._dirs.cwd),
            )
        )

    async def _run_stage(self, session: str, command: AnyCommand, parameters: Any) -> Outcome:
        """Run a command of a line as a call of its own. Raises `CommandError`: it was not allowed, or failed."""
        arguments: dict[str, Any] = parameters.model_dump(mode="json", exclude_unset=True)
        if word := command.name.removeprefix(command.first_word).strip():
            arguments = {ACTION: word, **arguments}
        call = ToolCall(f"{_WITHIN}{new_id()}", command.first_word, arguments)
        results: dict[str, ToolResult] = {}
        stage = _Stage(parameters)
        await self._run_one(call, session, call.id, f"{call.id}-results/0", results, stage)
        if stage.outcome is None:
            raise CommandError(results[call.id].content)
        return stage.outcome

    async def _result(self, call: ToolCall, session: str, message: str, block: str, stage: _Stage | None) -> ToolResult:
        """`stage`: it is a command of a line."""
        invocation = self._invocation(call, session)
        hooked = HookVerdict()
        try:
            command, _ = self.usable(call)
            if self._hooks is not None and self._hooks.act_on(call.name):
                await self._keep_files(command, None)  # hooks are programs, which may change any
            if self._hooks is not None:
                hooked = await self._hooks.before_tool(self._agent, session, call.id, call.name, call.arguments)
            if hooked.denied:
                self._announce(call, session, message, "")
                reason = f"A hook of the person denied this call: {hooked.denied}"
                return ToolResult(call.id, call.name, reason, status="denied")
            changed = hooked.changed is not None
            if hooked.changed is not None:  # the guard judges what will run
                call = msgspec.structs.replace(call, arguments={**call.arguments, **hooked.changed})
            (command, arguments), remark = self.usable(call), ""
            if command.effect is Effect.READ:
                arguments, remark = lowered(command, arguments)
            parameters = stage.parameters if stage is not None and not changed else validate(command, arguments)
            assessment = await assess(command, invocation, parameters, arguments)
            if hooked.asks:
                assessment = replace(
                    assessment, inside=False, sandbox=False, only_person=True, pattern="", key="", why=hooked.asks
                )
        except CommandError as error:
            self._announce(call, session, message, "")
            return ToolResult(call.id, call.name, str(error), status="error")
        except asyncio.CancelledError:
            self._announce(call, session, message, "")  # it gets a result like every call, so it has begun
            raise
        self._announce(call, session, message, assessment.subject)
        asked = Call(self._agent, session, call.id, command.first_word, call.arguments)
        with self._waiting():
            verdict = await self._gate.review(asked, assessment)
        if not verdict.allowed:
            return ToolResult(call.id, call.name, verdict.reason, status="denied")
        await self._keep_files(command, assessment.changes)
        doing = f"{call.name} {assessment.subject}".strip()
        invocation = replace(invocation, sandboxed=verdict.sandboxed)
        outcome, seconds = await self._run(command, parameters, invocation, doing)
        refused = outcome.sandbox if outcome.is_error and not outcome.timed_out else None
        if verdict.sandboxed and refused is not None and refused.refused:
            with self._waiting():
                wider = await self._gate.review_wider(asked, assessment, refused)
            if wider.allowed:
                invocation = replace(invocation, sandboxed=wider.sandboxed, hosts=refused.hosts)
                outcome, seconds = await self._run(command, parameters, invocation, doing)
            elif wider.reason:
                outcome = _with_note(outcome, f"asked whether it may run again, wider: {wider.reason}")
        if remark:
            outcome = _with_note(outcome, remark)
        if stage is not None:
            stage.outcome = outcome
        status: ResultStatus = "timeout" if outcome.timed_out else "error" if outcome.is_error else "ok"
        result = await self._shortened(call, session, block, outcome, status, seconds)
        result = msgspec.structs.replace(result, reads=assessment.reads)
        if not outcome.is_error and (note := await self._note_of(call)):
            result = msgspec.structs.replace(result, content=f"{result.content}\n\n{note}")
        return await self._after_hooks(call, session, result, hooked)

    def _invocation(self, call: ToolCall, session: str) -> Invocation:
        return Invocation(
            caller=Caller(self._agent, is_agent=True),
            cwd=self._dirs.cwd,
            project=self._dirs.project,
            session=session,
            agent=self._agent,
            call=call.id,
            output=lambda text: self._publish_output(call.id, session, text),
            output_bytes=self.max_output_bytes,
            variables=self._variables.setdefault(session, Variables()),
            run_stage=lambda command, parameters, _: self._run_stage(session, command, parameters),
        )

    @contextlib.contextmanager
    def _waiting(self) -> Generator[None]:
        """The gate decides, or a person whom it asks; the time that takes is not the agent's work."""
        if not self._reviews:
            self._reviews_since = time.monotonic()
        self._reviews += 1
        try:
            yield
        finally:
            self._reviews -= 1
            if not self._reviews:
                self.waited += time.monotonic() - self._reviews_since

    async def _after_hooks(self, call: ToolCall, session: str, result: ToolResult, before: HookVerdict) -> ToolResult:
        """The result with what hooks tell the agent about it."""
        if self._hooks is None:
            return result
        after = await self._hooks.after_tool(
            self._agent, session, call.id, call.name, call.arguments, result.status, result.content
        )
        said = [*before.context, *([after.denied] if after.denied else []), *after.context]
        if not said:
            return result
        note = "\n\n".join(f"[a hook of the person says: {text}]" for text in said)
        return msgspec.structs.replace(result, content=f"{result.content}\n\n{note}")

    async def _keep_files(self, command: AnyCommand, files: Sequence[str] | None) -> None:
        """Have the files kept as they are, as far as the call may change them. `None`: any."""
        if self.checkpoints is not None and command.effect is not Effect.READ:
            status = AgentStatusChanged(agent=self._agent, status="tool")
            await self.checkpoints.ready(
                files, lambda doing: self._bus.publish(msgspec.structs.replace(status, doing=doing))
            )

    async def _run(
        self, command: AnyCommand, parameters: Any, invocation: Invocation, doing: str
    ) -> tuple[Outcome, float]:
        """The outcome and the seconds it took; an error that is expected is an outcome, too."""
        self._bus.publish(AgentStatusChanged(agent=self._agent, status="tool", doing=doing))
        started = time.monotonic()
        try:
            outcome = await run_parsed(command, parameters, invocation)
        except CommandError as error:
            outcome = Outcome(error.data, str(error), is_error=True)
        return outcome, time.monotonic() - started

    def _publish_output(self, call: str, session: str, text: str) -> None:
        shown = text if self._redact is None else self._redact(text)
        self._bus.publish(ToolOutput(agent=self._agent, session=session, call=call, text=shown))

    def usable(self, call: ToolCall) -> tuple[AnyCommand, dict[str, Any]]:
        """The command of a call, and its parameters. Raises `CommandError`: the agent may not use it."""
        if call.broken:
            raise CommandError(
                f"The arguments of {call.name} are not one JSON object, so nothing was run.",
                hint="Send the call again with complete arguments.",
            )
        command, given = None, dict[str, Any]()
        if call.name in self._registry:
            command, given = self._registry.called(call.name, call.arguments)
        caller = Caller(self._agent, is_agent=True)
        if command is None or not (_is_usable(command, call) and may_run(command, caller)):
            if command is not None and command.tool:
                raise refused(command.name, caller)
            near = difflib.get_close_matches(call.name, [tool.name for tool in self._registry.tools()], n=3)
            hint = f"Did you mean {' or '.join(near)}?" if near else f"`{FIND_TOOL}` lists them."
            hint = HINTS.get(call.name.lower(), hint)
            has_hint = bool(near) or call.name.lower() in HINTS or FIND_TOOL in self._registry
            name = call.name if command is None else command.name
            raise CommandError(f"{name} is not one of your tools.", hint=hint if has_hint else "")
        return command, given

    async def _shortened(
        self, call: ToolCall, session: str, block: str, outcome: Outcome, status: ResultStatus, duration: float
    ) -> ToolResult:
        outcome = await self._redacted(outcome)
        text = outcome.text or (json.dumps(outcome.data, default=str) if outcome.data is not None else "(no output)")
        content, cut, key = await self._cut(call, session, text, outcome)
        original = outcome.bytes or original_size(outcome.full or text, outcome.gap)
        if cut:
            self._bus.publish(
                OutputTruncated(
                    agent=self._agent,
                    session=session,
                    call=call.id,
                    tool=call.name,
                    original_bytes=original,
                    kept_bytes=len(content.encode(errors="replace")),
                    output=key,
                    block=block,
                )
            )
        return ToolResult(
            call.id,
            call.name,
            content,
            status=status,
            duration=duration,
            bytes=original,
            output=key,
            diff=outcome.diff,
            sandboxed=outcome.sandbox is not None,
            pictures=tuple([await self._kept_picture(call, session, drawing) for drawing in outcome.drawings]),
        )

    async def _kept_picture(self, call: ToolCall, session: str, drawing: Drawing) -> Picture:
        key = await self._keep_output(session, call.id, png_text(drawing.png))
        colours = base64.b64encode(zlib.compress(drawing.colours)).decode() if drawing.colours else ""
        title = drawing.title if self._redact is None else self._redact(drawing.title)
        return Picture(title, key, drawing.width, drawing.height, len(drawing.png), drawing.columns, colours)

    async def _redacted(self, outcome: Outcome) -> Outcome:
        redact = self._redact
        if redact is None:
            return outcome

        def clean() -> Outcome:
            text = outcome.text or ("" if outcome.data is None else json.dumps(outcome.data, default=str))
            parts = [redact(part) if part else part for part in (text, outcome.full, outcome.notes, outcome.diff)]
            return replace(outcome, text=parts[0], full=parts[1], notes=parts[2], diff=parts[3])

        if len(outcome.text) + len(outcome.full) + len(outcome.diff) < _AT_ONCE:
            return clean()
        return await asyncio.to_thread(clean)

    async def _cut(self, call: ToolCall, session: str, text: str, outcome: Outcome) -> tuple[str, bool, str]:
        """The text to send for a result, whether it was shortened, and the key of the full text.

        The full result is cut once, however much of it the tool shows.
        """
        limit, full = self.max_output_bytes, outcome.full
        planned = _KEY if self.says_key else ""
        if full and not is_too_long(full.rstrip("\n"), limit, planned, notes=outcome.notes):
            return shorten(full.rstrip("\n"), 0, notes=outcome.notes) if outcome.cut else text, False, ""
        if not full and not is_too_long(text, limit, planned):
            return text, False, ""
        key = await self._keep_output(session, call.id, full or text)
        said = key if self.says_key else ""
        if full:
            return await asyncio.to_thread(shorten, full, limit, said, notes=outcome.notes, gap=outcome.gap), True, key
        return shorten(text, limit, said), True, key


def _is_usable(command: AnyCommand, call: ToolCall) -> bool:
    """Whether an agent may call it: a tool, or inside a line one of the language's own commands."""
    return command.tool or (command.family == LANGUAGE and call.id.startswith(_WITHIN))


async def assess(command: AnyCommand, invocation: Invocation, parameters: Any, arguments: dict[str, Any]) -> Assessment:
    """What the run would do: the command's own assessment, or its declared effect and its arguments.
    Raises `CommandError`: it cannot be assessed, so it must not run.
    """
    exact = json.dumps(arguments, sort_keys=True, default=str)
    if command.assess is None:
        subject = " ".join(str(value) for value in arguments.values())[:200]
        return Assessment(command.effect, subject, detail=exact, key=exact)
    try:
        assessment: Assessment = await command.assess(invocation, parameters)
    except CommandError:
        raise
    except ExpectedError as error:
        raise command_error(error) from error
    except (OSError, ValueError) as error:
        raise CommandError(f"{command.name}: {error}.") from error
    return assessment if assessment.key else replace(assessment, key=exact)


def _with_note(outcome: Outcome, note: str) -> Outcome:
    """The outcome with one more line that no cut removes."""
    return replace(outcome, text=f"{outcome.text}\n[{note}]", notes=f"{outcome.notes}\n[{note}]".strip())
