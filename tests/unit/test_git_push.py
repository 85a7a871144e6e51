"""Pushes that overwrite or delete at the other end, by flag or by refspec: the same question, the same rules."""

from pathlib import Path

import pytest

from gshtui.guard.policy.git_policy import overwrites, with_flags
from gshtui.guard.policy.shell_policy import judge
from gshtui.guard.rules.rule_book import line_matter, read_rules
from gshtui.tools.files.path_location import Location
from gshtui.tools.shell.shell_assessment import assess_line

OVERWRITES = (
    *("git push --force", "git push -f", "git push -uf origin x", "git push --force-with-lease", "git push --forc"),
    *("git push origin +main", "git push +main", "git push origin main +side", "git push -- origin +x:y"),
    *("git push origin :main", "git push -d origin x", "git push --delete origin x", "git push --mirror"),
    *("git push --prune origin", "git -C x push origin +HEAD:main", "git -c a=b push origin +x", "sudo git push +x y"),
    *("/usr/bin/git push origin +x", "git -c remote.origin.push=+a push", "git --git-dir .git push origin +x"),
)
PLAIN = (
    *("git push", "git push origin main", "git push -u origin x", "git push origin main:main", "git push --tags"),
    *("git push -o +x origin main", "git push --follow-tags", "git pull origin +main", "git log push +x"),
    *("git fetch origin +refs/heads/*:refs/remotes/origin/*", "echo git push", "git push --dry-run -v"),
)


@pytest.mark.parametrize("line", OVERWRITES)
def test_what_overwrites_is_found(line: str) -> None:
    assert overwrites(line.split())


@pytest.mark.parametrize("line", PLAIN)
def test_what_only_adds_is_none(line: str) -> None:
    assert not overwrites(line.split())


@pytest.mark.parametrize("line", OVERWRITES)
def test_it_asks_and_no_sandbox_makes_up_for_that(tmp_path: Path, line: str) -> None:
    judged = judge(line, tmp_path, tmp_path)
    assert judged.verdict == "ask" and not judged.contained
    for text in (line, f"true; {line}", f"bash -c '{line}'", f"echo $({line})"):
        found = assess_line(text, Location(".", tmp_path, tmp_path, True, "."), tmp_path)
        assert not found.sandbox and not found.pattern and not found.inside, text
        assert "deletes or overwrites permanently" in found.warnings, text
    assert judge("git push origin +main", tmp_path, tmp_path).rule == "force"


def test_a_plain_push_is_a_question_as_before(tmp_path: Path) -> None:
    found = assess_line("git push origin main", Location(".", tmp_path, tmp_path, True, "."), tmp_path)
    assert found.sandbox and not found.inside
    assert "deletes or overwrites permanently" not in found.warnings


def test_a_rule_about_the_flag_is_about_the_refspec(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '[[rule]]\ndo = "allow"\nprogram = "git push"\nexamples = ["git push origin main"]\n'
        'not_examples = ["git push origin +main", "git push origin :main"]\n'
        '[[rule]]\ndo = "deny"\nprogram = "git push"\nflags = ["--force"]\nexamples = ["git push origin +main"]\n',
        "utf-8",
    )
    book = read_rules(rules)
    assert not book.mistakes
    decided = {
        line: found.do if (found := book.decide(line_matter("bash", line))) is not None else ""
        for line in (
            "git push origin main",
            "git push origin +main",
            "bash -c 'git push x +y'",
            "git push origin :main",
        )
    }
    assert list(decided.values()) == ["allow", "deny", "deny", ""]


def test_the_flags_of_refspecs_are_put_behind() -> None:
    assert with_flags(("git", "push", "o", "+a", ":b", "+c")) == [
        "git",
        "push",
        "o",
        "+a",
        ":b",
        "+c",
        "--force",
        "--delete",
    ]
    assert with_flags(("git", "push", "o", ":")) == ["git", "push", "o", ":"]
    assert with_flags(()) == []


def test_a_line_of_many_options_is_no_long_work() -> None:
    assert overwrites(["git", "-c"] * 50_000) is False
    assert overwrites(["git", *["-c", "a=b"] * 100, "push", "origin", "+x"])
