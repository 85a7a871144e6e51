"""`gsh-tui doctor`: what is missing, with the command that installs it."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option


@click.command(short_help="Check what is missing, and how to get it.")
@json_option
def doctor(as_json: bool) -> int:
    """Check everything the workbench needs, and show how to get what is missing.

    Exits with 0 if everything required is there, otherwise with 1. Keys are named, never shown.
    """
    from gshtui.headless.diagnosis import doctor as examine

    return examine(as_json=as_json)
