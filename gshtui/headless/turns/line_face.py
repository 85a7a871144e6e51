"""The workbench for people who hear their screen: a line goes in, whole lines come out. No frame, nothing moves.

Owns the reading of lines and what each means; turns, commands and questions are those of `gsh-tui prompt`, `run` and
`agent answer`. Before each line it says which agents have changed, and what they ask. Opened by `gsh-tui
--screen-reader`, or where `[ui] screen_reader` is set.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gshtui.agents.commands.prompt_commands import PROMPT_COMMANDS
from gshtui.bus.agent_data import ENDED_STATUSES
from gshtui.bus.events.agent_events import ModelChangeRequested
from gshtui.bus.events.approval_events import AgentModeChanged
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.client.hub_greeting import HubUnavailable
from gshtui.headless import exits, streams
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from gshtui.bus.agent_data import AgentRow, GuardMode
    from gshtui.bus.event import Event

WELCOME = """\
Type a prompt, /help for commands, !line for your shell, or /quit.
Press enter on an empty line to hear what agents are doing."""
HELP = """\
Here:
/questions: what waits for you. /agent answer NAME has the choices, /agent answer NAME NUMBER answers.
/clear: start a new conversation.
/resume ID: continue another one. /session ls to list them.
/mode MODE: plan, ask, edit, auto or yolo, from the next prompt on.
/model MODEL: another model, from the next prompt on.
/quit or ctrl+d: leave.
Everywhere:"""
FOR_WINDOW = {
    "settings": "/config show ui has the settings about looks. /config set KEY VALUE to change one.",
    "theme": "Nothing has colours here. /config set ui.theme NAME to change the window's theme.",
    "setup": "/quit, then gsh-tui login to connect a model. /model list has those that are connected.",
    "notices": "Each notice was a line here. /logs WORDS to find what is gone.",
    "diff": "!git diff shows the uncommitted changes. /diff A B compares two files.",
    "keys": "No keys here but those of your terminal. /help to list the words.",
}
"""Words that open a view of the window → which word does the same here."""
_OF_LATEST = ("fork", "redo", "rewind")
"""Commands that take the folder's latest conversation where none is open."""
_OF_CONTEXT = ("carry", "clear_context", "compact", "context", "pin", "prune", "restore", "timeline", "tune", "undo")
_OF_SESSION = ("effort", "mode", "model", "queue", "resume", "session", "unpin", "whatif", *_OF_LATEST)
_INSIDE = frozenset((*_OF_CONTEXT, *_OF_SESSION))
"""Commands that are about the conversation, which is open meanwhile."""


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
        self._begun = ""
        """The conversation that a prompt has opened: another one may take its place."""
        self._agent = agent or "main"
        self._provider = provider
        self._model = model
        self._mode: GuardMode | None = mode
        self._is_prompt = False
        """Whether the last command is a kept prompt."""
        self._known: Mapping[str, tuple[str, str]] | None = None
        """Name and state of each agent, as they were last said."""
        self._elsewhere: frozenset[str] = frozenset()
        """The agents of other folders that ask something."""
        self._looks = True
        """Whether the list of agents is read before each line."""

    def run(self) -> int:
        """Take lines until the person leaves; gives the exit code."""
        streams.LINE_FACE.set(True)
        streams.result(WELCOME)
        while True:
            try:
                self._say_changes(everything=False)
                line = input(f"{self._agent}> ").strip()
                line.encode()  # bytes that are no text come as an error, or as what cannot be sent
            except EOFError:
                streams.result("")
                return exits.DONE
            except UnicodeError:
                streams.complain("that line is not text, so nothing was sent.")
                continue
            except KeyboardInterrupt:
                streams.result("\nNothing was sent. /quit to leave.")
                continue
            if line in ("/quit", "/exit"):
                return exits.DONE
            with suppress(KeyboardInterrupt):  # between two steps of it
                self.run_line(line)

    def run_line(self, line: str) -> None:
        word = line[1:].partition(" ")[0]
        if not line:
            self._say_changes(everything=True)
        elif line.startswith("!"):
            self._run_in_shell(line[1:].strip())
        elif line.startswith("/") and word and "/" not in word:
            self._command(word, line[1:].strip())
        else:
            self._prompt(line.removeprefix("/") if line.startswith("//") else line, verbatim=True)

    def _prompt(self, text: str, *, verbatim: bool = False) -> None:
        if not (text := _agreed(text)):
            streams.result("Nothing was sent.")
            return
        from gshtui.headless.turns.prompt_turn import prompt
        from gshtui.hub.faces.turn_request import TurnRequest

        prompt(
            TurnRequest(
                text=text,
                agent=self._agent,
                provider=self._provider,
                model=self._model,
                session=self._session or "new",
                continues=bool(self._session) and self._session == self._begun,
                mode=self._mode,
                respondent="person",
                where="gsh-tui --screen-reader",
                recent=True,
                verbatim=verbatim,
            ),
            opened=self._opened,
        )

    def _opened(self, session: str) -> None:
        self._session = self._begun = session

    def _command(self, word: str, line: str) -> None:
        if word == "questions":
            self._say_changes(everything=False, again=True)
        elif line in FOR_WINDOW:
            streams.result(FOR_WINDOW[line])
        elif line in ("clear", "new"):
            self._session = ""
            streams.result("The next prompt starts a new conversation.")
        elif word in (*PROMPT_COMMANDS, "prompt"):
            self._prompt(f"/{line}")
        elif word in _OF_LATEST and not self._session and " session=" not in line:
            streams.complain(f"no conversation is open for /{word}.", "Send a prompt, or /resume one.")
        else:
            if line == "help":
                streams.result(HELP)
            self._run(line, inside=word in _INSIDE)
            if self._is_prompt:
                self._prompt(f"/{line}")

    def _run(self, line: str, *, inside: bool = False) -> None:
        """Run a command. `inside`: the conversation is open meanwhile."""
        from gshtui.headless.commands.keeper_call import KeeperCall, run_by_keeper

        self._is_prompt = False
        conversation = {
            "session": self._session or "new",
            "agent": self._agent,
            "provider": self._provider,
            "model": self._model,
            "mode": self._mode,
            "open": inside,
        }
        asked = {"lines": [line], "conversation": conversation}
        try:
            run_by_keeper(KeeperCall(line.partition(" ")[0], lines=asked, told=self._take))
        except HubUnavailable as error:
            streams.complain(error.message, error.hint)

    def _take(self, said: dict[str, Any]) -> None:
        """Keep what a command changed, for the next prompt; or that it is a prompt."""
        from gshtui.bus import wire

        self._is_prompt = "prompt" in said
        if "told" in said:
            with suppress(wire.WireError):
                self.follow(wire.from_plain(said["told"]))

    def follow(self, event: Event) -> None:
        """Keep what a command changed, for the next prompt."""
        match event:
            case ModelChangeRequested() if event.agent == self._agent and (event.model or event.provider):
                self._provider, self._model = event.provider, event.model
            case AgentModeChanged() if event.agent == self._agent:
                self._mode = event.mode
            case SessionChangeRequested() if event.agent == self._agent:
                self._session = "" if event.session == "new" else event.session
                streams.result(f"The next prompt continues in {event.session}.")
            case _:
                pass

    def _run_in_shell(self, line: str) -> None:
        from gshtui.headless.shells.recorded_run import run_recorded

        code = run_recorded([os.environ.get("SHELL") or "/bin/sh", "-c", line], as_json=False)
        streams.result("Done." if code == 0 else f"Failed with exit code {code}.")

    def _say_changes(self, *, everything: bool, again: bool = False) -> None:
        """A line for each agent that is not as it was, or for all. `again`: repeat questions that were said before."""
        if not (self._looks or everything or again):
            return
        strangers = self._elsewhere
        rows = self._agents()
        if isinstance(rows, int):  # why was said, once
            self._looks = rows == exits.INTERRUPTED
            return
        self._looks, said = True, False
        states = {row.id: (self._called(row), _state(row)) for row in rows}
        over = [row.id for row in rows if row.ended]
        # Those that had ended before are no news.
        before = {id: states[id] for id in over} if self._known is None else self._known
        self._known = states
        for id in before.keys() - states.keys() - strangers:
            streams.result(f"{before[id][0]} is no longer listed.")
        for row in rows:
            name, now = states[row.id]
            asks = row.needs_you
            if before.get(row.id) != (name, now) or (everything and not row.ended) or (again and asks):
                said = True
                whose = row.id if row.id in self._elsewhere else shlex.quote(name)
                opens = f" /agent answer {whose} has its choices." if asks else ""
                streams.result(f"{name} {now}{opens}")
        if not said and again:
            streams.result("Nothing waits for you.")
        elif everything and over:
            streams.result(f"{len(over)} ended. /agents to list them.")
        elif not said and everything:
            streams.result("No other agents here. /spawn to start one.")

    def _called(self, row: AgentRow) -> str:
        """An agent's name, with its folder where that is another one."""
        name = one_line(row.name, 40)
        return f"{name} in {one_line(row.home, 200)}" if row.id in self._elsewhere else name

    def _agents(self) -> list[AgentRow] | int:
        """The agents in terminals of this folder, and those of others that ask something; or the exit code, once it was
        said why they cannot be listed.
        """
        from gshtui.fleet.core.agent_calls import AgentList, ListAgents
        from gshtui.headless.commands.keeper_call import value_from_hub

        found: list[AgentList] = []
        try:
            for everywhere in (False, True):
                asked = ListAgents(windows=False, everywhere=everywhere)
                agents = value_from_hub(asked, AgentList, "Looking at the agents")
                if isinstance(agents, int):
                    return agents
                found.append(agents)
        except HubUnavailable as error:
            streams.complain(error.message, error.hint)
            return exits.ERROR
        except KeyboardInterrupt:
            return exits.INTERRUPTED
        here, all_of_them = (each.rows for each in found)
        known = {row.id for row in here}
        others = [row for row in all_of_them if row.needs_you and row.id not in known]
        self._elsewhere = frozenset(row.id for row in others)
        return [*here, *others]


def _agreed(text: str) -> str:
    """The text as the person wants it sent, if a secret is in it; empty: not at all."""
    from gshtui.text.secret_shapes import MARK, without_tokens

    without = without_tokens(text)
    if without == text:
        return text
    if streams.ask_yes_no(f"An API key or token is in this text. Send it with {MARK} in its place?"):
        return without
    return text if streams.ask_yes_no("Send it as it is? Agent, model and record get it.") else ""


def _state(row: AgentRow) -> str:
    """How an agent is, as a sentence behind its name."""
    if row.needs_you and row.question is not None:
        about = " ⏎ ".join(line.strip() for line in row.question.unsaid.split("\n") if line.strip())
        said = [one_line(part, 200) for part in (row.question.subject, about) if part]
        return (
            f"needs you. It asks: {' '.join(part if part.endswith(('.', '?', '!')) else f'{part}.' for part in said)}"
        )
    if row.status in ENDED_STATUSES:
        return f"has ended ({row.status})."
    if row.killed:
        return "was killed."
    words = {"tool": "is working", "thinking": "is thinking"}
    doing = f": {one_line(row.doing, 120)}" if row.doing else ""
    return f"{'needs you' if row.needs_you else words.get(row.status, f'is {row.status}')}{doing}."
