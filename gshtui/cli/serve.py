"""`gsh-tui serve`: the door for people elsewhere, and the window in a browser."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option


@click.command(short_help="Let people in over SSH, or open the window in a browser.")
@click.option("--ssh", is_flag=True, help="Serve the shell of calls over SSH.")
@click.option("--web", is_flag=True, help="Serve the window to a browser on this machine.")
@click.option("--host", default="", metavar="ADDRESS", help="Address to listen on; by default only this machine.")
@click.option("--port", type=click.IntRange(0, 65_535), default=None, metavar="N", help="Port; 0: any free one.")
@json_option
def serve(ssh: bool, web: bool, host: str, port: int | None, as_json: bool) -> int:
    """Let people into your calls over SSH, or use the window in a browser, until you stop it.

    --ssh: only those whom `gsh-tui people allow` let in can enter, each by their public key: `ssh -p 8022 HOST`.

    --web: prints a link to your window, and one for somebody who may only look. Whoever has the link can use it.
    """
    if ssh == web:
        raise click.UsageError("Say what to serve: `--ssh` or `--web`.")
    if web:
        from gshtui.headless.servers.web_process import WebOptions, serve_window

        return serve_window(WebOptions(host or "127.0.0.1", port or 0, as_json))
    from gshtui.headless.servers.ssh_process import ServeOptions, serve_people

    return serve_people(ServeOptions(host, port, as_json))
