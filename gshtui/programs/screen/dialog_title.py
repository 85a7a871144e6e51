"""Where what is open on a screen begins, and its title. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gshtui.programs.profiles.profile import QuestionRules
from gshtui.programs.screen.choice_lists import marked_list
from gshtui.programs.screen.question_words import has_words
from gshtui.text.linear_regex import compile_linear
from gshtui.text.sanitise import one_line

_TITLE = 80
"""Characters of a dialog's title that are kept."""
_FRAMES = " │┃║╭╮╰╯"
_FIRST, _LATER = re.compile(r"\W*1[.)] \S"), re.compile(r"\W*(?:[2-9]|1\d)[.)] \S")
_COLUMNS = "   "
"""Between those of a heading, which is no title."""
_TITLED = r"[╭┌]─+ (\S.*?) ─{3,}"
"""A box with its title in its top."""


def question_begin(rules: QuestionRules, text: Sequence[str]) -> int:
    """The row below the lowest line that questions stand below, and not choices alone; 0: there is none."""
    for pattern in filter(None, (rules.outer, rules.above)):
        edge = compile_linear(pattern)
        for row in range(len(text) - 1, -1, -1):
            if edge.search(text[row]) and not _LATER.match(next(filter(None, text[row + 1 :]), "")):
                return row + 1
    return 0


def title_of(rules: QuestionRules, text: Sequence[str]) -> str:
    """The title of what is open on a screen, or its first words; empty where nothing shows where it begins. `text`: the
    screen's plain lines.
    """
    start = question_begin(rules, text)
    titled = compile_linear(_TITLED)
    box = next((found for line in reversed(text[start:]) if (found := titled.search(line)) is not None), None)
    if box is not None:
        return one_line(box.group(1) or "", _TITLE)
    inner = [bare if has_words(bare := line.strip(_FRAMES)) else "" for line in text]
    numbers = [row for row, line in enumerate(text) if _FIRST.match(line)]
    listed = marked_list([line.replace("│", " ").replace("┃", " ") for line in text])
    first = numbers[-1] if numbers else listed[0][0] if listed is not None else 0
    if not start:  # the lines together that stand above the first of the choices
        end = next((row for row in range(first - 1, -1, -1) if inner[row] and _COLUMNS not in inner[row]), -1)
        start = next((row + 1 for row in range(end, -1, -1) if not inner[row]), 0)
        inner = inner[: end + 1]
    elif first >= start:
        inner = inner[:first]
    lines = (line.lstrip(">❯›●#* ") for line in inner[start:])
    return one_line(next(filter(None, lines), "").split("  ")[0], _TITLE)
