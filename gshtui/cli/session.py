"""`gsh-tui session`: the conversations of this and other folders. Each is a line of the `session` command."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gshtui.cli.options import SESSION, SessionGroup, json_option, yes_option


@click.group(cls=SessionGroup, short_help="Conversations: list, show, resume, export …")
def session() -> None:
    """Conversations: list, show, resume, export, search, rename, remove. All of it works while a window is open.

    An ID may be its beginning or end as long as only one fits, or `latest`.
    """


@session.command()
@click.option("--all", "everywhere", is_flag=True, help="Of every folder.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Entries at most.")
@json_option
def ls(everywhere: bool, limit: int, as_json: bool) -> int:
    """List this folder's conversations, the newest first."""
    return _run(["ls", *_switch("all", everywhere), f"limit={limit}"], as_json=as_json)


@session.command()
@click.argument("id", required=False, default="", type=SESSION)
@click.option("--all", "whole", is_flag=True, help="All messages.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Messages at most.")
@json_option
def show(id: str, whole: bool, limit: int, as_json: bool) -> int:
    """Show a conversation; without ID the folder's latest."""
    return _run(["show", *_named("target", id), *_switch("all", whole), f"limit={limit}"], as_json=as_json)


@session.command()
@click.argument("id", required=False, default="latest", type=SESSION)
@json_option
def resume(id: str, as_json: bool) -> int:
    """Open the window with a conversation.

    With --json it is only said which one it is.
    """
    from gshtui.cli.opening import Opening
    from gshtui.cli.window import open_window
    from gshtui.headless.command_lines import find_session

    def then(session: str) -> int:
        return open_window(Opening(session=session))

    return find_session(id, as_json=as_json, then=None if as_json else then)


@session.command()
@click.argument("id", required=False, default="", type=SESSION)
@click.option("--format", "form", type=click.Choice(["jsonl", "markdown"]), help="Default: by the file's name.")
@click.option(
    "--out",
    "-o",
    default="",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write to a new file instead of standard output.",
)
@json_option
def export(id: str, form: str | None, out: str, as_json: bool) -> int:
    """Export a conversation.

    JSONL keeps everything, Markdown is for reading.
    """
    words = ["export", *_named("target", id), *_named("format", form or ""), *_named("out", out)]
    return _run(words, as_json=as_json)


@session.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--all", "everywhere", is_flag=True, help="In the conversations of every folder.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Hits at most.")
@json_option
def search(words: tuple[str, ...], everywhere: bool, limit: int, as_json: bool) -> int:
    """Find messages by their words."""
    line = ["search", *_named("target", " ".join(words)), *_switch("all", everywhere), f"limit={limit}"]
    return _run(line, as_json=as_json)


@session.command()
@click.argument("id", type=SESSION)
@click.argument("title", nargs=-1, required=True)
@json_option
def rename(id: str, title: tuple[str, ...], as_json: bool) -> int:
    """Give a conversation another title."""
    return _run(["rename", *_named("target", id), *_named("text", " ".join(title))], as_json=as_json)


@session.command()
@click.argument("ids", nargs=-1, type=SESSION, required=True, metavar="ID…")
@yes_option("Do not ask, also in a terminal.")
@json_option
def rm(ids: tuple[str, ...], yes: bool, as_json: bool) -> int:
    """Remove conversations for good. In a terminal it asks first."""
    from gshtui.headless.command_lines import confirm

    if not yes and not confirm(f"Remove {', '.join(ids)} for good?"):
        return 4
    return _run(["rm", *_named("target", ids[0]), *_named("text", " ".join(ids[1:]))], as_json=as_json)


def _named(name: str, value: str) -> list[str]:
    """`name=value` as one word of the language; nothing when there is no value."""
    from gshtui.commands.language import quote

    return [f"{name}={quote(value)}"] if value else []


def _switch(name: str, on: bool) -> list[str]:
    return [f"{name}=true"] if on else []


def _run(words: Sequence[str], *, as_json: bool) -> int:
    from gshtui.headless.command_lines import STORE_ONLY, LineOptions, run_line

    return run_line(LineOptions(" ".join(["session", *words]), json=as_json, parts=STORE_ONLY))
