"""What a program asks on its screen: the question, what it is about, and its own choices. Pure.

Nothing is guessed: a screen that does not look in every point as its profile says has no choices, and can be answered
only in its terminal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from msgspec.structs import replace

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.profiles.profile import Profile, QuestionRules
from gshtui.programs.screen.asked_question import ReadQuestion, question_id
from gshtui.programs.screen.choice_lists import has_further, marked_list, numbered_choices, unnumbered_choices
from gshtui.programs.screen.choice_rows import buttons_in, choice_buttons, choice_keys, lettered_choices
from gshtui.programs.screen.line_styles import backgrounds, undimmed
from gshtui.programs.screen.question_words import LONGEST_SUBJECT, has_words
from gshtui.text.cells import width
from gshtui.text.linear_regex import compile_linear
from gshtui.text.sanitise import one_line, plain

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


def read_question(
    profile: Profile,
    text: Sequence[str],
    lines: Sequence[str],
    asked: str,
    doing: str,
    *,
    dialog: bool,
    overflows: bool = False,
    cursor: tuple[int, int] | None = None,
    width: int = 0,
    beside: bool = False,
) -> ReadQuestion:
    """Read the question of a screen that is known to wait for an answer.

    Args:
        text: the screen's plain lines.
        lines: the same lines with their styles.
        asked: the plain lines that contain the question, where it cannot be read exactly.
        doing: what the profile says of it.
        dialog: it looks like one of the program's own dialogs, which ask nobody; one with answers of which a meaning is
            known asks somebody.
        overflows: its profile says that more choices than fit belong to it.
        cursor: column and row.
        width: of the screen, in columns; 0: unknown.
        beside: on the screen, something else may stand behind each line.
    """
    rules = profile.question
    if rules.panel:
        text = _on_panel(rules, text, lines)
    inner = [_unframed(rules, line) for line in (text if rules.frame else _unbarred(text, lines))]
    found = numbered_choices(rules, text, inner, lines) or unnumbered_choices(rules, text, inner)
    if found is None and not dialog:
        found = choice_buttons(rules, text, inner, lines) or choice_keys(rules, text, inner)
        found = found or lettered_choices(rules, text, cursor, width)
    if found is not None and not (dialog and not any(one.means for one in found.question.choices)):
        return replace(found, rows=tuple(replace(row, beside=True) for row in found.rows)) if beside else found
    subject = one_line(doing, LONGEST_SUBJECT) or ("a dialog is open" if dialog else "it waits for an answer")
    begins = question_begin(rules, text)
    below = [line for line in inner[begins:] if has_words(line)] if begins else []
    shown = below[-_SHOWN:] or [line for line in asked.split("\n") if has_words(line)]
    detail = "" if dialog else plain("\n".join(shown))
    overflows = overflows or (not dialog and has_further(rules, inner))
    return ReadQuestion(OpenQuestion(question_id(subject, detail, ()), subject, detail, overflows=overflows))


_BAR = "│"
_SHOWN = 16
"""Most lines that are shown of what cannot be read exactly."""


def _unbarred(text: Sequence[str], lines: Sequence[str]) -> list[str]:
    """The lines with a blank for a dim bar in front of words that are not dim: the program has drawn it."""
    found = list(text)
    for row, (line, bright) in enumerate(zip(text, undimmed(lines), strict=False)):
        at = len(line) - len(line.lstrip())
        if line[at : at + 1] == _BAR and bright[: at + 1].isspace() and bright.strip():
            found[row] = f"{line[:at]} {line[at + 1 :]}"
    return found


def _unframed(rules: QuestionRules, line: str) -> str:
    stripped = line.rstrip()
    if rules.frame and stripped.lstrip()[:1] in tuple(rules.frame) and stripped.lstrip():
        stripped = stripped.lstrip()[1:]
        if not rules.panel and stripped[-1:] in tuple(rules.frame):
            stripped = stripped[:-1]
    return stripped.rstrip()


def _on_panel(rules: QuestionRules, text: Sequence[str], lines: Sequence[str]) -> list[str]:
    """The lines up to the right edge of the background of what is framed together, in which some have colours of their
    own, without a bar for scrolling. A row of buttons stays whole.
    """
    found, edges = list(text), dict[int, int]()
    for row, (line, styled) in enumerate(zip(text, lines, strict=False)):
        shown, colours = backgrounds(styled)
        start = len(shown) - len(shown.lstrip())
        if shown[start : start + 1] not in tuple(rules.frame) or not shown.strip():
            continue
        if not buttons_in(rules, line.strip()[1:])[0]:
            own = colours[start + 1] if start + 1 < len(colours) else ""
            end = next((n for n in range(start + 1, len(colours)) if colours[n] != own), len(shown))
            edges[row] = width(shown[:end])
    for row in edges:
        together = [row]
        for step in (-1, 1):
            while together[-1] + step in edges:
                together.append(together[-1] + step)
            together = together[::-1]
        edge = max(edges[each] for each in together)
        cells = accumulate(width(sign) for sign in found[row])
        found[row] = found[row][: sum(1 for cell in cells if cell <= edge)].rstrip()
    return found
