"""Turns stored messages and input-line commands into transcript entries.

Pure, and the same for a new message and one from the record, so that both look alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from gshtui.bus.context_data import Receipt, compacted
from gshtui.bus.events.agent_events import TurnFinished
from gshtui.bus.events.approval_events import denied_by_you
from gshtui.bus.events.fleet_events import AgentEnded
from gshtui.bus.events.shell_events import InputCommandFinished, InputCommandPrinted, InputCommandStarted
from gshtui.bus.messages import Audio, Document, Image, Medium, Message, Text, Thinking, ToolCall, ToolResult
from gshtui.bus.shell_data import Ran
from gshtui.media import media_files
from gshtui.text import units
from gshtui.ui.kit.transcript.entries import (
    AnswerEntry,
    CutEntry,
    Entry,
    NoticeEntry,
    PromptEntry,
    ThoughtEntry,
    ToolEntry,
)

_SUBJECTS = ("command", "path", "file_path", "pattern", "query", "url", "name", "branch", "topic")
"""Arguments that best tell what a call is about, best first."""

_EXIT = re.compile(r"^\[exit code: (\d+)", re.MULTILINE)
_EXIT_FROM = 2_000
"""Characters at the end of an output among which its exit code is looked for."""

_STOPS: dict[str, tuple[str, str]] = {
    "interrupted": ("Interrupted here.", ""),
    "error": ("The answer broke off here.", ""),
    "max_tokens": ("The answer reached the model's output limit.", "Type `continue` to get the rest."),
    "refusal": ("The model declined to answer.", "Rephrase it, or switch with /model."),
    "context": ("The conversation no longer fits the model's window.", "Start a new one with /clear."),
    "max_iterations": ("Stopped at the iteration limit.", "Type `continue` to let it go on."),
}


def part_id(message: str, number: int, kind: str) -> str:
    """The entry id of an answer's text (`a`) or thought (`t`), counted from 0 over both."""
    return f"{message}.{number}{kind}"


def call_id(message: str, call: str) -> str:
    """The entry id of a tool call. Providers may use a call's id again, so the message is in it."""
    return f"{message}/{call}"


def message_of(entry: Entry) -> str:
    """The id of the message that an entry is of; ids of messages have neither of the signs that follow them here."""
    return entry.id if isinstance(entry, PromptEntry) else re.split("[./]", entry.id, maxsplit=1)[0]


def subject_of(arguments: Mapping[str, Any]) -> str:
    """The argument to show beside a tool's name, if none is declared."""
    for name in _SUBJECTS:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return value
    for value in arguments.values():
        if isinstance(value, (str, int, float)) and value != "":
            return str(value)
    return ""


def tool_of(message: str, call: ToolCall) -> ToolEntry:
    """A call that has not started."""
    arguments: Mapping[str, Any] = {"arguments": call.broken} if call.broken else call.arguments
    return ToolEntry(call_id(message, call.id), call.name, subject_of(call.arguments), arguments, status="asked")


def with_result(tool: ToolEntry, result: ToolResult) -> ToolEntry:
    """The call with its result, in words for the person."""
    output = denied_by_you(result.content) if result.status == "denied" else result.content
    return replace(
        tool,
        status=result.status,
        word=_ended(output) if result.status == "error" else "",
        output=output,
        diff=result.diff,
        duration=result.duration or tool.duration,
        bytes=result.bytes,
        cut=bool(result.output),
        sandboxed=result.sandboxed,
        pictures=result.pictures,
        reads=result.reads,
    )


def _ended(output: str) -> str:
    """How a command ended, by the line about it behind its output: `exit 2`; empty: there is none."""
    found = _EXIT.findall(output[-_EXIT_FROM:])
    return f"exit {found[-1]}" if found else ""


def cut_id(cut: str) -> str:
    """The entry id of a cut."""
    return f"cut/{cut}"


def cut_entry(receipt: Receipt) -> CutEntry:
    """The line where the context was cut."""
    return CutEntry(cut_id(receipt.id), receipt.id, compacted(receipt))


def entries_of(message: Message) -> list[Entry]:
    """A message's entries, in order. Results are not included: they belong to their calls."""
    if message.role == "user":
        return [_prompt(message)]
    if message.role == "tool":
        return []
    entries: list[Entry] = []
    number = 0
    for kind, block in _merged(message):
        if isinstance(block, ToolCall):
            entries.append(tool_of(message.id, block))
        elif kind == "note":
            entries.append(NoticeEntry(f"{message.id}.note{len(entries)}", "quiet", str(block)))
        else:
            id = part_id(message.id, number, kind)
            entries.append(AnswerEntry(id, str(block)) if kind == "a" else ThoughtEntry(id, str(block)))
            number += 1
    return entries


def stop_notice(message: Message) -> NoticeEntry | None:
    """Why a stored answer was cut short; `None`: it was not."""
    if message.role != "assistant" or message.stop not in _STOPS:
        return None
    return stop_words(f"{message.id}.stop", message.stop)


def stop_words(id: str, stop: str, hint: str = "") -> NoticeEntry:
    """The notice for a reason to stop."""
    text, advice = _STOPS.get(stop, (f"Stopped: {stop}.", ""))
    return NoticeEntry(id, "quiet" if stop == "interrupted" else "warning", text, hint or advice)


_WAIT = 1.0
"""Seconds; a shorter wait for an answer is not worth a word."""


def turn_end(event: TurnFinished, *, offline: bool = False) -> NoticeEntry:
    """The line at the end of a turn: the error, or how long it worked and waited for answers, its tokens and cost.
    `offline`: nothing was sent.
    """
    id = f"{event.turn}.end"
    if event.error:
        return NoticeEntry(id, "error", event.error, event.hint)
    if event.stop not in ("end", "tool_use", ""):
        return stop_words(id, event.stop, event.hint)
    usage = event.usage
    sent = usage.input + usage.cache_read + usage.cache_write
    parts = [units.duration(event.worked)]
    if event.waited >= _WAIT:
        parts[0] += f" working · {units.duration(event.waited)} waiting for you"
    if not offline and (sent or usage.output):
        parts += [f"{units.tokens(sent)} tokens in", f"{units.tokens(usage.output)} out"]
    if event.cost:
        parts.append(units.money(event.cost))
    return NoticeEntry(id, "quiet", " · ".join(parts))


def agent_end(event: AgentEnded) -> str:
    """How an agent's process ended, in a sentence."""
    exit = event.exit_status
    if exit is not None and exit > 128:
        return f"The agent's process was ended by signal {exit - 128}."
    if event.status == "lost":
        return "The agent's process is gone. It can be recovered from the list of agents."
    return f"The agent's process has ended{f' with exit status {exit}' if exit else ''}."


def _merged(message: Message) -> Iterable[tuple[str, str | ToolCall]]:
    """The blocks, with neighbours of the same kind joined: a stream does not mark where one ends."""
    kind, parts = "", list[str]()
    for block in message.blocks:
        now = "a" if isinstance(block, Text) else "t" if isinstance(block, Thinking) else ""
        if now != kind and parts:
            yield kind, "".join(parts)
            parts = []
        kind = now
        if isinstance(block, (Text, Thinking)):
            if block.text:
                parts.append(block.text)
        elif isinstance(block, ToolCall):
            yield "call", block
        elif isinstance(block, (Image, Document, Audio)):
            yield "note", f"[{_attachment(block)}]"
    if parts:
        yield kind, "".join(parts)


def _prompt(message: Message) -> PromptEntry:
    named = tuple(_named(block) for block in message.blocks if isinstance(block, Text) and block.named)
    media = tuple(_attachment(block) for block in message.blocks if isinstance(block, (Image, Document, Audio)))
    pictures = tuple(block for block in message.blocks if isinstance(block, Image) and (block.small or block.key))
    return PromptEntry(message.id, message.text, named + media, pictures)


def _named(block: Text) -> str:
    """What the prompt named, with the size of what went along; or why nothing did."""
    first, _, rest = block.text.partition("\n")
    return f"{block.named} · {units.counted(rest.count(chr(10)), 'line')}" if rest else first


def _attachment(block: Medium) -> str:
    size = media_files.size(block)
    amount = f"{size / 1_000_000:.1f} MB" if size >= 1_000_000 else f"{max(1, size // 1_000)} kB"
    amount = f"{_extent(block)}, {amount}".removeprefix(", ")
    return f"{block.name or block.media_type} ({amount})"


def _extent(block: Medium) -> str:
    """Its pixels, pages or seconds; empty: unknown."""
    match block:
        case Image():
            return f"{block.width} × {block.height}" if block.width else ""
        case Document():
            return f"{block.pages} page{'s' if block.pages > 1 else ''}" if block.pages else ""
        case Audio():
            return f"{block.seconds:.0f} s" if block.seconds else ""


RUN_NAME = "!"
_PRINTED_TAIL = 8_000
"""How many characters of a running command's output are kept."""


def run_entry_id(run: str) -> str:
    """The entry id of a run."""
    return f"run/{run}"


def run_started(event: InputCommandStarted) -> ToolEntry:
    """The entry of a run that started."""
    return _run_entry(run_entry_id(event.run), event.command)


def run_printed(tool: ToolEntry, event: InputCommandPrinted) -> ToolEntry:
    """The entry with more output."""
    return replace(tool, output=(tool.output + event.text)[-_PRINTED_TAIL:])


def run_finished(tool: ToolEntry, event: InputCommandFinished) -> ToolEntry:
    """The entry of a finished run."""
    return replace(
        tool,
        status=event.status,
        output=event.text,
        word=_exit_word(event.exit) if event.status == "error" else "",
        duration=event.duration,
        bytes=event.bytes,
        cut=event.cut,
    )


def stored_run(ran: Ran) -> ToolEntry:
    """The entry of a run from the record."""
    record = ran.record
    tool = replace(
        _run_entry(run_entry_id(ran.run), record.command), output=ran.printed, duration=record.duration or 0.0
    )
    if record.state == "running":
        return tool
    if record.exit is None:
        return replace(tool, status="lost")
    return replace(tool, status="error" if record.exit else "ok", word=_exit_word(record.exit))


def _run_entry(id: str, command: str) -> ToolEntry:
    shown, _, more = command.partition("\n")
    arguments = {"command": command} if more or len(command) > 200 else {}
    return ToolEntry(id, RUN_NAME, shown, arguments, status="running", by_person=True)


def _exit_word(exit: int | None) -> str:
    return f"exit {exit}" if exit else ""
