"""`gsh-tui doctor`: what is missing, and the command that installs it."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option


@click.command(short_help="Say what is missing, and how to get it.")
@json_option
def doctor(as_json: bool) -> int:
    """Check what the workbench needs, and say how to get what is missing.

    Exit code 0 when nothing that is needed is missing, else 1. Keys are named, never shown.
    """
    from gshtui.headless.doctor.doctor import doctor as examine

    return examine(as_json=as_json)
