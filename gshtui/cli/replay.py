"""`gsh-tui replay`: plays a conversation of the record again, on the real screen."""

from __future__ import annotations

from pathlib import Path

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
    from gshtui.headless.servers.replay_process import describe_recording, find_recorded

    if as_json:
        return describe_recording(session)
    from gshtui.cli.window import current_folder
    from gshtui.system.face_mark import mark_face

    found = find_recorded(session)
    if isinstance(found, int):
        return found
    from gshtui.ui.window.replay_window import play

    mark_face()
    if found is None:
        return play(Path(current_folder()), session, "main", speed)
    folder = Path(found.cwd)
    return play(folder if folder.is_dir() else Path(current_folder()), found.id, found.agent, speed)
