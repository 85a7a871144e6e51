"""`gsh-tui agent spawn`: an agent in a terminal of its own, one of ours or any program. Prints its ID."""

from __future__ import annotations

import click

from gshtui.cli.names import MODEL, PERSONA, PROFILE, PROVIDER
from gshtui.cli.options import json_option


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
    from gshtui.commands.lexer import quote
    from gshtui.headless.agent import spawn as do
    from gshtui.headless.stdin import words

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
