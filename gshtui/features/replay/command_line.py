"""`gsh-tui replay`."""

from __future__ import annotations

import click

from gshtui.cli.options import SESSION, json_option


@click.command(short_help="Play a conversation again.")
@click.argument("session", type=SESSION, metavar="[ID]", default="latest")
@click.option(
    "--speed", type=click.FloatRange(0.25, 50), default=1.0, metavar="N", help="How many times as fast, 0.25 to 50."
)
@json_option
def replay(session: str, speed: float, as_json: bool) -> int:
    """Play a conversation of the record again; by default this folder's latest. `replay tour` introduces the window.

    The window shows what it showed then. Space pauses, left and right go back and forward, + and - change the speed.
    Nothing is sent, run or changed. With --json, only print what would be played.
    """
    from gshtui.headless.commands.command_hub import serve_face

    return serve_face("replay", session, speed, as_json)
