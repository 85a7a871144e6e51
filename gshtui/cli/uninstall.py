"""`gsh-tui uninstall`: what was set up outside the program's own folder is taken away again."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option, yes_option


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
    from gshtui.headless.program.own_removal import uninstall as do

    return do(run, data=data, yes=yes, as_json=as_json)
