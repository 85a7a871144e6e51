"""Runs one hook: a command that reads JSON and may print JSON, or an address of this machine that answers a POST.

A command runs in the sandbox where that holds, and ends with everything that it started. Every run has a deadline.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from gshtui.agents.hooks.hook_set import Hook
from gshtui.guard.secrets.child_environment import command_environment
from gshtui.system.expected_error import ExpectedError
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import one_line
from gshtui.tools.shell.command_output import Capture, Spool
from gshtui.tools.shell.shell_process import End, Start, run_in_sandbox, run_supervised

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandboxes import Sandboxes

_KEPT = 256 * 1024
"""Bytes of a hook's answer that are read."""


class HookAnswer(msgspec.Struct, frozen=True):
    """What a hook gave.

    Attributes:
        failed: why it gave nothing, as the end of a sentence.
        refused: what the sandbox refused to it, each as a sentence without its full stop.
    """

    code: int = 0
    out: str = ""
    err: str = ""
    failed: str = ""
    refused: tuple[str, ...] = ()


async def run_hook(
    hook: Hook, given: dict[str, object], project: Path, environ: Mapping[str, str], sandboxes: Sandboxes | None
) -> HookAnswer:
    """Run it with this input; raises nothing, and cancelling it ends it. It can read the transcript that it is told."""
    data = json.dumps(given, default=str).encode()
    transcript = str(given.get("transcript_path") or "")
    shown = (Path(os.path.realpath(transcript)),) if transcript else ()
    try:
        return await (_posted(hook, data) if hook.url else _ran(hook, data, project, environ, sandboxes, shown))
    except ExpectedError as error:
        return HookAnswer(failed=error.message.rstrip("."))
    except TimeoutError:
        return HookAnswer(failed=f"it took longer than {hook.seconds:g} s")
    except (OSError, http.client.HTTPException) as error:
        return HookAnswer(failed=one_line(str(error) or type(error).__name__, 200))


async def _ran(
    hook: Hook,
    data: bytes,
    project: Path,
    environ: Mapping[str, str],
    sandboxes: Sandboxes | None,
    shown: tuple[Path, ...],
) -> HookAnswer:
    variables = {**command_environment(environ), "CLAUDE_PROJECT_DIR": str(project), "GSH_PROJECT_DIR": str(project)}
    if hook.plugin:
        variables["CLAUDE_PLUGIN_ROOT"] = hook.plugin
        shown = (*shown, Path(hook.plugin))
    start = Start(("bash", "--norc", "--noprofile", "-c", hook.command), project, variables, data)
    sandbox = await sandboxes.sandbox(Path(os.path.realpath(project))) if hook.sandbox and sandboxes else ""
    out, err = Spool(_KEPT), Spool(_KEPT)
    try:
        capture, errors = Capture(out, lambda _: None), Capture(err, lambda _: None)
        never = asyncio.Event()
        try:
            if isinstance(sandbox, str):
                run = await run_supervised(start, hook.seconds, never, capture, errors)
            else:
                holding = await asyncio.to_thread(sandbox.with_programs, _words(hook.command))
                seen = replace(holding, shown=(*holding.shown, *shown))
                run = await run_in_sandbox(seen, start, hook.seconds, never, capture, errors)
        finally:
            capture.close()
            errors.close()
        said, complained = (b"".join(one.pieces()).decode("utf-8", "replace") for one in (out, err))
    finally:
        out.close()
        err.close()
    if run.end is End.TIMEOUT:
        return HookAnswer(failed=f"it took longer than {hook.seconds:g} s and was ended")
    known = await asyncio.to_thread(run.with_refusals_in, f"{said}\n{complained}")
    use = known.sandbox_use
    return HookAnswer(run.shell_code, said, complained, refused=use.refused if use is not None else ())


def _words(command: str) -> list[str]:
    """The words of a hook's line, for the files that it names."""
    try:
        return shlex.split(command)
    except ValueError:  # an unclosed quote, which bash will say
        return []


async def _posted(hook: Hook, data: bytes) -> HookAnswer:
    parts = urlsplit(hook.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=hook.seconds)

    def post() -> HookAnswer:
        path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        connection.request("POST", path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read(_KEPT).decode("utf-8", "replace")
        if answer.status >= 300:  # a redirection is not followed: it could lead elsewhere
            return HookAnswer(failed=f"it answered with status {answer.status}")
        return HookAnswer(out=body)

    try:
        async with time_limit(hook.seconds):
            return await asyncio.to_thread(post)
    finally:
        connection.close()
