"""Profiles of programs: how each one starts, looks, is typed to, resumed and listened to. Data files, typed here.

Refuses a file with an unknown key, a bad pattern or a contradiction, in a sentence that names file and key; the other
profiles stay usable. Loaded by the fleet and by the commands `profiles` and `hooks`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from gshtui.settings import paths

GENERIC = "repl"
"""The profile of programs that none is written for."""
Status = Literal["starting", "thinking", "tool", "waiting", "idle"]
HookKind = Literal["", "claude", "codex", "gemini", "opencode"]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=3600)]
_NAME = re.compile(r"^[a-z0-9][a-z0-9-]{0,31}$")
# A repetition of something that repeats: what makes an expression take for ever on a short line.
_RUNAWAY = re.compile(r"\((?:[^()\\]|\\.)*[*+}](?:[^()\\]|\\.)*\)[*+{]")


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a profile."""


class Rule(_Table, frozen=True, kw_only=True):
    """A reading of the screen. Rules are tried in order; the first that fits says the status.

    Every pattern of `all` must be found in some line, none of `none` in any. Patterns are searched line by line.
    """

    status: Status
    all: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    footer: tuple[str, ...] = ()
    """Patterns that must be found below the input, each."""
    zone: Literal["screen", "last"] = "screen"
    """Where `all` and `none` look. screen: the last `lines` lines with text; last: the line of the cursor."""
    lines: int = 24
    input: bool | None = None
    """The input must be on the screen, or must not be; unset: either."""
    title: str = ""
    """Pattern that the terminal's title must match too."""
    doing: str = ""
    """What the program does, in a few words; `{1}` is the first group of the first pattern."""


class Titles(_Table, frozen=True, kw_only=True):
    """Patterns of the terminal's title, where the program keeps its status there. Empty: it says nothing."""

    busy: str = ""
    waiting: str = ""
    idle: str = ""


class Input(_Table, frozen=True, kw_only=True):
    """Where the program takes its input."""

    line: str = ""
    """Pattern of the first line of the input; group 1 is what is typed there. Empty: it cannot be told."""
    above: str = ""
    """Pattern of the line above it."""
    more: str = ""
    """Pattern of a further line of the same input; group 1 as above."""
    footer: int = 10
    """Lines with text that may stand below it."""
    bar: str = ""
    """Pattern of a line of a question; where one stands below, what looks like the input is none."""
    frame: str = ""
    """Pattern of lines above it that belong to it, not to the conversation."""
    block: bool = False
    """The input is all lines in a row that match `line`, found from below."""
    hints: tuple[str, ...] = ()
    """What stands in an empty input, as patterns of group 1. Dimmed text is none in any case."""


class Timing(_Table, frozen=True, kw_only=True):
    """Seconds."""

    start: Seconds = 60.0
    """Longest that it may take to be ready."""
    settle: Seconds = 0.5
    """The screen must have stood still for this long before it is typed to for the first time."""
    enter: Seconds = 0.2
    """Between a paste and Enter."""
    idle: Seconds = 10.0
    """Still for this long means idle when nothing else is known."""
    shown: Seconds = 5.0
    """Longest until pasted text shows in the input, and until entered text has left it."""
    fresh: Seconds = 90.0
    """A hook that says `working` is believed for this long without any sign of life on the screen."""
    veto: Seconds = 2.0
    """A screen that contradicts a newer source has to do so for this long."""


class Keys(_Table, frozen=True, kw_only=True):
    """Keys by tmux's names."""

    interrupt: tuple[str, ...] = ("Escape",)
    exit: tuple[str, ...] = ("C-c", "C-c")
    exit_text: str = ""
    """Typed and entered before `exit` is pressed."""


class Conversation(_Table, frozen=True, kw_only=True):
    """Arguments that name a conversation; `{id}` is its id."""

    mint: tuple[str, ...] = ()
    """Starts one under an id of ours, a UUID. Empty: the program makes the id, and its hooks tell it."""
    resume: tuple[str, ...] = ()
    """Goes on with one. Empty: it cannot."""
    place: Literal["end", "first"] = "end"
    """Where they stand: behind the other arguments, or right behind the program (a subcommand)."""
    id: str = "^[A-Za-z0-9][A-Za-z0-9_-]{5,79}$"
    """What an id looks like; anything else is never put into a command line."""


class Hooks(_Table, frozen=True, kw_only=True):
    """How the program can be made to report by itself."""

    kind: HookKind = ""
    events: dict[str, str] = {}
    """Event of the program → status. `ended` and `said` (a message, no status) are allowed too."""
    prompt: str = ""
    """The event that says that a prompt was taken up."""
    needs: str = ""
    """What a person has to do once after the installation."""


class Profile(_Table, frozen=True, kw_only=True):
    """One program."""

    name: str
    title: str
    """As people call it."""
    programs: tuple[str, ...] = ()
    """File names of the executable; a command line that starts with one of them gets this profile."""
    argv: tuple[str, ...] = ()
    """What is run when only the profile is named."""
    offered: tuple[str, ...] = ()
    """Arguments that are given where the program's `--help` names the first of them."""
    ai: bool = True
    """A program that thinks; still for a few seconds means nothing."""
    notes: tuple[str, ...] = ()
    """Traps that are known and not handled by the rules; shown to people."""
    scrub: tuple[str, ...] = ()
    """Environment variables that it must not inherit; `NAME*` is a prefix."""
    environment: dict[str, str] = {}
    """Environment variables that it gets."""
    seen: tuple[str, ...] = ()
    """Versions whose screens were recorded."""
    input: Input = Input()
    titles: Titles = Titles()
    rules: tuple[Rule, ...] = ()
    timing: Timing = Timing()
    keys: Keys = Keys()
    conversation: Conversation = Conversation()
    hooks: Hooks = Hooks()


class ProfileError(Exception):
    """A profile cannot be used; one sentence."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The profiles by name, where each came from, and what was wrong with those that are not here."""

    profiles: dict[str, Profile] = field(default_factory=dict[str, Profile])
    origins: dict[str, Path] = field(default_factory=dict[str, Path])
    problems: tuple[str, ...] = ()

    def get(self, name: str) -> Profile:
        """Raises `ProfileError` for a name that is none."""
        if name not in self.profiles:
            known = ", ".join(sorted(self.profiles))
            raise ProfileError(f"There is no profile {name[:40]!r}; there are {known}.")
        return self.profiles[name]

    def for_argv(self, argv: Sequence[str]) -> Profile:
        """The profile of a command line: by its program, also behind `env` or `npx`; else the generic one."""
        for word in argv[:4]:
            name = Path(word).name
            for profile in self.profiles.values():
                if name in profile.programs:
                    return profile
            if name not in _LAUNCHERS and "=" not in word and not word.startswith("-"):
                break
        return self.profiles.get(GENERIC) or Profile(name=GENERIC, title="program", ai=False)


_LAUNCHERS = frozenset({"env", "npx", "bunx", "pnpm", "dlx", "uvx", "nice", "node", "exec", "run", "pipx"})


def load(folder: Path | None = None) -> Loaded:
    """The profiles that ship with gsh-tui, and over them the user's own.

    Args:
        folder: of the user's profiles; `$XDG_CONFIG_HOME/gsh/profiles` by default. It need not exist.
    """
    profiles: dict[str, Profile] = {}
    origins: dict[str, Path] = {}
    problems: list[str] = []
    for place in (Path(__file__).parent / "profiles", folder or paths.config_dir() / "profiles"):
        for path in _files(place, problems):
            try:
                profile = read(path)
            except ProfileError as error:
                problems.append(str(error))
            else:
                profiles[profile.name] = profile
                origins[profile.name] = path
    return Loaded(profiles, origins, tuple(problems))


def _files(place: Path, problems: list[str]) -> list[Path]:
    try:
        return sorted(path for path in place.iterdir() if path.suffix == ".toml")
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.append(f"The profiles in {place} cannot be read: {error.strerror or error}.")
        return []


def read(path: Path) -> Profile:
    """One file. Raises `ProfileError`."""
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise ProfileError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProfileError(f"{path} is no TOML: {error}.") from error
    data.setdefault("name", path.stem)
    try:
        profile = msgspec.convert(data, Profile)
    except msgspec.ValidationError as error:
        raise ProfileError(f"{path} is no profile: {error}.") from error
    if wrong := _wrong(profile):
        raise ProfileError(f"{path} is no profile: {wrong}.")
    return profile


def _wrong(profile: Profile) -> str:
    """What is the matter with a profile, empty when nothing is."""
    if not _NAME.match(profile.name):
        return f"name {profile.name[:40]!r} must be made of a-z, 0-9 and -"
    patterns = [
        profile.input.line,
        profile.input.above,
        profile.input.more,
        profile.input.bar,
        profile.input.frame,
        *profile.input.hints,
    ]
    patterns += [profile.titles.busy, profile.titles.waiting, profile.titles.idle, profile.conversation.id]
    for rule in profile.rules:
        patterns += [*rule.all, *rule.none, *rule.footer, rule.title]
        if not rule.all and not rule.footer:
            return "a rule has nothing in `all`, so it would always fit"
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            return f"the pattern {pattern!r} is wrong ({error})"
        if _RUNAWAY.search(pattern):
            return f"the pattern {pattern!r} repeats a repetition, which can take for ever"
    for words in (profile.conversation.mint, profile.conversation.resume):
        if words and not any("{id}" in word for word in words):
            return "the arguments of `conversation` do not name {id}"
    known = {"starting", "thinking", "tool", "waiting", "idle", "ended", "said"}
    if unknown := set(profile.hooks.events.values()) - known:
        return f"hooks.events knows no status {', '.join(sorted(unknown))}"
    if profile.ai and profile.timing.idle < 10:
        return "timing.idle of a program that thinks must be 10 seconds or more"
    return ""
