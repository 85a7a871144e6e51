"""What the answers of programs mean, and on which digits they are."""

import random

import pytest

from gshtui.bus.agent_data import Meaning
from gshtui.programs.screen.choice_meaning import digits_of, meaning_of

WORDS: dict[str, Meaning] = {
    "Yes": "once",
    "Yes, proceed": "once",
    "Yes, allow once": "once",
    "Allow once": "once",
    "Allow": "once",
    "Approve": "once",
    "Run it": "once",
    "Yes, and don't ask again for commands that start with `touch`": "more",
    "Yes, and always allow access to project/ from this project": "more",
    "Always allow run 'touch *' commands for this user": "more",
    "Allow for this session": "more",
    "Allow for remainder of this session": "more",
    "Allow always": "more",
    "Yes, I trust this folder": "more",
    "Trust and continue": "more",
    "No": "deny",
    "No (recommended)": "deny",
    "No, exit": "deny",
    "No, keep manual mode": "deny",
    "Reject": "deny",
    "Deny": "deny",
    "Cancel": "deny",
    "Don't allow": "deny",
    "Don't trust": "deny",
    "No, suggest changes": "words",
    "No, and tell Codex what to do differently": "words",
    "Yes, and switch to auto mode": "mode",
    "Yes, and use auto mode": "mode",
    "Yes, set auto mode as my default permission mode": "mode",
    "Yes, and auto-accept edits": "mode",
    "Yes, and bypass permissions": "mode",
    "Yes, allow all edits during this session (shift+tab)": "mode",
    "No, and switch to plan mode": "mode",
    "No thanks": "deny",
    "Reject all": "deny",
    "Deny and continue": "deny",
    "No restrictions": "",
    "No sandbox": "",
    "No, run without sandbox": "",
    "No, proceed without asking": "",
    "Don't run in a sandbox": "",
    "Cancel and run anyway": "",
    "Always deny": "",
    "Always reject `touch`": "",
    "Red": "",
    "Type something.": "",
    "Nope": "",
    "Yes, delete everything": "",
    "Yes, but only the first half": "",
    "No, always do it": "",
    "Never ask": "",
    "Update now (runs `npm install`)": "",
    "": "",
}


@pytest.mark.parametrize("label", WORDS)
def test_an_answer_means_what_its_words_say(label: str) -> None:
    assert meaning_of(label) == WORDS[label]


def test_the_words_of_a_profile_come_first() -> None:
    known: dict[Meaning, tuple[str, ...]] = {"once": ("^Go$",), "": ("^Yes$",)}
    assert (meaning_of("Go", known), meaning_of("Yes", known), meaning_of("No", known)) == ("once", "", "deny")


def test_words_in_another_order_never_get_another_meaning() -> None:
    """A refusal is never taken for a leave, what changes a mode never for an answer, whatever becomes of its words."""
    dice = random.Random(7)
    for label, meaning in WORDS.items():
        for _ in range(200):
            words = label.split()
            dice.shuffle(words)
            found = meaning_of(" ".join(words))
            if meaning in ("deny", "words"):
                assert found not in ("once", "more"), (label, words)
            elif meaning == "mode":
                assert found in ("", "mode", "deny"), (label, words)
            elif meaning in ("once", "more"):
                assert found in ("", meaning, "deny"), (label, words)


@pytest.mark.parametrize(
    ("meanings", "digits"),
    [
        (("once", "more", "mode", "deny"), "1264"),
        (("once", "more", "deny"), "124"),
        (("once", "more", "more", "words"), "1234"),
        (("once", "deny", "words"), "145"),
        (("mode", "once", "words"), "614"),
        (("mode", "deny"), "64"),
        (("deny", "more"), "42"),
        (("once", "mode", "", "deny"), "1674"),
        (("", "", "", ""), "1234"),
        (("once", "once", "deny"), "174"),
    ],
)
def test_the_digits_are_the_same_for_every_program(meanings: tuple[Meaning, ...], digits: str) -> None:
    assert digits_of(meanings) == tuple(digits)


def test_nothing_but_a_leave_is_on_its_digit_and_nothing_but_a_refusal_on_its_own() -> None:
    dice = random.Random(11)
    kinds: tuple[Meaning, ...] = ("once", "more", "deny", "words", "mode", "")
    for _ in range(3_000):
        meanings: list[Meaning] = [dice.choice(kinds) for _ in range(dice.randrange(2, 10))]
        digits = digits_of(meanings)
        if not digits or not any(meanings):
            continue
        assert len(set(digits)) == len(digits)
        on = dict(zip(digits, meanings, strict=True))
        assert on.get("1", "once") == "once"
        assert on.get("4", "deny") in ("deny", "words")
        assert on.get("5", "words") == "words"
        assert all(on.get(digit, "more") in ("more",) for digit in "23")
