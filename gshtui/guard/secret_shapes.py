"""What the secrets of common services look like: a literal that each of them holds, and the pattern around it.

Data only. Every pattern is linear: it begins with its literal, says what may not stand before it, and never goes
back. Refuses what is ordinary: hashes, paths, names of packages. Used by `redaction`.
"""

from __future__ import annotations

import re

_WORD = "[A-Za-z0-9_-]"


def _shape(literal: str, rest: str) -> tuple[str, re.Pattern[str]]:
    """The literal at the beginning of a word, and what follows it."""
    start = re.escape(literal)
    return literal, re.compile(f"{start}(?<![A-Za-z0-9]{start}){rest}")


SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    # Models
    _shape("sk-", rf"(?:(?:ant|proj|svcacct|admin|or|None)-{_WORD}{{16,}}+|[A-Za-z0-9]{{32,}}+)"),
    _shape("AIza", rf"{_WORD}{{30,}}+"),
    _shape("ya29.", rf"{_WORD}{{20,}}+"),
    _shape("GOCSPX-", rf"{_WORD}{{20,}}+"),
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
    _shape("gl", rf"(?:pat|dt|rt|ptt|cbt|ft|soat|imt|agent)-{_WORD}{{16,}}+"),
    _shape("npm_", r"[A-Za-z0-9]{30,}+"),
    _shape("pypi-", rf"{_WORD}{{30,}}+"),
    _shape("dckr_pat_", rf"{_WORD}{{20,}}+"),
    _shape("ATATT3x", r"[A-Za-z0-9_=-]{20,}+"),
    # Talk
    _shape("xox", rf"[abeoprs]-{_WORD}{{10,}}+"),
    _shape("xapp-", rf"{_WORD}{{20,}}+"),
    _shape("hooks.slack.com/services/", r"[A-Za-z0-9/]{20,}+"),
    _shape("SG.", rf"{_WORD}{{16,}}+\.{_WORD}{{16,}}+"),
    _shape("lin_api_", r"[A-Za-z0-9]{20,}+"),
    _shape("ntn_", r"[A-Za-z0-9]{30,}+"),
    # Clouds
    _shape("AKIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _shape("ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _shape("dop_v1_", r"[a-f0-9]{32,}+"),
    _shape("dapi", r"[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _shape("hvs.", rf"{_WORD}{{20,}}+"),
    _shape("tskey-", rf"{_WORD}{{16,}}+"),
    _shape("AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}+"),
    # Money and shops
    _shape("sk_live_", r"[A-Za-z0-9]{16,}+"),
    _shape("sk_test_", r"[A-Za-z0-9]{16,}+"),
    _shape("rk_live_", r"[A-Za-z0-9]{16,}+"),
    _shape("rk_test_", r"[A-Za-z0-9]{16,}+"),
    _shape("whsec_", r"[A-Za-z0-9+/=]{20,}+"),
    _shape("shpat_", r"[a-f0-9]{32}"),
    # Signed statements: two or three parts
    _shape("eyJ", rf"{_WORD}{{10,}}+\.eyJ{_WORD}{{6,}}+(?:\.{_WORD}*+)?"),
)

ANY = re.compile("|".join(sorted({re.escape(literal) for literal, _ in SHAPES})))
"""Which literals there are: one pass in place of one for each. None can hide in another, as no letter precedes it."""
