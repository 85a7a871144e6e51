"""What commands share: options, groups with synonyms, and argument types that a shell can complete."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from gshtui import __version__

Named = Iterable[tuple[str, str]]
"""Names, each with a short description."""


class Name(click.ParamType[str]):
    """A word of one kind. `known` returns the existing ones; it is called when a shell asks for them, and may fail."""

    def __init__(self, name: str, known: Callable[[], Named]) -> None:
        self.name = name
        self._known = known

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The ones that start like this."""
        try:
            return [CompletionItem(name, help=about) for name, about in self._known() if name.startswith(incomplete)]
        except Exception:  # whatever the error: a shell that is completing a word cannot show it
            return []


def _record() -> Path:
    from gshtui.settings.loader import load

    return load(Path.cwd()).settings.general.session_dir / "gsh.db"


def _agents() -> Named:
    from gshtui.store.tables.name_lookup import agents_in

    return [(row.id, f"{row.name} · {row.state}") for row in agents_in(_record())]


def _sessions() -> Named:
    from gshtui.store.tables.name_lookup import sessions_in

    yield "latest", "the latest one in this folder"
    for found in sessions_in(_record(), cwd=str(Path.cwd())):
        yield found.id, " ".join(found.title.split())[:60]


def _personas() -> Named:
    from gshtui.agents.personas import load_personas

    return [(name, persona.summary) for name, persona in load_personas(Path.cwd()).found.items()]


def _profiles() -> Named:
    from gshtui.programs.profiles.profile_files import load

    return [(name, profile.title) for name, profile in load().profiles.items()]


def _models() -> Named:
    from gshtui.providers.catalog import Catalog

    catalog = Catalog.load()
    return [(model.name, model.provider) for model in catalog.models if not catalog.is_retired(model)]


def _providers() -> Named:
    from gshtui.settings.known_providers import KNOWN_PROVIDERS

    return [*((name, known.label) for name, known in KNOWN_PROVIDERS.items()), ("offline", "")]


AGENT = Name("agent", _agents)
SESSION = Name("session", _sessions)
PERSONA = Name("persona", _personas)
PROFILE = Name("profile", _profiles)
MODEL = Name("model", _models)
PROVIDER = Name("provider", _providers)
KINDS: dict[str, click.ParamType[Any]] = {
    "agent": AGENT,
    "session": SESSION,
    "persona": PERSONA,
    "profile": PROFILE,
    "model": MODEL,
    "provider": PROVIDER,
    "folder": click.Path(file_okay=False),
    "file": click.Path(dir_okay=False),
}
"""What the text parameters of declared commands can name."""


F = TypeVar("F", bound=Callable[..., Any])


def _pairs(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    flags: dict[str, str] = {}
    for value in values:
        key, has_value, text = value.partition("=")
        if not has_value or not key.strip():
            raise click.BadParameter(f"{value!r} is not of the form KEY=VALUE, such as agent.max_steps=20.")
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
        help="Set one setting for this run only, such as context.max_iterations=5; repeatable.",
    )(function)


def yes_option(help: str) -> Callable[[F], F]:
    """`--yes`, with its meaning for this command."""
    return click.option("--yes", "-y", is_flag=True, help=help)


MODES = ("plan", "ask", "edit", "auto", "yolo")


def mode_option(help: str) -> Callable[[F], F]:
    """`--mode MODE`."""
    return click.option("--mode", type=click.Choice(MODES), metavar="MODE", help=help)


agent_option = click.option(
    "--agent", type=AGENT, default="main", show_default=True, metavar="NAME", help="Agent to ask."
)

context_lines_option = click.option(
    "--context-lines",
    type=click.IntRange(0, 2_000),
    default=0,
    metavar="N",
    help="Add up to N lines of what recent commands printed, also of those that succeeded, the last failure's first.",
)
"""For the commands that ask an agent; 0: as `[shell] context_lines` says."""


def print_version(context: click.Context, _parameter: click.Parameter | None, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    if context.params.get("as_json") or "--json" in sys.argv:
        import platform

        from gshtui.headless.streams import result_json

        result_json({"name": "gsh-tui", "version": __version__, "python": platform.python_version()})
    else:
        click.echo(f"gsh-tui {__version__}")
    context.exit()


version_option = click.option(
    "--version",
    "-V",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help="Print the version.",
)
