"""Summaries: how one is asked for, when it counts, and what stands in for it when no model gives one. Pure.

Owns the words of the request, the headings that every summary has, and the deterministic extract. Refuses what is
empty, lacks the headings or is not smaller by half. Called by `summarise` and the engine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gshtui.bus.messages import Message, Text, ToolCall, ToolResult
from gshtui.context.blocks import subject_of
from gshtui.context.log import Entry
from gshtui.context.tokens import text_tokens
from gshtui.text.shorten import shorten

HEADINGS = ("Progress", "Key decisions", "Files modified", "Remaining work", "Critical context")
_ASK = """\
You are performing a CONTEXT CHECKPOINT. Summarize the conversation so far into a handoff briefing for yourself to \
continue the task.

Answer with Markdown under exactly these five headings, in this order, and nothing before them:

## Progress
What is done, step by step, with results that were seen.

## Key decisions
Decisions made and why; constraints and preferences of the person, rules that must be kept.

## Files modified
Files modified or read, with their paths and what matters in them.

## Remaining work
What remains to be done, as clear next steps.

## Critical context
Any critical data, exact names, numbers, commands, error messages and code that are needed to continue.

Be thorough but concise: {words} words at the most. Where a heading has nothing, write “none”. Do not call any tool: \
only this text counts now.{focus}"""
_FOCUS = "\n\nDwell on this, as {by} asked: {focus}"
_REMIND = """\
That was no usable briefing: {why}. Answer once more, now with nothing but the briefing as text, under the five \
headings Progress, Key decisions, Files modified, Remaining work, Critical context, and without any tool call."""
_EXTRACT_CALLS = 40
_EXTRACT_TEXT = 1_500


def instruction(limit: int, focus: str = "", by: str = "the person") -> str:
    """The message that asks for a summary of at most `limit` tokens."""
    said = _FOCUS.format(by=by, focus=shorten(focus, 2_000)) if focus.strip() else ""
    return _ASK.format(words=max(80, limit // 2), focus=said)


def reminder(why: str) -> str:
    """The message that asks once more."""
    return _REMIND.format(why=why)


def fault(summary: str, replaced: int) -> str:
    """Why a summary does not count, as the end of a sentence; empty for a good one.

    Args:
        summary: what came.
        replaced: tokens of what it stands for.
    """
    if not summary.strip():
        return "it is empty"
    missing = [heading for heading in HEADINGS if not _has(summary, heading)]
    if missing:
        return f"it lacks the heading {missing[0]}" if len(missing) == 1 else f"it lacks {', '.join(missing)}"
    if (tokens := text_tokens(summary)) * 2 > replaced:
        return f"it takes {tokens:,} tokens in place of {replaced:,}, which is more than half"
    return ""


def _has(summary: str, heading: str) -> bool:
    begins = rf"^(?:[#*\d.]|[^\S\n])*+{re.escape(heading)}\b"
    return re.search(begins, summary, re.IGNORECASE | re.MULTILINE) is not None


def extract(entries: Sequence[Entry], limit: int) -> str:
    """A summary made without a model: what was done by calls, what failed, and the last words of the agent.

    The same entries give the same text. People's words, tasks and files are carried beside it.

    Args:
        entries: what it stands for.
        limit: tokens that it may take.
    """
    done: list[str] = []
    failed: list[str] = []
    said = ""
    calls: dict[str, ToolCall] = {}
    for entry in entries:
        for part in entry.message.blocks:
            if isinstance(part, ToolCall):
                calls[part.id] = part
            elif isinstance(part, ToolResult):
                call = calls.get(part.call_id)
                line = f"- {part.name} {subject_of(call) if call else ''}".rstrip()
                done.append(line if part.status == "ok" else f"{line} → {part.status}")
                if part.status != "ok":
                    failed.append(f"{line}: {shorten(' '.join(part.content.split()), 200)}")
        said = _words(entry.message) or said
    skipped = len(done) - _EXTRACT_CALLS
    if skipped > 0:
        done = [f"- ({skipped} earlier calls)", *done[-_EXTRACT_CALLS:]]
    parts = (
        ("Progress", "\n".join(done) or "none"),
        ("Key decisions", "not extracted: no model wrote this; the person's own words follow below"),
        ("Files modified", "see the list of touched files below"),
        ("Remaining work", shorten(said, _EXTRACT_TEXT) if said else "none"),
        ("Critical context", "\n".join(failed[-8:]) or "none"),
    )
    text = "\n\n".join(f"## {heading}\n{body}" for heading, body in parts)
    return shorten(text, max(400, limit * 4))


def _words(message: Message) -> str:
    if message.role != "assistant":
        return ""
    return "\n".join(part.text for part in message.blocks if isinstance(part, Text)).strip()
