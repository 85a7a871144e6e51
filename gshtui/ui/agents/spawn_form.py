"""What the dialog for a new agent offers and what comes of it: choices from the commands' data, and the line to run.

Pure. Called by the spawn dialog.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

NATIVE, ANY = "native", "command"
"""Kinds: one of ours, and any command line; a profile's name is the third."""


class Offers(msgspec.Struct, frozen=True):
    """What can be chosen: (value, what is shown)."""

    kinds: tuple[tuple[str, str], ...] = ((NATIVE, "one of ours"), (ANY, "any program"))
    personas: tuple[tuple[str, str], ...] = ()
    models: tuple[str, ...] = ()
    programs: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """The command of each profile."""


class Wish(msgspec.Struct, frozen=True):
    """What was filled in."""

    prompt: str = ""
    kind: str = NATIVE
    command: str = ""
    persona: str = ""
    model: str = ""
    name: str = ""
    worktree: str = ""
    background: bool = False


def offers(personas: Any, profiles: Any, models: Any) -> Offers:
    """The choices in the data of `personas`, `profiles ls` and `model list`, whatever else there is."""
    kinds: list[tuple[str, str]] = [(NATIVE, "one of ours")]
    programs: dict[str, str] = {}
    for profile in _rows(profiles, "profiles"):
        name, commands = str(profile.get("name", "")), cast("list[Any]", profile.get("programs") or [])
        if commands:
            programs[name] = str(commands[0])
            kinds.append((name, str(profile.get("title") or name)))
    kinds.append((ANY, "any program"))
    named = [
        (str(one.get("name", "")), f"{one.get('name', '')} · {one.get('summary', '')}")
        for one in _rows(personas, "personas")
    ]
    known = [
        f"{one.get('provider', '')}/{one.get('model') or one.get('name') or ''}"
        for one in _rows(models, "models")
        if one.get("usable") is not False
    ]
    return Offers(tuple(kinds), tuple(_clean(pair) for pair in named), tuple(known), programs)


def _clean(pair: tuple[str, str]) -> tuple[str, str]:
    from gshtui.guard.sanitise import one_line

    return pair[0], one_line(pair[1], 100)


def _rows(data: Any, key: str) -> list[dict[str, Any]]:
    if isinstance(data, dict):
        data = cast("dict[str, Any]", data).get(key, [])
    if not isinstance(data, list):
        return []
    return [cast("dict[str, Any]", one) for one in cast("list[Any]", data) if isinstance(one, dict)]


def wrong(wish: Wish) -> tuple[str, str]:
    """The field (of the dialog) that is wrong and why; both empty when the wish can be run."""
    if wish.kind == ANY and not wish.command.strip():
        return "command", "Which program is it to be? Give its command line, such as `aider --no-git`."
    if wish.background and not wish.prompt.strip():
        return "task", "An agent in the background needs to be told what to do."
    return "", ""


def line_of(wish: Wish, programs: dict[str, str]) -> str:
    """The line of the command language that starts it."""
    from gshtui.commands.lexer import quote

    words: dict[str, str] = {"prompt": wish.prompt.strip()}
    if wish.kind == NATIVE:
        # As models are listed: the provider, a slash, and the model, which may hold slashes of its own.
        provider, slash, model = wish.model.strip().partition("/")
        provider, model = (provider, model) if slash else ("", provider)
        words |= {"persona": wish.persona, "provider": provider, "model": model}
    elif wish.kind == ANY:
        words["cli"] = wish.command.strip()
    else:
        words |= {"cli": wish.command.strip() or programs.get(wish.kind, wish.kind), "profile": wish.kind}
    words |= {"name": wish.name.strip(), "worktree": wish.worktree.strip()}
    parts = [f"{key}={quote(value)}" for key, value in words.items() if value]
    return " ".join(["spawn", *parts, *(["background=true"] if wish.background else [])])
