"""Secrets that are known by what stands before them: `KEY=value`, `--password x`, `Authorization: …`, `user:pass@host`.

Data only, and the test whether a variable's name says that its value is secret. Refuses what merely speaks of them:
`max_tokens = 8000`, `token = read_token()`, `$PASSWORD`. Every pattern is linear. Used by `redaction`.
"""

from __future__ import annotations

import re

MARK = "[redacted]"
"""Stands in place of a secret."""

_NOT = r"(?!\[redacted\])"
_TAIL = r"s?(?:[_-](?:id|key|prod|dev|test|staging|live|old|new|[0-9]{1,3}))?"
"""How a name may go on and still mean the secret itself."""
_KEYS = "".join(
    rf"|(?<={before}[_-]key)|(?<={before}key)"
    for before in ("api", "access", "account", "private", "secret", "auth", "encryption", "signing", "license")
).lstrip("|")
_FAMILIES = {
    "pass": "pass(?:word|wd|phrase)",
    "secret": "secret",
    "token": "token",
    "key": f"key(?:{_KEYS})",
    "credential": "credential",
    "_pwd": "_pwd",
    "_pat": "_pat",
}
_NAME = re.compile(rf"(?:{'|'.join(_FAMILIES.values())}){_TAIL}$")
_PLAIN_NAMES = ("_file", "_path", "_url", "_dir", "_sock")
"""Ends of names that tell where a secret is, not what."""

_PLAIN = r"(?!(?:true|false|yes|no|none|null|nil|undefined|required|optional|\d{1,9})(?![^\s,;&)}\]]))"
"""A value that says nothing."""
_REFERENCE = r"(?![$`<{(%*\[])"
"""The name of a secret's place, not the secret."""
_QUOTED = r"\\?\"[^\"\\\n]{1,4096}+|\\?'[^'\\\n]{1,4096}+"
_BARE = rf"{_PLAIN}(?![a-z_.]{{1,64}}+[,()\[\]])[^\s\"'&;|<>,)}}\]\\]{{1,4096}}+"
_LIKELY = r"(?=[A-Za-z0-9+/=_.~-]{0,200}\d)[A-Za-z0-9+/=_.~-]{12,4096}+(?![\w(.])"
"""Looks like no word: for places where a word may stand as well."""
_SIGN = (
    r"(?:=(?![=\s])"  # KEY=value
    r"|[ \t]{0,8}:?[=:][ \t]{0,8}(?=\\?[\"'])"  # key = "value", "key": "value"
    rf"|[ \t]{{0,8}}[=:][ \t]{{1,8}}(?={_LIKELY}))"  # key: value, in a file of settings
)
ASSIGNED = tuple(
    (literal, re.compile(rf"{name}{_TAIL}\\?[\"']?{_SIGN}(?P<value>{_REFERENCE}(?:{_QUOTED}|{_BARE}))"))
    for literal, name in _FAMILIES.items()
)
"""(literal, pattern) for text in lower case; the group `value` is what goes, perhaps with a quote before it."""

_VALUE = rf"(?P<value>{_NOT}(?![$<{{`])[^\s\"'\\]{{4,4096}}+)"
_ARGUMENT = r"(?:=|[ \t]{1,8})(?P<value>(?![-$`<\[{])(?:\"[^\"\n]{1,4096}+|'[^'\n]{1,4096}+|[^\s\"'&;|<>]{1,4096}+))"
_WORD = "pass(?:word|wd|phrase)?|token|secret(?:[-_]key)?|(?:api|access|private)[-_]?key"
STANDING = (
    ("--", re.compile(rf"--(?:[a-z]{{1,20}}+[-_])??(?:{_WORD}){_ARGUMENT}")),
    ("sshpass -p", re.compile(rf"sshpass -p ?{_VALUE}")),
    ("bearer ", re.compile(rf"bearer {{1,8}}(?P<value>{_NOT}(?=[a-z._~+/-]{{0,64}}\d)[a-z0-9._~+/=-]{{8,}}+)")),
    (
        "authorization",
        re.compile(
            rf"authorization\\?[\"']?[:=] {{0,8}}\\?[\"']?(?:(?:basic|bearer|token|digest|apikey) {{1,8}}+)?+{_VALUE}"
        ),
    ),
    ("x-api-key", re.compile(rf"x-api-key\\?[\"']?: {{0,8}}\\?[\"']?{_VALUE}")),
    ("x-goog-api-key", re.compile(rf"x-goog-api-key\\?[\"']?: {{0,8}}\\?[\"']?{_VALUE}")),
    ("cookie:", re.compile(rf"cookie: {{0,8}}(?P<value>{_NOT}[^\n\"'\\]{{4,4096}}+)")),
    ("://", re.compile(rf"://[^\s/:@\"'<>]{{0,256}}+:(?P<value>{_NOT}(?![$<{{])[^\s/\"'<>]{{1,256}})@")),
    ("://", re.compile(r"://(?P<value>(?=[a-z_-]{0,64}\d)[a-z0-9_-]{20,256}+)@")),
)
"""As `ASSIGNED`."""

_LOGIN = rf"(?P<value>{_NOT}[^\s\"'&;|<>$]{{1,1024}}+)"
PROGRAMS = (
    ("curl ", re.compile(r"curl [^\n|;&]*+"), re.compile(rf" (?:-u|--user)[ =]?[\"']?[^\s:\"']{{1,128}}+:{_LOGIN}")),
    ("mysql", re.compile(r"mysql[^\n|;&]*+"), re.compile(rf" -p{_LOGIN}")),
    ("docker login", re.compile(r"docker login[^\n|;&]*+"), re.compile(rf" -p[ =]?{_LOGIN}")),
)
"""(literal, the program's part of a line, what is secret in it), for text in lower case."""


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    low = name.lower()
    return not low.endswith(_PLAIN_NAMES) and bool(_NAME.search(low))
