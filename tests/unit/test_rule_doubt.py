"""What the words of a shell line do not say is asked about, where a rule asks or denies."""

from pathlib import Path

import pytest

from gshtui.guard.rules.rule_book import line_matter, read_rules

RM = """\
[[rule]]
do = "deny"
program = "rm"
[[rule]]
do = "deny"
program = "git push"
flags = "--force"
[[rule]]
do = "deny"
hosts = "*.evil.example"
"""
HIDDEN = [
    ("rm x $X " + "A" * 9_000, "deny"),
    ("a=rm; $a x", "ask"),
    ('bash <<< "rm x"', "deny"),
    ("sh <<E\nrm x\nE", "deny"),
    ('bash <<< "$X"', "ask"),
    ("{rm,x}", "ask"),
    ("rm${IFS}x", "ask"),
    ("/bin/r? x", "ask"),
    ("r\\\nm x", "deny"),
    ("bash -c 'x=rm;$x x'", "ask"),
    ("git -c alias.p=push p", "ask"),
    ("git push --forc", "deny"),
    ("env r$x y", "ask"),
    ("eval 'r\\m' x", "deny"),
    ("cat x | sh", "ask"),
    ("bash -s x", "ask"),
    ("alias r=rm; r x", "ask"),
    ("xargs r[m]", "ask"),
    ("true " + "x" * 9_000, "ask"),
    ("git pu$x --force", "ask"),
    ("curl a.evil.example/x", "deny"),
    ("curl a.evil.example:80", "deny"),
    ("wget --url=A.evil.example", "deny"),
    ("curl $x", "ask"),
    ("python3 -c 'f(\"rm\", x)'", "ask"),
    ("echo $HOME", ""),
    ("ls *.py", ""),
    ("for f in a b; do wc $f; done", ""),
    ("make > out", ""),
    ("bash x.sh", ""),
]


@pytest.mark.parametrize(("command", "expected"), HIDDEN)
def test_what_words_do_not_say_is_asked_where_a_rule_denies(tmp_path: Path, command: str, expected: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(RM, encoding="utf-8")
    rules = read_rules(file)
    found = rules.decide(line_matter("bash", command))
    assert rules.mistakes == () and ("" if found is None else found.do) == expected
    assert expected != "ask" or (found is not None and "may be what this rule is about" in found.why)
