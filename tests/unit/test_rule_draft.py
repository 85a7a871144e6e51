"""The rule that `always` would save: no wider than it says, checked as the person left it, old approvals among them."""

from pathlib import Path

import pytest

from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.commands.declaration import RuleScope
from gshtui.guard.rules.rule_book import RuleBook, RuleMatter, line_matter, parse_rules
from gshtui.guard.rules.rule_draft import DraftError, check, coverage, draft, grant_rule

PROJECT = Path("/src/aurora")


def asked(command: str = "pytest -q tests") -> ApprovalRequested:
    return ApprovalRequested(
        approval="a",
        agent="main",
        session="s",
        call="c",
        tool="bash",
        effect="execute",
        subject=command,
        arguments={"command": command},
    )


def book(text: str, project: Path = PROJECT) -> RuleBook:
    found = parse_rules(Path("rules.toml"), text)
    assert found.mistakes == ()
    return RuleBook(found.rules, project=project)


def test_a_draft_covers_its_call_and_this_project_alone() -> None:
    text = draft("bash", PROJECT, "", RuleScope("pytest", ("-q",), exactly="pytest -q tests"))
    assert check(text, asked()).rule.program == ("pytest",)
    for line, runs in {"pytest -q a": True, "pytest a": True, "pytest -x a": False, "pytest -q /etc": False}.items():
        assert (book(text).decide(line_matter("bash", line)) is not None) is runs, line
    assert book(text, Path("/src/other")).decide(line_matter("bash", "pytest -q a")) is None
    assert book(text).decide(line_matter("terminal", "pytest -q a")) is None
    words = " ".join(coverage(text))
    assert "`pytest` with no flags but -q" in words and "Only in /src/aurora." in words


def test_exactly_is_this_command_and_no_other() -> None:
    text = draft("bash", PROJECT, "", RuleScope(exactly="make 'a b'"))
    for line, runs in {"make 'a b'": True, 'make "a b"': True, "make a b": False, "make 'a b' c": False}.items():
        assert (book(text).decide(line_matter("bash", line)) is not None) is runs, line
    assert book(text).decide(line_matter("bash", "make 'a b' > x")) is None
    about = draft("talk", PROJECT, "message agent 0007 (claude)", None)
    assert book(about).decide(RuleMatter("talk", about="message agent 0007 (claude)")) is not None
    assert book(about).decide(RuleMatter("talk", about="message agent 0008 (claude)")) is None
    assert book(about).decide(RuleMatter("talk")) is None
    denies = '[[rule]]\ndo = "deny"\nexactly = "npm publish"\n'
    found = book(denies).decide(line_matter("bash", "ls; npm publish"))
    assert found is not None and found.do == "deny"
    assert book(denies).decide(line_matter("bash", "npm test")) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there must be one rule"),
        ('[[rule]]\ndo = "allow"\nprogram = "make', "line 3"),
        ('[[rule]]\ndo = "allow"\nprogramme = "make"\n', "there is no `programme`"),
        ('[[rule]]\ndo = "allow"\n', "must name a program or paths"),
        ('[[rule]]\ndo = "deny"\nprogram = "pytest"\n', '`do` must be "allow"'),
        ('[[rule]]\ndo = "allow"\nprogram = "ruff"\n', "does not cover this call"),
        ('[[rule]]\ndo = "allow"\nprogram = "pytest"\nproject = "src"\n', "whole path"),
        ('[[rule]]\ndo = "allow"\nprogram = "pytest"\nflags = ["-q"]\n' * 2, "there are 2"),
    ],
)
def test_a_mistake_is_named_and_nothing_is_saved(text: str, said: str) -> None:
    with pytest.raises(DraftError, match=said):
        check(text, asked())


def test_odd_names_cannot_write_a_second_rule() -> None:
    evil = 'a"\n[[rule]]\ndo = "allow"\npaths = ["*"]\n\u202e\x7f'
    text = draft("write", PROJECT, "", RuleScope(paths=(evil,)))
    assert len(parse_rules(Path("r"), text).rules) == 1 and text.count("\n") == 5
    assert parse_rules(Path("r"), text).rules[0].paths == (evil,)
    assert "\u202e" not in text and "\x7f" not in text


@pytest.mark.parametrize(
    ("tool", "pattern", "words"),
    [
        ("bash", "cargo test --release …", "allow tool bash; program cargo test; flags --release; only in /src/aurora"),
        ("bash", "npm run build", "allow tool bash; exactly npm run build; only in /src/aurora"),
        ("write", "write files in /src/aurora/src", "allow tool write; paths src, src/*; only in /src/aurora"),
        ("edit", "edit /src/aurora/package.json", "allow tool edit; paths package.json; only in /src/aurora"),
        ("read", "read what is in /other", "allow tool read; paths /other, /other/*; only in /src/aurora"),
        ("python", "any Python", "allow tool python; exactly any Python; only in /src/aurora"),
    ],
)
def test_an_old_approval_is_a_rule_of_the_same_meaning(tool: str, pattern: str, words: str) -> None:
    rules = parse_rules(Path("r"), grant_rule(tool, pattern, PROJECT)).rules
    assert [rule.words for rule in rules] == [words]


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (("docs", "docs/*"), "any tool: everything below docs, at any depth."),
        (("docs/*", "/etc/hosts"), "any tool: everything below docs, at any depth; /etc/hosts."),
        (("src/*.py",), "any tool: src/*.py, where * is any text, with / too."),
        (("docs/*", "*"), "any tool: every file, outside the project too."),
        (("/*",), "any tool: every file, outside the project too."),
    ],
)
def test_what_a_rule_covers_is_said_of_all_its_paths(paths: tuple[str, ...], said: str) -> None:
    assert coverage(f'[[rule]]\ndo = "allow"\npaths = {list(paths)}\n')[0] == said
