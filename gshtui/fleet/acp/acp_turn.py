"""One turn of a program over ACP: what it reports becomes our events and the messages of the conversation.

A program's answer with the calls that follow it is one iteration, recorded once its calls have their results. Each call
gets exactly one result, also when the turn is interrupted or the program dies.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

import msgspec

from gshtui.agents.conversation import AnswerKeeper, Conversation
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    IterationStarted,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
)
from gshtui.bus.messages import Block, Message, ResultStatus, Stop, Text, Thinking, ToolCall, ToolResult
from gshtui.programs.acp.acp_updates import CallReport, Words, status_of
from gshtui.system.ids import new_id
from gshtui.text.sanitise import one_line
from gshtui.text.truncation import is_too_long, shorten

_LONGEST = 500_000
"""Characters after which the words go on in another message."""
_SHOWN = 50_000
"""Bytes of a call's output that are part of its message; the whole of a longer one is kept apart."""
_NOT_ENDED: dict[ResultStatus, str] = {
    "cancelled": "The turn was interrupted; this call was not finished.",
    "lost": "The program ended while this call ran; what it has changed by then stays changed.",
    "error": "The program ended its turn without saying how this call ended.",
}


class _Call(msgspec.Struct):
    """One tool call of the program, as far as it is known."""

    id: str
    known: CallReport
    begun: float
    announced: bool = False
    refused: bool = False
    """It was asked about, and not allowed."""
    shown: int = 0
    """Characters of its output that were published."""
    result: ToolResult | None = None

    @property
    def tool(self) -> str:
        return self.known.kind or "tool"

    @property
    def subject(self) -> str:
        command = (self.known.arguments or {}).get("command")
        return one_line(command if isinstance(command, str) and command else self.known.title or "", 300)


class TurnRecorder:
    """See the module. `record` in order; `finish` ends it, whatever happened."""

    def __init__(self, bus: Bus, agent: str, conversation: Conversation, turn: str, program: str, model: str) -> None:
        self.id = turn
        self.iteration = 0
        """The one in hand, counted from 1."""
        self.text = ""
        """What the program said last."""
        self._bus = bus
        self._agent = agent
        self._conversation = conversation
        self._program = program
        self._model = model
        self._message: Message | None = None
        self._said: list[tuple[Literal["answer", "thought"], list[str]]] = []
        """The words of the iteration so far, in pieces."""
        self._length = 0
        self._calls: dict[str, _Call] = {}
        self._done: set[str] = set()
        """Calls whose results are recorded; what is said of them later is not shown."""
        self._keeper = AnswerKeeper(conversation, self._so_far)

    async def record(self, report: Words | CallReport) -> None:
        """Record and publish one report. Raises `StoreError`."""
        if isinstance(report, Words):
            await self._say(report)
        else:
            await self._call(report)

    def known(self, report: CallReport) -> CallReport:
        """A report about a call, with everything that was said of the call before."""
        call = self._calls.get(report.id)
        return report if call is None else merged(call.known, report)

    async def announce(self, report: CallReport) -> None:
        """Show a call that is about to be asked about. Raises `StoreError`."""
        if report.id in self._done:
            return
        if self._calls_ended and report.id not in self._calls:
            await self._close()
        self._announce(self._entry(report))

    def refuse(self, id: str) -> None:
        """Note that a call was not allowed."""
        if (call := self._calls.get(id)) is not None:
            call.refused = True

    async def finish(self, unfinished: ResultStatus) -> None:
        """Close the open calls with this status, and record what is left. Raises `StoreError`."""
        for call in self._calls.values():
            if call.result is None:
                self._end(call, unfinished, _NOT_ENDED.get(unfinished, ""))
        await self._close()
        self._keeper.close()

    def _so_far(self) -> Message | None:
        return None if self._message is None else msgspec.structs.replace(self._message, blocks=self._blocks())

    async def _say(self, words: Words) -> None:
        if words.kind == "prompt":
            return
        if self._calls_ended or self._length > _LONGEST:
            await self._close()
        message = self._open()
        if not self._said or self._said[-1][0] != words.kind:
            self._said.append((words.kind, []))
        self._said[-1][1].append(words.text)
        self._length += len(words.text)
        event = TextDelta if words.kind == "answer" else ThinkingDelta
        session = self._conversation.session
        self._bus.publish(event(agent=self._agent, session=session, message=message.id, text=words.text))
        self._keeper.said()

    @property
    def _calls_ended(self) -> bool:
        """There were calls, and all of them have their results."""
        return bool(self._calls) and all(call.result is not None for call in self._calls.values())

    def _blocks(self) -> tuple[Block, ...]:
        return tuple(
            Text("".join(pieces)) if kind == "answer" else Thinking("".join(pieces)) for kind, pieces in self._said
        )

    async def _call(self, report: CallReport) -> None:
        if report.id in self._done:
            return
        if self._calls_ended and report.id not in self._calls:
            await self._close()
        call = self._entry(report)
        ended = status_of(report.status or "")
        if ended or report.status == "in_progress":
            self._announce(call)
        text = call.known.text or ""
        if call.announced and len(text) > call.shown and not ended:
            session = self._conversation.session
            piece, call.shown = text[call.shown :], len(text)
            self._bus.publish(ToolOutput(agent=self._agent, session=session, call=call.id, text=piece))
        if ended and call.result is None:
            output = ""
            if is_too_long(text, _SHOWN):
                output = await self._conversation.keep_output(call.id, text)
                text = shorten(text, _SHOWN)
            self._end(call, ended, text, output)

    def _entry(self, report: CallReport) -> _Call:
        call = self._calls.get(report.id)
        if call is None:
            self._open()
            call = self._calls[report.id] = _Call(report.id, report, time.monotonic())
        else:
            call.known = merged(call.known, report)
        return call

    def _announce(self, call: _Call) -> None:
        if call.announced:
            return
        call.announced = True
        message = self._open()
        self._bus.publish(
            ToolStarted(
                agent=self._agent,
                session=self._conversation.session,
                message=message.id,
                call=call.id,
                tool=call.tool,
                arguments=call.known.arguments or {},
                subject=call.subject,
            )
        )
        self._bus.publish(
            AgentStatusChanged(agent=self._agent, status="tool", doing=f"{call.tool} {call.subject}".strip())
        )

    def _end(self, call: _Call, status: ResultStatus, content: str, output: str = "") -> None:
        self._announce(call)
        status = "denied" if call.refused and status == "error" else status
        size = len((call.known.text or "").encode("utf-8", "replace"))
        spent = time.monotonic() - call.begun
        call.result = result = ToolResult(
            call.id,
            call.tool,
            content or "(no output)",
            status,
            duration=spent,
            bytes=size,
            output=output,
            diff=call.known.diff or "",
        )
        self._bus.publish(
            ToolFinished(
                agent=self._agent,
                session=self._conversation.session,
                call=call.id,
                tool=call.tool,
                status=status,
                content=result.content,
                duration=spent,
                bytes=size,
                output=output,
                diff=result.diff,
            )
        )
        if self._calls_ended:
            self._bus.publish(AgentStatusChanged(agent=self._agent, status="thinking"))

    def _open(self) -> Message:
        """The message of the iteration, begun if there is none."""
        if self._message is None:
            self.iteration += 1
            self._message = Message(
                id=new_id(),
                role="assistant",
                blocks=(),
                at=time.time(),
                agent=self._agent,
                turn=self.id,
                iteration=self.iteration,
                provider=self._program,
                model=self._model,
            )
            self._bus.publish(
                IterationStarted(
                    agent=self._agent,
                    session=self._conversation.session,
                    turn=self.id,
                    iteration=self.iteration,
                    message=self._message.id,
                )
            )
        return self._message

    async def _close(self) -> None:
        """Record the iteration: the answer with its calls, then their results."""
        message, blocks, calls = self._message, self._blocks(), list(self._calls.values())
        self._message, self._said, self._calls, self._length = None, [], {}, 0
        self._done.update(call.id for call in calls)
        if message is None or not (blocks or calls):
            return
        made = (ToolCall(call.id, call.tool, _arguments(call)) for call in calls)
        stop = "tool_use" if calls else "end"
        answer = msgspec.structs.replace(message, blocks=(*blocks, *made), stop=stop)
        self.text = answer.text or self.text
        await self._conversation.append(answer)
        results = tuple(call.result for call in calls if call.result is not None)
        if results:
            await self._conversation.append(
                Message(
                    id=f"{answer.id}-results",
                    role="tool",
                    blocks=results,
                    at=time.time(),
                    agent=self._agent,
                    turn=self.id,
                    iteration=answer.iteration,
                )
            )


def _arguments(call: _Call) -> dict[str, object]:
    known = call.known.arguments
    return known if known else {"title": call.known.title} if call.known.title else {}


def merged(before: CallReport, new: CallReport) -> CallReport:
    """What is known of a call after another report."""
    fields = {
        name: value
        for name in ("title", "kind", "status", "arguments", "text", "diff", "paths")
        if (value := getattr(new, name)) is not None
    }
    if new.terminals:
        fields["terminals"] = new.terminals
    return msgspec.structs.replace(before, cut=before.cut or new.cut, **fields)


_FORGOTTEN = "This conversation goes on from an earlier one, which was lost to you. So far:"


_NOW = "What the person says now:"


_TOLD = 40_000
"""Bytes of an earlier conversation that a program is told."""


STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "max_tokens": "max_tokens",
    "max_turn_requests": "max_iterations",
    "refusal": "refusal",
    "cancelled": "interrupted",
}


def told_before(messages: Sequence[Message]) -> str:
    """What was said in a conversation so far, newest kept, as words for a program that has forgotten it."""
    lines: list[str] = []
    for message in messages:
        who = {"user": "The person", "assistant": "You"}.get(message.role, "")
        if who and message.text.strip():
            lines.append(f"{who}: {message.text.strip()}")
        lines += [f"(You used {call.name}: {one_line(str(call.arguments), 200)})" for call in message.calls]
    return f"{_FORGOTTEN}\n\n{shorten(chr(10).join(lines), _TOLD)}\n\n{_NOW}"
