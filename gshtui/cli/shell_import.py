"""`gsh-tui shell import` and `export`."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option


@click.command("import", short_help="Take in the history of zsh, bash or Atuin")
@click.argument("source", type=click.Choice(["zsh", "bash", "atuin", "jsonl"]))
@click.argument("file", default="", type=click.Path())
@json_option
def import_(source: str, file: str, as_json: bool) -> int:
    """Take in a history: zsh's, bash's or Atuin's, or one as JSON lines (`shell export`, or `shell-history.jsonl`).

    Doing so twice adds nothing twice. Secrets are taken out, and what [shell] ignore names is left out. Without FILE,
    the usual place.
    """
    from gshtui.headless.shell_import import import_ as do

    return do(source, file, as_json=as_json)


@click.command(short_help="Write the history as JSON lines")
@click.argument("file", default="-", type=click.Path())
@json_option
def export(file: str, as_json: bool) -> int:
    """Write the history of commands as JSON lines, oldest first, to a new FILE (standard output without one)."""
    from gshtui.headless.shell_import import export as do

    return do(file)
