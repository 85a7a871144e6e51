"""Whether two questions of a program are one, drawn in another way. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.screen.asked_question import question_id

_CUT = "…"


def is_cut_elsewhere(one: OpenQuestion, other: OpenQuestion) -> bool:
    """Whether they are one question whose choices its program has cut for another width: what they are about is the
    same character by character, and so are all choices, as far as each shows them. Where the meaning of one is not
    known, as of a model's own, they are the same only in whole.
    """
    if _about(one) != _about(other) or not (one.detail or one.diff) or one.partial or other.partial:
        return False
    if [(each.key, each.means) for each in one.choices] != [(each.key, each.means) for each in other.choices]:
        return False
    said = [[f"{each.label} {each.about}".rstrip() for each in asked.choices] for asked in (one, other)]
    pairs = list(zip(*said, strict=True))
    if not all(each.means for each in one.choices):
        return all(mine == theirs for mine, theirs in pairs)
    return all(mine == theirs or _begins(mine, theirs) or _begins(theirs, mine) for mine, theirs in pairs)


def as_told(shown: OpenQuestion, whole: OpenQuestion) -> OpenQuestion:
    """A question with all that is told of it, under an id of its own where that is more or other than the rows of its
    screen: an answer is to what was told, and not to the next one that looks the same.
    """
    if (whole.detail, whole.diff) == (shown.detail, shown.diff):
        return whole
    return replace(whole, id=question_id(shown.id, f"{whole.detail}\0{whole.diff}", ()), screen=shown.id)


def is_completed(one: OpenQuestion, other: OpenQuestion) -> bool:
    """Whether the other is the same question, of which more is told now than its screen shows."""
    return not one.screen and one.id == other.screen


def _about(question: OpenQuestion) -> tuple[str, str, str, list[str]]:
    return question.subject, question.detail, question.diff, question.beside.split()


def is_ticked_elsewhere(one: OpenQuestion, other: OpenQuestion) -> bool:
    """Whether they are one question, of whose boxes others are ticked: all else of it is the same."""
    return any(each.has_box for each in one.choices) and _unticked(one) == _unticked(other)


def _unticked(question: OpenQuestion) -> OpenQuestion:
    choices = [replace(each, label=f"[ ] {each.name}") if each.has_box else each for each in question.choices]
    return replace(question, id="", screen="", beside="", choices=tuple(choices))


def _begins(cut: str, label: str) -> bool:
    return cut.endswith(_CUT) and len(cut) > len(_CUT) and label.startswith(cut.removesuffix(_CUT))
