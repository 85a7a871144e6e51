# pyright: basic
"""Run by another program as its hook: writes what the program reports about itself as one line.

Standard library only. Run by path, never imported. Prints nothing, answers nothing and never fails, because that could
stop the program that calls it. Writes only to the file named by GSH_HOOK_SPOOL, which must be ours and not a link.
"""

import json
import os
import sys
import time

_MOST = 8_000_000
"""Bytes that the file may have; an agent that is never looked after must not fill a disk."""
_READ = 4_000_000
_TEXT = 400
_ANSWER = 8_000
"""Characters of an answer: it is the report of an agent that works in the background."""


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True) if value else ""
    return text[:_TEXT]


def _answer(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return value if len(value) <= _ANSWER else value[:_ANSWER] + "…"


def _subject(data: dict) -> str:
    """The argument of a tool that says most: its command, path, pattern."""
    given = data.get("tool_input") or {}
    if isinstance(given, dict):
        for name in ("command", "cmd", "file_path", "path", "pattern", "url", "query", "prompt", "description"):
            if given.get(name):
                return _short(given[name])
    return ""


def line(data: dict, program: str, now: float) -> bytes:
    """The fields of a hook's input that are recorded."""
    kept = {
        "at": now,
        "program": program,
        "event": _short(data.get("hook_event_name") or data.get("type")),
        "conversation": _short(data.get("session_id")),
        "tool": _short(data.get("tool_name")),
        "subject": _subject(data),
        "kind": _short(data.get("notification_type") or data.get("source") or data.get("reason")),
        "text": _short(data.get("message") or data.get("error") or data.get("last_assistant_message")),
        "prompt": _short(data.get("prompt")),
        "answer": _answer(data.get("last_assistant_message") or data.get("prompt_response")),
    }
    return json.dumps({name: value for name, value in kept.items() if value != ""}).encode() + b"\n"


def main() -> None:
    """Take the event from standard input."""
    spool = os.environ.get("GSH_HOOK_SPOOL", "")
    given = sys.stdin.buffer.read(_READ)
    if not spool.startswith("/"):
        return
    data = json.loads(given.decode("utf-8", "replace") or "{}")
    if not isinstance(data, dict):
        return
    written = line(data, sys.argv[1] if len(sys.argv) > 1 else "", time.time())
    file = os.open(spool, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)  # the launcher has made it
    try:
        state = os.fstat(file)
        if state.st_uid == os.getuid() and state.st_size < _MOST:
            os.write(file, written)
    finally:
        os.close(file)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, RecursionError):
        pass
