"""What a word on the command line may be, as types of click: any text is taken, and a shell is told what there is.

Owns the completion of names; refuses to check them, since whoever uses a name says better what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

Named = Iterable[tuple[str, str]]
"""Names, each with a few words about it."""


class Name(click.ParamType[str]):
    """A word of a kind. `known` gives those that there are; it is called when a shell asks, and may fail."""

    def __init__(self, name: str, known: Callable[[], Named]) -> None:
        self.name = name
        self._known = known

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Those that begin like this."""
        try:
            return [CompletionItem(name, help=about) for name, about in self._known() if name.startswith(incomplete)]
        except Exception:  # whatever is wrong: a shell that completes a word has no place for it
            return []


def _record() -> Path:
    from gshtui.settings.load import load

    return load(Path.cwd()).settings.general.session_dir / "gsh.db"


def _agents() -> Named:
    from gshtui.store.names import agents_in

    return [(row.id, f"{row.name} · {row.status}") for row in agents_in(_record())]


def _sessions() -> Named:
    from gshtui.store.names import sessions_in

    yield "latest", "the last one of this folder"
    for found in sessions_in(_record(), cwd=str(Path.cwd())):
        yield found.id, " ".join(found.title.split())[:60]


def _personas() -> Named:
    from gshtui.agents.personas import load_personas

    return [(name, persona.summary) for name, persona in load_personas(Path.cwd()).found.items()]


def _profiles() -> Named:
    from gshtui.programs.profile import load

    return [(name, profile.title) for name, profile in load().profiles.items()]


def _models() -> Named:
    from gshtui.providers.catalog import Catalog

    catalog = Catalog.load()
    return [(model.name, model.provider) for model in catalog.models if not catalog.gone(model)]


def _providers() -> Named:
    return [(name, "") for name in ("anthropic", "openai", "gemini", "ollama", "offline")]


AGENT = Name("agent", _agents)
SESSION = Name("session", _sessions)
PERSONA = Name("persona", _personas)
PROFILE = Name("profile", _profiles)
MODEL = Name("model", _models)
PROVIDER = Name("provider", _providers)
