"""Profiles of programs: how each one starts, looks, takes input, resumes and reports. Data files, typed here.

A file with an unknown key, a bad pattern or a contradiction is rejected with a sentence that names file and key; other
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

from gshtui.settings import paths, plugins
from gshtui.settings.toml_file import load_toml, read_bytes
from gshtui.system.struct_types import learned
from gshtui.text.linear_regex import LinearError, compile_linear
from gshtui.text.similar_names import known_names
from gshtui.text.version_order import is_within, newest, oldest

GENERIC = "repl"
"""The profile for programs without their own."""
Status = Literal["starting", "thinking", "tool", "waiting", "idle"]
HookKind = Literal["", "claude", "codex", "gemini", "opencode"]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=3600)]
_NAME = re.compile(r"^[a-z0-9][a-z0-9-]{0,31}$")


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a profile."""


class StatusRule(_Table, frozen=True, kw_only=True):
    """A rule for reading the screen. Rules are tried in order; the first match gives the status.

    Every pattern of `all` must be found in some line, none of `none` in any. Patterns are searched line by line.
    """

    status: Status
    all: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    footer: tuple[str, ...] = ()
    """Patterns that must be found below the input, each."""
    zone: Literal["screen", "last"] = "screen"
    """Where `all` and `none` search. screen: the last `lines` lines with text; last: the cursor's line."""
    lines: int = 24
    input: bool | None = None
    """The input must be on the screen, or must not be; unset: either."""
    title: str = ""
    """A pattern that the terminal's title must also match."""
    dialog: bool = False
    """The status `waiting` is in one of the program's own dialogs, which a key closes; it is not a question."""
    doing: str = ""
    """The program's activity, in a few words; `{1}` is the first group of the first pattern, `{title}` a dialog's own
    title as far as one is seen."""


class TitleRules(_Table, frozen=True, kw_only=True):
    """Patterns of the terminal's title, where the program keeps its status there. Empty: it says nothing."""

    busy: str = ""
    waiting: str = ""
    idle: str = ""


class InputRules(_Table, frozen=True, kw_only=True):
    """Where the program takes its input."""

    line: str = ""
    """Pattern of the input's first line; group 1 is the typed text. Empty: unknown."""
    above: str = ""
    """Pattern of the line above it."""
    more: str = ""
    """Pattern of a further line of the same input; group 1 as above."""
    footer: int = 10
    """Most lines with text that may be below it."""
    bar: str = ""
    """Pattern of a question's line; above such a line, what looks like the input is not the input."""
    frame: str = ""
    """Pattern of lines above it that belong to it, not to the conversation."""
    block: bool = False
    """The input is all lines in a row that match `line`, found from below."""
    cursor: bool = False
    """The terminal's cursor stands in the input for as long as it takes text. Where it is elsewhere, something of the
    program's own is in front, and what looks like the input is none."""
    late: bool = False
    """What is entered leaves the input before it stands above it."""
    hints: tuple[str, ...] = ()
    """What an empty input shows, as patterns of group 1. Dimmed text never counts as input."""
    unfinished: str = ""
    """Pattern of the cursor's line while the program waits for the rest of an incomplete input."""


class QuestionRules(_Table, frozen=True, kw_only=True):
    """How a question with choices looks. A screen that differs in any point is not read as one."""

    choice: str = ""
    """Pattern of a choice's first line: group 1 is its number, group 2 its label. Empty: `buttons`, or none."""
    mark: str = ""
    """Pattern of the line of the choice under the cursor; exactly one line matches. Empty: it has a background of its
    own."""
    buttons: tuple[str, ...] = ()
    """The labels that a row of buttons may have; the one with a background of its own is under the cursor."""
    letters: str = ""
    """Pattern of a question in front of the cursor that is answered by a letter and Enter: group 1 is the question,
    group 2 its choices, such as `(Y)es/(N)o`."""
    footer: str = ""
    """Pattern of the first line with text below the choices, or behind the buttons."""
    above: str = ""
    """Pattern of the line above the question."""
    first: str = ""
    """Pattern of the question's first line, for a program that draws nothing above it."""
    frame: str = ""
    """Characters at both ends of a line that are no part of it."""
    panel: bool = False
    """It has a background of its own; what is right of that belongs to something else."""
    hint: str = ""
    """Pattern of what stands behind a label and is no part of it."""


class TextRules(_Table, frozen=True, kw_only=True):
    """How a text is written so that the program takes all of it, as text."""

    first: dict[str, str] = {}
    """Beginnings that the program acts upon instead of reading them → what is written before one so that it is read.
    Empty: there is no way, and such a text is refused."""
    last: dict[str, str] = {}
    """Ends by which the program would not take the Enter → what is written behind one. Empty: refused."""
    completes: tuple[str, ...] = ()
    """Beginnings of a last word at which the program offers completions, and would take the Enter for one of them; a
    blank is written behind such a word."""
    lines: Literal["many", "one"] = "many"
    """many: a text of several lines is entered as one. one: it would be entered line by line, so it is refused."""
    close: str = ""
    """Appended to a text of several lines, which the program would otherwise wait to continue."""
    tab: str = "\t"
    """What a tab is written as, where the program would complete something at it."""
    most: int = 0
    """Characters that it takes at once; 0: no limit is known."""


class ProfileTiming(_Table, frozen=True, kw_only=True):
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
    rest: Seconds = 1.5
    """Where no title says more, a screen that looks idle must have stood still for this long: an answer may be growing
    above the input. Less where the program shows all the time that it works."""


class ProfileKeys(_Table, frozen=True, kw_only=True):
    """Keys by tmux's names."""

    interrupt: tuple[str, ...] = ("Escape",)
    exit: tuple[str, ...] = ("C-c", "C-c")
    exit_text: str = ""
    """Typed and entered before `exit` is pressed."""
    clear: tuple[str, ...] = ("C-u",)
    """The key that clears the input; pressed again while text is left, never into an empty input."""


class ConversationRules(_Table, frozen=True, kw_only=True):
    """Arguments that name a conversation; `{id}` is its id."""

    mint: tuple[str, ...] = ()
    """Starts one under our id, a UUID. Empty: the program makes the id, and its hooks report it."""
    resume: tuple[str, ...] = ()
    """Resumes one. Empty: it cannot."""
    fork: tuple[str, ...] = ()
    """Starts a new one as a copy of one. Besides `{id}`, `{new}` is a fresh id for the copy, a UUID, `{file}` the path
    of the transcript of the one that is copied, and `{cwd}` the folder of the copy. Empty: it cannot."""
    fork_stays: bool = False
    """A copy goes on in the original's folder, wherever it is started; so it gets no worktree of its own."""
    place: Literal["end", "first"] = "end"
    """Where they go: after the other arguments, or right after the program (a subcommand)."""
    home: str = ""
    """What its screen shows until it has opened the conversation that it was started with; a text would go elsewhere.
    Empty: it takes no text before, or another way is known to tell."""
    id: str = "^[A-Za-z0-9][A-Za-z0-9_-]{5,79}$"
    """What an id looks like; anything else is never put into a command line."""


class HookRules(_Table, frozen=True, kw_only=True):
    """How the program can be made to report by itself."""

    kind: HookKind = ""
    events: dict[str, str] = {}
    """Event of the program → status. `ended` and `said` (a message, no status) are allowed too."""
    answers: dict[str, str] = {}
    """Choices of its permission box that its hook can give instead: label → `allow` or `deny`. Empty: it cannot."""
    prompt: str = ""
    """The event that reports an accepted prompt."""
    early: bool = False
    """It reports the end of a turn before its screen has shown all of it: until then, the screen counts."""
    needs: str = ""
    """What a person has to do once after the installation."""


class Profile(_Table, frozen=True, kw_only=True):
    """One program."""

    name: str
    title: str
    """As people call it."""
    programs: tuple[str, ...] = ()
    """File names of the executable; a command line that starts with one of them gets this profile."""
    bare: bool = False
    """Only a command line without a script, command or module gets this profile."""
    argv: tuple[str, ...] = ()
    """The command line if only the profile is named."""
    offered: tuple[str, ...] = ()
    """Arguments that are passed if the program's `--help` mentions the first of them."""
    ai: bool = True
    """A program that thinks; still for a few seconds means nothing."""
    shell: bool = False
    """Whether it is a shell: what is typed is a command, and it is idle exactly while it is in the foreground."""
    notes: tuple[str, ...] = ()
    """Traps that are known and not handled by the rules; shown to people."""
    scrub: tuple[str, ...] = ()
    """Environment variables that it must not inherit; `NAME*` is a prefix."""
    environment: dict[str, str] = {}
    """Environment variables that it gets."""
    seen: tuple[str, ...] = ()
    """Versions whose screens were seen; what is between the oldest and the newest counts as well. None: it was made
    from the program's documentation, and is untested."""
    version_flag: str = ""
    """The argument with which the program prints its version and ends. Empty: it is never run for that."""
    input: InputRules = InputRules()
    question: QuestionRules = QuestionRules()
    text: TextRules = TextRules()
    titles: TitleRules = TitleRules()
    rules: tuple[StatusRule, ...] = ()
    timing: ProfileTiming = ProfileTiming()
    keys: ProfileKeys = ProfileKeys()
    conversation: ConversationRules = ConversationRules()
    hooks: HookRules = HookRules()

    def knows(self, version: str) -> bool:
        """Whether the rules about its screen were seen to hold for this version; so for one that is unknown (empty)."""
        return not self.ai or not version or is_within(version, self.seen)

    def seen_nearest(self, version: str) -> str:
        """The version nearest to this one with which its screen was seen; empty: none was."""
        if not self.seen or version in self.seen:
            return version if self.seen else ""
        return oldest(self.seen) if oldest((version, *self.seen)) == version else newest(self.seen)


def is_untested(profile: Profile) -> bool:
    """Whether nobody has seen the program's screens with this profile."""
    return profile.ai and not profile.seen


def takes_code(profile: Profile) -> bool:
    """Whether it is a shell or an interpreter, which runs what is typed."""
    return not profile.ai and profile.name != GENERIC


class ProfileError(Exception):
    """A profile cannot be used; one sentence."""


@dataclass(frozen=True, slots=True)
class LoadedProfiles:
    """The profiles by name, their origins, and the problems of those that could not be loaded."""

    profiles: dict[str, Profile] = field(default_factory=dict[str, Profile])
    origins: dict[str, Path] = field(default_factory=dict[str, Path])
    problems: tuple[str, ...] = ()

    def get(self, name: str) -> Profile:
        """The profile with this name. Raises `ProfileError` if there is none."""
        if name not in self.profiles:
            known = known_names("profiles", sorted(self.profiles))
            raise ProfileError(f"There is no profile {name[:40]!r}. {known}")
        return self.profiles[name]

    def for_argv(self, argv: Sequence[str]) -> Profile:
        """The profile of a command line, by its program, even after `env` or `npx`; else the generic one."""
        for at, word in enumerate(argv[:4]):
            name = Path(word).name.removeprefix("-")
            for profile in self.profiles.values():
                if name in profile.programs and not (profile.bare and script_of(argv[at + 1 :])):
                    return profile
            if name not in _LAUNCHERS and "=" not in word and not word.startswith("-"):
                break
        return self.profiles.get(GENERIC) or Profile(name=GENERIC, title="program", ai=False)

    def of_process(self, argv: Sequence[str]) -> Profile:
        """The profile of a running program, by its command line from the system, which may be an interpreter's."""
        script = script_of(argv[1:])
        if script and not script.startswith("-") and Path(argv[0]).name.startswith(_INTERPRETERS):
            return self.for_argv((script,))
        return self.for_argv(argv)


_INTERPRETERS = ("python", "node", "bun", "deno", "sh", "bash", "ruby", "perl")
_VALUED = frozenset(("-O", "+O", "-o", "-W", "-X", "--rcfile", "--init-file", "--check-hash-based-pycs"))
"""Options of shells and interpreters that take a value."""


def _chars(option: str) -> str:
    """The letters of short options in one word, such as `ic` for `-ic`; empty for any other word."""
    letters = option[1:]
    return letters if option[:1] == "-" and letters.isascii() and letters.isalpha() else ""


def script_of(arguments: Sequence[str]) -> str:
    """What arguments have a shell or an interpreter run in place of reading from its terminal; empty when nothing."""
    skip = False
    for word in arguments:
        if skip:
            skip = False
        elif word in _VALUED:
            skip = True
        elif "i" in (letters := _chars(word)) and letters[-1] not in "cm":
            return ""
        elif not word.startswith(("-", "+")) or (letters and letters[-1] in "cme"):
            return word
    return ""


_LAUNCHERS = frozenset({"env", "npx", "bunx", "pnpm", "dlx", "uvx", "nice", "node", "exec", "run", "pipx"})


def load(folder: Path | None = None) -> LoadedProfiles:
    """The profiles that ship with gsh-tui, and over them the user's own.

    Args:
        folder: of the user's profiles; `$XDG_CONFIG_HOME/gsh/profiles` by default. It need not exist.
    """
    profiles: dict[str, Profile] = {}
    origins: dict[str, Path] = {}
    problems: list[str] = []
    shipped = _files(Path(__file__).parent / "profiles", problems)
    own = _files(folder or paths.config_dir() / "profiles", problems)
    for files in (shipped, _plugin_files(problems), own):
        for path in files:
            try:
                profile = read(path, tested=files is shipped)
            except ProfileError as error:
                problems.append(str(error))
            else:
                profiles[profile.name] = profile
                origins[profile.name] = path
    return LoadedProfiles(profiles, origins, tuple(problems))


def _plugin_files(problems: list[str]) -> list[Path]:
    """The files of approved plugins: a path of one, or of a folder of them."""
    found: list[Path] = []
    try:
        for one in plugins.load_contributions("programs"):
            if isinstance(one.found, str | Path):
                path = Path(one.found)
                found += _files(path, problems) if path.is_dir() else [path]
            else:
                problems.append(one.problem or f"{one.name} of the plugin {one.plugin.name} is no file of a profile.")
    except plugins.PluginError as error:
        problems.append(error.message)
    return found


def _files(place: Path, problems: list[str]) -> list[Path]:
    try:
        return sorted(path for path in place.iterdir() if path.suffix == ".toml")
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.append(f"Cannot read the profiles in {place}: {error.strerror or error}.")
        return []


def read(path: Path, *, tested: bool = False) -> Profile:
    """One file. Raises `ProfileError`.

    Args:
        tested: its patterns are known to be right. To compile those of every program takes longer than all the rest.
    """
    try:
        data = load_toml((read_bytes(path) or b"").decode("utf-8"))
    except OSError as error:
        raise ProfileError(f"Cannot read {path}: {error.strerror or error}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProfileError(f"{path} is not valid TOML: {error}.") from error
    data.setdefault("name", path.stem)
    try:
        profile = msgspec.convert(data, learned(Profile))
    except msgspec.ValidationError as error:
        raise ProfileError(f"{path} is not a profile: {error}.") from error
    if wrong := _wrong(profile, compiled=not tested):
        raise ProfileError(f"{path} is not a profile: {wrong}.")
    return profile


def _wrong(profile: Profile, *, compiled: bool) -> str:
    """What is wrong with a profile; empty if nothing is. `compiled`: its patterns are compiled for that."""
    if not _NAME.match(profile.name):
        return f"the name {profile.name[:40]!r} must consist of a-z, 0-9 and -"
    patterns = [
        profile.input.line,
        profile.input.above,
        profile.input.more,
        profile.input.bar,
        profile.input.frame,
        profile.input.unfinished,
        *profile.input.hints,
        profile.question.choice,
        profile.question.mark,
        profile.question.letters,
        profile.question.footer,
        profile.question.above,
        profile.question.first,
        profile.question.hint,
    ]
    patterns += [profile.titles.busy, profile.titles.waiting, profile.titles.idle]
    patterns += [profile.conversation.id, profile.conversation.home]
    for rule in profile.rules:
        patterns += [*rule.all, *rule.none, *rule.footer, rule.title]
        if not rule.all and not rule.footer:
            return "a rule has nothing in `all`, so it would always match"
    for pattern in patterns if compiled else ():
        try:
            compile_linear(pattern)
        except LinearError as error:
            return f"the pattern {pattern!r} is wrong ({error})"
    if any(rule.dialog and rule.status != "waiting" for rule in profile.rules):
        return "only a rule of the status waiting can be a dialog"
    if not all((*profile.text.first, *profile.text.last, *profile.text.completes)):
        return "text.first, text.last and text.completes must not contain an empty text"
    for words in (profile.conversation.mint, profile.conversation.resume):
        if words and not any("{id}" in word for word in words):
            return "the arguments of `conversation` do not name {id}"
    if profile.conversation.fork and not any(re.search(r"\{(?:id|file)\}", word) for word in profile.conversation.fork):
        return "the arguments of `conversation.fork` name neither {id} nor {file}"
    known = {"starting", "thinking", "tool", "waiting", "idle", "ended", "said"}
    if unknown := set(profile.hooks.events.values()) - known:
        return f"hooks.events names unknown statuses: {', '.join(sorted(unknown))}"
    if unknown := set(profile.hooks.answers.values()) - {"allow", "deny"}:
        return f"hooks.answers names unknown answers: {', '.join(sorted(unknown))}"
    if profile.ai and profile.timing.idle < 10:
        return "timing.idle must be at least 10 seconds for a program that thinks"
    return ""
