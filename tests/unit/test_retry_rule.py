"""When a block may not be run again."""

from gshtui.python.interpreters import RetryRule


def test_a_block_that_failed_is_not_run_again_unchanged() -> None:
    rule = RetryRule()
    assert rule.objection("x = y") == ""
    rule.note_failure("x = y", "NameError in line 1")
    assert "NameError in line 1" in rule.objection("x = y\n")
    assert rule.objection("y = 1\nx = y") == ""


def test_the_fourth_blind_try_is_refused_until_something_was_looked_at() -> None:
    rule = RetryRule()
    for number in range(3):
        assert rule.objection(f"try_{number}()") == ""
        rule.note_failure(f"try_{number}()", "NameError")
    assert "3 blocks failed in a row" in rule.objection("try_3()")
    rule.note_progress()
    assert rule.objection("try_3()") == ""
    assert rule.objection("try_0()") == ""
