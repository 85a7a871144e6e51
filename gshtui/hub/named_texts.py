"""What a person's prompt names with `@` besides files: resources of MCP servers, pages of the web, other agents.

Only a person's own prompts are read for it, and each text is cut like a tool's result. A page of the internet is
fetched because a person wrote its address; one of a private network or of this machine only where `[sandbox] hosts`
has a rule for it, as a prompt may be pasted from anywhere.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Collection
from html.parser import HTMLParser
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from gshtui.agents.personas import load_personas
from gshtui.agents.toolbox import ReadMentions
from gshtui.media.mentions import mentions
from gshtui.system.expected_error import ExpectedError
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.host_rules import HostRules, NetworkTarget
from gshtui.text.sanitise import literal, one_line, plain

if TYPE_CHECKING:
    from gshtui.hub.hub import Hub

_WITHIN = 20.0
_LARGEST = 2_000_000
"""Bytes of a page that are read."""
_MOST = 5
"""Pages of one prompt, and agents."""
_REDIRECTS = 5
_NO_TEXT = frozenset(("script", "style", "noscript", "template", "svg", "head"))
_LINES = frozenset(
    ("p", "div", "br", "li", "tr", "section", "article", "pre", "table", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol")
)


def named_texts(hub: Hub) -> ReadMentions:
    """Reads what a person's prompt names: each name with its text."""

    async def read(prompt: str, agent: str) -> list[tuple[str, str]]:
        named = mentions(prompt)
        found = await hub.mcp_servers().mentioned(prompt, agent) if hub.has_mcp_servers else []
        for address in [one for one in named if one.startswith(("https://", "http://"))][:_MOST]:
            found.append((address, await page_text(address, hub.settings.sandbox.hosts)))
        found += await _answers(hub, named, agent)
        return found + await asyncio.to_thread(_personas, hub, named, {name for name, _ in found})

    return read


def _personas(hub: Hub, named: list[str], taken: Collection[str]) -> list[tuple[str, str]]:
    """What the model is told of personas that the prompt names, also as Claude Code writes them (`@agent-NAME`)."""
    words = [one for one in named if one not in taken and not _is_file(hub, one)]
    if not words:
        return []
    known = load_personas(hub.options.cwd).found
    found = [(word, known.get(word) or known.get(word.removeprefix("agent-"))) for word in words]
    told = [
        (word, f"[{one.name} is a persona ({literal(one.summary)}): an agent with this persona is meant to do this.]")
        for word, one in found
        if one is not None
    ]
    return told[:_MOST]


def _is_file(hub: Hub, name: str) -> bool:
    """Whether there is a file of this name. What cannot be one, such as a very long name, is none."""
    return os.path.exists(hub.options.cwd / name)  # noqa: PTH110


async def _answers(hub: Hub, named: list[str], agent: str) -> list[tuple[str, str]]:
    """What agents that the prompt names said last. A file of the same name comes first."""
    if hub.fleet is None:
        return []
    rows = {row.name: row for row in hub.fleet.rows()}
    found: list[tuple[str, str]] = []
    for name in [one for one in named if one in rows and one != agent and not _is_file(hub, one)][:_MOST]:
        try:
            answer, _ = await hub.fleet.last_answer(rows[name].id)
        except ExpectedError as error:
            found.append((name, f"[What @{name} said last cannot be read: {error.message}]"))
            continue
        head = f"What the agent {name} ({rows[name].status}) said last, whom the prompt names:"
        found.append((name, f"{head}\n\n{literal(answer)}" if answer else f"[The agent {name} has said nothing yet.]"))
    return found


async def page_text(address: str, rules: list[str]) -> str:
    """The text of a page, with its address; or in brackets why there is none. Raises nothing. `rules`: hosts that may
    be reached though they are not of the internet.
    """
    shown = one_line(plain(address), 200)
    try:
        async with time_limit(_WITHIN):
            kind, raw, cut = await _fetched(address, HostRules.parse(rules))
    except TimeoutError:
        return f"[@{shown} was not read: it did not answer within {_WITHIN:g} s.]"
    except _RefusedPageError as error:
        return f"[@{shown} was not read: {error}.]"
    text = raw.decode("utf-8", "replace")
    if "html" in kind or text.lstrip()[:200].lower().startswith(("<!doctype html", "<html")):
        text = await asyncio.to_thread(html_text, text)
    elif "\0" in text:
        return f"[@{shown} was not read: it is no text but {one_line(plain(kind), 60) or 'data'}.]"
    rest = f"\n\n[The page is longer than {_LARGEST // 1_000_000} MB; its rest was not read.]" if cut else ""
    return f"The page {shown}, which the prompt names:\n\n{literal(text)}{rest}"


class _RefusedPageError(Exception):
    """Why a page is not read, as a clause."""


async def _fetched(address: str, rules: HostRules) -> tuple[str, bytes, bool]:
    """(kind, content, whether it was longer). Each step of a redirection is checked like the address itself."""
    import httpx2  # few prompts name a page

    from gshtui.system.network.routed_transport import RoutedTransport

    try:
        async with httpx2.AsyncClient(timeout=_WITHIN, transport=RoutedTransport()) as client:
            for _ in range(_REDIRECTS + 1):
                await _check_place(address, rules)
                async with client.stream("GET", address, headers={"accept": "text/*, */*;q=0.5"}) as answer:
                    if answer.is_redirect and "location" in answer.headers:
                        address = urljoin(address, answer.headers["location"])
                        continue
                    if answer.status_code != 200:
                        raise _RefusedPageError(f"its server answered {answer.status_code}")
                    raw = b""
                    async for piece in answer.aiter_bytes():
                        raw += piece
                        if len(raw) > _LARGEST:
                            break
                    return answer.headers.get("content-type", ""), raw[:_LARGEST], len(raw) > _LARGEST
            raise _RefusedPageError("it leads on and on")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, ExpectedError) as error:
        why = error.message.rstrip(".") if isinstance(error, ExpectedError) else one_line(plain(str(error)), 200)
        raise _RefusedPageError(f"it cannot be reached ({why})") from error


async def _check_place(address: str, rules: HostRules) -> None:
    """Raises `_RefusedPageError` for an address that is none of the internet, unless a rule has its host."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise _RefusedPageError("it is no plain address of the web")
    place = NetworkTarget(parts.hostname.rstrip(".").lower(), parts.port or (443 if parts.scheme == "https" else 80))
    try:
        found = [ip_address(place.name)]
    except ValueError:
        try:
            answers = await asyncio.get_running_loop().getaddrinfo(place.name, place.port)
        except OSError:
            return  # only a proxy may know the name; where there is none, connecting fails
        found = [ip_address(str(one[4][0]).partition("%")[0]) for one in answers]
    covered = all(rules.covers_address(place, one) for one in found)
    if not covered or (place.name == "localhost" and not rules.covers(place)):
        rule = f"{place.name}:{place.port}"
        raise _RefusedPageError(f"{place.name} is in a private network, and [sandbox] hosts has no rule {rule!r}")


class _PageReader(HTMLParser):
    """Collects what a person would read."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _NO_TEXT
        if tag in _LINES:
            self.pieces.append("\n- " if tag == "li" else "\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in _NO_TEXT))
        if tag in _LINES:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(re.sub(r"[^\S\n]+", " ", data))


def html_text(page: str) -> str:
    """The words of a page, without its code."""
    reader = _PageReader()
    reader.feed(page)
    reader.close()
    lines = (line.strip() for line in "".join(reader.pieces).split("\n"))
    text = "\n".join(lines)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.strip()
