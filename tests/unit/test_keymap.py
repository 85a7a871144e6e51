"""Remapping: what cannot work is refused with a sentence, and its default stays."""

import pytest

from gshtui.ui.kit.keys.key_table import KEYS, bind
from gshtui.ui.kit.keys.keymap import effective_keymap, normalised_key, why_impossible


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("^G", "ctrl+g"),
        ("Ctrl+G", "ctrl+g"),
        ("C-g", "ctrl+g"),
        ("M-x", "alt+x"),
        ("f5", "f5"),
        ("G", "G"),
        (" q ", "q"),
    ],
)
def test_keys_as_people_write_them(written: str, key: str) -> None:
    assert normalised_key(written) == key


def test_one_key_opens_every_menu() -> None:
    menus = {id: key.keys.split(",") for id, key in KEYS.items() if id.endswith(".menu")}
    assert len(menus) > 5
    assert [id for id, keys in menus.items() if "full_stop" not in keys] == []


def test_a_right_entry_is_applied() -> None:
    assert effective_keymap({"app.help": "f10, ^L"}) == ({"app.help": "f10,ctrl+l"}, [])


def test_entries_of_the_shell_are_no_problem() -> None:
    assert effective_keymap({"invoke_llm": "^G"}, elsewhere={"invoke_llm"}) == ({}, [])


@pytest.mark.parametrize(
    ("id", "keys", "says"),
    [
        ("app.hepl", "f10", "Did you mean 'app.help'"),
        ("app.help", "^X^A", "takes one key at a time"),
        ("app.help", "ctrl+i", "terminals send ctrl+i as tab"),
        ("app.help", "hyperspace+q", "'hyperspace' is not a modifier"),
        ("app.help", "blargh", "unknown key 'blargh'"),
        ("app.help", " , ", "it is not a key"),
        ("app.help", "ctrl+q", "already app.quit"),
        ("prompt.editor", "a", "a is typed there"),
        ("prompt.editor", "shift+a", "shift+a is typed there"),
        ("prompt.editor", "f10,question_mark", "question_mark is typed there"),
        ("prompt.editor", "space", "space is typed there"),
        ("pane.zoom", "x", "already pane.hide"),
        ("pane.zoom", "f6", "already panes.next"),
    ],
)
def test_a_wrong_entry_is_refused(id: str, keys: str, says: str) -> None:
    keymap, problems = effective_keymap({id: keys})
    assert keymap == {}
    assert len(problems) == 1 and says in problems[0]


def test_two_entries_that_clash_with_each_other() -> None:
    keymap, problems = effective_keymap({"app.help": "f10", "panes.next": "f10"})
    assert keymap == {"app.help": "f10"}
    assert "already app.help" in problems[0]


def test_the_same_key_in_places_that_never_meet_is_fine() -> None:
    assert effective_keymap({"pane.zoom": "y"}) == ({"pane.zoom": "y"}, [])


def test_every_key_of_the_table_is_possible() -> None:
    for id, row in KEYS.items():
        for key in row.keys.split(","):
            assert why_impossible(key) == "", (id, key)


def test_a_binding_has_all_that_its_row_says() -> None:
    binding = bind("app.help", "keys")
    assert (binding.id, binding.key, binding.description) == ("app.help", "f1", "Help")
    assert binding.tooltip == KEYS["app.help"].help
