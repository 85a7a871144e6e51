"""How much of the time an agent's status is wrong: real programs, shells and an interpreter, at work for a while.

They answer, run commands, edit, have helpers, ask questions of their own, propose plans, are interrupted and denied,
and have dialogs opened and their modes changed. The truth is what
the provider behind a program has sent, when its person pressed a key, and when a command of a shell began and ended by
the machine's own clock. `BENCH_MINUTES` is how long they work (10 by default), and
`BENCH_PACE` the average pause between two tasks in seconds (40), and `BENCH_HOOKS=no` or `yes` leaves out one half.
`BENCH_TRACE=1` prints what each row said for how long, `BENCH_ONLY=claude,qwen` leaves out the others, and with
`BENCH_ALONE=1` none is connected to us by a protocol of its own.
Programs that `.ci/programs` has not installed are left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import re
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gshtui.bus.agent_data import SpawnRequest
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.programs.hooks import hooks
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.screen.line_styles import without_styles
from gshtui.settings.loader import load
from gshtui.system.tasks import cancel_and_wait
from gshtui.tmux.server import TmuxServer
from tests.bench.ending import run_to_end
from tests.bench.figures import Report, median
from tests.bench.place import Place
from tests.kit.loopback.apis import loopback
from tests.kit.loopback.script import Answer, Call, Say
from tests.kit.loopback.server import Asked, Loopback
from tests.kit.prompt_driven_model import follow_prompts
from tests.kit.real_programs import FOLDER, FOUND, MISSING, Program, leave_alone
from tests.kit.record_questions import calls, made_project
from tests.kit.tmux import end_folder, short_folder

ONLY = os.environ.get("BENCH_ONLY", "").split(",") if os.environ.get("BENCH_ONLY") else None
NAMES = [name for name in ("claude", "codex", "opencode", "qwen") if ONLY is None or name in ONLY]
MINUTES = float(os.environ.get("BENCH_MINUTES", "10"))
PACE = float(os.environ.get("BENCH_PACE", "40"))
HOOKED = {"yes": (True,), "no": (False,)}.get(os.environ.get("BENCH_HOOKS", ""), (False, True))
TRACE = bool(os.environ.get("BENCH_TRACE"))
ALONE = bool(os.environ.get("BENCH_ALONE"))
START = 120.0
"""Seconds for a program to be idle for the first time."""
PATIENCE = 90.0
_LOOK, _GLANCE = 0.01, 0.03
_CHANGES = 0.2
"""How often a person changes its mode instead of giving it something to do."""
_READS = 1.5
"""Seconds in which a person has read a question."""
_KINDS = {"idle": "idle", "thinking": "busy", "tool": "busy", "starting": "busy", "waiting": "waiting"}
_TALK = ("Good day to you", "do:list", "do:long")
_TASKS = (*_TALK, "do:touch", "do:sleep")


@dataclass(frozen=True, slots=True)
class Mode:
    """A mode of a program: what it is asked for in it, and which of its tools ask before they do anything."""

    tasks: tuple[str, ...]
    asks: tuple[str, ...] = ()


_MODES: dict[str, dict[str, Mode]] = {
    "claude": {
        "manual mode on": Mode(
            (*_TASKS, "do:small", "do:ask", "do:agent", "/model"), ("Bash", "Edit", "AskUserQuestion")
        ),
        "accept edits on": Mode((*_TALK, "do:small", "do:touch", "do:sleep", "do:ask"), ("AskUserQuestion",)),
        "plan mode on": Mode((*_TALK, "do:ask", "do:plan", "do:plan"), ("ExitPlanMode", "AskUserQuestion")),
        "auto mode on": Mode((*_TALK, "do:ask"), ("AskUserQuestion",)),
    },
    "codex": {
        "Plan mode (": Mode((*_TALK, "do:ask", "do:propose"), ("request_user_input",)),
        "": Mode((*_TASKS, "do:small", "do:agent", "/model"), ("exec_command",)),
    },
    "opencode": {
        "Plan · ": Mode((*_TALK, "do:ask", "do:sleep"), ("bash", "question")),
        "Build · ": Mode((*_TASKS, "do:small", "do:ask", "do:agent", "/models"), ("bash", "edit", "question")),
    },
    "qwen": {
        "Ask permissions": Mode(
            (*_TASKS, "do:small", "do:ask", "/model"),
            ("run_shell_command", "edit", "ask_user_question"),
        ),
        "auto-accept edits": Mode((*_TALK, "do:small", "do:sleep"), ("run_shell_command",)),
        "Auto mode (": Mode(_TALK),
        "YOLO mode (": Mode(("do:touch", "do:sleep", "do:small")),
        "plan mode (": Mode((*_TALK, "do:ask", "do:plan", "do:plan"), ("exit_plan_mode", "ask_user_question")),
    },
}
"""Words of each mode on the screen; the first that are there count."""
_CYCLE = {"claude": "BTab", "codex": "BTab", "opencode": "Tab", "qwen": "BTab"}
"""The key for the next mode."""
_ASKING = {
    "claude": {
        "Bash": "Do you want to proceed",
        "Edit": "make this edit",
        "AskUserQuestion": "Chat about this",
        "ExitPlanMode": "Would you like to proceed",
    },
    "codex": {"exec_command": "Would you like to", "request_user_input": "Question 1/1"},
    "opencode": {"bash": "Permission required", "edit": "Permission required", "question": "esc dismiss"},
    "qwen": {
        "run_shell_command": "Allow execution of",
        "edit": "Apply this change",
        "agent": "Do you want to proceed",
        "ask_user_question": "Which colour",
        "exit_plan_mode": "Would you like to proceed",
    },
}
"""Tools that ask before they do anything → words on the screen then."""
_STOPS, _LOWEST = r"\besc (?:to )?(?:cancel|interrupt)\b(?!\.)", 7
"""What stands in one of its last rows while it works by its own account: its last words may come before that ends.
The long answer has such words, too, in front of a full stop."""
_PROPOSED = "Implement this plan?"
_KEYS = {"claude": {"ExitPlanMode": "2"}, "qwen": {"exit_plan_mode": "3"}}
"""The key that answers, where it is not Enter: it is to ask from then on."""
_HELPER = {"claude": "Agent", "codex": "multi_agent_v1", "opencode": "task"}
"""The tool that starts a helper; helpers have none. Qwen has no helpers where it asks."""
_BESIDE = {"claude": True, "codex": False}
"""Programs that do not wait for a helper: whether they go on by themselves once it has ended."""
_LIMIT = "thread limit reached"
"""What one of Codex's is told once it has had as many helpers as it may have."""
_INTERRUPTS, _DENIES = 0.4, 0.25
"""How often a person interrupts a long answer, and denies a command."""
_STOP = {"claude": ("Escape",), "codex": ("Escape",), "opencode": ("Escape", "Escape"), "qwen": ("Escape",)}
"""The keys that interrupt it."""
_DENIED = {"claude": "Bash", "codex": "exec_command", "qwen": "run_shell_command"}
"""The tool for commands, of those whose turn is over once one is denied."""
_OPENED = {
    "claude": "Select model",
    "codex": "Select Model",
    "opencode": "Select model",
    "qwen": "Select Model",
}
"""Words of the dialog with models."""
_COMMANDS = ("true", "sleep 0.4", "sleep 2", "sleep 6", "seq 1 20000", "less -X +1 big.txt", "false")


@dataclass
class Watched:
    """One agent: what is true of it, and what its row says."""

    name: str
    id: str
    truth: str = "idle"
    next: str = ""
    """What it may be as well, in words: its provider has sent all that leads to that, and its screen does not show it
    yet; or its person has opened a dialog, which it may take a while to draw."""
    wrong: float = 0.0
    watched: float = 0.0
    lags: list[float] = field(default_factory=list[float])
    """Seconds from a change of the truth until the row said so."""
    worst: str = ""
    unshown: float = 0.0
    """Seconds of the wrong time in which nothing on the screen had followed the key yet: nobody could know better."""
    drawing: asyncio.Task[None] | None = None
    blank: bool = False
    """Nothing has followed the last key yet."""
    stuck: str = ""
    """Why its script did not go on."""
    asks_model: Callable[[], bool] = lambda: False
    """Whether its model is being asked."""
    lied: float = 0.0
    """Seconds for which it was called idle, for sure, while its model was being asked."""
    _since: float = 0.0
    _right: bool = True
    _longest: float = 0.0
    _said: str = ""
    _shown: tuple[str, str, str] = ("", "", "")
    """What the row said, what was true, and whether that was right, at the last look."""
    _shown_at: float = 0.0
    _lying: float = 0.0
    """Since when it has been called idle, for sure, while its model was asked; 0: it is not."""

    def becomes(self, truth: str) -> None:
        """The truth from here on."""
        if TRACE:
            print(f"{time.monotonic():.2f} {self.name} is {truth}")
        if truth != self.truth:
            known = truth in self.next.split() and _KINDS.get(self._said, self._said) == truth
            self._ended(self._right, "changed before it was said")
            self.truth, self._since, self._right = truth, time.monotonic(), known
        self.next = ""

    def look(self, status: str, source: str, doing: str, elapsed: float) -> None:
        """What the row has said for `elapsed` seconds."""
        lies = status == "idle" and not source.endswith("?") and self.asks_model()
        self.lied += elapsed if lies else 0.0
        right = _KINDS.get(status, status) in (self.truth, *self.next.split())
        if TRACE:
            self._trace(f"{status} by {source}{f', {doing}' if doing else ''}", lies=lies, right=right)
        self.watched += elapsed
        self.wrong += 0.0 if right else elapsed
        self.unshown += elapsed if self.blank and not right else 0.0
        if status != self._said:
            self._said = status
        if right and not self._right:
            self._ended(False, status)
            self._right = True
        elif not right and self._right:
            self._since, self._right = time.monotonic(), False  # it left a truth that stayed

    def _trace(self, shown: str, *, lies: bool, right: bool) -> None:
        """Print each interval: what the row has said for how long, and what was true when it changed."""
        now = time.monotonic()
        if lies != bool(self._lying):
            print(f"{now:.2f} {self.name} LIES" if lies else f"{now:.2f} {self.name} lied {now - self._lying:.2f} s")
            self._lying = now if lies else 0.0
        mark = f"{'right' if right else 'WRONG'}{', blank' if self.blank else ''}"
        if (shown, self.truth, mark) != self._shown:
            lasted = now - self._shown_at
            was, truth, before = self._shown
            print(
                f"{now:.2f} {self.name} {before} {lasted:.2f} s: {was}; it was {truth}. Now {shown}, it is {self.truth}"
            )
            self._shown, self._shown_at = (shown, self.truth, mark), now

    def _ended(self, right: bool, what: str) -> None:
        if right or not self._since:
            return
        lag = time.monotonic() - self._since
        self.lags.append(lag)
        if lag > self._longest:
            self._longest, self.worst = lag, f"{lag:.1f} s until {what!r} where it was {self.truth}"


@dataclass(frozen=True)
class Desk:
    """The hub, its agents' server, and where they work."""

    hub: Hub
    folder: Path
    chance: random.Random

    @property
    def fleet(self) -> Fleet:
        assert self.hub.fleet is not None
        return self.hub.fleet

    async def spawn(self, name: str, argv: tuple[str, ...]) -> Watched:
        """Start one, and wait until it is idle."""
        row = await self.fleet.spawn(SpawnRequest(cli=argv, name=name), by_person=True)
        made = Watched(name, row.id)
        await self.until(made, lambda: self.status(made) in ("idle", "waiting"), "does not start", START)
        if self.status(made) == "waiting":  # of Codex, whether our hooks are trusted
            await self.press(made, "Down")
            await self.press(made, "Enter")
            await self.until(made, lambda: self.status(made) == "idle", "is not idle", START)
        return made

    async def until(self, agent: Watched, right: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
        """Wait until it is so. Raises `Stuck` with the screen."""
        ends = time.monotonic() + seconds
        while not right():
            if time.monotonic() > ends:
                server, pane = self.pane(agent)
                screen = "\n".join(await server.capture(pane))
                row = self.fleet.get(agent.id)
                said = f"{row.status} by {row.status_source}: {row.doing!r}" if row is not None else "nothing"
                title = (await server.capture_screen(pane))[0].title
                raise Stuck(f"{agent.name} {what} after {seconds:g} s; it says {said}; title {title!r}\n{screen}")
            await asyncio.sleep(_LOOK)

    def status(self, agent: Watched) -> str:
        """What its row says."""
        row = self.fleet.get(agent.id)
        return row.status if row is not None else "none"

    def pane(self, agent: Watched) -> tuple[TmuxServer, str]:
        """Where it runs."""
        row = self.fleet.get(agent.id)
        assert row is not None
        return self.fleet.terminals.server(row.socket), row.pane

    async def screen(self, agent: Watched) -> str:
        """Its text."""
        server, pane = self.pane(agent)
        return "\n".join(map(without_styles, await server.capture(pane)))

    async def shows(self, agent: Watched, text: str, without: str = "") -> None:
        """Wait until its screen does, and no row of its last ones matches the other. Raises `Stuck`."""
        ends = time.monotonic() + PATIENCE
        while text not in (screen := await self.screen(agent)) or (without and re.search(without, _lowest(screen))):
            if time.monotonic() > ends:
                raise Stuck(f"{agent.name} does not show {text!r}\n{screen}")
            await asyncio.sleep(_GLANCE)

    async def work(self, agent: Watched, key: str) -> None:
        """Press a key by which it goes to work, and note when its screen first shows anything of that."""
        server, pane = self.pane(agent)
        before = await self._shown(agent)
        agent.next = "busy"  # it may have the key before tmux says so
        await server.send_keys(pane, key)
        agent.becomes("busy")
        agent.blank = True
        agent.drawing = asyncio.create_task(self._drawn(agent, before))

    async def _drawn(self, agent: Watched, before: tuple[str, list[str]]) -> None:
        while agent.blank:
            await asyncio.sleep(_LOOK)
            agent.blank = await self._shown(agent) == before

    async def _shown(self, agent: Watched) -> tuple[str, list[str]]:
        server, pane = self.pane(agent)
        info, lines = await server.capture_screen(pane)
        return info.title, list(lines)

    async def press(self, agent: Watched, key: str) -> None:
        """As its person."""
        server, pane = self.pane(agent)
        await server.send_keys(pane, key)

    async def enter(self, agent: Watched, text: str) -> None:
        """Type a line, see it, and enter it, from when on it is busy."""
        server, pane = self.pane(agent)
        await server.type_bytes(pane, text.encode())
        await self.shows(agent, text)
        await asyncio.sleep(0.5)  # quicker than a person's, an Enter is a line of a pasted text to some
        await self.work(agent, "Enter")

    async def pause(self, average: float) -> None:
        """Of a person; sometimes short, sometimes long."""
        await asyncio.sleep(min(average * 4, self.chance.expovariate(1 / average)))


def _lowest(screen: str) -> str:
    """Its last rows with text: what is said in them is no answer."""
    return "\n".join([row for row in screen.split("\n") if row.strip()][-_LOWEST:])


class Stuck(Exception):
    """An agent did not do what was to come."""


def run(report: Report, place: Place) -> None:
    """Without hooks, then with them."""
    for program in MISSING:
        if program.name in NAMES:
            print(f"     left out: {program.name}; .ci/programs installs it")
    for hooked in HOOKED:
        with short_folder() as sockets, contextlib.ExitStack() as after:
            before = dict(os.environ)
            after.callback(lambda before=before: (os.environ.clear(), os.environ.update(before)))
            after.callback(end_folder, Path(sockets))  # also when it is told to stop: the agents go on by themselves
            os.environ.update(TMUX_TMPDIR=str(sockets), GSH_HUB__KEEP="alone", SHELL="/bin/bash")
            os.environ["PATH"] = f"{FOLDER / 'bin'}:{os.environ['PATH']}"
            agents = run_to_end(_work(place, hooked))
        how = "with hooks" if hooked else "without hooks"
        for agent in agents:
            share = 100 * agent.wrong / max(agent.watched, 1e-9)
            lags = sorted(agent.lags)
            unshown = 100 * agent.unshown / max(agent.watched, 1e-9)
            note = f"{unshown:.2f} % before its screen showed anything; "
            note += f"{agent.lied:.1f} s surely idle while its model was asked; "
            note += f"{len(lags)} changes, median {median(lags or [0]):.2f} s; longest: {agent.worst}"
            note += f"; {agent.watched / 60:.0f} minutes, then stuck: {agent.stuck}" if agent.stuck else ""
            report.add(f"{agent.name}, {how}: time with a wrong status", share, "%", limit=0.5, note=note)


async def _work(place: Place, hooked: bool) -> list[Watched]:
    async with contextlib.AsyncExitStack() as stack:
        programs = [program for program in FOUND if program.name in NAMES]
        servers = [await stack.enter_async_context(_provider(program, place)) for program in programs]
        for program, server in zip(programs, servers, strict=True):
            os.environ.update(program.prepare(place.home.path, place.project, server.url))
            if ALONE:
                leave_alone(program.name)
            profile = profiles.load().for_argv(program.argv)
            if hooked and profile.hooks.kind:
                hooks.apply_plan(hooks.plan(profile))
        (place.project / "big.txt").write_text("\n".join(map(str, range(5000))))
        hub = build_hub(HubOptions(cwd=place.project, loaded=load(place.project)))
        await hub.start()
        stack.push_async_callback(hub.stop)
        desk = Desk(hub, place.project, random.Random(5))
        lives: list[Coroutine[Any, Any, None]] = []
        stack.callback(lambda: [life.close() for life in lives])  # those that had not begun when it was told to end
        agents: list[Watched] = []
        for program, server in zip(programs, servers, strict=True):
            agent = await desk.spawn(program.name, program.argv)
            agents.append(agent)
            lives.append(_program_life(desk, agent, program, server))
        if not hooked and ONLY is None:  # these have none
            agents.append(await desk.spawn("bash", ("bash", "--norc")))
            lives.append(_shell_life(desk, agents[-1]))
            agents.append(await desk.spawn("python", ("python3", "-i")))
            lives.append(_python_life(desk, agents[-1]))
        watching = asyncio.create_task(_watch(desk, agents))
        working = [
            asyncio.create_task(_as_far_as_it_goes(agent, life)) for agent, life in zip(agents, lives, strict=True)
        ]
        await asyncio.wait(working, timeout=MINUTES * 60)
        await cancel_and_wait(*working, watching, *(agent.drawing for agent in agents if agent.drawing is not None))
        return agents


async def _as_far_as_it_goes(agent: Watched, life: Coroutine[Any, Any, None]) -> None:
    """An agent that is stuck is looked at no longer; the others go on."""
    try:
        await life
    except Stuck as error:
        agent.stuck = f"{error}".partition("\n")[0]
        print(f"{time.monotonic():.2f} {error}")


@contextlib.asynccontextmanager
async def _provider(program: Program, place: Place) -> AsyncGenerator[Loopback]:
    async with loopback(program.api, choose=program.choose(), strict=False, pace=40, chunk=20) as server:
        yield server


async def _watch(desk: Desk, agents: list[Watched]) -> None:
    before = time.monotonic()
    while True:
        await asyncio.sleep(_LOOK)
        now = time.monotonic()
        for agent in agents:
            if not agent.stuck:
                row = desk.fleet.get(agent.id)
                said = (row.status, row.status_source, row.doing) if row is not None else ("none", "", "")
                agent.look(*said, now - before)
        before = now


@dataclass
class Turns:
    """What the model of one program is asked and says, from which follows what is true of its agent."""

    program: Program
    agent: Watched
    follow: Callable[[Asked], Answer]
    mode: Mode
    shown: asyncio.Queue[tuple[str, str]] = field(default_factory=asyncio.Queue[tuple[str, str]])
    """What is true once what is to be seen on its screen: a program may take its time to show an answer."""
    key: str = "Enter"
    """What answers its question."""
    asking: str = ""
    """The tool that its question is about."""
    helpers: int = 0
    """Those at work of which it does not wait for the end."""
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def is_turn(self, asked: Asked) -> bool:
        """Whether a request is for an answer to a person or for a helper's work, and not for a title."""
        return self.program.setup.tool.name in _offered(asked)

    def is_helpers(self, asked: Asked) -> bool:
        """Whether it is a helper's: Claude says so, and the others offer those no helpers of their own."""
        tool = _HELPER.get(self.program.name, "")
        return "x-claude-code-agent-id" in asked.headers or (bool(tool) and tool not in _offered(asked))

    def choose(self, asked: Asked) -> Answer | None:
        """Its next answer."""
        told: list[Any] = asked.body.get("input", []) if isinstance(asked.body, dict) else []
        if self.helpers and not self.is_helpers(asked) and _LIMIT in str(told[-1:]):
            self.helpers -= 1
        *before, last = self.follow(asked)
        if self.is_turn(asked) and not self.is_helpers(asked):
            if isinstance(last, Say) and "<proposed_plan>" not in last.text:
                last = Say(f"{last.text}\n\nend-{next(self._numbers)}.")
            elif isinstance(last, Call):
                # Of a helper that is asked about, its person allows the start.
                self.helpers += (
                    _HELPER.get(self.program.name) in (last.name, last.namespace) and self.program.name in _BESIDE
                )
            if isinstance(last, Call) and last.name in self.mode.asks:
                # Its question stands as soon as it is on the screen, whatever else is still sent.
                self.key, self.asking = _KEYS.get(self.program.name, {}).get(last.name, "Enter"), last.name
                self.shown.put_nowait(("waiting", _ASKING[self.program.name][last.name]))
        return [*before, last]

    def finished(self, asked: Asked, answer: Answer) -> None:
        """It has been sent that."""
        last = answer[-1]
        if not self.is_turn(asked):
            return
        if TRACE:
            whose = "helper" if self.is_helpers(asked) else "agent"
            print(
                f"{time.monotonic():.2f} {self.agent.name}'s {whose} was sent {answer!r:.200}; {self.helpers} helpers"
            )
        if self.is_helpers(asked):
            if isinstance(last, Say) and self.helpers:
                self.helpers -= 1
                if not _BESIDE[self.program.name] and not self.helpers:
                    self.shown.put_nowait(("idle", ""))
        elif isinstance(last, Say) and "<proposed_plan>" in last.text:
            self.agent.next, self.key, self.asking = "waiting", "Enter", ""
            self.shown.put_nowait(("waiting", _PROPOSED))
        elif isinstance(last, Say) and not self.helpers:
            self.agent.next = "idle"
            self.shown.put_nowait(("idle", last.text.rpartition("\n")[2]))
        elif isinstance(last, Call) and last.name in self.mode.asks:
            self.agent.next = "waiting"


def _offered(asked: Asked) -> list[str]:
    """The names of the tools that a request offers."""
    tools = asked.body.get("tools") if isinstance(asked.body, dict) else None
    return [str(tool.get("name") or tool.get("function", {}).get("name")) for tool in tools or ()]


async def _program_life(desk: Desk, agent: Watched, program: Program, server: Loopback) -> None:
    """Tasks, and the questions that come with them, answered after a while."""
    tool = program.setup.tool
    # Each has files of its own to change; Codex names them as they are seen from where it works.
    folder = desk.folder if program.name == "codex" else desk.folder / program.name
    folder.mkdir(exist_ok=True)
    follow = follow_prompts(tool.name, tool.argument, calls(program.name, folder), **tool.more)
    modes = _MODES[program.name]
    turns = Turns(program, agent, follow, next(iter(modes.values())))
    server.choose, server.finished = turns.choose, turns.finished
    agent.asks_model = lambda: any(map(turns.is_turn, server.unanswered))
    while True:
        await desk.pause(PACE)
        await desk.until(agent, lambda: desk.status(agent) == "idle", "is not idle")
        if desk.chance.random() < _CHANGES:
            await desk.press(agent, _CYCLE[program.name])
            continue
        screen = await desk.screen(agent)
        turns.mode = next((mode for words, mode in modes.items() if words in screen), turns.mode)
        task = desk.chance.choice(turns.mode.tasks)
        if TRACE:
            print(f"{time.monotonic():.2f} {agent.name} gets {task}")
        if task.startswith("/"):
            await _dialog(desk, agent, task, _OPENED[program.name])
            continue
        made_project(folder)
        await desk.enter(agent, task)
        if task == "do:long" and desk.chance.random() < _INTERRUPTS:
            await desk.until(agent, lambda: agent.asks_model(), "does not ask its model")
            await asyncio.sleep(_READS)
            if agent.asks_model():
                await _stop(desk, agent, turns)
        while agent.truth == "busy":
            try:
                becomes, words = await asyncio.wait_for(turns.shown.get(), PATIENCE)
            except TimeoutError:
                raise Stuck(f"{agent.name} ends no turn\n{await desk.screen(agent)}") from None
            await desk.shows(agent, words, without=_STOPS if becomes == "idle" else "")
            agent.becomes(becomes)
            if agent.truth == "waiting":
                await desk.until(agent, lambda: desk.status(agent) == "waiting", "does not wait")
                await asyncio.sleep(_READS)  # what comes at once, some take for a key that was meant for something else
                await desk.pause(4)
                if turns.asking == _DENIED.get(program.name) and desk.chance.random() < _DENIES:
                    await _stop(desk, agent, turns)
                else:
                    await desk.work(agent, turns.key)


async def _stop(desk: Desk, agent: Watched, turns: Turns) -> None:
    """Its person ends what it does, or denies what it wants to do."""
    agent.next = "idle"
    for key in _STOP[turns.program.name]:
        await desk.press(agent, key)
    await desk.shows(agent, "", without=f"{_STOPS}|Esc to cancel|Allow execution of|Would you like to")
    agent.becomes("idle")
    while not turns.shown.empty():
        turns.shown.get_nowait()


async def _dialog(desk: Desk, agent: Watched, command: str, words: str) -> None:
    """A dialog of its own is opened and closed by its person."""
    server, pane = desk.pane(agent)
    await server.type_bytes(pane, command.encode())
    await desk.shows(agent, command)
    await asyncio.sleep(_READS)
    agent.next = "busy waiting"
    await desk.press(agent, "Enter")
    await desk.shows(agent, words)
    agent.becomes("waiting")
    await desk.until(agent, lambda: desk.status(agent) == "waiting", "does not wait in its dialog")
    await desk.pause(4)
    agent.next = "idle"
    await desk.press(agent, "Escape")
    await desk.until(agent, lambda: desk.status(agent) == "idle", "is not idle behind its dialog")
    agent.becomes("idle")


async def _shell_life(desk: Desk, agent: Watched) -> None:
    """Commands of all lengths; each writes down when it ends."""
    number = 0
    while True:
        await desk.pause(PACE / 2)
        number += 1
        command, mark = desk.chance.choice(_COMMANDS), desk.folder / f"ended-{number}"
        await desk.enter(agent, f"{command}; echo $? >ended-{number}")
        if command.startswith("less"):
            agent.becomes("waiting")
            await desk.pause(3)
            await desk.press(agent, "q")
        await desk.until(agent, mark.exists, f"has not ended {command!r}")
        agent.becomes("idle")


async def _python_life(desk: Desk, agent: Watched) -> None:
    """Lines that take a while, and lines that do not."""
    number = 0
    while True:
        await desk.pause(PACE / 2)
        number += 1
        seconds, mark = desk.chance.choice((0, 0, 0.3, 2, 6)), desk.folder / f"python-{number}"
        await desk.enter(agent, f"import time; time.sleep({seconds}); open('python-{number}', 'w').close()")
        await desk.until(agent, mark.exists, "has not ended its line")
        agent.becomes("idle")
