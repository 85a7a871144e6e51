"""`gsh-tui agent`: agents in terminals and in windows, with or without a window that is open."""

from __future__ import annotations

from pathlib import Path

import click

from gshtui.cli.options import AGENT, MODEL, PERSONA, PROFILE, PROVIDER, AgentGroup, json_option, yes_option


@click.command(name="run", short_help="Be an agent, in this terminal.")
@click.option(
    "--spec",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What it was started for; `agent spawn` writes such files.",
)
@json_option
def run(spec: Path, as_json: bool) -> int:
    """Be the agent that FILE describes, until its work is done.

    `agent spawn` starts this in a terminal of the agent's own. It works without a window, too: questions then wait for
    the next one, or for your answer here. With --json each event is a line, and nothing is read from the terminal.
    """
    from gshtui.headless.agent_runner import run_agent

    return run_agent(spec, as_json=as_json)


@click.command(short_help="Start an agent and print its ID.")
@click.argument("prompt", nargs=-1)
@click.option("--name", default="", metavar="N", help="A word to know it by; made unique.")
@click.option(
    "--persona", type=PERSONA, default="", metavar="P", help="explore (reads only), test, build, or one of yours."
)
@click.option("--model", type=MODEL, default="", metavar="M", help="Model; default: the configuration's.")
@click.option(
    "--provider", type=PROVIDER, default="", metavar="P", help="Provider, where the model alone does not say it."
)
@click.option("--tool", "tools", multiple=True, metavar="T", help="The only tools that it may use; may be repeated.")
@click.option("--max-iterations", type=click.IntRange(0, 10_000), default=0, help="Model requests a turn.")
@click.option(
    "--budget", type=click.FloatRange(0, 1e6), default=0.0, metavar="USD", help="US dollars that it may spend."
)
@click.option("--background", is_flag=True, help="It ends when its task is done; `agent show ID` prints the report.")
@click.option("--worktree", default="", metavar="BRANCH", help="Make a git worktree of this branch, and work there.")
@click.option(
    "--cli", type=PROFILE, default="", metavar="COMMAND", help="Anyone's program instead of one of ours: claude, bash …"
)
@click.option("--profile", type=PROFILE, default="", metavar="P", help="Profile of that program; default: by its name.")
@click.option(
    "--cwd",
    default="",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Folder to start in; default: this one.",
)
@json_option
def spawn(
    prompt: tuple[str, ...],
    name: str,
    persona: str,
    model: str,
    provider: str,
    tools: tuple[str, ...],
    max_iterations: int,
    budget: float,
    background: bool,
    worktree: str,
    cli: str,
    profile: str,
    cwd: str,
    as_json: bool,
) -> int:
    """Start an agent in a terminal of its own and print its ID.

    PROMPT is what it is to do; - is standard input. Without PROMPT it waits for words.
    """
    from gshtui.commands.language import quote
    from gshtui.headless.agents import spawn as do
    from gshtui.headless.streams import words

    given: dict[str, str] = {
        "prompt": words(prompt),
        "name": name,
        "persona": persona,
        "model": model,
        "provider": provider,
        "worktree": worktree,
        "cli": cli,
        "profile": profile,
        "cwd": cwd,
    }
    line = [f"{key}={quote(value)}" for key, value in given.items() if value]
    line += [f"tools={quote(','.join(tools))}"] if tools else []
    line += [f"max_iterations={max_iterations}"] if max_iterations else []
    line += [f"budget_usd={budget:g}"] if budget else []
    line += ["background=true"] if background else []
    return do(line, as_json=as_json)


@click.group(cls=AgentGroup, short_help="Agents: list, start, show, attach, send, wait, kill …")
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
    from gshtui.headless.agents import ls as do

    return do(everywhere=everywhere, as_json=as_json)


@agent.command()
@click.argument("id", type=AGENT)
@json_option
def show(id: str, as_json: bool) -> int:
    """Print an agent's report; while it has none, what its terminal shows.

    An agent of a window is found by its name or by its conversation's ID.
    """
    from gshtui.headless.agents import show as do

    return do(id, as_json=as_json)


@agent.command()
@click.argument("id", type=AGENT)
@json_option
def attach(id: str, as_json: bool) -> int:
    """Show an agent full-screen in this terminal; detach with tmux's keys (ctrl+b d).

    With --json it is only said what to run.
    """
    from gshtui.headless.agents import attach as do

    return do(id, as_json=as_json)


@agent.command()
@click.argument("id", type=AGENT)
@click.argument("text", nargs=-1, required=True)
@click.option("--now", is_flag=True, help="Also while it is busy; otherwise it gets the words when it rests.")
@json_option
def send(id: str, text: tuple[str, ...], now: bool, as_json: bool) -> int:
    """Give an agent a message. TEXT - is standard input."""
    from gshtui.headless.streams import words

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
    from gshtui.headless.agents import kill as do

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
    from gshtui.commands.language import quote
    from gshtui.headless.agents import run_agent_line

    return run_agent_line([action, f"target={quote(id)}", *words], as_json=as_json)


def _text(text: str) -> list[str]:
    from gshtui.commands.language import quote

    return [f"text={quote(text)}"]


def _switch(name: str, on: bool) -> list[str]:
    return [f"{name}=true"] if on else []
