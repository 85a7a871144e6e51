"""`gsh-tui acp`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gshtui.cli.options import MODEL, PROVIDER, mode_option, set_option

if TYPE_CHECKING:
    from gshtui.bus.agent_data import GuardMode


@click.command(short_help="Be an agent for Zed, Toad and other clients (ACP).")
@click.option("--provider", type=PROVIDER, default="", metavar="NAME", help="Provider of every session.")
@click.option("--model", type=MODEL, default="", metavar="NAME", help="Model of every session.")
@mode_option("Mode in which each session begins: plan, ask, edit, auto or yolo; the client can change it.")
@set_option
def acp(provider: str, model: str, mode: GuardMode | None, flags: dict[str, str]) -> int:
    """Be an agent for a client that speaks the Agent Client Protocol, on standard input and output.

    A client such as Zed or Toad starts this command; it ends when the client does. Questions are asked in the client.
    """
    from gshtui.features.acp.acp_process import AcpOptions, serve_acp

    return serve_acp(AcpOptions(provider, model, mode, flags))
