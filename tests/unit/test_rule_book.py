"""Rules in TOML: what each matches, the strictest wins, a mistake allows nothing, and a project only tightens."""

import json
from pathlib import Path

import pytest

from gshtui.bus.bus import Bus
from gshtui.commands.declaration import Assessment, Effect, JudgedPart
from gshtui.guard.approval.gate import Call, Gate, Verdict
from gshtui.guard.commands import ruled
from gshtui.guard.modes import MODES, AgentModes
from gshtui.guard.policy.sensitive_paths import guarded
from gshtui.guard.policy.shell_policy import judge
from gshtui.guard.rules.rule_book import RuleBook, RuleFiles, RuleMatter, line_matter, parse_rules, read_rules
from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.warm_program import run_gsh

PUSH = """\
# what I think of pushing
[[rule]]
do = "allow"
program = "git push"
flags = ["--tags"]
examples = ["git push origin main", "git push --tags"]
not_examples = ["git push --force", "git pull", "git push; rm x"]

[[rule]]
do = "deny"
program = "git push"
flags = ["--force", "-f"]
why = "history is shared"
examples = ["git push -uf origin", "sudo git push --force", "bash -c 'git push -f'", "echo $(git push --force=x)"]
not_examples = ["git push"]
"""


def book(folder: Path, text: str, *, tighten: bool = False) -> RuleBook:
    file = folder / "rules.toml"
    file.write_text(text, encoding="utf-8")
    return read_rules(file, tighten=tighten)


def decided(rules: RuleBook, command: str, *free: int) -> str:
    found = rules.decide(line_matter("bash", command), free=frozenset(free))
    return "" if found is None else found.do


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git push origin main", "allow"),
        ("git push --tags", "allow"),
        ("git push --all", ""),
        ("git push && git push --tags", "allow"),
        ("git push && make", ""),
        ("git push > out", ""),
        ("git push $(cat x)", "ask"),
        ("git push ?-receive* ./sub/n", "ask"),
        ("git commit -m $X", ""),
        ("GIT_SSH=x git push", ""),
        ("git push --force", "deny"),
        ("git push && git push -f", "deny"),
        ("git -C x push -f", "deny"),
        ("/usr/bin/git push -f", "deny"),
        ("env git push --force", "deny"),
        ("true; if x; then git push -f; fi", "deny"),
        ("git pull", ""),
    ],
)
def test_the_strictest_that_matches_wins(tmp_path: Path, command: str, expected: str) -> None:
    rules = book(tmp_path, PUSH)
    assert rules.mistakes == () and [rule.name for rule in rules.rules] == ["rules.toml:2", "rules.toml:9"]
    assert decided(rules, command) == expected


def test_what_only_reads_needs_no_rule_beside_what_one_allows(tmp_path: Path) -> None:
    rules = book(tmp_path, PUSH)
    assert decided(rules, "git status && git push") == ""
    assert decided(rules, "git status && git push", 0) == "allow"


def test_paths_and_hosts_and_tools(tmp_path: Path) -> None:
    rules = book(
        tmp_path,
        '[[rule]]\ndo = "ask"\ntool = ["write", "edit"]\npaths = "docs/*"\nexamples = "docs/a/b.md"\n'
        '[[rule]]\ndo = "allow"\ntool = "write"\npaths = ["src/*"]\n'
        '[[rule]]\ndo = "allow"\nprogram = "curl"\nflags = ["-s"]\nhosts = ["*.example.org"]\n'
        'examples = "curl -s https://api.example.org/x"\nnot_examples = ["curl https://example.com", "curl -o f x"]\n'
        '[[rule]]\ndo = "deny"\nhosts = "evil.example"\nexamples = ["curl http://evil.example/?a"]\n',
    )
    assert rules.mistakes == ()
    for tool, path, expected in (
        ("write", "docs/x.md", "ask"),
        ("edit", "docs/x.md", "ask"),
        ("read", "docs/x.md", ""),
        ("write", "src/a.py", "allow"),
        ("edit", "src/a.py", ""),
        ("write", "src/../docs/x", "ask"),
        ("write", "/src/a.py", ""),
    ):
        found = rules.decide(RuleMatter(tool, path=path))
        assert ("" if found is None else found.do) == expected, (tool, path)
    assert decided(rules, "curl -s https://user@api.example.org:443/x http://evil.example") == "deny"


MISTAKES = {
    '[[rule]]\ndo = "allow"\nprogram = "make"\n[[rule]]\ndo = "maybe"\n': (4, "`do` must be"),
    '[[rule]]\ndo = "allow"\nprogram = "make"\n\n[[rule]]\ndo = "deny"\nprogramm = "x"\n': (5, "no `programm`"),
    '[[rule]]\ndo = "allow"\nprogram = "make"\n[[rule]]\ndo = "deny\n': (5, ""),
    '[[rule]]\ndo = "allow"\nprogram = "make"\nexamples = ["make x", "cmake"]\n': (1, "does not cover its example"),
    '[[rule]]\ndo = "allow"\nprogram = "make"\nnot_examples = ["make x"]\n': (1, "covers what it must not"),
    '[[rule]]\ndo = "allow"\n[[rule]]\ndo = "allow"\nprogram = "make"\n': (1, "must name a program or paths"),
    'x = 1\n[[rule]]\ndo = "allow"\nprogram = "make"\n': (1, "something else"),
    '[[rule]]\ndo = "allow"\nprogram = ["make"]\n': (1, "must be text"),
    '[[rule]]\ndo = "allow"\nprogram = "make"\nflags = 3\n': (1, "must be text, or a list"),
    '[[rule]]\ndo = "allow"\nprogram = "make"\n[["rule"]]\ndo = "deny"\nprogram = "cmake"\n': (1, "begin with"),
    '[[rule]]\ndo = "allow"\nprogram = "make"\n[other]\ndo = "deny"\n': (1, "begin with"),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_allows_nothing_and_is_named_with_its_line(tmp_path: Path, text: str) -> None:
    rules = book(tmp_path, text + '[[rule]]\ndo = "deny"\nprogram = "rm"\n')
    line, words = MISTAKES[text]
    (mistake,) = rules.mistakes
    assert mistake.line == line and words in mistake.text and f"rules.toml:{line}: " in str(mistake)
    assert [rule.do for rule in rules.rules if rule.do == "allow"] == []
    assert decided(rules, "make x") == "" and decided(rules, "rm x") == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "git push --tags ?-receive* ./sub/n",
        "git push {a,b}",
        "git push ~/n",
        "git push x=~/n",
        "git push [a]",
        "git push ./sub/n",
        "git push sub/n",
        "git push bare",
        "git push /srv/n",
        "git push ../n",
        "git push ext::sh",
        "git push file:///srv/n",
        "git push host:n",
        "cd sub && git push",
        "cd .. && git push",
        "git push " + "x" * 9_000,
    ],
)
def test_an_allow_covers_written_words_and_no_repository_of_this_machine(tmp_path: Path, command: str) -> None:
    project = tmp_path / "project"
    for folder in (project / "bare", project / "sub"):
        folder.mkdir(parents=True)
    own = tmp_path / "rules.toml"
    own.write_text('[[rule]]\ndo = "allow"\nprogram = "git push"\nflags = ["--tags"]\n', encoding="utf-8")
    rules = RuleFiles(own, project).current()
    assert decided(rules, "git push --tags origin HEAD:main v1.0") == "allow"
    assert decided(rules, f"cd {project} && git push", 0) == "allow"
    assert decided(rules, command, *([0] if command.startswith("cd") else [])) == ""


async def test_what_is_asked_so_is_asked_in_yolo_too(tmp_path: Path) -> None:
    denying = book(tmp_path, '[[rule]]\ndo = "deny"\nprogram = "rm"\n')
    line = Assessment(Effect.EXECUTE, "a", sandbox=True)
    assert (await reviewed(denying, "yolo", "a=rm; $a x", line)).allowed is False
    assert (await reviewed(denying, "yolo", "make x", line)).allowed


def test_a_project_only_tightens_and_files_are_read_again(tmp_path: Path) -> None:
    own, project = tmp_path / "rules.toml", tmp_path / "project"
    (project / ".gsh").mkdir(parents=True)
    files = RuleFiles(own, project)
    assert files.current() == RuleBook(project=project)
    own.write_text('[[rule]]\ndo = "allow"\nprogram = "make"\n', encoding="utf-8")
    assert decided(files.current(), "make") == "allow"
    theirs = project / ".gsh" / "rules.toml"
    theirs.write_text('[[rule]]\ndo = "ask"\nprogram = "make"\n', encoding="utf-8")
    assert decided(files.current(), "make") == "ask"
    theirs.write_text('[[rule]]\ndo = "allow"\nprogram = "touch"\n', encoding="utf-8")
    assert decided(files.current(), "touch x") == "" and decided(files.current(), "make") == "allow"
    assert "only ask and deny" in files.current().mistakes[0].text


def test_no_tool_may_write_the_rules(tmp_path: Path) -> None:
    assert guarded(Path.home() / ".config" / "gsh" / "rules.toml") and guarded(tmp_path / ".gsh" / "rules.toml")


async def reviewed(rules: RuleBook, mode: str, command: str, assessment: Assessment) -> Verdict:
    bus = Bus()
    modes = AgentModes(bus, "main", next(one for one in MODES if one == mode))
    gate = Gate(bus, respondent="nobody", auto_approve=frozenset({"read"}), modes=modes, rules=lambda: rules)
    try:
        return await gate.review(Call("main", "s", "c", "bash", {"command": command}), assessment)
    finally:
        await gate.close()
        await bus.close()


@pytest.mark.parametrize("mode", MODES)
async def test_a_rule_stands_above_every_mode_but_plan(tmp_path: Path, mode: str) -> None:
    rules = book(tmp_path, PUSH + '[[rule]]\ndo = "ask"\nprogram = "make"\nwhy = "slow"\n')
    push = Assessment(Effect.EXECUTE, "git push", inside=False, sandbox=True)
    denied = await reviewed(rules, mode, "git push --force", push)
    assert not denied.allowed and "rules.toml:9 denies this: history is shared" in denied.reason
    made = await reviewed(rules, mode, "make", Assessment(Effect.EXECUTE, "make", sandbox=True))
    assert not made.allowed
    allowed = await reviewed(rules, mode, "git push", push)
    assert allowed.allowed is (mode != "plan") and not allowed.sandboxed
    secret = Assessment(Effect.EXECUTE, "x", inside=False, parts=(JudgedPart("git push .env", "ask", "secret"),))
    assert (await reviewed(rules, "ask", "git push .env", secret)).allowed is False
    forever = await reviewed(
        book(tmp_path, '[[rule]]\ndo = "allow"\nprogram = "rm"\nflags = ["*"]\n'), mode, "rm -rf /", push
    )
    assert "Always refused" in forever.reason


@pytest.mark.parametrize("line", ["git log && make test > out", "make test & git log", "(git log; make test)"])
def test_a_rule_allows_no_line_that_is_not_made_of_plain_words(tmp_path: Path, line: str) -> None:
    """Though some of its parts only read, and the rule covers the others."""
    rules = book(tmp_path, '[[rule]]\ndo = "allow"\nprogram = "make"\nflags = ["*"]\n')
    judged = judge(line, tmp_path, tmp_path)
    assert "allow" in {part.verdict for part in judged.parts}
    assert ruled(judged, line, rules).verdict == "ask"
    assert ruled(judge("git log && make", tmp_path, tmp_path), "git log && make", rules).verdict == "allow"


def test_the_command_explains_and_lists_them(tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    file = home.config / "gsh" / "rules.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(PUSH, encoding="utf-8")
    for line, verdict, rule in (
        ("git push", "allow", "rules.toml:2"),
        ("git status; git push -f", "deny", "rules.toml:9"),
        ("git pull", "ask", ""),
        ("rm -rf /", "deny", "catastrophe"),
    ):
        found = run_gsh("guard", "check", "--json", line, cwd=project).json
        assert found["verdict"] == verdict and found["rule"].startswith(rule), found
    lines = "".join(json.dumps({"command": one}) + "\n" for one in ("git push", "git push -f"))
    ran = run_gsh("guard", "check", "-", cwd=project, stdin=lines.encode())
    assert [one["verdict"] for one in ran.lines] == ["allow", "deny"]
    (home.config / "gsh" / "config.toml").write_text("[agent]\nmode = 3\n", encoding="utf-8")
    said = [run_gsh("guard", "check", word, cwd=project, stdin=lines.encode()).err for word in ("ls", "-")]
    assert "agent.mode" in said[0] and said[0] == said[1], "a file that is wrong is told in either form"
    (home.config / "gsh" / "config.toml").unlink()
    assert [one["do"] for one in run_gsh("guard", "rules", "--json", cwd=project).json["rules"]] == ["allow", "deny"]
    ran = run_gsh("prompt", "--mode", "yolo", "run git push --force", cwd=project)
    assert ran.code == 4 and "history is shared" in ran.err
    file.write_text(PUSH + "[[rule]]\ndo = 3\n", encoding="utf-8")
    ran = run_gsh("prompt", "hello", cwd=project)
    assert "rules.toml:16" in ran.err and "allows nothing" in ran.err


@pytest.mark.parametrize(
    ("rule", "line", "runs"),
    [
        ('program = "touch"', "touch new", True),
        ('program = "touch"', "touch here/new", True),
        ('program = "touch"', "touch away/new", False),
        ('program = "touch"', "touch new away", False),
        ('program = "touch"', "touch back/new", True),
        ('program = "dd"', "dd if=a of=away/new", False),
        ('program = "touch"\npaths = ["away/*"]', "touch away/new", False),
        ('exactly = "touch away/new"', "touch away/new", True),
    ],
)
def test_a_rule_for_the_project_does_not_follow_its_links_out_of_it(
    tmp_path: Path, rule: str, line: str, runs: bool
) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    for folder in (project / "src", other):
        folder.mkdir(parents=True)
    (project / "away").symlink_to(other)
    (project / "here").symlink_to("src")
    (project / "back").symlink_to(other / ".." / "project" / "src")
    book = RuleBook(parse_rules(Path("rules.toml"), f'[[rule]]\ndo = "allow"\n{rule}\n').rules, project=project)
    assert (book.decide(line_matter("bash", line)) is not None) is runs


def test_a_rule_without_paths_does_not_allow_what_was_judged_outside(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "away").symlink_to("/")
    text = '[[rule]]\ndo = "allow"\nprogram = "touch"\n'
    book = RuleBook(parse_rules(Path("rules.toml"), text).rules, project=tmp_path)
    assert ruled(judge("touch new", tmp_path / "sub", tmp_path), "touch new", book).verdict == "allow"
    assert ruled(judge("touch away/new", tmp_path / "sub", tmp_path), "touch away/new", book).verdict == "ask"
