"""`gsh-tui guard check`: what the policy thinks of a shell line. A line of the command `guard`, or many of them."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option


@click.group(short_help="What the policy thinks of a shell line.")
def guard() -> None:
    """Ask the policy without running anything."""


@guard.command(short_help="Say whether a line would run, be asked about, or be refused.")
@click.argument("command")
@json_option
def check(command: str, as_json: bool) -> int:
    """Say what the policy thinks of COMMAND: allow, ask or deny, by which rule, and why.

    With `-` it reads JSON lines {"command": …} and answers each with one, in order.

    \b
    Examples:
      gsh-tui guard check 'git log --oneline -5 | head'
      gsh-tui guard check - < commands.jsonl
    """
    if command == "-":
        from gshtui.headless.guard import check_lines

        return check_lines()
    from gshtui.commands.lexer import quote
    from gshtui.headless.line import LineOptions, run_line

    return run_line(LineOptions(f"guard check command={quote(command)}", json=as_json, parts=frozenset()))
