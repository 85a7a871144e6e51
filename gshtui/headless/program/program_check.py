"""The process that checks an installed program: it leads it through ten steps as an agent of a hub of its own.

    python -m gshtui.headless.program.program_check NAME PROGRAM VERSION

`programs/check/check_run.py` starts it in a throw-away home, with a tmux server of its own. Each step's result is a
line of JSON on standard output. Every wait has its end; the program is ended with it, whatever has happened. Standard
input ends when whoever started it is gone: then it ends everything at once, and removes the home.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from gshtui.bus.agent_data import AgentRow, OpenQuestion, SpawnRequest
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.headless.streams import result_json
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.programs.check.anthropic_wire import AnthropicWire
from gshtui.programs.check.check_results import STEPS, CheckedStep, Verdict
from gshtui.programs.check.check_run import CheckError, end_all, made_place
from gshtui.programs.check.check_setup import CheckSetup, read_setup
from gshtui.programs.check.gemini_wire import GeminiWire
from gshtui.programs.check.model_server import ModelServer
from gshtui.programs.check.model_wire import ModelWire
from gshtui.programs.check.openai_wire import ChatWire, ResponsesWire
from gshtui.programs.check.prompt_driven_model import END, MADE, SAYS, follow_prompts, strings
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.profiles.profile_files import load
from gshtui.programs.screen.line_styles import without_styles
from gshtui.programs.screen.screen_reading import ScreenReading, read_screen
from gshtui.programs.status.evidence import QUIET
from gshtui.programs.status.status import TYPED
from gshtui.programs.transcripts.conversation_binding import finds_conversation
from gshtui.settings.loader import load as load_settings
from gshtui.system.processes.time_limit import time_limit
from gshtui.tmux.server import TmuxServer

_WIRES: dict[str, Callable[[], ModelWire]] = {
    "anthropic": AnthropicWire,
    "openai": ResponsesWire,
    "openai-chat": ChatWire,
    "gemini": GeminiWire,
}
_WITHIN, _STEP, _LOOK = 30.0, 90.0, 0.15
"""Seconds that anything may take, that a step may take, and between two looks."""
_TEXT = 'first line, with "quotes" and $HOME\n\n# third line: äöü 你好 \\ and `ticks`'
_AFTER, _ONCE_MORE = "A word after the new beginning", "And a word after the restart"
_LONG = "do:long, once more"
_HELD = "This has to wait for the dialog"
_DENIALS = ("No", "Reject", "Deny", "Cancel")
T = TypeVar("T")


class _Partly(Exception):
    """It works in part; the message says what does not."""


class _Fails(Exception):
    """It does not work."""


class _Lacks(Exception):
    """The program has no such thing."""


class ProgramCheck:
    """The steps, in their order."""

    def __init__(
        self, fleet: Fleet, model: ModelServer[ModelWire], setup: CheckSetup, profile: Profile, folder: Path
    ) -> None:
        self._fleet = fleet
        self._model = model
        self._setup = setup
        self._profile = profile
        self._folder = folder
        self._id = ""
        self._question: OpenQuestion | None = None
        self._doubt = ""
        """What was only guessed in this step, although all went on."""

    async def run(self, argv: tuple[str, ...]) -> None:
        """Go through all steps, and print each result."""
        steps: dict[str, Callable[[], Awaitable[None]]] = {
            "rest": lambda: self._rest(argv),
            "work": self._work,
            "question": self._asks,
            "denial": self._denial,
            "plan": self._plan,
            "dialog": self._dialog,
            "text": self._text,
            "interrupt": self._interrupt,
            "clear": self._clear,
            "resume": self._resume,
        }
        for name in STEPS:
            verdict, reason = await self._judged(steps[name], self._profile.timing.start if name == "rest" else 0.0)
            if verdict == "N" and name not in ("rest", "question") and not self._row.ended:
                await self._settled()
            result_json(msgspec.to_builtins(CheckedStep(name, verdict, reason)))
            if not self._id or self._row.ended or (name == "rest" and verdict == "N"):
                return

    async def end(self) -> None:
        if self._id:
            with contextlib.suppress(FleetError):
                await self._fleet.kill(self._id, now=True)

    async def _judged(self, step: Callable[[], Awaitable[None]], more: float) -> tuple[Verdict, str]:
        self._doubt = ""
        try:
            async with time_limit(_STEP + more):
                await step()
        except _Partly as partly:
            return "P", str(partly)
        except _Lacks as lacks:
            return "-", str(lacks)
        except _Fails as fails:
            return "N", str(fails)
        except FleetError as error:
            return "N", error.message
        except TimeoutError:
            return "N", f"it took too long; {self._state()}"
        return ("P", self._doubt) if self._doubt else ("W", "")

    # -- what is to be seen --------------------------------------------------------------------------------------------

    @property
    def _row(self) -> AgentRow:
        row = self._fleet.get(self._id)
        assert row is not None
        return row

    @property
    def _server(self) -> TmuxServer:
        return self._fleet.terminals.server(self._row.socket)

    def _state(self) -> str:
        if not self._id:
            return "it did not start"
        row = self._row
        return f"its status is {row.status} ({row.status_source}){f', {row.doing}' if row.doing else ''}"

    async def _until(self, right: Callable[[], T], what: str, within: float = _WITHIN) -> T:
        """Wait until this is so. Raises `_Fails` with what did not come."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + within
        while not (found := right()):
            if loop.time() > ends:
                raise _Fails(f"{what} within {within:g} s; {self._state()}")
            await asyncio.sleep(_LOOK)
        return found

    async def _screen(self) -> str:
        return "\n".join(without_styles(line) for line in await self._server.capture(self._row.pane))

    async def _reading(self) -> ScreenReading:
        info, lines = await self._server.capture_screen(self._row.pane)
        return read_screen(self._profile, lines, info.title, (info.cursor_x, info.cursor_y), info.width)

    async def _shows(self, pattern: str, within: float = _WITHIN) -> bool:
        loop = asyncio.get_running_loop()
        ends = loop.time() + within
        while not re.search(pattern, await self._screen()):
            if loop.time() > ends:
                return False
            await asyncio.sleep(_LOOK)
        return True

    async def _grows(self) -> bool:
        """Whether its answer comes on while one looks."""
        before = await self._screen()
        await asyncio.sleep(1.5)
        return (await self._screen()).count(SAYS[:12]) > before.count(SAYS[:12])

    def _sure(self, *statuses: str) -> bool:
        row = self._row  # some put a prompt that was interrupted back into their input
        return row.status in statuses and (not row.status_source.endswith("?") or row.doing == TYPED)

    async def _rests(self, within: float = _WITHIN) -> None:
        """Wait until it is at rest. Where that is a guess for as long, the step works in part."""
        try:
            await self._until(
                lambda: self._row.ended or (self._sure("idle") and not self._model.unanswered),
                "it did not come to rest",
                within,
            )
            if self._row.ended:
                raise _Fails(f"it has ended; {self._state()}")
        except _Fails:
            if self._model.unanswered or self._row.status not in ("idle", QUIET):
                raise
            self._doubt = f"nothing shows that it rests ({self._row.status}, {self._row.status_source})"

    async def _settled(self) -> None:
        """Bring it back to rest after a step, whatever that has left open."""
        for _ in range(4):
            if not self._row.needs_you and self._row.status != "waiting":
                break
            await self._server.send_keys(self._row.pane, "Escape")
            await asyncio.sleep(1.0)
        with contextlib.suppress(_Fails):
            await self._rests(8.0)

    def _heard(self, *texts: str) -> bool:
        chats = [strings(asked.body) for asked in self._model.requests if asked.kind == "chat"]
        return any(all(any(text in words for words in every) for text in texts) for every in chats)

    async def _hears(self, *texts: str) -> None:
        await self._until(lambda: self._heard(*texts), "its model was not sent the text word for word")

    async def _enter(self, command: str) -> None:
        """Type a command of the program's own as a person does: into an empty input."""
        for key in self._profile.keys.clear * 2:
            if not (await self._reading()).draft:
                break
            await self._server.send_keys(self._row.pane, key)
            await asyncio.sleep(_LOOK)
        await self._server.type_bytes(self._row.pane, command.encode())
        if not await self._shows(re.escape(command), 5.0):
            raise _Fails(f"{command} does not appear in its input")
        await asyncio.sleep(self._profile.timing.enter)
        await self._server.send_keys(self._row.pane, "Enter")

    # -- the steps -----------------------------------------------------------------------------------------------------

    async def _rest(self, argv: tuple[str, ...]) -> None:
        request = SpawnRequest(name="checked", cli=argv, profile=self._profile.name, cwd=str(self._folder))
        self._id = (await self._fleet.spawn(request, by_person=True)).id
        await self._rests(self._profile.timing.start)

    async def _work(self) -> None:
        self._model.pace = 20
        seen: list[tuple[str, str]] = []
        try:
            await self._fleet.send(self._id, "do:long")
            await self._until(lambda: self._heard("do:long") and self._model.unanswered, "no request came to its model")
            for number in range(20):
                await asyncio.sleep(0.2)
                if not self._model.unanswered:
                    break
                if number > 4:
                    seen.append((self._row.status, self._row.status_source))
        finally:
            self._model.pace = 0
        await self._rests()
        if wrong := [source for status, source in seen if status == "idle"]:
            raise _Fails(f"it is shown as idle ({wrong[0]}) while it works, in {len(wrong)} of {len(seen)} looks")
        if not all(status in ("thinking", "tool") for status, _ in seen):
            others = sorted({status for status, _ in seen} - {"thinking", "tool"})
            raise _Partly(f"it is shown as {', '.join(others)} while it works")
        if guessed := [source for _, source in seen if source.endswith("?")]:
            raise _Partly(f"its work is only guessed ({guessed[0]})")

    async def _asks(self) -> None:
        if not self._setup.tool.asks:
            raise _Lacks("it has no tool that asks first")
        await self._fleet.send(self._id, "do:touch")
        made = self._folder / MADE
        await self._until(lambda: self._row.needs_you or made.exists(), "its question is not seen")
        if made.exists():
            await self._settled()
            raise _Fails("it ran the command without asking")
        with contextlib.suppress(_Fails):
            await self._until(lambda: self._row.question is not None and self._row.question.choices, "", 5.0)
        self._question = self._row.question
        if self._question is None or not self._question.choices:
            raise _Partly("its question is seen, and its choices cannot be read")

    async def _denial(self) -> None:
        if not self._setup.tool.asks:
            raise _Lacks("it has no tool that asks first")
        if not self._row.needs_you:
            raise _Fails("there was no question to deny")
        asked = self._question
        key = next((one.key for one in (asked.choices if asked else ()) if one.label.startswith(_DENIALS)), "")
        try:
            if asked is not None and key:
                await self._fleet.answer(self._id, key, question=asked.id)
        finally:
            await asyncio.sleep(0.5)
            if self._setup.denied and self._row.needs_you:
                self._doubt = "the denial has to be confirmed in its terminal"
                for word in self._setup.denied:
                    await self._server.send_keys(self._row.pane, word)
                await asyncio.sleep(0.5)
            await self._settled()
        if (self._folder / MADE).exists():
            raise _Fails("the command has run all the same")
        await self._rests()
        if not key:
            raise _Partly("it was denied by Escape in its terminal, since no choice that denies was read")

    async def _plan(self) -> None:
        plan = self._setup.plan
        if not plan.calls:
            raise _Lacks("no plan to approve is known of it")
        for _ in range(5):
            if await self._shows(plan.shows, 1.0):
                break
            for key in plan.keys:
                await self._server.send_keys(self._row.pane, key)
        else:
            raise _Fails("it does not get into its planning mode by its keys")
        try:
            await self._fleet.send(self._id, "do:plan")
            await self._until(lambda: self._row.needs_you, "the plan's approval is not seen")
            with contextlib.suppress(_Fails):
                await self._until(lambda: self._row.question is not None and self._row.question.choices, "", 5.0)
            if self._row.question is None or not self._row.question.choices:
                raise _Partly("the plan's approval is seen, and its choices cannot be read")
        finally:
            await self._server.send_keys(self._row.pane, "Escape")
            await self._settled()

    async def _dialog(self) -> None:
        dialog = self._setup.dialog
        if not dialog.text:
            raise _Lacks("no dialog is known of it")
        try:
            await self._enter(dialog.text)
            if not await self._shows(dialog.shows):
                raise _Fails(f"{dialog.text} did not show its dialog")
            await self._until(lambda: self._row.status == "waiting", "the dialog is not seen", 6.0)
            await self._fleet.send(self._id, _HELD)
            await asyncio.sleep(1.5)
            if _HELD in await self._screen():
                raise _Fails("a message was typed into the dialog")
        finally:
            await self._server.send_keys(self._row.pane, "Escape")
            await asyncio.sleep(0.5)
            await self._settled()
        await self._hears(_HELD)
        await self._rests()

    async def _text(self) -> None:
        if self._profile.text.lines == "one":
            raise _Lacks("it takes one line at a time")
        await self._fleet.send(self._id, _TEXT)
        await self._hears(_TEXT)
        await self._rests()

    async def _interrupt(self) -> None:
        self._model.pace = 5
        try:
            before = len(self._model.requests)
            await self._fleet.send(self._id, _LONG)
            await self._until(lambda: len(self._model.requests) > before and self._model.unanswered, "no request came")
            if not await self._shows(f"(?s){_LONG}.*{SAYS[:12]}"):
                raise _Fails("its answer does not appear")
            await self._fleet.interrupt(self._id)
            await self._until(lambda: self._row.status in ("idle", QUIET), "it did not come to rest")
            if self._model.unanswered and await self._grows():
                raise _Fails("its answer goes on")
        finally:
            self._model.pace = 0
        await self._rests()
        if END in (await self._screen()).rpartition(_LONG)[2]:  # above it may be the end of an earlier answer
            raise _Fails("its answer came to its end")

    async def _clear(self) -> None:
        if not self._setup.clear:
            raise _Lacks("no command for a new conversation is known of it")
        await self._enter(self._setup.clear)
        await asyncio.sleep(1.0)
        await self._rests()
        await self._fleet.send(self._id, _AFTER)
        await self._hears(_AFTER)
        if self._heard(_AFTER, _LONG):
            raise _Fails("its model is still sent the earlier conversation")
        await self._rests()

    async def _resume(self) -> None:
        if not self._profile.conversation.resume:
            raise _Lacks("no way to resume a conversation is known of it")
        before = self._row.pid
        await asyncio.sleep(1.0)  # its conversation may come to its disk a moment after the turn
        how = (await self._fleet.restart(self._id)).how
        await self._until(lambda: self._row.pid not in (0, before), "it did not start again")
        await self._rests(self._profile.timing.start)
        await self._fleet.send(self._id, _ONCE_MORE)
        await self._hears(_ONCE_MORE)
        if self._heard(_ONCE_MORE, _AFTER):
            return
        if self._heard(_ONCE_MORE, _TEXT):
            went_on = f"it went on with the conversation before {self._setup.clear}"
            if not finds_conversation(self._profile.hooks.kind or self._profile.name):
                raise _Partly(f"{went_on}: only hooks tell which one it is in")
            raise _Fails(went_on)
        raise _Partly(f"its conversation did not go on: {how or 'started anew'}")


def _end_if_abandoned(home: Path, place: Path) -> None:
    """At the end of standard input, end at once with everything that has this home: nobody is left to do that."""
    if not os.read(sys.stdin.fileno(), 4096):
        end_all(str(home))
        shutil.rmtree(place, ignore_errors=True)
        os._exit(1)


async def _check(name: str, program: str, version: str) -> None:
    setup, profile = read_setup(name), load().get(name)
    assert setup is not None and setup.api
    home = Path.home()
    try:
        place = made_place(home)
    except CheckError as error:
        sys.exit(str(error))
    asyncio.get_running_loop().add_reader(sys.stdin, _end_if_abandoned, home, place)
    folder = place / "project"
    folder.mkdir()
    (folder / "readme.txt").write_text("A project.\n", "utf-8")
    choose = follow_prompts(setup.tool, {"plan": setup.plan.calls} if setup.plan.calls else {})
    async with ModelServer(_WIRES[setup.api](), choose=choose, chunk=20) as model:
        os.environ.update(setup.prepare(home, folder, model.url, version))
        options = HubOptions(cwd=folder, loaded=load_settings(folder), where="a check")
        hub = build_hub(options)
        await hub.start()
        try:
            assert hub.fleet is not None, hub.failed
            check = ProgramCheck(hub.fleet, model, setup, profile, folder)
            try:
                await check.run((program, *setup.arguments))
            finally:
                await check.end()
        finally:
            await hub.stop()


if __name__ == "__main__":
    asyncio.run(_check(*sys.argv[1:4]))
