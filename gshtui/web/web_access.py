"""Who may see the window in a browser: whoever opened a link that nobody had opened before. Pure.

A link makes one browser the owner, another one a viewer, who sees and cannot type. A link works once: the browser gets
a secret of its own for it, which it keeps as long as its tab and says at each connection. Nothing of this is a cookie,
which a browser sends to every port of this machine, nor part of an address that is sent. A missing secret is never told
apart from a wrong one.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from typing import Literal

Role = Literal["owner", "viewer"]
PROTOCOL = "gsh-tui"
"""What a page names as its websocket's protocol, beside its secrets."""


class WebAccess:
    """The secrets of one run of the server."""

    def __init__(self) -> None:
        self._links: dict[Role, str] = {"owner": _secret("link"), "viewer": _secret("link")}
        self._tabs: dict[Role, list[str]] = {"owner": [], "viewer": []}

    def link(self, role: Role) -> str:
        """The secret of the link that makes the next browser this."""
        return self._links[role]

    def open(self, offered: Sequence[str], role: Role) -> str:
        """Whether somebody who offers these secrets is this: the secret of their tab; empty: they are not.

        A link that is used is used up.
        """
        for tab in self._tabs[role]:
            if _offers(offered, tab):
                return tab
        if not _offers(offered, self._links[role]):
            return ""
        self._links[role] = _secret("link")
        tab = _secret("tab")
        self._tabs[role].append(tab)
        return tab


def _secret(kind: str) -> str:
    return f"{kind}.{secrets.token_urlsafe(32)}"


def _offers(offered: Sequence[str], secret: str) -> bool:
    """Whether the secret is among these; each comparison takes as long for any wrong one of its length."""
    return any(hmac.compare_digest(one.encode(errors="replace"), secret.encode()) for one in offered)
