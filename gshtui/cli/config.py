"""`gsh-tui config`: path, show, set, edit, schema, trust."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option, set_option, yes_option


@click.group()
def config() -> None:
    """Show and change the configuration.

    A value comes from, the later the stronger: the default, your file, the project's .gsh/config.toml (once you trust
    the folder, and only to make things stricter), a GSH_TABLE__KEY variable, --set.
    """


@config.command()
@click.argument("key", required=False, default="")
@set_option
@json_option
def show(key: str, flags: dict[str, str], as_json: bool) -> int:
    """Show every value, or those of KEY or a table, and where each came from."""
    return _run("show", key, flags=flags, as_json=as_json)


@config.command()
@json_option
def path(as_json: bool) -> int:
    """Say where the files and folders are."""
    return _run("path", as_json=as_json)


@config.command()
@json_option
def schema(as_json: bool) -> int:
    """Print the JSON schema: every key with its meaning."""
    return _run("schema", as_json=as_json)


@config.command(name="set")
@click.argument("key")
@click.argument("value")
@json_option
def set_value(key: str, value: str, as_json: bool) -> int:
    """Set KEY of your file to VALUE; comments and everything else stay. Lists are JSON."""
    return _run("set", key, value, as_json=as_json)


@config.command()
@json_option
def edit(as_json: bool) -> int:
    """Open your file in $VISUAL or $EDITOR, then say what is wrong with it."""
    from gshtui.headless.config_steps import edit as do

    return do(as_json=as_json)


@config.command()
@click.option("--revoke", is_flag=True, help="Trust it no longer.")
@yes_option("Do not show it and ask first.")
@json_option
def trust(revoke: bool, yes: bool, as_json: bool) -> int:
    """Trust this folder's .gsh/config.toml and AGENTS.md; the configuration as it is now, until it changes.

    It still can only make things stricter, and trusting starts nothing.
    """
    from gshtui.headless.config_steps import trust as do

    return do(revoke=revoke, yes=yes, as_json=as_json)


def _run(
    action: str, key: str = "", value: str = "", *, flags: dict[str, str] | None = None, as_json: bool = False
) -> int:
    from gshtui.headless.config_steps import config as do

    return do(action, key, value, flags=flags or {}, as_json=as_json)
