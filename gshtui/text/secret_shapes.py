"""Secrets that are known by their shape alone: the tokens of known services, and private keys."""

from __future__ import annotations

import re

MARK = "[redacted]"
"""Replaces a secret."""

_SHAPE_WORD = "[A-Za-z0-9_-]"
_RANDOM = "(?=[a-z_-]{0,40}+[A-Z0-9])"
"""Unlike the words of a name: a digit or a capital."""


def _shape(literal: str, rest: str) -> tuple[str, re.Pattern[str]]:
    """The literal at the start of a word, and what follows it."""
    start = re.escape(literal)
    return literal, re.compile(f"{start}(?<![A-Za-z0-9]{start}){rest}")


SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    # Models
    _shape("sk-", rf"(?:(?:ant|proj|svcacct|admin|or|None)-{_RANDOM}{_SHAPE_WORD}{{16,}}+|[A-Za-z0-9]{{32,}}+)"),
    _shape("AIza", rf"{_RANDOM}{_SHAPE_WORD}{{30,}}+"),
    _shape("ya29.", rf"{_RANDOM}{_SHAPE_WORD}{{20,}}+"),
    _shape("GOCSPX-", rf"{_RANDOM}{_SHAPE_WORD}{{20,}}+"),
    _shape("hf_", r"[A-Za-z0-9]{30,}+"),
    _shape("gsk_", r"[A-Za-z0-9]{32,}+"),
    _shape("xai-", r"[A-Za-z0-9]{40,}+"),
    _shape("pplx-", r"[A-Za-z0-9]{32,}+"),
    _shape("r8_", r"[A-Za-z0-9]{30,}+"),
    # Code and packages
    _shape("ghp_", r"[A-Za-z0-9]{30,}+"),
    _shape("gho_", r"[A-Za-z0-9]{30,}+"),
    _shape("ghu_", r"[A-Za-z0-9]{30,}+"),
    _shape("ghs_", r"[A-Za-z0-9]{30,}+"),
    _shape("ghr_", r"[A-Za-z0-9]{30,}+"),
    _shape("github_pat_", r"[A-Za-z0-9_]{30,}+"),
    _shape("gl", rf"(?:pat|dt|rt|ptt|cbt|ft|soat|imt|agent)-{_RANDOM}{_SHAPE_WORD}{{16,}}+"),
    _shape("npm_", r"[A-Za-z0-9]{30,}+"),
    _shape("pypi-", rf"{_RANDOM}{_SHAPE_WORD}{{30,}}+"),
    _shape("dckr_pat_", rf"{_RANDOM}{_SHAPE_WORD}{{20,}}+"),
    _shape("ATATT3x", r"[A-Za-z0-9_=-]{20,}+"),
    # Talk
    _shape("xox", rf"[abeoprs]-{_RANDOM}{_SHAPE_WORD}{{10,}}+"),
    _shape("xapp-", rf"{_RANDOM}{_SHAPE_WORD}{{20,}}+"),
    _shape("hooks.slack.com/services/", r"[A-Za-z0-9/]{20,}+"),
    _shape("SG.", rf"{_SHAPE_WORD}{{22}}\.{_RANDOM}{_SHAPE_WORD}{{43}}"),
    _shape("lin_api_", r"[A-Za-z0-9]{20,}+"),
    _shape("ntn_", r"[A-Za-z0-9]{30,}+"),
    # Clouds
    _shape("AKIA", r"(?!\w{9}EXAMPLE)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _shape("ASIA", r"(?!\w{9}EXAMPLE)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _shape("dop_v1_", r"[a-f0-9]{32,}+"),
    _shape("dapi", r"[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _shape("hvs.", rf"{_RANDOM}{_SHAPE_WORD}{{20,}}+"),
    _shape("tskey-", rf"{_RANDOM}{_SHAPE_WORD}{{16,}}+"),
    _shape("AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}+"),
    # Money and shops
    _shape("sk_live_", r"[A-Za-z0-9]{16,}+"),
    _shape("sk_test_", r"[A-Za-z0-9]{16,}+"),
    _shape("rk_live_", r"[A-Za-z0-9]{16,}+"),
    _shape("rk_test_", r"[A-Za-z0-9]{16,}+"),
    _shape("whsec_", r"[A-Za-z0-9+/=]{20,}+"),
    _shape("shpat_", r"[a-f0-9]{32}"),
    # Signed statements: two or three parts
    _shape("eyJ", rf"{_SHAPE_WORD}{{10,}}+\.eyJ{_SHAPE_WORD}{{6,}}+(?:\.{_SHAPE_WORD}*+)?"),
)

ANY = re.compile("|".join(sorted({re.escape(literal) for literal, _ in SHAPES})))
"""Which literals there are: one pass in place of one for each. None can hide in another, as no letter precedes it."""


_KEY_BEGIN, _KEY_END = "-----BEGIN ", "-----END "
_KEY_HEAD = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_LINE, _BASE64 = r"(?:[\r\n]|\\[nr])", "[A-Za-z0-9+/=]"
_KEY_RUN = re.compile(rf"{_BASE64}{{16}}|{_LINE}{_BASE64}{{4}}")
_KEY_BODY = re.compile(
    rf"(?:(?:\s|\\[nr])++[A-Za-z-]{{1,40}}+: [^\r\n\\]{{0,200}}+)*"
    rf"(?:(?:\s|\\[nr])*+{_BASE64}{{16,}}+|{_LINE}\s*+{_BASE64}++(?![^\r\n\\]))+"
)
"""Its outer groups can be given back: Python before 3.11.5 loses such a match where the next one fails."""
_KEY_LONGEST = 64 * 1024


def without_tokens(text: str) -> str:
    """The text with `[redacted]` in place of each of them."""
    if _KEY_BEGIN in text:
        text = _without_private_keys(text)
    if there := set(ANY.findall(text)):
        for literal, pattern in SHAPES:
            if literal in there:
                text = pattern.sub(MARK, text)
    return text


def _without_private_keys(text: str) -> str:
    """Without private keys, from their first line to their last; one that has no end, as far as it looks like one."""
    parts: list[str] = []
    at = end = 0
    while (head := _KEY_HEAD.search(text, at)) is not None:
        parts.append(text[at : head.start()])
        at = head.end()
        if end < at and end >= 0:
            end = text.find(_KEY_END, at)
        whole = at <= end < at + _KEY_LONGEST and text.find(_KEY_BEGIN, at, end) < 0
        if whole and (close := text.find("-----", end + len(_KEY_END), end + 80)) >= 0:
            at = close + 5 if _KEY_RUN.search(text, at, end) else at
        elif body := _KEY_BODY.match(text, at):
            at = body.end()
        parts.append(MARK if at > head.end() else head[0])
    parts.append(text[at:])
    return "".join(parts)
