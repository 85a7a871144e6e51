"""`gsh-tui agent`: agents in terminals and in windows, with or without a window that is open."""

from __future__ import annotations

import click

from gshtui.cli.agent_run import run
from gshtui.cli.agent_spawn import spawn
from gshtui.cli.groups import Agents
from gshtui.cli.names import AGENT
from gshtui.cli.options import json_option, yes_option


@click.group(cls=Agents, short_help="Agents: list, start, show, attach, send, wait, kill …")
def agent() -> None:
    """Agents: list, start, show, attach, send, wait, interrupt, restart, rename, kill, recover.

    Agents outlive the window. All of this works while a window is open and without one. An ID may be written without
    its leading zeros; a name does, too.
    """


@agent.command()
@click.option("--all", "everywhere", is_flag=True, help="Of every folder.")
@json_option
def ls(everywhere: bool, as_json: bool) -> int:
    """List this folder's agents with status, its source and its age."""
    from gshtui.headless.agent import ls as do

    return do(everywhere=everywhere, as_json=as_json)


@agent.command()
@click.argument("id", type=AGENT)
@json_option
def show(id: str, as_json: bool) -> int:
    """Print an agent's report; while it has none, what its terminal shows.

    An agent of a window is found by its name or by its conversation's ID.
    """
    from gshtui.headless.agent import show as do

    return do(id, as_json=as_json)


@agent.command()
@click.argument("id", type=AGENT)
@json_option
def attach(id: str, as_json: bool) -> int:
    """Show an agent full-screen in this terminal; detach with tmux's keys (ctrl+b d).

    With --json it is only said what to run.
    """
    from gshtui.headless.agent import attach as do

    return do(id, as_json=as_json)


@agent.command()
@click.argument("id", type=AGENT)
@click.argument("text", nargs=-1, required=True)
@click.option("--now", is_flag=True, help="Also while it is busy; otherwise it gets the words when it rests.")
@json_option
def send(id: str, text: tuple[str, ...], now: bool, as_json: bool) -> int:
    """Give an agent a message. TEXT - is standard input."""
    from gshtui.headless.stdin import words

    return _line("send", id, [*_text(words(text)), *_switch("now", now)], as_json)


@agent.command()
@click.argument("id", type=AGENT)
@click.option("--status", default="", metavar="S", help="Wait for this status, or several with commas.")
@click.option("--timeout", type=click.FloatRange(0, 1e6), default=600.0, show_default=True, help="Seconds at most.")
@json_option
def wait(id: str, status: str, timeout: float, as_json: bool) -> int:
    """Wait until an agent rests or has ended. Ends with 124 when the time is up."""
    words = [f"status={status}"] if status else []
    return _line("wait", id, [*words, f"timeout={timeout:g}"], as_json)


@agent.command()
@click.argument("id", type=AGENT)
@json_option
def interrupt(id: str, as_json: bool) -> int:
    """Stop what an agent is doing; it stays."""
    return _line("interrupt", id, [], as_json)


@agent.command()
@click.argument("id", type=AGENT)
@json_option
def restart(id: str, as_json: bool) -> int:
    """End an agent's program and start it again, with its conversation where the program can."""
    return _line("restart", id, [], as_json)


@agent.command()
@click.argument("id", type=AGENT)
@click.argument("name")
@json_option
def rename(id: str, name: str, as_json: bool) -> int:
    """Give an agent another name."""
    return _line("rename", id, _text(name), as_json)


@agent.command()
@click.argument("id", type=AGENT)
@yes_option("Do not ask, also when something is unsaved.")
@json_option
def kill(id: str, yes: bool, as_json: bool) -> int:
    """End an agent for good. In a terminal it asks first and says what is unsaved.

    Without a terminal to ask in, an agent that has something to lose is not ended: exit code 4. In a window a kill can
    be undone for a while.
    """
    from gshtui.headless.agent import kill as do

    return do(id, yes=yes, as_json=as_json)


@agent.command()
@click.argument("id", type=AGENT)
@json_option
def recover(id: str, as_json: bool) -> int:
    """Bring a lost agent back with its conversation; `all` brings back every one of this folder, one at a time."""
    return _line("recover", id, [], as_json)


@agent.command()
@click.argument("id", type=AGENT)
@json_option
def seen(id: str, as_json: bool) -> int:
    """Mark an agent's report as read."""
    return _line("seen", id, [], as_json)


@agent.command()
@click.argument("id", type=AGENT)
@json_option
def remove(id: str, as_json: bool) -> int:
    """Take an agent that has ended off the list; its conversation is kept."""
    return _line("remove", id, [], as_json)


agent.add_command(spawn)
agent.add_command(run)


def _line(action: str, id: str, words: list[str], as_json: bool) -> int:
    from gshtui.commands.lexer import quote
    from gshtui.headless.agent import line

    return line([action, f"target={quote(id)}", *words], as_json=as_json)


def _text(text: str) -> list[str]:
    from gshtui.commands.lexer import quote

    return [f"text={quote(text)}"]


def _switch(name: str, on: bool) -> list[str]:
    return [f"{name}=true"] if on else []
