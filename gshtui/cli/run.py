"""`gsh-tui run`, a line of the command language, and `guard check`."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option, set_option, yes_option


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
        from gshtui.headless.command_lines import check_guard_lines

        return check_guard_lines()
    from gshtui.commands.language import quote
    from gshtui.headless.command_lines import LineOptions, run_line

    return run_line(LineOptions(f"guard check command={quote(command)}", json=as_json, parts=frozenset()))


@click.command(
    short_help="One line of the command language.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("line", nargs=-1, required=True)
@click.option("--as", "agent", default="", metavar="AGENT", help="With an agent's rights: the guard decides.")
@click.option("--timeout", type=click.FloatRange(0.001, 1e7), metavar="SECONDS", help="Stop after this time, code 124.")
@yes_option("With --as: let it run as far as policy allows, inside the project.")
@set_option
@json_option
def run(
    line: tuple[str, ...], agent: str, timeout: float | None, yes: bool, flags: dict[str, str], as_json: bool
) -> int:
    """Run one LINE of the command language, as you or with an agent's rights.

    Quote the line, so that the shell leaves it alone. Options go before it. `gsh-tui run help` lists the commands.

    \b
    Examples:
      gsh-tui run 'grep TODO'
      gsh-tui run --json 'read path=README.md'
      gsh-tui run --as main 'bash make test'
    """
    from gshtui.headless.command_lines import LineOptions, run_line

    return run_line(
        LineOptions(" ".join(line), agent=agent, yes=yes, json=as_json, timeout=timeout or 0.0, flags=flags)
    )
