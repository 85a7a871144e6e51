"""`gsh-tui agent ls|show|spawn|send|wait|kill …` and the prompt's menu: agents, with or without an open window."""

from __future__ import annotations

import os
import time
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
    from gshtui.store.session_table import SessionInfo
    from gshtui.store.store import Store

_PAGE = 2_000
"""Events that are read at once."""
_LOOKED_AT = 10_000
"""Conversations that are looked through for those that are open."""


async def window_agents(store: Store, cwd: str | None) -> list[dict[str, Any]]:
    """Every agent whose conversation is held by a living window, as the scripting interface gives it.

    Raises:
        StoreError: the record cannot be read.
    """
    infos = await store.sessions.find_all(cwd=cwd, limit=_LOOKED_AT, empty=True)
    return [await _agent(store, info) for info in infos if info.held_by]


async def _agent(store: Store, info: SessionInfo) -> dict[str, Any]:
    from gshtui.fleet.agent_states import AgentState, apply_event, state_json

    entry = AgentState(info.agent, cwd=info.cwd, session=info.id, title=info.title, status_since=info.created)
    after = 0
    while page := await store.journal.read(info.id, after=after, limit=_PAGE):
        for after, event in page:  # noqa: B007  # the last one is where the next page begins
            entry = apply_event(entry, event)
    told = state_json(entry)
    told |= {"status_source": "journal", "status_age_s": round(max(0.0, time.time() - entry.status_since), 1)}
    return told | {"session": info.id, "title": info.title, "held_by": info.held_by}


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

    async def work(hub: Hub, progress: Progress) -> int:
        found = await _all(hub, everywhere)
        progress.clear()
        return _write(found, _table(found), as_json)

    return run_command(lambda stop: _with_fleet(stop, work))


def show(id: str, *, as_json: bool) -> int:
    """Print an agent's report, or what is known of one that lives in a window; gives the exit code."""
    from gshtui.commands.declaration import CommandError
    from gshtui.commands.language import quote

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

    return run_command(lambda stop: _with_fleet(stop, work))


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


async def _all(hub: Hub, everywhere: bool) -> list[dict[str, Any]]:
    """Agents of windows, then those in terminals. Each once: a native one holds a conversation too."""
    outcome = await hub.run(f"agent ls all={'true' if everywhere else 'false'}")
    in_terminals: list[dict[str, Any]] = outcome.data
    assert hub.fleet is not None
    known = {row.id for row in hub.fleet.rows()} | {row.session for row in hub.fleet.rows()}
    local = await _local(hub, None if everywhere else str(hub.options.cwd))
    return [*(a for a in local if a["name"] not in known and a["session"] not in known), *in_terminals]


async def _local(hub: Hub, cwd: str | None) -> list[dict[str, Any]]:

    assert hub.store is not None
    return await window_agents(hub.store, cwd)


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


_BUSY = ("starting", "thinking", "tool", "waiting")


def print_menu(*, busy: bool, as_json: bool) -> int:
    """Print those that can be attached, or with `busy` those that can be interrupted; gives the exit code."""
    return run_command(lambda stop: until_stopped(_menu(busy, as_json), stop))


async def _menu(busy: bool, as_json: bool) -> int:
    from gshtui.hub.options import HubOptions

    options = HubOptions(cwd=working_folder(), loaded=load_settings(), parts=FLEET_PARTS, where="gsh-tui shell")
    async with running_hub(options) as hub:
        await hub.start()
        if hub.failed:
            return exits.ERROR
        outcome: Outcome = await hub.run("agent ls all=false")
        found: list[dict[str, Any]] = outcome.data
    rows = [a for a in found if a["status"] not in ("done", "failed", "lost") and (not busy or a["status"] in _BUSY)]
    if as_json:
        streams.result_json([{"id": a["id"], "shown": _menu_line(a)} for a in rows])
        return exits.DONE
    streams.result("\n".join(f"{a['id']}\t{_menu_line(a)}" for a in rows))
    return exits.DONE


def _menu_line(agent: dict[str, Any]) -> str:
    doing = f" · {agent['doing'][:40]}" if agent["doing"] else ""
    words = f"{agent['id']}  {agent['name']}  {agent['status']}{doing}"
    return " ".join(words.split())
