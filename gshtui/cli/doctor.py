"""`gsh-tui doctor`: what is missing, with the command that installs it."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option


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
