"""Answers a program's question through its hook, which waits for that: no key is pressed, so no key can go astray.

The hook (`report_hook`) makes a pipe for its one request and names it in its report. An answer is one line in that
pipe. Where the hook is gone, nobody reads the pipe, and nothing is answered. All functions block for a moment.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any, Literal

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.hooks.hook_reports import spool_path
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.report_hook import request_pipe
from gshtui.system.files import private_files
from gshtui.system.files.private_files import open_reader
from gshtui.system.json_types import is_object, parse_foreign_json

Behavior = Literal["allow", "deny"]
_LOOKED_AT = 400_000
"""Bytes at the end of the reports that are searched for requests."""
_ENOUGH = 300
"""Characters of what a request is about that are compared with the question on the screen."""


def behavior_of(profile: Profile, question: OpenQuestion, choice: str) -> Behavior | None:
    """What this choice is in terms of the program's hooks; `None` where only its keys mean the same."""
    label = next((one.label for one in question.choices if one.key == choice), "")
    found = profile.hooks.answers.get(label)
    return found if found in ("allow", "deny") else None


def waiting_request(data: Path, agent: str, question: OpenQuestion) -> Path | None:
    """The pipe of the one request that waits and is about what this question shows; `None` where that is not certain.
    `data`: the data folder.
    """
    shown = "".join(f"{question.subject} {question.detail}".split())
    found: list[Path] = []
    for fields in _reports(spool_path(data, agent)):
        request, subject = fields.get("request"), fields.get("subject")
        if not isinstance(request, str) or not isinstance(subject, str) or not request.isalnum():
            continue
        about = "".join(subject.split())[:_ENOUGH]
        pipe = Path(request_pipe(str(spool_path(data, agent)), request))
        if about and about in shown and _has_reader(pipe):
            found.append(pipe)
    return found[0] if len(found) == 1 else None


def give_answer(pipe: Path, behavior: Behavior) -> bool:
    """Give the answer to the hook that waits; whether it was there to take it."""
    try:
        file = _opened(pipe)
    except OSError:
        return False
    try:
        return os.write(file, json.dumps({"behavior": behavior}).encode() + b"\n") > 0
    except OSError:
        return False
    finally:
        os.close(file)


def _reports(path: Path) -> list[dict[str, Any]]:
    try:
        file = private_files.open_existing(path)
    except OSError:
        return []
    with open_reader(file) as opened:
        opened.seek(max(0, os.fstat(opened.fileno()).st_size - _LOOKED_AT))
        lines = opened.read(_LOOKED_AT).split(b"\n")
    found: list[dict[str, Any]] = []
    for line in lines:
        try:
            fields = parse_foreign_json(line) if b'"request"' in line else None
        except ValueError:
            continue
        if is_object(fields):
            found.append(fields)
    return found


def _has_reader(pipe: Path) -> bool:
    """Whether a hook waits at this pipe; one that nobody reads is what a hook left that was killed, and goes."""
    try:
        os.close(_opened(pipe))
    except OSError as error:
        if error.errno == errno.ENXIO:
            pipe.unlink(missing_ok=True)
        return False
    return True


def _opened(pipe: Path) -> int:
    """The pipe, for writing. Raises `OSError`: it is none, not ours, or nobody reads it."""
    file = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    state = os.fstat(file)
    if not stat.S_ISFIFO(state.st_mode) or state.st_uid != os.getuid():
        os.close(file)
        raise OSError(errno.EPERM, "not a pipe of ours")
    return file
