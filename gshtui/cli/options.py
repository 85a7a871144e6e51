"""Options that several commands share, declared once, and the ways that a command ends.

Called by the files of this folder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from gshtui.cli.names import AGENT

F = TypeVar("F", bound=Callable[..., Any])


def _pairs(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    flags: dict[str, str] = {}
    for value in values:
        key, has_value, text = value.partition("=")
        if not has_value or not key.strip():
            raise click.BadParameter(f"{value!r} is not KEY=VALUE, such as agent.max_steps=20.")
        flags[key.strip()] = text
    return flags


def json_option(function: F) -> F:
    """`--json`: the result as JSON."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")(function)


def set_option(function: F) -> F:
    """`--set KEY=VALUE`: a setting for this run."""
    return click.option(
        "--set",
        "flags",
        multiple=True,
        metavar="KEY=VALUE",
        callback=_pairs,
        help="A setting for this run alone, such as context.max_iterations=5; may be repeated.",
    )(function)


def yes_option(help: str) -> Callable[[F], F]:
    """`--yes`: with what it means for this command."""
    return click.option("--yes", "-y", is_flag=True, help=help)


def agent_option(help: str) -> Callable[[F], F]:
    """`--agent NAME`."""
    return click.option("--agent", type=AGENT, default="main", show_default=True, metavar="NAME", help=help)
