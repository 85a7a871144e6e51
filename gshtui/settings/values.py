"""What single values are made of: paths with `~` and variables, names of variables, web addresses, no secrets.

Pure functions that raise `ValueError` with a sentence, for pydantic. They never repeat a value that may be secret.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SECRET = re.compile(
    r"\b(sk-[A-Za-z0-9_-]{16,}|AIza[0-9A-Za-z_-]{30,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|glpat-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,})"
)
_SECRET_NAME = re.compile(r"(^|[_-])(apikey|key|secret|password|passwd|token)$")


def looks_secret(value: object) -> bool:
    """Whether text has the shape of an API key or token of a known service."""
    return isinstance(value, str) and _SECRET.search(value) is not None


def names_secret(key: str) -> bool:
    """Whether a key's last part says that its value is a secret, such as `api_key` or `auth_token`."""
    return _SECRET_NAME.search(key.rpartition(".")[2].lower()) is not None


def variable_name(value: str) -> str:
    """The name of an environment variable, or nothing. A key put here by mistake is refused without repeating it."""
    if value and (looks_secret(value) or not _VARIABLE.fullmatch(value)):
        raise ValueError("it must be the name of a variable, such as ANTHROPIC_API_KEY, not the key itself")
    return value


def address(value: str) -> str:
    """An http or https address without a password in it, or nothing."""
    if not value:
        return value
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable, parts = False, None
    if not usable or parts is None:
        raise ValueError("it must be an address such as https://api.example.com")
    if parts.password or parts.username:
        raise ValueError("it must not hold a user name or password")
    return value


def expanded(value: object) -> object:
    """A path with `~` and `$VARIABLES` put in; it must then start at the root."""
    if not isinstance(value, str | Path):
        return value
    text = os.path.expandvars(str(value))
    if "\0" in text or not text.strip():
        raise ValueError("it must be a path")
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise ValueError("the home folder that `~` stands for is not known") from error
    if not path.is_absolute():
        raise ValueError("it must be a whole path, such as ~/folder or /folder")
    return path
