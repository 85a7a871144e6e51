"""Commands for this installation: what is missing, faults, keys, the configuration file, update and removal."""

from __future__ import annotations

from pathlib import Path

import click

from gshtui.cli.options import PROVIDER, SESSION, json_option, yes_option


@click.command(short_help="Check what is missing, and how to get it.")
@click.option("--host", metavar="HOST", default="", help="Check this machine of [hosts] in the configuration instead.")
@json_option
def doctor(host: str, as_json: bool) -> int:
    """Check everything the workbench needs, and show how to get what is missing.

    With --host, connect to another machine, and check what agents need there.

    Exits with 0 if everything required is there, otherwise with 1. Keys are named, never shown.
    """
    from gshtui.headless.program.diagnosis import doctor as examine

    return examine(as_json=as_json, host=host)


@click.command(short_help="Make a report of a fault, without secrets.")
@click.argument("session", type=SESSION, metavar="[ID]", default="")
@click.option("--out", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write it there, after showing it.")
@yes_option("Write it without asking.")
@json_option
def report(session: str, out: Path | None, yes: bool, as_json: bool) -> int:
    """Make a report of a fault: what `gsh-tui doctor` finds, the newest crash report and, with ID, that conversation.

    Secrets that gsh-tui knows the look of are taken out, and your home is written as ~. The whole report is shown; it
    is written only with --out, after you agree.
    """
    from gshtui.headless.program.fault_report import ReportOptions, make_report

    return make_report(ReportOptions(session, out, yes, as_json))


@click.command()
@click.argument("provider", type=PROVIDER, default="anthropic", required=False)
@json_option
def login(provider: str, as_json: bool) -> int:
    """Keep a provider's API key in the system's keyring.

    PROVIDER is one that takes a key, such as openai, or one that your configuration names. The key is asked for, and
    not shown as you type it; without a terminal it is read from standard input. A variable such as ANTHROPIC_API_KEY
    still counts first.

    \b
    Examples:
      gsh-tui login openai
      pass show openai | gsh-tui login openai
    """
    from gshtui.headless.program.provider_login import login as do

    return do(provider, as_json=as_json)


@click.command()
@click.argument("provider", type=PROVIDER, default="anthropic", required=False)
@json_option
def logout(provider: str, as_json: bool) -> int:
    """Remove a provider's API key from the system's keyring.

    A key in a variable such as ANTHROPIC_API_KEY is yours to unset.
    """
    from gshtui.headless.program.provider_login import logout as do

    return do(provider, as_json=as_json)


@click.command(name="edit")
@json_option
def config_edit(as_json: bool) -> int:
    """Open your file in an editor, then report any mistakes in it."""
    from gshtui.headless.program.config_editor import edit as do

    return do(as_json=as_json)


@click.command()
@yes_option("Do not ask, even in a terminal.")
@json_option
def update(yes: bool, as_json: bool) -> int:
    """Update gsh-tui, the way it was installed.

    The command is shown, and run once you agree. Agents go on meanwhile; windows and the hub use the new version from
    their next start.
    """
    from gshtui.headless.program.own_update import update as do

    return do(yes=yes, as_json=as_json)


@click.command()
@click.option("--data", is_flag=True, help="Remove your conversations, logs and configuration, too.")
@yes_option("Do not ask, even in a terminal.")
@json_option
def uninstall(data: bool, yes: bool, as_json: bool) -> int:
    """Remove what gsh-tui has set up, and stop the hub.

    That is: its links, its lines in your shells' files and the unit of the hub. Agents that run go on until you kill
    them. Your conversations and your configuration stay unless `--data` is given; it says where they are, and how the
    program itself is removed.
    """
    from gshtui.cli.root import run
    from gshtui.headless.program.own_update import uninstall as do

    return do(run, data=data, yes=yes, as_json=as_json)
