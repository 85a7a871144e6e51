"""A conversation as one HTML file for people: it loads nothing, runs nothing, and shows what others wrote as text.

Answers are rendered from Markdown; raw HTML in them stays text, and their pictures become links, so that nobody learns
that the file is read. Pictures that were attached or drawn are in the file.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from gshtui.bus.messages import (
    PNG_TEXT,
    Audio,
    Block,
    Document,
    Image,
    Message,
    Picture,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from gshtui.media import media_files
from gshtui.store.engine.encoding import visible
from gshtui.text import units

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

    from gshtui.store.tables.session_table import SessionInfo

Redact = Callable[[str], str]
FindPicture = Callable[[str], Awaitable[str]]
"""Gives the stored text of a picture by its key; empty: it is not there."""
_SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Pictures that are shown; others could run something, as SVG does."""
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --quiet: #6a6a6a; --add: #1a7f37; --cut: #b42318; --mark: #8881; }
@media (prefers-color-scheme: dark) { :root { --quiet: #9a9a9a; --add: #4ac26b; --cut: #ff8182; } }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.55 system-ui, sans-serif; }
header { border-bottom: 1px solid var(--line); margin-bottom: 1.5rem; }
header p, .who small { color: var(--quiet); }
section { margin: 1.5rem 0; }
.who { font-weight: 600; margin: 0 0 .3rem; }
.user { border-left: 3px solid var(--line); padding-left: 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
pre, code { font: .875rem/1.5 ui-monospace, monospace; background: var(--mark); border-radius: 4px; }
pre { padding: .6rem .8rem; overflow-x: auto; } code { padding: .1em .25em; } pre code { padding: 0; background: none; }
details { margin: .6rem 0; } summary { cursor: pointer; color: var(--quiet); }
table { border-collapse: collapse; } th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left; }
img { max-width: 100%; height: auto; } .add { color: var(--add); }
.cut, .failed { color: var(--cut); }
"""


async def html_pieces(
    info: SessionInfo,
    messages: AsyncIterator[tuple[int, Message]],
    find_picture: FindPicture,
    redact: Redact | None,
) -> AsyncIterator[str]:
    """The file in pieces, each of which ends with a newline.

    Args:
        info: the conversation.
        messages: its messages with their numbers.
        find_picture: gives pictures that calls drew.
        redact: takes secrets out of texts; pictures stay as they are.

    Raises `StoreError`: it cannot be read.
    """
    clean = redact or str
    title = escape(visible(clean(info.title)) or "Conversation")
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; style-src'
        " 'unsafe-inline'\">\n"
        f'<meta name="referrer" content="no-referrer">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n"
    )
    spent = "" if info.cost is None else units.money(info.cost)
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.created))
    about = [info.agent, " ".join(filter(None, (info.provider, info.model))), f"{info.messages} messages", when, spent]
    shown = " · ".join(escape(visible(clean(part))) for part in about if part)
    yield f"<header><h1>{title}</h1>\n<p>{shown}</p></header>\n"
    async for _, message in messages:
        parts = [part for block in message.blocks if (part := await _block(block, message, find_picture, clean))]
        if parts:
            yield f"<section>{_who(message, clean)}\n{_joined(parts)}</section>\n"
    yield "</body>\n</html>\n"


def _who(message: Message, clean: Redact) -> str:
    if message.role == "tool":
        return ""
    name = "You" if message.role == "user" else visible(clean(message.agent)) or "Assistant"
    model = f" <small>{escape(visible(message.model))}</small>" if message.role == "assistant" and message.model else ""
    return f'<p class="who">{escape(name)}{model}</p>'


async def _block(block: Block, message: Message, find_picture: FindPicture, clean: Redact) -> str:
    match block:
        case Text(text=text):
            if message.role != "assistant":
                return f'<div class="user">{escape(visible(clean(text)))}</div>'
            return _markdown().render(visible(clean(text)))
        case Thinking(text=text):
            return _folded("Thinking", f"<pre>{escape(visible(clean(text)))}</pre>") if text else ""
        case ToolCall(name=name, arguments=arguments, broken=broken):
            shown = broken or json.dumps(arguments, ensure_ascii=False, indent=2)
            return _folded(f"Call: {escape(visible(name))}", f"<pre>{escape(visible(clean(shown)))}</pre>")
        case ToolResult(name=name, status=status, content=content, diff=diff):
            failed = "" if status == "ok" else f' <span class="failed">{escape(visible(status))}</span>'
            parts = [f"<pre>{escape(visible(clean(content)))}</pre>"] if content else []
            parts += [f"<pre>{_diff(visible(clean(diff)))}</pre>"] if diff else []
            folded = _folded(f"Result: {escape(visible(name))}{failed}", _joined(parts)) if parts else ""
            pictures = [await _drawn(picture, find_picture, clean) for picture in block.pictures]
            return _joined([folded, *pictures])
        case Image(media_type=kind, name=name):
            return _picture(kind, media_files.encoded(block), visible(clean(name)) or "attached picture")
        case Document(media_type=kind, name=name) | Audio(media_type=kind, name=name):
            size = f"{media_files.size(block):,} bytes"
            return f"<p>{escape(visible(clean(name)) or 'attachment')}: {escape(visible(kind))}, {size}</p>"


async def _drawn(picture: Picture, find_picture: FindPicture, clean: Redact) -> str:
    title = visible(clean(picture.title))
    text = await find_picture(picture.key) if picture.key else ""
    if not text.startswith(PNG_TEXT):
        return f"<p>Picture {escape(title)}: it was not kept.</p>"
    return _picture("image/png", text.removeprefix(PNG_TEXT), title)


def _picture(kind: str, data: str, title: str) -> str:
    """A picture in the file; one of another kind, or one that is damaged, is named."""
    try:
        base64.b64decode(data, validate=True)
    except ValueError:
        return f"<p>{escape(title)}: it is damaged.</p>"
    if kind not in _SHOWN:
        return f"<p>{escape(title)}: {escape(visible(kind))}, {_size(data)}</p>"
    return f'<p><img alt="{escape(title)}" src="data:{kind};base64,{data}"></p>'


def _folded(summary: str, inside: str) -> str:
    return f"<details><summary>{summary}</summary>\n{inside}</details>"


def _diff(text: str) -> str:
    def line(one: str) -> str:
        kind = "add" if one.startswith("+") else "cut" if one.startswith("-") else ""
        return f'<span class="{kind}">{escape(one)}</span>' if kind else escape(one)

    return "\n".join(map(line, text.rstrip().split("\n")))


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(filter(None, parts)) + "\n"


def _size(data: str) -> str:
    return f"{len(data) * 3 // 4:,} bytes"


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False}).enable("table")

    def picture_as_link(
        _renderer: RendererHTML, tokens: Sequence[Token], at: int, _options: OptionsDict, _env: EnvType
    ) -> str:
        address = escape(str(tokens[at].attrGet("src") or ""))
        return f'<a rel="noreferrer" href="{address}">{escape(tokens[at].content or "picture")}</a>'

    made.add_render_rule("image", picture_as_link)
    return made
