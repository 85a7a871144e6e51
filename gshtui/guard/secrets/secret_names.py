"""Which names mean a secret: of variables, settings and options. The one place that says so. Pure."""

from __future__ import annotations

import re

TAIL = r"s?(?:[_-](?:id|key|base|value|raw|hex|b64|base64|json|prod|dev|test|staging|live|old|new|[0-9]{1,3}))?"
"""How a name may continue and still mean the secret itself."""
_KEYS = "".join(
    rf"|(?<={before}[_-]key)|(?<={before}key)"
    for before in ("api", "access", "account", "private", "secret", "auth", "encryption", "signing", "license")
).lstrip("|")
FAMILIES = {
    "pass": "pass(?:word|wd|phrase)",
    "secret": "secret",
    "token": "token",
    "key": f"key(?:{_KEYS})",
    "credential": "credential",
    "_pwd": "_pwd",
    "_pat": "_pat",
}
"""A literal that each has, and a pattern for the end of a name, both in lower case."""
_NAME = re.compile(rf"(?:{'|'.join(FAMILIES.values())}){TAIL}$")
_ALONE = re.compile(r"(?:^|[_-])(?:auth|cookies?|dsn|pgpass|key[_-]id)$")
"""Ends that mean a secret in the name of a variable, though not before any value in a text."""
_PLAIN = ("_file", "_path", "_url", "_dir", "_sock")
"""Ends of names that tell where a secret is, not what."""


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    low = name.lower()
    return not low.endswith(_PLAIN) and bool(_NAME.search(low) or _ALONE.search(low))
