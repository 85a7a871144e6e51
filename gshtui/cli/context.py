"""`gsh-tui context` and `timeline`: what an agent's model is sent, with or without a window that is open.

Each is a line of the command of the same name; `context --json` is the scripting interface's own form.
"""

from __future__ import annotations

import click

from gshtui.cli.options import AGENT, json_option

SECTIONS = ("system", "call", "memory", "tools", "history", "input")


@click.command(short_help="What an agent's model is sent, section by section.")
@click.argument("agent", required=False, default="main", type=AGENT)
@click.option("--section", type=click.Choice(SECTIONS), help="This section's blocks alone.")
@click.option("--iteration", default="", metavar="N", help="A past request by its number; -1 is the last one sent.")
@click.option("--diff", nargs=2, metavar="A B", help="What differs between two requests, or between two agents' next.")
@click.option("--block", default="", metavar="B", help="One block by its number, id, file or source: its exact text.")
@click.option("--request", is_flag=True, help="The request itself, as the provider gets it.")
@json_option
def context(
    agent: str, section: str | None, iteration: str, diff: tuple[str, str] | None, block: str, request: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Show what AGENT's model is sent: the next request or, with --iteration, one that was.

    AGENT is an agent's id or name; without one it is `main`, the latest conversation of this folder. Of a program such
    as claude or codex it is what its transcript tells.

    \b
    Examples:
      gsh-tui context
      gsh-tui context main --section history
      gsh-tui context main --diff 3 7
      gsh-tui context --json main
    """
    from gshtui.headless.command_lines import show_context

    named = {
        "section": section or "",
        "iteration": iteration,
        "diff": " ".join(diff or ()),
        "block": block,
    }
    return show_context(agent, named, request=request, as_json=as_json)


@click.command(short_help="An agent's requests and cuts over time.")
@click.argument("agent", required=False, default="main", type=AGENT)
@click.option("--limit", type=click.IntRange(1, 100_000), default=10, show_default=True, help="Lines at most.")
@click.option("--cut", default="", metavar="ID", help="One cut: its receipt, item by item.")
@json_option
def timeline(agent: str, limit: int, cut: str, as_json: bool) -> int:
    """Show AGENT's requests and cuts over time, and when the next compaction comes."""
    from gshtui.headless.command_lines import run_context_line

    return run_context_line("timeline", {"agent": agent, "limit": str(limit), "cut": cut}, as_json=as_json)
