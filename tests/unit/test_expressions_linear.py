"""Every regular expression of the package takes time in proportion to the text, whatever the text is."""

import fnmatch
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable

import pytest

from gshtui.hosts.host_errors import SSH_MESSAGES
from gshtui.text.glob_pattern import compile_glob, compile_ignore_rule
from tests.kit import attacks, source

MADE = {
    ("gshtui/fleet/terminal_tools/sentinel.py", "f'^(?:> ?){{0,{left}}}'"): [r"^(?:> ?){0,40}"],
    ("gshtui/context/cuts/summary.py", "begins"): [r"(?im)^(?:[#*\d.]|[^\S\n])*+What\ was\ done\b"],
    ("gshtui/providers/selection.py", "known.models"): [r"claude-", r"gpt-|o\d|chatgpt-", r"(models/)?gemini-"],
    ("gshtui/shell/pairing.py", "'|'.join((fnmatch.translate(pattern) for pattern in wanted))"): [
        fnmatch.translate("*a*a*a*a*b"),
        fnmatch.translate("*[ab]*?*a?b*"),
        "|".join(map(fnmatch.translate, ("git *a*", "*secret*", "*a*"))),
    ],
    (
        "gshtui/ui/prompt/fuzzy.py",
        "''.join((f'(?>.*?{re.escape(letter)})' for letter in query))",
    ): ["(?s)(?>.*?a)(?>.*?a)(?>.*?a)(?>.*?a)(?>.*?b)", "(?s)(?>.*?a)(?>.*?/)(?>.*?a)"],
    ("gshtui/guard/policy/program_table.py", "text"): [
        *tomllib.loads((source.ROOT / "gshtui/guard/policy/program_table.toml").read_text("utf-8"))[
            "next_word"
        ].values()
    ],
    ("gshtui/hosts/host_errors.py", "pattern"): [pattern for pattern, *_ in SSH_MESSAGES],
    ("gshtui/headless/program/program_check.py", "pattern"): [
        shows
        for setup in sorted((source.ROOT / "gshtui/programs/check/setups").glob("*.toml"))
        for shows in re.findall(r'\bshows = "([^"]*)"', setup.read_text("utf-8"))
    ],
    ("gshtui/text/glob_pattern.py", "choices"): [
        compile_glob(pattern, anywhere=True).pattern for pattern in ("*a*a*a*b", "**/a*/**/*b", "{*a,a*}*{a,b}", "a/**")
    ],
    ("gshtui/text/glob_pattern.py", "_translated(rule, '/' if only_folders else '(?:/|\\\\Z)')"): [
        rule[0].pattern
        for line in ("*a*a*a*b", "/a*/**/*b/", "a/**", "*[!b]a/", "**/a?/**/a*/**/b")
        if (rule := compile_ignore_rule(line)) is not None
    ],
    ("gshtui/features/code/code_queries.py", "f'(?<!\\\\w){re.escape(word)}(?!\\\\w)'"): [r"(?<!\w)aaaa(?!\w)"],
    (
        "gshtui/features/code/language_servers.py",
        "b'(?<!\\\\w)%b(?!\\\\w)' % re.escape(word.encode('utf-8', 'replace'))",
    ): [r"(?<!\w)aaaa(?!\w)"],
    ("gshtui/guard/policy/refusal.py", "f'-[A-Za-z]*?{short}(?=[/~.$])'"): [r"-[A-Za-z]*?t(?=[/~.$])"],
    ("gshtui/guard/policy/refusal.py", "f'-[A-Za-z]*{short}'"): [r"-[A-Za-z]*t"],
    # Its results are held by its module, where they are found.
    ("gshtui/guard/secrets/redaction.py", "*"): [],
    ("gshtui/text/secret_shapes.py", "*"): [],
}
"""Expressions that are made while the program runs, with examples of the worst of them."""

CHILD = """
import json, sys
from tests.kit import attacks, expressions
uses, unknown = expressions.find_uses()
slow = {}
for use in uses:
    attack = attacks.superlinear(use.expression, use.run)
    if attack is not None:
        slow[f"{use.where} {use.operation}"] = repr(attack)
print(json.dumps([len(uses), slow, [(each.file, each.expression) for each in unknown]]))
"""


@pytest.mark.timeout(300)
def test_no_expression_of_the_package_backtracks() -> None:
    """In a process of its own: one that does is ended by a signal, which only the first thread gets."""
    ran = subprocess.run(
        [sys.executable, "-c", CHILD],
        capture_output=True,
        text=True,
        timeout=290,
        cwd=source.ROOT,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    number, slow, made = json.loads(ran.stdout)
    assert number > 150
    assert slow == {}, "what takes more than proportionally longer"
    unknown = {tuple(each) for each in made if (each[0], "*") not in MADE}
    assert unknown == {each for each in MADE if each[1] != "*"}, "give examples of what is made at run time"


@pytest.mark.parametrize("pattern", [example for examples in MADE.values() for example in examples])
def test_expressions_made_at_run_time(pattern: str) -> None:
    expression = re.compile(pattern)
    assert attacks.superlinear(expression, expression.match) is None


@pytest.mark.parametrize(
    ("pattern", "operation"),
    [
        (r"(a+)+b", "match"),
        (r"(?:a|aa)+b", "fullmatch"),
        (r"\s+$", "search"),
        (r"(x\w+\s*)*y", "match"),
        (r"\d+[^\n]*\]\Z", "match"),
        (r"<!--.*?-->", "search"),
        (r"[ab]*a.*b[^c]*d", "match"),
        (r"(\w+):(.+?) => (.*)!", "match"),
        (r"\S+\s*\Z", "search"),
        (r"(?P<key>[A-Za-z][A-Za-z0-9_-]*):(?:[ \t]+(?P<value>.*))?$", "match"),
        (r"\s*(\d+(?:\.\d+)?)\s*s?\s*", "fullmatch"),
        (r"(?:\x1b\[[0-9;:]*m)*\x1b\[(?:[0-9;:]*;)?7m[%#]", "search"),
        (r"(\d+)\.(\d+)", "search"),
        (r'(?:^|[\s(\[{,;:])(@(?:"[^"\n]*|[^\s"]*))$', "search"),
        (r"( {0,3})(`{3,}|~{3,})[ \t]*([^`\n]*)$", "match"),
        (r" *(?:[-*+]|\d{1,9}[.)])? *(`{3,}|~{3,})[^`\n]*$", "match"),
        (r".*?a.*?a.*?a.*?b", "search"),
        (r"(?:[^%\\-][^%\\]*|[^%\\]|%%)*", "fullmatch"),
    ],
)
def test_the_attacks_find_what_backtracks(pattern: str, operation: str) -> None:
    expression = re.compile(pattern)
    run: Callable[[str], object] = getattr(expression, operation)
    assert attacks.superlinear(expression, run) is not None
