"""Writes a person's own file of rules: adds one at the end, removes one. Readers and crashes never see half of it.

Refuses to add to a file with a mistake, since that allows nothing until it is corrected. Called when a person answers
`always`, and by the command `approvals`. Blocks for a moment.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator
from pathlib import Path

from gshtui.guard.rules.rule_book import GuardRule, parse_rules, rule_starts
from gshtui.settings import paths
from gshtui.settings.toml_file import read_bytes
from gshtui.system.expected_error import ExpectedError
from gshtui.system.files import private_files
from gshtui.system.files.file_lock import try_lock

_WAIT = 5.0
"""Seconds to wait for another process that changes the file."""
_HEAD = "# Rules about what agents may do: allow, ask or deny. `gsh-tui guard rules` lists them.\n"


class RuleFileError(ExpectedError):
    """Why the file was not changed, in one sentence."""


def own_file() -> Path:
    return paths.config_file().with_name("rules.toml")


def add_rule(file: Path, text: str) -> GuardRule:
    """Add one rule; one that is there already is not added twice. Raises `RuleFileError`: the text is not one rule, the
    file has a mistake, or it cannot be written.
    """
    with _locked(file):
        before = _text(file)
        if (broken := parse_rules(file, before)).mistakes:
            found = broken.mistakes[0]
            raise RuleFileError(f"{found.file}:{found.line}: {found.text} Nothing can be added until it is corrected.")
        separator = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        after = f"{before or _HEAD}{separator or chr(10)}{text.strip()}\n"
        book = parse_rules(file, after)
        if book.mistakes or len(book.rules) != len(broken.rules) + 1:
            said = book.mistakes[0].text if book.mistakes else "it is not one rule."
            raise RuleFileError(f"The rule was not saved: {said}")
        added = book.rules[-1]
        for rule in broken.rules:
            if rule.words == added.words and rule.do == added.do:
                return rule
        _write(file, after)
        return added


def remove_rule(file: Path, rule: GuardRule) -> None:
    """Remove the rule with its lines; comments above it stay. Raises `RuleFileError`: it is not there any more, or the
    file cannot be written.
    """
    with _locked(file):
        text = _text(file)
        found = next((one for one in parse_rules(file, text).rules if one == rule), None)
        starts = [at for at in rule_starts(text) if text.count("\n", 0, at) + 1 == rule.line]
        if found is None or not starts:
            raise RuleFileError(f"{rule.name} has changed meanwhile; list the rules again.")
        later = [at for at in rule_starts(text) if at > starts[0]]
        lines = text[starts[0] : later[0] if later else len(text)].splitlines(keepends=True)
        kept = len(lines)  # what stands above the next rule without being part of this one belongs to the next
        while kept > 1 and (not lines[kept - 1].strip() or lines[kept - 1].lstrip().startswith("#")):
            kept -= 1
        _write(file, text[: starts[0]] + "".join(lines[kept:]).lstrip("\n") + (text[later[0] :] if later else ""))


def _text(file: Path) -> str:
    try:
        return (read_bytes(file) or b"").decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleFileError(f"{file} cannot be read: {getattr(error, 'strerror', '') or error}.") from error


def _write(file: Path, text: str) -> None:
    target = file.resolve()  # where it is a link, its target
    try:
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        private_files.write_whole(target, text.encode(), mode=mode, sync=True)
    except OSError as error:
        raise RuleFileError(f"{file} cannot be written: {error.strerror or error}.") from error


@contextlib.contextmanager
def _locked(file: Path) -> Generator[None]:
    """One writer at a time."""
    until = time.monotonic() + _WAIT
    try:
        lock = paths.config_dir(create=True) / f".{file.name}.lock"
        while (held := try_lock(lock)) is None:
            if time.monotonic() >= until:
                raise RuleFileError(f"Another process keeps {file} locked; nothing was changed.")
            time.sleep(0.05)
    except OSError as error:
        raise RuleFileError(f"{file} cannot be written: {error.strerror or error}.") from error
    try:
        yield
    finally:
        os.close(held)
