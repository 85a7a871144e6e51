"""`gsh-tui agent ls|show|spawn|send|wait|kill …`: agents, with or without a window that is open.

Each is a line of the `agent` command on a fleet that only visits; here is what a script and a person at a shell get of
it. Called by `cli`.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits, streams
from gshtui.headless.line import FLEET_PARTS, LineOptions, run_line
from gshtui.headless.running import Stop, run, until_asked
from gshtui.headless.surroundings import here, loaded_here, running

if TYPE_CHECKING:
    from gshtui.bus.events.fleet import AgentSpawned
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


def line(words: Sequence[str], *, as_json: bool, name: str = "agent") -> int:
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

    async def work(hub: Hub, progress: Progress) -> int:
        found = await _all(hub, everywhere)
        progress.clear()
        return _write(found, _table(found), as_json)

    return run(lambda stop: _with_fleet(stop, work))


def show(id: str, *, as_json: bool) -> int:
    """Print an agent's report, or what is known of one that lives in a window; gives the exit code."""
    from gshtui.commands.declaration import CommandError
    from gshtui.commands.lexer import quote

    async def work(hub: Hub, progress: Progress) -> int:
        try:
            outcome = await hub.run(f"agent show {quote(id)}")
        except CommandError as error:
            progress.clear()
            local = [a for a in await _local(hub, None) if a["name"] == id or str(a["session"]).startswith(id)]
            if len(local) != 1:
                streams.complain(error.message, error.hint)
                return exits.ERROR
            return _write(local[0], _facts(local[0]), as_json)
        progress.clear()
        return _write(outcome.data, outcome.data["report"] or "(no report yet)", as_json)

    return run(lambda stop: _with_fleet(stop, work))


def attach(id: str, *, as_json: bool) -> int:
    """Show an agent full-screen until the person detaches; from inside its tmux server, switch to it."""
    from gshtui.commands.lexer import quote

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
    from gshtui.tmux.attaching import words_for

    words, environ = words_for([str(word) for word in found["argv"]], os.environ)
    try:
        os.execvpe(words[0], words, environ)
    except OSError as error:
        streams.complain(f"tmux could not be started: {error.strerror}.", f"By hand: {found['attach']}")
        return exits.UNREACHABLE


def kill(id: str, *, yes: bool, as_json: bool) -> int:
    """End an agent for good, after a question that says what would be lost; gives the exit code."""
    from gshtui.commands.declaration import CommandError
    from gshtui.commands.lexer import quote
    from gshtui.fleet.ports import FleetError

    async def work(hub: Hub, progress: Progress) -> int:
        assert hub.fleet is not None
        try:
            row = await hub.fleet.find(id)
            unsaved = await hub.fleet.unsaved(row.id)
            progress.clear()
            if not yes and not _may_kill(f"{row.name} ({row.id})", unsaved):
                return exits.DENIED
            outcome = await hub.run(f"agent kill {quote(row.id)} yes=true now=true")
        except (FleetError, CommandError) as error:
            progress.clear()
            streams.complain(error.message, error.hint)
            return exits.ERROR
        progress.clear()
        return _write(outcome.data, outcome.text, as_json)

    return run(lambda stop: _with_fleet(stop, work))


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
        return streams.asked(f"{lost} End {name} for good?".strip())
    if unsaved:
        streams.complain(f"{name} has something to lose. {lost}", "`--yes` ends it all the same.")
    return not unsaved


async def _with_fleet(stop: Stop, work: Callable[[Hub, Progress], Awaitable[int]]) -> int:
    from gshtui.headless.progress import watching
    from gshtui.hub.options import HubOptions

    async def look() -> int:
        options = HubOptions(cwd=here(), loaded=loaded_here(), parts=FLEET_PARTS, visiting=True, where="gsh-tui agent")
        async with running(options) as hub, watching(hub, "Looking at the agents") as progress:
            await hub.start()
            for failed in hub.failed.values():
                streams.complain(failed.why, failed.hint)
            return exits.ERROR if hub.failed else await work(hub, progress)

    return await until_asked(look(), stop)


async def _all(hub: Hub, everywhere: bool) -> list[dict[str, Any]]:
    """Agents of windows, then those in terminals. Each once: a native one holds a conversation too."""
    outcome = await hub.run(f"agent ls all={'true' if everywhere else 'false'}")
    in_terminals: list[dict[str, Any]] = outcome.data
    assert hub.fleet is not None
    known = {row.id for row in hub.fleet.rows()} | {row.session for row in hub.fleet.rows()}
    local = await _local(hub, None if everywhere else str(hub.options.cwd))
    return [*(a for a in local if a["name"] not in known and a["session"] not in known), *in_terminals]


async def _local(hub: Hub, cwd: str | None) -> list[dict[str, Any]]:
    from gshtui.headless.agent_windows import agents

    assert hub.store is not None
    return await agents(hub.store, cwd)


def _facts(agent: dict[str, Any]) -> str:
    return "\n".join(f"{name:14} {value}" for name, value in agent.items())


def _table(found: list[dict[str, Any]]) -> str:
    if not found:
        return "No agent is here. `agent ls --all` looks in every folder; `agent spawn` starts one."
    rows = [("id", "name", "status", "source", "age", "model", "where")]
    rows += [
        (
            a["id"],
            a["name"],
            f"{a['status']}{' · ' + a['doing'][:40] if a['doing'] else ''}",
            a["status_source"],
            f"{a['status_age_s']:.0f} s",
            a["model"] or "-",
            a.get("attach") or a.get("held_by") or "-",
        )
        for a in found
    ]
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(f"{cell!s:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
