"""An agent of the official SDK as a program of its own, which does what the words of its prompt say.

    python -m tests.kit.acp_agent_child [--version N] [--silent] [--garbage] [--stubborn] [--forgetful]

`--stubborn` ends by no polite means, and has a child; `--forgetful` can load no session.

`do:edit` shows a change and asks before it writes it through its client; `do:write` writes without asking; `do:run`
runs a command through its client; `do:plan`, `do:flood`, `do:huge`, `do:die`, `do:wait` and `do:read` do what their
names say; anything else is answered in a sentence. Sessions are files in the folder that it works in.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import acp
from acp.contrib.tool_calls import ToolCallTracker
from acp.schema import (
    AgentCapabilities,
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    Cost,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
    ToolCallUpdate,
    UnstructuredCommandInput,
    Usage,
    UsageUpdate,
)

MODES = SessionModeState(
    current_mode_id="careful",
    available_modes=[SessionMode(id="careful", name="Careful"), SessionMode(id="quick", name="Quick")],
)
CHOICES = [
    PermissionOption(option_id="yes", name="Do it", kind="allow_once"),
    PermissionOption(option_id="all", name="Do it, and all the like", kind="allow_always"),
    PermissionOption(option_id="no", name="Leave it", kind="reject_once"),
]


class ExampleAgent:
    """See the module."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._client: Any = None
        self._folders: dict[str, Path] = {}
        self._cancelled = asyncio.Event()
        self._spent = 0.0

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        if self._options.silent:
            await asyncio.Event().wait()
        return InitializeResponse(
            protocol_version=self._options.version, agent_capabilities=AgentCapabilities(load_session=True)
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        session = f"s{os.getpid()}"
        self._folders[session] = Path(cwd)
        (Path(cwd) / f".{session}").write_text("", "utf-8")
        given = AvailableCommandInput(UnstructuredCommandInput(hint="what to tidy"))
        offered = [AvailableCommand(name="tidy", description="Tidies up.", input=given)]
        update = AvailableCommandsUpdate(session_update="available_commands_update", available_commands=offered)
        await self._client.session_update(session, update)
        return NewSessionResponse(session_id=session, modes=MODES)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        if self._options.forgetful:
            raise acp.RequestError(-32602, "There is no such session.")
        kept = Path(cwd) / f".{session_id}"
        self._folders[session_id] = Path(cwd)
        await self._say(session_id, f"OLD WORDS {kept.read_text('utf-8')}")
        return LoadSessionResponse(modes=MODES)

    async def set_session_mode(self, mode_id: str, session_id: str, **_: Any) -> SetSessionModeResponse:
        await self._say(session_id, f"mode {mode_id}")
        return SetSessionModeResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._cancelled.set()

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> PromptResponse:
        self._cancelled.clear()
        text = "".join(getattr(block, "text", "") for block in prompt)
        kept = self._folders[session_id] / f".{session_id}"
        with kept.open("a", encoding="utf-8") as file:
            file.write(f"[{text}]")
        wish = text.partition("do:")[2].split(" ")[0]
        action = getattr(self, f"_{wish}", None) if wish else None
        if action is not None:
            await action(session_id)
        else:
            await self._client.session_update(session_id, acp.update_agent_thought_text("A greeting."))
            await self._say(session_id, f"Hello. I know {kept.read_text('utf-8')}")
        self._spent += 0.25
        cost = Cost(amount=self._spent, currency="USD")
        full = UsageUpdate(session_update="usage_update", used=600, size=1_000, cost=cost)
        await self._client.session_update(session_id, full)
        return PromptResponse(
            stop_reason="cancelled" if self._cancelled.is_set() else "end_turn",
            usage=Usage(input_tokens=40, output_tokens=2, total_tokens=42),
        )

    async def _say(self, session: str, text: str) -> None:
        await self._client.session_update(session, acp.update_agent_message_text(text))

    async def _edit(self, session: str) -> None:
        await self._say(session, "I change the file. ")
        path = str(self._folders[session] / "notes.txt")
        change = acp.tool_diff_content(path, "two\n", "one\n")
        start = acp.start_edit_tool_call("call-1", "Edit notes.txt", path, change)
        await self._client.session_update(session, start)
        asked = ToolCallUpdate(
            tool_call_id="call-1",
            title="Edit notes.txt",
            kind="edit",
            status="pending",
            content=[change],
            locations=start.locations,
        )
        answer = await self._client.request_permission(session_id=session, tool_call=asked, options=CHOICES)
        chosen = getattr(answer.outcome, "option_id", "cancelled")
        if chosen in ("yes", "all"):
            await self._client.write_text_file(session_id=session, path=path, content="two\n")
        status = "completed" if chosen in ("yes", "all") else "failed"
        await self._client.session_update(session, acp.update_tool_call("call-1", status=status))
        await self._say(session, f"The answer was {chosen}.")

    async def _write(self, session: str) -> None:
        path = str(self._folders[session] / "made.txt")
        try:
            await self._client.write_text_file(session_id=session, path=path, content="made\n")
        except acp.RequestError as error:
            await self._say(session, f"refused: {error}")
        else:
            await self._say(session, "written")

    async def _read(self, session: str) -> None:
        for name in ("notes.txt", "/etc/hostname"):
            path = str(self._folders[session] / name)
            try:
                found = await self._client.read_text_file(session_id=session, path=path, line=1, limit=1)
            except acp.RequestError as error:
                await self._say(session, f"refused: {error} ")
            else:
                await self._say(session, f"read {found.content.strip()} ")

    async def _run(self, session: str) -> None:
        try:
            made = await self._client.create_terminal(session_id=session, command="echo", args=["out of", "the shell"])
        except acp.RequestError as error:
            await self._say(session, f"refused: {error}")
            return
        tracker = ToolCallTracker()
        content = [acp.tool_terminal_ref(made.terminal_id)]
        start = tracker.start("run", title="echo", kind="execute", status="in_progress", content=content)
        await self._client.session_update(session, start)
        ended = await self._client.wait_for_terminal_exit(session_id=session, terminal_id=made.terminal_id)
        told = await self._client.terminal_output(session_id=session, terminal_id=made.terminal_id)
        await self._client.session_update(session, tracker.progress("run", status="completed"))
        await self._client.release_terminal(session_id=session, terminal_id=made.terminal_id)
        await self._say(session, f"exit {ended.exit_code}: {told.output.strip()}")

    async def _plan(self, session: str) -> None:
        entries = [acp.plan_entry("Look", status="completed"), acp.plan_entry("Leap", status="in_progress")]
        await self._client.session_update(session, acp.update_plan(entries))
        await self._say(session, "planned")

    async def _flood(self, session: str) -> None:
        for number in range(5_000):
            await self._say(session, f"{number} ")

    async def _huge(self, session: str) -> None:
        await self._say(session, "x" * 50_000_000)

    async def _die(self, session: str) -> None:
        path = str(self._folders[session] / "notes.txt")
        change = acp.tool_diff_content(path, "half\n", "one\n")
        await self._client.session_update(session, acp.start_edit_tool_call("call-9", "Edit notes.txt", path, change))
        await self._client.session_update(session, acp.update_tool_call("call-9", status="in_progress"))
        (self._folders[session] / "notes.txt").write_text("ha", "utf-8")
        print("the disk of this example is full", file=sys.stderr, flush=True)
        os._exit(7)

    async def _wait(self, session: str) -> None:
        await self._say(session, "I wait. ")
        await self._cancelled.wait()


async def serve(options: argparse.Namespace) -> None:
    """Speak the protocol until the client has gone."""
    if options.garbage:
        print("Welcome to the example!\n{not json\n[1, 2]\n\x1b[31m", flush=True)
    with contextlib.suppress(ConnectionError):
        agent: Any = ExampleAgent(options)
        await acp.run_agent(agent)


def main(words: Sequence[str]) -> int:
    """Be such an agent."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", type=int, default=1)
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--garbage", action="store_true")
    parser.add_argument("--stubborn", action="store_true")
    parser.add_argument("--forgetful", action="store_true")
    given = parser.parse_args(words)
    if given.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        helper = subprocess.Popen(["sleep", "600"])
        Path(".pids").write_text(f"{os.getpid()} {helper.pid}", "utf-8")
    asyncio.run(serve(given))
    if given.stubborn:
        signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
