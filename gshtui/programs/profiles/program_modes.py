"""The modes of other vendors' programs: which of theirs stands for one of ours, and which one a screen shows.

Pure. A mode that a program does not have is refused in a sentence; nothing is passed that would be more than asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from gshtui.bus.agent_data import GuardMode, OpenQuestion
from gshtui.guard.modes import MODES
from gshtui.programs.profiles.profile import GENERIC, Profile, ProgramModeRule
from gshtui.text.linear_regex import compile_linear
from gshtui.text.sanitise import one_line


def offered(profile: Profile) -> list[GuardMode]:
    """Our modes in which the program can be started, strictest first."""
    return [mode for mode in MODES if passed_rule(profile, mode) is not None]


def chosen(profile: Profile, argv: Sequence[str]) -> bool:
    """Whether a command line chooses a mode by itself."""
    pattern = profile.modes.chosen
    return bool(pattern) and compile_linear(pattern).search(" ".join(argv[1:])) is not None


def widened(profile: Profile, argv: Sequence[str]) -> str:
    """The option by which a command line allows more than its mode does; empty: there is none."""
    pattern = profile.modes.widens
    found = compile_linear(pattern).search(" ".join(argv[1:])) if pattern else None
    return one_line((found.group(0) or "").strip(" ="), 60) if found is not None else ""


def mode_of_argv(profile: Profile, argv: Sequence[str]) -> GuardMode | None:
    """Ours for the mode that a command line chooses, where it does so by arguments that are known."""
    line = f" {' '.join(argv[1:])} ".replace("=", " ")
    for rule in profile.modes.each:
        if rule.like and rule.arguments and f" {' '.join(rule.arguments)} ".replace("=", " ") in line:
            return rule.like
    return None


def refusal(profile: Profile, mode: GuardMode, argv: Sequence[str] = ()) -> str:
    """Why a program cannot be put into a mode, as a sentence; empty: it can."""
    title = profile.title
    if profile.name == GENERIC:
        program = one_line(Path(argv[0]).name if argv else title, 40)
        return f"How a mode is set in {program} is not known, so it cannot be put into {mode}."
    if not profile.ai:
        return f"{title} has no modes: it runs what is typed there."
    if profile.modes.none:
        return f"{title} has no modes: {profile.modes.none}."
    if not profile.modes.each:
        return f"How a mode is set in {title} is not known, so it cannot be put into {mode}."
    if chosen(profile, argv):
        return f"The command line of {title} chooses its mode by itself, so it cannot be put into {mode} as well."
    if passed_rule(profile, mode) is None:
        return f"{title} has no mode like {mode}."
    return ""


def within(profile: Profile, limit: GuardMode) -> list[GuardMode]:
    """The modes that the program can be started in and that are no wider than this one, widest first."""
    return [mode for mode in reversed(offered(profile)) if MODES.index(mode) <= MODES.index(limit)]


def passed_rule(profile: Profile, mode: GuardMode) -> ProgramModeRule | None:
    """How the program is started in a mode; `None`: it has none like that, or it cannot be started in it."""
    each = (rule for rule in profile.modes.each if rule.like == mode)
    return next((rule for rule in each if rule.arguments or rule.environment), None)


def approved(profile: Profile, asked: OpenQuestion | None, question: str, choice: str) -> GuardMode | Literal[""]:
    """The mode into which this answer lets the program go, where that is its own question; empty: into no other one, or
    into one in which it asks no more for all, which its row goes on to say whoever chose it.

    Where a model asks, one answer at least is not the program's, and has no meaning.
    """
    if asked is None or asked.id != question or not all(one.means for one in asked.choices):
        return ""
    label = next((one.label for one in asked.choices if one.key == choice), "")
    for rule in profile.modes.each:
        if rule.approved and rule.like == "ask" and compile_linear(rule.approved).search(label):
            return rule.like
    return ""


def with_arguments(argv: Sequence[str], arguments: Sequence[str]) -> tuple[str, ...]:
    """The command line with these options."""
    words = tuple(argv)
    at = words.index("--") if "--" in words else len(words)
    return (*words[:at], *arguments, *words[at:])
