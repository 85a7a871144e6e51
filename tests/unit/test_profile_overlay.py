"""Overlays: single keys and rules of a profile changed by a file, over whatever ships."""

from pathlib import Path

import pytest

from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.profiles.profile_overlay import key_path

SHIPPED = profiles.load(Path("/nonexistent"))


def loaded(folder: Path, text: str, name: str = "claude") -> profiles.LoadedProfiles:
    (folder / f"{name}.toml").write_text(text, "utf-8")
    return profiles.load(folder)


def test_what_an_overlay_does_not_name_stays_as_it_ships(tmp_path: Path) -> None:
    found = loaded(tmp_path, 'extends = "claude"\n[timing]\nstart = 55\n[hooks.answers]\nMaybe = "deny"\n')
    assert found.problems == ()
    own, shipped = found.get("claude"), SHIPPED.get("claude")
    assert own.timing.start == 55
    assert own.timing.idle == shipped.timing.idle
    assert own.hooks.answers == {**shipped.hooks.answers, "Maybe": "deny"}
    assert own.rules == shipped.rules
    assert found.origins["claude"] == tmp_path / "claude.toml"


def test_rules_are_changed_added_placed_and_removed_by_their_names(tmp_path: Path) -> None:
    names = [rule.name for rule in SHIPPED.get("claude").rules]
    text = """
extends = "claude"
remove = ["rules.tool", "input.above", 'text.first."!"']
[[rules]]
name = "rest"
all = ['^new']
[[rules]]
name = "plan"
status = "waiting"
all = ['^plan']
[[rules]]
name = "second"
status = "waiting"
all = ['^second']
[[rules]]
name = "last"
status = "thinking"
all = ['^last']
after = "rest"
[[rules]]
name = "working"
before = "plan"
"""
    found = loaded(tmp_path, text)
    assert found.problems == ()
    own = found.get("claude")
    kept = [name for name in names if name not in ("tool", "working")]
    assert [rule.name for rule in own.rules] == ["working", "plan", "second", *kept, "last"]
    rest = next(rule for rule in own.rules if rule.name == "rest")
    assert (rest.all, rest.input) == (("^new",), True), "its other keys are as they ship"
    assert own.input.above == ""
    assert own.text.first == {}


def test_an_overlay_under_another_name_is_another_program(tmp_path: Path) -> None:
    found = loaded(tmp_path, 'extends = "claude"\nname = "claude-beta"\nprograms = ["claude-beta"]\n', "beta")
    assert found.for_argv(["claude"]).name == "claude"
    assert found.for_argv(["claude-beta"]).rules == SHIPPED.get("claude").rules


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('extends = "clode"', "`extends` names 'clode'"),
        ("extends = ['claude']", "`extends` names"),
        ('extends = "claude"\nremove = ["rules.nothing"]', "names the rule 'nothing'; there are"),
        ('extends = "claude"\nremove = ["input.aboove"]', "which the profile below does not have"),
        ('extends = "claude"\nremove = ["a b"]', "which is no key"),
        ('extends = "claude"\nremove = 3', "must be a list of keys"),
        ('extends = "claude"\nrules = 3', "must be tables"),
        ('extends = "claude"\n[[rules]]\nstatus = "idle"', "a rule has no `name`"),
        ('extends = "claude"\n[[rules]]\nname = "rest"\nbefore = "no"', "`before` of the rule 'rest' names"),
        ('extends = "claude"\n[[rules]]\nname = "rest"\nbefore = "tool"\nafter = "tool"', "both `before` and `after`"),
        ('extends = "claude"\n[[rules]]\nname = "new"\nstatus = "idle"', "'new' has nothing in `all`"),
        ('extends = "claude"\n[[rules]]\nname = "rest"\nall = ["(?=x)"]', "of `rules[rest].all[0]` is wrong"),
        ('extends = "claude"\n[input]\nlime = "x"', "unknown field `lime`"),
        ('extends = "claude"\ninput = 3', "`$.input`"),
        ("[timing]\nstart = 5", 'begins with `extends = "claude"`'),
    ],
)
def test_a_wrong_overlay_is_a_sentence_with_its_file_and_changes_nothing(tmp_path: Path, text: str, says: str) -> None:
    found = loaded(tmp_path, text)
    (problem,) = found.problems
    assert says in problem
    assert problem.startswith(str(tmp_path / "claude.toml"))
    assert found.get("claude") == SHIPPED.get("claude")


def test_a_file_that_has_become_wrong_leaves_what_was_read_before(tmp_path: Path) -> None:
    good = loaded(tmp_path, 'extends = "claude"\n[timing]\nstart = 55\n')
    (tmp_path / "claude.toml").write_text('extends = "claude"\n[timing]\nstart = "x"\n', "utf-8")
    now = profiles.load(tmp_path, good)
    assert now.get("claude") == good.get("claude")
    assert "`$.timing.start`" in now.problems[0]
    assert "last goes on to count" in now.problems[0]
    (tmp_path / "claude.toml").unlink()
    assert profiles.load(tmp_path, now).get("claude") == SHIPPED.get("claude")


def test_every_shipped_rule_has_a_name_of_its_own() -> None:
    for profile in SHIPPED.profiles.values():
        names = [rule.name for rule in profile.rules]
        assert all(names) and len(set(names)) == len(names), profile.name


def test_a_key_is_written_as_in_toml() -> None:
    assert key_path('text.first."!"') == ("text", "first", "!")
    assert key_path("input.above") == ("input", "above")
