"""What a terminal sends besides letters: where a key's sequence ends, and where what the terminal says of itself does.

The grammar of ECMA-48, with the keys that do not keep to it. Knows no meaning of a sequence.
"""

from __future__ import annotations

import re

SEQUENCE = re.compile(
    r"\x1b(?:"
    r"\[\[[A-E]"  # F1 to F5 on the console of Linux
    r"|\[M[\s\S]{3}"  # the mouse, as the oldest terminals report it
    r"|\[\d{1,3}\$"  # shift, from rxvt
    r"|\[[0-?]{0,64}[ -/]{0,4}[@-~]"
    r"|O[\d;]{0,8}[A-Za-z]"
    r")"
)
"""A whole one. Escape with any other character is that key with alt."""
UNFINISHED = re.compile(
    r"\x1b(?:"
    r"\[(?:\[|M[\s\S]{0,2}|(?!\d{1,3}\$)[0-?]{0,64}[ -/]{0,4})"
    r"|O[\d;]{0,8}"
    r"|P[\d;]{0,16}|\]\d{0,5}|_"  # perhaps an answer
    r")?"
)
"""The beginning of one, or an escape alone: what follows tells."""
ANSWER = re.compile(r"\x1b(?:P[\d;]{0,16}[!$+<=>?|]|\]\d{1,5};|_G)")
"""How what a terminal says of itself begins: its version, a colour, whether it draws pictures."""
ANSWERED = re.compile(r"\x07|\x1b\\")
"""How that ends."""
ANSWER_WAITS = 1.0
"""Seconds without a piece after which an answer that was begun is given up."""
ESCAPE_WAITS = 0.05
"""Seconds after which an escape, or a sequence that goes no further, is what was typed. A terminal sends one whole."""
