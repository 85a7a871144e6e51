"""`gsh-tui agent ls|show|spawn|send|wait|kill …` and the prompt's menu: agents, with or without an open window."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits, streams
from gshtui.headless.command_hub import load_settings, running_hub, working_folder
from gshtui.headless.command_lines import FLEET_PARTS, LineOptions, run_line
from gshtui.headless.runner import Stop, run_command, until_stopped

if TYPE_CHECKING:
    from gshtui.bus.events.fleet_events import AgentSpawned
    from gshtui.commands.declaration import Outcome
    from gshtui.headless.progress import Progress
    from gshtui.hub.hub import Hub

_WAITING = {
    "send": "Waiting for the agent to take the message",
    "wait": "Waiting for the agent",
    "restart": "Restarting the agent",
    "recover": "Recovering",
}
"""What a person is told of an action that takes its time."""


def run_agent_line(words: Sequence[str], *, as_json: bool, name: str = "agent") -> int:
    """Run the line; gives the exit code."""
    waiting = _WAITING.get(words[0], "Working")
    return run_line(LineOptions(" ".join([name, *words]), json=as_json, parts=FLEET_PARTS, waiting=waiting))


def spawn(words: Sequence[str], *, as_json: bool) -> int:
    """Start an agent and print its id; gives the exit code."""

    def started(event: AgentSpawned) -> None:
        """The id is there at once; the prompt may have to wait until the program can take it."""
        if not as_json:
            streams.result(event.agent)

    def write(outcome: Outcome) -> None:
        if as_json:
            streams.result_json(outcome.data)

    line = " ".join(["spawn", *words])
    return run_line(LineOptions(line, parts=FLEET_PARTS, write=write, waiting="Starting the agent", started=started))


def ls(*, everywhere: bool, as_json: bool) -> int:
    """List the agents; gives the exit code."""
    line = f"agent ls all={'true' if everywhere else 'false'}"

    def write(outcome: Outcome) -> None:
        from gshtui.text.markdown_table import padded

        streams.result(padded(outcome.text).replace("`", ""))

    return run_line(
        LineOptions(
            line, json=as_json, parts=FLEET_PARTS, waiting="Looking at the agents", write=None if as_json else write
        )
    )


def show(id: str, *, as_json: bool) -> int:
    """Print an agent's report; gives the exit code."""
    from gshtui.commands.language import quote

    def write(outcome: Outcome) -> None:
        streams.result(outcome.data["report"] or "(no report yet)")

    line = f"agent show {quote(id)}"
    return run_line(
        LineOptions(
            line, json=as_json, parts=FLEET_PARTS, waiting="Looking at the agent", write=None if as_json else write
        )
    )


def attach(id: str, *, as_json: bool) -> int:
    """Show an agent full-screen until the person detaches; from inside its tmux server, switch to it."""
    from gshtui.commands.language import quote

    found: dict[str, Any] = {}

    def keep(outcome: Outcome) -> None:
        found.update(outcome.data)

    options = LineOptions(f"agent attach {quote(id)}", json=as_json, parts=FLEET_PARTS, write=None if as_json else keep)
    if code := run_line(options):
        return code
    if as_json:
        return exits.DONE
    if not (os.isatty(0) and os.isatty(1)):
        streams.complain("`agent attach` needs a terminal.", f"There, run: {found['attach']}")
        return exits.USAGE
    from gshtui.tmux.attach_client import words_for

    words, environ = words_for([str(word) for word in found["argv"]], os.environ)
    try:
        os.execvpe(words[0], words, environ)
    except OSError as error:
        streams.complain(f"tmux could not be started: {error.strerror}.", f"By hand: {found['attach']}")
        return exits.UNREACHABLE


def kill(id: str, *, yes: bool, as_json: bool) -> int:
    """End an agent for good, after a question that says what would be lost; gives the exit code."""
    from gshtui.commands.declaration import CommandError
    from gshtui.fleet.agent_calls import FindUnsaved, KillAgent

    async def work(hub: Hub, progress: Progress) -> int:
        try:
            found = await hub.call(FindUnsaved(agent=id))
            row = found.row
            progress.clear()
            if not yes and not _may_kill(f"{row.name} ({row.id})", found.losses):
                return exits.DENIED
            outcome = await hub.run(KillAgent(agent=row.id, yes=True, now=True))
        except CommandError as error:
            progress.clear()
            streams.complain(error.message, error.hint)
            return exits.ERROR
        progress.clear()
        return _write(outcome.data, outcome.text, as_json)

    return run_command(lambda stop: _with_fleet(stop, work))


def _write(data: Any, text: str, as_json: bool) -> int:
    if as_json:
        streams.result_json(data)
    else:
        streams.result(text)
    return exits.DONE


def _may_kill(name: str, unsaved: list[str]) -> bool:
    """A person's yes where one can be asked; without one only what has nothing to lose is ended."""
    lost = " ".join(unsaved)
    if os.isatty(0) and os.isatty(2):
        return streams.ask_yes_no(f"{lost} End {name} for good?".strip())
    if unsaved:
        streams.complain(f"{name} has something to lose. {lost}", "`--yes` ends it all the same.")
    return not unsaved


async def _with_fleet(stop: Stop, work: Callable[[Hub, Progress], Awaitable[int]]) -> int:
    from gshtui.headless.progress import watching
    from gshtui.hub.options import HubOptions

    async def look() -> int:
        options = HubOptions(
            cwd=working_folder(), loaded=load_settings(), parts=FLEET_PARTS, visiting=True, where="gsh-tui agent"
        )
        async with running_hub(options) as hub, watching(hub, "Looking at the agents") as progress:
            await hub.start()
            for failed in hub.failed.values():
                streams.complain(failed.why, failed.hint)
            return exits.ERROR if hub.failed else await work(hub, progress)

    return await until_stopped(look(), stop)


def print_menu(*, busy: bool, as_json: bool) -> int:
    """Print those that can be attached, or with `busy` those that can be interrupted; gives the exit code."""
    return run_command(lambda stop: until_stopped(_menu(busy, as_json), stop))


async def _menu(busy: bool, as_json: bool) -> int:
    from gshtui.bus.agent_data import AT_WORK, ENDED_STATUSES
    from gshtui.fleet.agent_calls import ListAgents
    from gshtui.fleet.agent_tables import menu_line
    from gshtui.hub.options import HubOptions

    options = HubOptions(cwd=working_folder(), loaded=load_settings(), parts=FLEET_PARTS, where="gsh-tui shell")
    async with running_hub(options) as hub:
        await hub.start()
        if hub.failed:
            return exits.ERROR
        found = (await hub.call(ListAgents(windows=False))).rows
    rows = [
        row for row in found if row.status not in ENDED_STATUSES and (not busy or row.status in ("starting", *AT_WORK))
    ]
    if as_json:
        streams.result_json([{"id": row.id, "shown": menu_line(row)} for row in rows])
        return exits.DONE
    streams.result("\n".join(f"{row.id}\t{menu_line(row)}" for row in rows))
    return exits.DONE
