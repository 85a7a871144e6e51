"""`gsh WORDS…` at the prompt: streams the answer in place, in the conversation of this shell and project."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import time
from pathlib import Path

import msgspec

from gshtui.headless import exits, streams
from gshtui.headless.turns.prompt_turn import prompt
from gshtui.settings import paths
from gshtui.shell import plugin_files as options
from gshtui.system.files import private_files

_KEPT = 7 * 86_400.0
"""Seconds during which a conversation can be continued."""


class PromptSession:
    """The conversation of this shell in this project."""

    def __init__(self, cwd: Path) -> None:
        shell = os.environ.get("GSH_SHELL_ID") or _terminal()
        key = hashlib.sha256(f"{shell}\0{paths.project_root(cwd)}".encode("utf-8", "surrogateescape")).hexdigest()
        self._file = options.options_folder() / "talks" / key[:32]

    def session(self) -> str:
        """Its id; empty if there is none to continue."""
        with contextlib.suppress(OSError):
            if time.time() - self._file.stat().st_mtime < _KEPT:
                found = self._file.read_text("utf-8", "replace").strip()
                return found if re.fullmatch(r"[0-9a-zA-Z-]{6,64}", found) else ""
        return ""

    def keep(self, session: str) -> None:
        """Continue with this one next time."""
        with contextlib.suppress(OSError):
            options.options_folder(create=True)
            private_files.make_folder(self._file.parent)
            private_files.write_whole(self._file, session.encode() + b"\n")
            for old in self._file.parent.iterdir():
                if time.time() - old.stat().st_mtime > _KEPT:
                    old.unlink()


def _terminal() -> str:
    """The terminal and its session leader: the best guess at the shell when no plugin identifies it."""
    with contextlib.suppress(OSError):
        return f"{os.ttyname(0)} {os.getsid(0)}"
    return ""


class AskOptions(msgspec.Struct, frozen=True):
    """What the person typed."""

    text: str = ""
    background: bool = False
    new: bool = False
    yes: bool = False
    json: bool = False
    agent: str = "main"
    provider: str = ""
    model: str = ""
    session: str = ""
    timeout: float = 0.0
    context_lines: int = 0
    """Lines of output of recent commands that the agent is told, at most; 0: as the settings say."""


def ask(options: AskOptions) -> int:
    """Ask, or start a background agent; returns the exit code."""
    if options.background:
        return _in_background(options)
    from gshtui.headless.called_here import working_folder
    from gshtui.hub.faces.turn_request import TurnRequest

    talk = PromptSession(working_folder())
    earlier = "" if options.new or options.session else talk.session()
    request = TurnRequest(
        text=options.text,
        agent=options.agent,
        provider=options.provider,
        model=options.model,
        session=options.session or earlier or "new",
        continues=bool(earlier),
        respondent="policy" if options.yes else "person" if not options.json and os.isatty(2) else "nobody",
        where="gsh at a prompt",
        recent=True,
        context_lines=options.context_lines,
    )
    return prompt(request, timeout=options.timeout, json=options.json, opened=talk.keep)


def _in_background(options: AskOptions) -> int:
    if not options.text.strip():
        streams.complain("no task given. For example: gsh --background explore how login works")
        return exits.USAGE
    from gshtui.bus.agent_data import AgentRow
    from gshtui.fleet.commands.spawn_command import SpawnAgent
    from gshtui.fleet.core.agent_calls import AttachAgent, Attachment
    from gshtui.headless.commands.keeper_call import KeeperCall, run_by_keeper, value_from_hub

    value = SpawnAgent(prompt=options.text, model=options.model, provider=options.provider, background=True)
    if options.json:
        name = f"{SpawnAgent.__module__}:{SpawnAgent.__qualname__}"
        code = run_by_keeper(KeeperCall("agent spawn", name, value.model_dump(exclude_unset=True), json=True))
        return exits.ERROR if code is None else code
    row = value_from_hub(value, AgentRow, "Starting the agent")
    if isinstance(row, int):
        return row
    streams.result(f"[gsh] Started agent {row.tmux_session or row.id} (background).")
    attach = value_from_hub(AttachAgent(agent=row.id), Attachment) if row.pane else exits.DONE
    if isinstance(attach, Attachment):
        streams.result(f"[gsh] Watch it: {shlex.join(attach.argv)}, or ctrl+x ctrl+a")
    streams.result(f"[gsh] Read its report when it is done: gsh show {row.id.lstrip('0') or row.id}")
    return exits.DONE
