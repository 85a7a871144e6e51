# pyright: basic
"""Run by another program as its hook: writes what the program reports about itself as one line.

Standard library only. Run by path. Writes only to the file named by GSH_HOOK_SPOOL, which must be ours and not a link,
and never fails, because that could stop the program that calls it. It prints nothing, with one exception: a permission
request of Claude Code, whose own box is open meanwhile, waits for a person's answer through a pipe. Without one it
prints nothing, and the box decides: no time-out and no error ever allows anything.
"""

import json
import os
import select
import signal
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


def line(data: dict, program: str, now: float, request: str = "") -> bytes:
    """The fields of a hook's input that are recorded. `request`: the name of the pipe at which an answer is awaited."""
    kept = {
        "at": now,
        "program": program,
        "event": _short(data.get("hook_event_name") or data.get("type")),
        "conversation": _short(data.get("session_id")),
        "request": request,
        "tool": _short(data.get("tool_name")),
        "subject": _subject(data),
        "kind": _short(
            data.get("notification_type") or data.get("source") or data.get("trigger") or data.get("reason")
        ),
        "text": _short(data.get("message") or data.get("error") or data.get("last_assistant_message")),
        "prompt": _short(data.get("prompt")),
        "answer": _answer(data.get("last_assistant_message") or data.get("prompt_response")),
    }
    return json.dumps({name: value for name, value in kept.items() if value != ""}).encode() + b"\n"


def began() -> float:
    """When the program started this process: on a busy machine, of two hooks the later one may come here first."""
    now = time.time()
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        ago = time.clock_gettime(time.CLOCK_BOOTTIME) - (ticks + 1) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):  # a system that does not tell
        return now
    return now - max(0.0, ago)


WAITS = 3600
"""Seconds for which a permission request waits for an answer."""


def request_pipe(spool: str, request: str) -> str:
    """The pipe through which a request is answered, beside the file of reports."""
    return f"{spool.removesuffix('.jsonl')}-{request}.pipe"


def waits(data: dict, program: str) -> bool:
    """Whether the program shows its box meanwhile. For its subagents it does not: there the hook comes first."""
    return program == "claude" and data.get("hook_event_name") == "PermissionRequest" and not data.get("agent_id")


def answered(pipe: int, seconds: float) -> str:
    """The decision that comes through the pipe; empty when none comes, or when nobody wants to know it any more."""
    wanted = select.poll()
    wanted.register(pipe, select.POLLIN)
    wanted.register(1, 0)  # tells of an error when the reader of our output is gone
    found = wanted.poll(seconds * 1000)
    if [number for number, _ in found] != [pipe]:
        return ""
    answer = json.loads(os.read(pipe, 4096))
    behavior = answer.get("behavior") if isinstance(answer, dict) else ""
    return behavior if behavior in ("allow", "deny") else ""


def decision(behavior: str) -> dict:
    """The answer as Claude Code takes it; a denial ends its turn, as the box's own does."""
    given = {"behavior": behavior}
    if behavior == "deny":
        given = {"behavior": behavior, "message": "The person denied this.", "interrupt": True}
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": given}}


def ask(spool: str, data: dict, program: str) -> None:
    """Report a permission request, and print the answer if one comes."""
    request = os.urandom(8).hex()
    path = request_pipe(spool, request)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the box was answered: the pipe goes, too
    os.mkfifo(path, 0o600)
    try:
        pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        report(spool, line(data, program, began(), request))
        behavior = answered(pipe, WAITS)
    finally:
        try:  # contextlib, and pathlib, take longer to load than everything else here
            os.unlink(path)  # noqa: PTH108
        except OSError:
            pass
    if behavior:
        os.write(1, json.dumps(decision(behavior)).encode() + b"\n")


def report(spool: str, written: bytes) -> None:
    """Write a line to the file of reports, which the launcher has made."""
    file = os.open(spool, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        state = os.fstat(file)
        if state.st_uid == os.getuid() and state.st_size < _MOST:
            os.write(file, written)
    finally:
        os.close(file)


def main() -> None:
    """Take the event from standard input."""
    spool = os.environ.get("GSH_HOOK_SPOOL", "")
    given = sys.stdin.buffer.read(_READ)
    if not spool.startswith("/"):
        return
    data = json.loads(given.decode("utf-8", "replace") or "{}")
    if not isinstance(data, dict):
        return
    program = sys.argv[1] if len(sys.argv) > 1 else ""
    if waits(data, program):
        ask(spool, data, program)
    else:
        report(spool, line(data, program, began()))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, RecursionError):
        pass
