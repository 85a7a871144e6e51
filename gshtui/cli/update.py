"""`gsh-tui update`: the newest version, by the installer of this one."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option, yes_option


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
