"""`gsh-tui serve`: the door for people elsewhere."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option


@click.command(short_help="Let people in over SSH.")
@click.option("--ssh", is_flag=True, required=True, help="Serve the shell of calls over SSH.")
@click.option("--host", default="", metavar="ADDRESS", help="Address to listen on; by default only this machine.")
@click.option("--port", type=click.IntRange(0, 65_535), default=None, metavar="N", help="Port; 0: any free one.")
@json_option
def serve(ssh: bool, host: str, port: int | None, as_json: bool) -> int:
    """Let people into your calls over SSH, until you stop it.

    Only those whom `gsh-tui people allow` let in can enter, each by their public key: `ssh -p 8022 HOST`.
    """
    from gshtui.headless.ssh_process import ServeOptions, serve_people

    return serve_people(ServeOptions(host, port, as_json))
