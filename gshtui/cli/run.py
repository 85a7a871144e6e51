"""`gsh-tui run` and `gsh-tui sandbox`: a line of the command language, or any command in the sandbox."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option, set_option, yes_option


@click.command(
    short_help="Run one line of the command language.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("line", nargs=-1)
@click.option("--as", "agent", default="", metavar="AGENT", help="Run with this agent's rights: the guard decides.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.001, 1e7),
    metavar="SECONDS",
    help="Stop after this many seconds, with exit code 124.",
)
@yes_option("With --as: allow, without asking, what fits in the sandbox or clearly stays inside the project.")
@set_option
@json_option
def run(
    line: tuple[str, ...], agent: str, timeout: float | None, yes: bool, flags: dict[str, str], as_json: bool
) -> int:
    """Run one LINE of the command language, as you or with an agent's rights.

    Quote LINE to keep your shell from interpreting it. Options go before it. `gsh-tui run help` lists the commands.
    Without LINE, each line of standard input is run, until one fails.

    \b
    Examples:
      gsh-tui run 'grep TODO'
      gsh-tui run --json 'read path=README.md'
      gsh-tui run 'glob *.md | write path=list.txt'
      gsh-tui run --as main 'bash make test'
    """
    from gshtui.headless.commands.command_lines import LineOptions, run_lines

    text, limit = " ".join(line) if line else None, timeout or 0.0
    return run_lines(LineOptions(text, agent=agent, yes=yes, json=as_json, timeout=limit, flags=flags))


@click.command(
    short_help="Run a command in the sandbox.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, required=True)
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="Let it reach this host, too, such as pypi.org.")
@click.option("--env", "variables", multiple=True, metavar="NAME", help="Pass this variable on, too.")
@set_option
@json_option
def sandbox(
    command: tuple[str, ...], hosts: tuple[str, ...], variables: tuple[str, ...], flags: dict[str, str], as_json: bool
) -> int:
    """Run COMMAND where agents' commands run unasked: it can change only the project, and reaches no network.

    For what a repository or a stranger brings: set-up scripts, hooks, servers of tools. Options go before COMMAND.
    Input, output and the exit code are the command's own; where there is no sandbox, it does not run, and the exit code
    is 3. With --json, its output goes to standard error, and what became of it to standard output.

    \b
    Examples:
      gsh-tui sandbox -- make test
      gsh-tui sandbox --host registry.npmjs.org -- npm ci
    """
    from gshtui.headless.shells.sandboxed_command import SandboxedLine, run_sandboxed

    return run_sandboxed(SandboxedLine(command, hosts=hosts, variables=variables, json=as_json, flags=flags))
