"""The rule that `always` would save: drafted from a call, shown before it is saved, and checked as the person left it.

A draft covers no more than it says, and only this project. Pure; `rule_file` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.commands.declaration import Effect, RuleScope
from gshtui.commands.known_tools import DOES
from gshtui.guard.rules.rule_book import GuardRule, RuleBook, RuleMatter, line_matter, parse_rules
from gshtui.guard.rules.rule_paths import escaped

_FILE = Path("the rule")


class DraftError(Exception):
    """What is wrong with a rule that a person wrote, in one sentence, with its line."""


class CheckedDraft(msgspec.Struct, frozen=True):
    """A rule that may be saved, and its text."""

    rule: GuardRule
    text: str


def draft(tool: str, project: Path, pattern: str, scope: RuleScope | None, machine: str = "") -> str:
    """The rule as TOML: it allows what the scope names, or exactly the pattern, for one tool in one project. `machine`:
    the other machine that the project is on.
    """
    scope = scope or RuleScope(exactly=pattern)
    lines: list[tuple[str, str | list[str]]] = [("do", "allow"), ("tool", tool)]
    if scope.program:
        lines.append(("program", scope.program))
        lines += [("flags", list(scope.flags))] if scope.flags else []
    elif scope.paths:
        lines.append(("paths", list(scope.paths)))
    else:
        lines.append(("exactly", scope.exactly))
    if project.is_absolute():
        lines.append(("project", str(project)))
    if machine:
        lines.append(("machine", machine))
    return "\n".join(("[[rule]]", *(f"{name} = {_toml(value)}" for name, value in lines))) + "\n"


def check(text: str, request: ApprovalRequested) -> CheckedDraft:
    """The one rule in the text, if it allows the call of this question. Raises `DraftError`: it is no rule, more than
    one, or does not allow this call.
    """
    book = parse_rules(_FILE, text)
    if book.mistakes:
        found = book.mistakes[0]
        raise DraftError(f"line {found.line}: {found.text}")
    if len(book.rules) != 1:
        raise DraftError(f"line 1: there must be one rule, and there are {len(book.rules)}.")
    rule = book.rules[0]
    if rule.do != "allow":
        raise DraftError('line 2: `do` must be "allow" here; rules that ask or deny are written in the file itself.')
    matter = call_matter(request.tool, request.effect, request.subject, request.pattern, request.arguments)
    if (
        matter is not None
        and RuleBook((rule,), project=Path(rule.project or "/"), machine=rule.machine).decide(matter) is None
    ):
        raise DraftError("the rule does not cover this call.")
    return CheckedDraft(rule, text.strip() + "\n")


def call_matter(tool: str, effect: str, subject: str, about: str, arguments: Mapping[str, Any]) -> RuleMatter | None:
    """A call as rules see it; `None` for a search, whose subject does not say where it looks."""
    command = arguments.get("command")
    if effect == Effect.EXECUTE.value and isinstance(command, str):
        return line_matter(tool, command)
    if DOES.get(tool) == "search" and effect == Effect.READ.value:
        return None
    path = subject if effect in (Effect.READ.value, Effect.WRITE.value) else ""
    return RuleMatter(tool, path=path, about=about)


def coverage(text: str) -> list[str]:
    """What a rule would let run without a question, in words: a line each; empty if it is no rule."""
    rules = parse_rules(_FILE, text).rules
    return list(_covered(rules[0])) if len(rules) == 1 else []


def _covered(rule: GuardRule) -> Iterator[str]:
    tools = " and ".join(rule.tool) or "any tool"
    if rule.exactly:
        yield f"{tools}: exactly `{rule.exactly}`, nothing else."
    elif rule.program:
        name = " ".join(rule.program)
        flags = (
            "any flags" if "*" in rule.flags else f"no flags but {' '.join(rule.flags)}" if rule.flags else "no flags"
        )
        where = f"paths {', '.join(rule.paths)}" if rule.paths else "any operands inside the project"
        yield f"{tools}: `{name}` with {flags} and {where}, such as `{_example(rule)}`."
    elif rule.paths:
        yield f"{tools}: {'; '.join(_places(rule.paths))}."
    else:
        yield f"{tools}: whatever it is called with."
    if rule.hosts:
        yield f"Only to {', '.join(rule.hosts)}."
    where = f" on {rule.machine}" if rule.machine else ""
    yield f"Only in {rule.project}{where}." if rule.project else f"In every project{where}."


def _places(paths: Sequence[str]) -> Iterator[str]:
    """Every place that the paths name; in a pattern, `*` goes across folders."""
    if any("*" in path and not path.strip("*/") for path in paths):
        yield "every file, outside the project too"
        return
    below = [path[:-2] for path in paths if path.endswith("/*")]
    if below:
        yield f"everything below {', '.join(below)}, at any depth"
    if files := [path for path in paths if path not in below and not path.endswith("/*")]:
        yield f"{', '.join(files)}{', where * is any text, with / too' if any('*' in one for one in files) else ''}"


def _example(rule: GuardRule) -> str:
    flags = [flag for flag in rule.flags if flag != "*"]
    return " ".join((*rule.program, *flags, "anything"))


def _folder(place: Path, project: Path) -> RuleScope:
    inside = place.is_relative_to(project) and place != project
    named = escaped(str(place.relative_to(project) if inside else place))
    return RuleScope(paths=(named, f"{named}/*"))


def grant_rule(tool: str, pattern: str, project: Path) -> str:
    """A pattern that was allowed before there were rules, as a rule of the same meaning or a narrower one."""
    words, scope = pattern.split(), None
    does, _, place = pattern.partition(" files in ") if " files in " in pattern else pattern.partition(" what is in ")
    if place and does == tool:
        scope = _folder(Path(place), project)
    elif tool in ("write", "edit") and pattern.startswith(f"{tool} /"):
        file = Path(pattern.removeprefix(f"{tool} "))
        scope = RuleScope(paths=(escaped(str(file.relative_to(project) if file.is_relative_to(project) else file)),))
    elif words[-1:] == ["…"]:
        flags = tuple(word for word in words[:-1] if word.startswith("-"))
        scope = RuleScope(" ".join(word for word in words[:-1] if not word.startswith("-")), flags)
    return draft(tool, project, pattern, scope)


def _toml(value: str | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_toml(one) for one in value)}]"
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in quoted)
