"""Rules that live as long as a test: what a gate saves counts from then on."""

from pathlib import Path

from gshtui.guard.rules.rule_book import GuardRule, RuleBook, parse_rules


class MemoryRules:
    """`current` and `save` of `RuleFiles`, without a file."""

    def __init__(self, project: Path) -> None:
        self.text = ""
        self._project = project

    def current(self) -> RuleBook:
        """The rules so far."""
        return RuleBook(parse_rules(Path("rules.toml"), self.text).rules, project=self._project)

    def save(self, text: str) -> GuardRule:
        self.text += text
        return self.current().rules[-1]
