"""`gsh-tui config edit`: the editor in this terminal."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option


@click.command()
@json_option
def edit(as_json: bool) -> int:
    """Open your file in an editor, then report any mistakes in it."""
    from gshtui.headless.program.config_editor import edit as do

    return do(as_json=as_json)
