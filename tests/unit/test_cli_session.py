"""What came since a prompt, out of two pictures of a conversation."""

from gshtui.programs.session.cli_session import added_lines


def test_only_what_came_is_given_without_the_echo() -> None:
    before = ["Welcome", "", "❯ one", "", "● First."]
    after = [*before, "", "❯ two", "", "● Second.", "  more"]
    assert added_lines(before, after, "two") == "● Second.\n  more"


def test_the_same_answer_twice_is_read_as_the_second_one() -> None:
    before = ["❯ go", "● Done."]
    assert added_lines(before, ["❯ go", "● Done.", "", "❯ go", "● Done.", "", "● And done."], "go") == "● And done."


def test_what_scrolled_away_is_found_again_by_what_is_left() -> None:
    before = [f"line {number}" for number in range(30)]
    assert added_lines(before, [*before[20:], "new", "newer"]) == "new\nnewer"


def test_without_anything_in_common_only_new_lines_count() -> None:
    assert added_lines(["a", "b", "c"], ["x", "a", "y"]) == "x\ny"
    assert added_lines([], ["x"]) == "x"


def test_a_scroll_bar_that_comes_makes_no_row_new() -> None:
    before = ["> one", "● First.", "● done"]
    shown = ["> one", "● First.      ▆", "● done        █", "> two         █", "● Second.", ""]
    assert added_lines(before, shown, "two").startswith("> two")
    assert "First" not in added_lines(before, shown, "two")


def test_an_echo_behind_a_sign_of_the_programs_own_is_no_answer() -> None:
    assert added_lines(["Roe", "* done"], ["Roe", "* done", "» go on", "• go on", "✔ took 4 s"], "go on") == (
        "• go on\n✔ took 4 s"
    )
    assert added_lines(["Roe"], ["Roe", "λ: one", "   two", "Did it."], "one\ntwo") == "λ: one\n   two\nDid it."
    assert added_lines(["Roe"], ["Roe", "» one", "  two", "Did it."], "one\ntwo") == "Did it."
