"""What a program asks on its screen: the question, what it is about, and its own choices. Pure.

Nothing is guessed: a screen that does not look in every point as its profile says has no choices, and can be answered
only in its terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from msgspec.structs import replace

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.profiles.profile import Profile, QuestionRules
from gshtui.programs.screen.asked_question import ReadQuestion, question_id
from gshtui.programs.screen.choice_letters import lettered_choices
from gshtui.programs.screen.choice_lists import has_further, numbered_choices, unnumbered_choices
from gshtui.programs.screen.choice_rows import buttons_in, choice_buttons, choice_keys
from gshtui.programs.screen.dialog_title import question_begin
from gshtui.programs.screen.line_styles import backgrounds, undimmed
from gshtui.programs.screen.question_words import LONGEST_SUBJECT, has_words
from gshtui.text.cells import width
from gshtui.text.sanitise import one_line, plain


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
