"""Commands of the input line (`!make`) as entries of the conversation from which they were run.

Pure, and the same for one that just ran and for one of the record. Called by `conversation_state.py` and
`conversation_history.py`.
"""

from __future__ import annotations

from dataclasses import replace

from gshtui.bus.events.shell import InputCommandFinished, InputCommandPrinted, InputCommandStarted
from gshtui.bus.shell import Ran
from gshtui.ui.kit.transcript.entries import Tool

NAME = "!"
_TAIL = 8_000
"""Characters that are kept of what a running command prints."""


def entry_id(run: str) -> str:
    """The entry id of a run."""
    return f"run/{run}"


def begun(event: InputCommandStarted) -> Tool:
    """It runs."""
    return _tool(entry_id(event.run), event.command)


def printed(tool: Tool, event: InputCommandPrinted) -> Tool:
    """It has printed more."""
    return replace(tool, output=(tool.output + event.text)[-_TAIL:])


def ended(tool: Tool, event: InputCommandFinished) -> Tool:
    """It is over."""
    return replace(
        tool,
        status=event.status,
        output=event.text,
        word=_word(event.exit) if event.status == "error" else "",
        duration=event.duration,
        bytes=event.bytes,
        cut=event.cut,
    )


def stored(ran: Ran) -> Tool:
    """One of the record."""
    record = ran.record
    tool = replace(_tool(entry_id(ran.run), record.command), output=ran.printed, duration=record.duration or 0.0)
    if record.state == "running":
        return tool
    if record.exit is None:
        return replace(tool, status="lost")
    return replace(tool, status="error" if record.exit else "ok", word=_word(record.exit))


def _tool(id: str, command: str) -> Tool:
    shown, _, more = command.partition("\n")
    arguments = {"command": command} if more or len(command) > 200 else {}
    return Tool(id, NAME, shown, arguments, status="running", by_person=True)


def _word(exit: int | None) -> str:
    return f"exit {exit}" if exit else ""
