"""`gsh-tui login` and `logout`: a provider's key into the system's keyring, and out of it."""

from __future__ import annotations

import click

from gshtui.cli.options import PROVIDER, json_option


@click.command()
@click.argument("provider", type=PROVIDER, default="anthropic", required=False)
@json_option
def login(provider: str, as_json: bool) -> int:
    """Keep a provider's API key in the system's keyring.

    PROVIDER is one that takes a key, such as openai, or one that your configuration names. The key is asked for, and
    not shown as you type it; without a terminal it is read from standard input. A variable such as ANTHROPIC_API_KEY
    still counts first.

    \b
    Examples:
      gsh-tui login openai
      pass show openai | gsh-tui login openai
    """
    from gshtui.headless.program.provider_login import login as do

    return do(provider, as_json=as_json)


@click.command()
@click.argument("provider", type=PROVIDER, default="anthropic", required=False)
@json_option
def logout(provider: str, as_json: bool) -> int:
    """Remove a provider's API key from the system's keyring.

    A key in a variable such as ANTHROPIC_API_KEY is yours to unset.
    """
    from gshtui.headless.program.provider_login import logout as do

    return do(provider, as_json=as_json)
