"""The workbench for people who hear their screen: a line goes in, whole lines come out. No frame, nothing moves.

Owns the reading of lines and what each means; turns, commands and questions are those of `gsh-tui prompt`, `run` and
`agent answer`. Before each line it says which agents have changed, and what they ask. Opened by `gsh-tui
--screen-reader`, or where `[ui] screen_reader` is set.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from gshtui.bus.agent_data import ENDED_STATUSES
from gshtui.guard.modes import MODES, mode_named
from gshtui.headless import exits, streams
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from gshtui.bus.agent_data import AgentRow, GuardMode
    from gshtui.fleet.core.agent_calls import AgentList
    from gshtui.headless.progress import Progress
    from gshtui.hub.hub import Hub

WELCOME = "Type a prompt, /help for commands, !line for your shell, or /quit. An empty line says what agents do."
HELP = """\
Here:
/questions: what waits for you, with its choices. /agent answer NAME NUMBER answers.
/clear: start a new conversation.
/resume ID: continue another one. /session ls lists them.
/mode MODE: plan, ask, edit, auto or yolo, from the next prompt on.
/model MODEL: another model, from the next prompt on.
/quit: leave. ctrl+d does the same.
Everywhere:"""


class LineFace:
    """One conversation, and what is known of the agents.

    Args:
        session: the conversation to continue: an id, or `latest`; empty: a new one.
        mode: what runs unasked; `None`: as the settings say.
    """

    def __init__(
        self, session: str = "", *, agent: str = "", provider: str = "", model: str = "", mode: GuardMode | None = None
    ) -> None:
        self._session = session if session != "new" else ""
        self._agent = agent or "main"
        self._provider = provider
        self._model = model
        self._mode: GuardMode | None = mode
        self._terminal = os.environ.get("TERM", "")
        self._known: dict[str, str] = {}
        """What was last said of each agent."""

    def run(self) -> int:
        """Take lines until the person leaves; gives the exit code."""
        os.environ.update(TERM="dumb", NO_COLOR="1")  # whoever writes here moves no cursor and uses no colour
        streams.result(WELCOME)
        while True:
            self._say_changes(everything=False)
            try:
                line = input(f"{self._agent}> ").strip()
            except EOFError:
                streams.result("")
                return exits.DONE
            except KeyboardInterrupt:
                streams.result("\nNothing was sent. /quit leaves.")
                continue
            if line in ("/quit", "/exit"):
                return exits.DONE
            self.run_line(line)

    def run_line(self, line: str) -> None:
        """Do what a line says."""
        if not line:
            self._say_changes(everything=True)
        elif line.startswith("!"):
            self._run_in_shell(line[1:].strip())
        elif line.startswith("/") and not line.startswith("//"):
            self._command(line[1:].strip())
        else:
            self._prompt(line.removeprefix("/") if line.startswith("//") else line)

    def _prompt(self, text: str) -> None:
        from gshtui.headless.turns.prompt_turn import PromptOptions, prompt

        prompt(
            PromptOptions(
                text=text,
                agent=self._agent,
                provider=self._provider,
                model=self._model,
                session=self._session or "new",
                continues=bool(self._session) and self._session != "latest",
                mode=self._mode,
                ask=True,
                where="gsh-tui --screen-reader",
                recent=True,
                opened=self._opened,
            )
        )

    def _opened(self, session: str) -> None:
        self._session = session

    def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        rest = rest.strip()
        match name:
            case "questions":
                self._say_changes(everything=False, again=True)
            case "clear" | "new":
                self._session = ""
                streams.result("The next prompt starts a new conversation.")
            case "resume" if rest:
                self._session = rest
                streams.result(f"The next prompt continues conversation {one_line(rest, 80)}.")
            case "mode" if rest:
                mode = mode_named(rest)
                self._mode = mode or self._mode
                streams.result(f"Mode: {mode}." if mode else f"There is no such mode. Choose one: {', '.join(MODES)}.")
            case "model" if rest:
                self._provider, _, self._model = rest.rpartition("/")
                streams.result(f"The next prompt goes to {one_line(rest, 80)}.")
            case _:
                if name == "help" and not rest:
                    streams.result(HELP)
                self._run(line)

    def _run(self, line: str) -> None:
        from gshtui.headless.commands import command_lines

        command_lines.run_line(command_lines.LineOptions(line))

    def _run_in_shell(self, line: str) -> None:
        from gshtui.headless.shells.recorded_run import run_recorded

        before = dict(os.environ)
        os.environ["TERM"] = self._terminal or "dumb"
        try:
            code = run_recorded([os.environ.get("SHELL") or "/bin/sh", "-c", line], as_json=False)
        finally:
            os.environ["TERM"] = before["TERM"]
        streams.result("Done." if code == 0 else f"Failed with exit code {code}.")

    def _say_changes(self, *, everything: bool, again: bool = False) -> None:
        """A line for each agent that is not as it was, or for all; then what those ask that ask something.

        Args:
            again: repeat questions that were said before.
        """
        rows = self._agents()
        said = False
        for row in rows:
            now = _state(row)
            changed = self._known.get(row.id) != now
            self._known[row.id] = now
            asks = _asks(row)
            if everything or changed or (again and asks):
                said = True
                streams.result(f"{one_line(row.name, 40)} {now}")
                if asks:
                    self._run(f"agent answer {shlex.quote(row.id)}")
                    streams.result(f"To answer: /agent answer {one_line(row.name, 40)} NUMBER")
        if not said and (everything or again):
            streams.result("Nothing waits for you." if rows or again else "No other agents here. /spawn starts one.")

    def _agents(self) -> list[AgentRow]:
        """The agents in terminals of this folder."""
        from gshtui.fleet.core.agent_calls import FLEET_PARTS, ListAgents
        from gshtui.headless.commands.command_hub import HubNeeds, on_hub
        from gshtui.headless.runner import run_command, until_stopped

        found: list[AgentRow] = []

        async def listed(hub: Hub, _progress: Progress) -> AgentList:
            return await hub.call(ListAgents(windows=False))

        async def work() -> int:
            agents = await on_hub(HubNeeds(FLEET_PARTS, waiting="Looking at the agents"), listed)
            if isinstance(agents, int):
                return agents
            found.extend(agents.rows)
            return exits.DONE

        run_command(lambda stop: until_stopped(work(), stop))
        return found


def _asks(row: AgentRow) -> bool:
    """Whether it has a question that can be answered from here."""
    return row.question is not None or row.status == "waiting"


def _state(row: AgentRow) -> str:
    """How an agent is, as a sentence behind its name."""
    if row.question is not None:
        return f"needs you: {one_line(row.question.subject, 200)}"
    if row.status in ENDED_STATUSES:
        return f"has ended ({row.status})."
    words = {"tool": "is working", "thinking": "is thinking", "waiting": "needs you"}
    doing = f": {one_line(row.doing, 120)}" if row.doing else ""
    return f"{words.get(row.status, f'is {row.status}')}{doing}."
