"""`gsh-tui mcp serve`."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option

_WRITING = ("agent_spawn", "agent_send", "agent_interrupt")


@click.command(name="serve", short_help="Let other programs use agents and history.")
@click.option("--allow", multiple=True, type=click.Choice(_WRITING), help="Let programs do this, too; repeatable.")
@click.option("--http", is_flag=True, help="Serve HTTP on this machine, behind a token.")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, metavar="N", help="With --http; 0: any free one.")
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False),
    default="",
    metavar="FILE",
    help="With --http: a token that you made, which stays the same. By default it is new at each start.",
)
@json_option
def mcp_serve(allow: tuple[str, ...], http: bool, port: int, token_file: str, as_json: bool) -> int:
    """Let other programs, such as Claude Code or Codex, use your agents and your history by MCP.

    They can list and read agents, contexts and conversations, and search the past. Whatever starts, prompts or
    interrupts an agent needs your leave: --allow agent_spawn, agent_send or agent_interrupt. Agents' questions are
    still yours to answer.

    \b
    Examples:
      claude mcp add gsh -- gsh-tui mcp serve --allow agent_send
      codex mcp add gsh -- gsh-tui mcp serve
    """
    from gshtui.features.mcp_server.mcp_process import McpServeOptions, serve_commands

    return serve_commands(McpServeOptions(allow, http, port, as_json, token_file))
