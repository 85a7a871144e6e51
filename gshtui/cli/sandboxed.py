"""`gsh-tui sandbox`: a command in the sandbox of agents' commands."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option, set_option


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
