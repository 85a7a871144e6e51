"""The profile of a program: how it starts, looks, takes input, resumes and reports. Data of a file, typed here.

`profile_files.py` reads and checks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

import msgspec

from gshtui.bus.agent_data import GuardMode, Meaning
from gshtui.text.linear_regex import compile_linear
from gshtui.text.version_order import is_within, newest, oldest

GENERIC = "repl"
"""The profile for programs without their own."""
Status = Literal["starting", "thinking", "tool", "waiting", "idle"]
HookKind = Literal["", "claude", "codex", "gemini", "opencode", "pi", "qwen"]
RecordKind = Literal["", "claude", "qwen"]
STATUS_RECORDS = frozenset({"claude"})
"""The kinds of records that tell a status; others tell only the conversation and the version."""
ProtocolKind = Literal["", "codex", "opencode"]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=3600)]
T = TypeVar("T")
READS, PATTERN = "reads", "pattern"
Reads = Annotated[T, msgspec.Meta(extra={READS: True})]
"""The type of a key that only says how the program is read; a bundle of rules may set such keys, and no others."""
Pattern = Annotated[str, msgspec.Meta(extra={READS: True, PATTERN: True})]
"""The type of such a key that is a pattern: it is compiled when the file is read."""
Shape = Annotated[str, msgspec.Meta(extra={PATTERN: True})]
"""A pattern that decides what is put into a command line."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a profile."""


class StatusRule(_Table, frozen=True, kw_only=True):
    """A rule for reading the screen. Rules are tried in order; the first match gives the status.

    Every pattern of `all` must be found in some line, none of `none` in any. Patterns are searched line by line.
    """

    status: Reads[Status]
    name: Reads[str] = ""
    """By which an overlay changes or removes it; unique in its profile."""
    all: tuple[Pattern, ...] = ()
    none: tuple[Pattern, ...] = ()
    below: Reads[bool] = False
    """The last pattern of `all` must be found below the others."""
    footer: tuple[Pattern, ...] = ()
    """Patterns that must be found below the input, each."""
    zone: Reads[Literal["screen", "last"]] = "screen"
    """Where `all` and `none` search. screen: the last `lines` lines with text; last: the cursor's line."""
    lines: Reads[int] = 24
    input: Reads[bool | None] = None
    """The input must be on the screen, or must not be; unset: either."""
    bare: Reads[bool] = False
    """Nothing may be typed in the input, and nothing but its frame stand on the screen above it."""
    title: Pattern = ""
    """A pattern that the terminal's title must also match."""
    dialog: Reads[bool] = False
    """The status `waiting` is in one of the program's own dialogs, which a key closes; it is not a question."""
    overflows: Reads[bool] = False
    """The status `waiting` is in a list of choices that goes on beyond the screen, or beyond the digits."""
    beside: Reads[bool] = False
    """What shows that it works goes on beside its turns: that a turn is over says nothing of it."""
    doing: Reads[str] = ""
    """The program's activity, in a few words; `{1}` is the first group of the first pattern, `{title}` a dialog's own
    title as far as one is seen."""


class TitleRules(_Table, frozen=True, kw_only=True):
    """Patterns of the terminal's title, where the program keeps its status there. Empty: it says nothing."""

    busy: Pattern = ""
    waiting: Pattern = ""
    idle: Pattern = ""
    whole: Reads[bool] = False
    """It says that it works for the whole of each turn: once it says so no more, the turn is over."""


class InputRules(_Table, frozen=True, kw_only=True):
    """Where the program takes its input."""

    line: Pattern = ""
    """Pattern of the input's first line; group 1 is the typed text. Empty: unknown. An empty row is an input only where
    it fits this, and `above` fits the line above it."""
    above: Pattern = ""
    """Pattern of the line above it."""
    below: Pattern = ""
    """Pattern of the line right below it, for an input between two rules."""
    more: Pattern = ""
    """Pattern of a further line of the same input; group 1 as above."""
    footer: Reads[int] = 10
    """Most lines with text that may be below it."""
    bar: Pattern = ""
    """Pattern of a question's line; above such a line, what looks like the input is not the input."""
    frame: Pattern = ""
    """Pattern of lines above it that belong to it, not to the conversation."""
    block: Reads[bool] = False
    """The input is all lines in a row that match `line`, found from below."""
    cursor: Reads[bool] = False
    """The terminal's cursor stands in the input for as long as it takes text. Where it is elsewhere, something of the
    program's own is in front, and what looks like the input is none."""
    late: Reads[bool] = False
    """What is entered leaves the input before it stands above it."""
    hints: tuple[Pattern, ...] = ()
    """What an empty input shows, as patterns of group 1. Dimmed text never counts as input."""
    unfinished: Pattern = ""
    """Pattern of the cursor's line while the program waits for the rest of an incomplete input."""


class RestRules(_Table, frozen=True, kw_only=True):
    """What shows that its turn is over. That its input is on the screen does not, with most programs."""

    input: Reads[bool] = False
    """Its input is on the screen only while it rests: it shows none while it works."""
    done: tuple[Pattern, ...] = ()
    """Patterns of a row that it prints above its input at the end of a turn."""
    interrupted: tuple[Pattern, ...] = ()
    """The same, of a turn that was interrupted."""
    footer: tuple[Pattern, ...] = ()
    """Patterns of a row below its input that is there only while it rests."""


class QuestionRules(_Table, frozen=True, kw_only=True):
    """How a question with choices looks. A screen that differs in any point is not read as one."""

    choice: Pattern = ""
    """Pattern of a choice's first line: group 1 is its number, group 2 its label. Empty: `buttons`, or none."""
    also: Pattern = ""
    """Pattern of the line of a choice without a number among those that have one; group 1 is its label."""
    means: dict[Meaning, tuple[Shape, ...]] = {}
    """Patterns of labels by what they mean (once, more, deny, words, mode, or nothing), before our own words."""
    typed: Pattern = ""
    """Pattern of the labels of choices that want words, which are typed behind them."""
    tick: str = ""
    """The key that ticks the choice under the cursor where choices have boxes, which Enter ends. Empty: digits tick."""
    cut: Pattern = ""
    """Pattern of a line which says that a part of the question is out of sight."""
    fits: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Most rows that are surely all of what is asked about, where more may be out of sight without a sign; 0: any."""
    planned: Pattern = ""
    """Pattern of the question about a plan that stands above it, in the program's conversation."""
    plan: Pattern = ""
    """Pattern of the line above such a plan."""
    prompt: Pattern = ""
    """Pattern of the first line of a person's prompt in that conversation."""
    edits: Pattern = (
        r"(?i)\b(?:make (?:this|these|the following) (?:edit|change)s?|appl(?:y|ying) (?:this|these|the|a)? ?"
        r"(?:change|edit|diff|patch)(?:es|s)?"
        r"|(?:do you want|would you like) to (?:edit|create|overwrite|write|update|delete) )"
        r"|^(?:→ )?(?:Edit|Write|Patch|Create|Delete|Update) "
    )
    """Pattern of what is asked about a change of files: where its screen does not show that, no digit allows it."""
    change: Pattern = ""
    """Pattern of the heading of such a change right above the question, where it is not in it: group 1 is how many
    lines it adds, group 2 how many it removes."""
    folded: Pattern = ""
    """Pattern of the line below such a change that has no more than three rows, and may leave others out."""
    named: Pattern = ""
    """Pattern of the heading, up to an empty line, of a command whose box leaves out what has no room in a row."""
    where: Pattern = ""
    """Pattern of the first line of a paragraph, before what is asked about or below the heading of a command, that says
    where or why."""
    twice: Pattern = ""
    """Pattern of a tool's name in front of a command that stands below it once more, whole."""
    mark: Pattern = ""
    """Pattern of the line of the choice under the cursor; exactly one line matches. Empty: it has a background of its
    own."""
    buttons: Reads[tuple[str, ...]] = ()
    """The labels that a row of buttons may have; the one with a background of its own is under the cursor."""
    keys: Pattern = ""
    """Pattern of one choice in a row of them, each chosen by its key alone: group 1 is the key (enter and esc, too),
    group 2 its label."""
    denied: Pattern = ""
    """Pattern of what it asks after a denial, such as for words: a denial in our faces is the answer to it as well."""
    end: Pattern = ""
    """Pattern of the line above such a row, and of the last one of a change of files; another line there says that a
    part of the question is out of sight."""
    letters: Pattern = ""
    """Pattern of a question in front of the cursor that is answered by a letter and Enter: group 1 is the question,
    group 2 its choices, such as `(Y)es/(N)o` or `y/N`."""
    footer: Pattern = ""
    """Pattern of the first line with text below the choices, or behind the buttons."""
    further: Pattern = ""
    """Pattern of a line below the choices that says that not all of them have room."""
    above: Pattern = ""
    """Pattern of the line above the question."""
    outer: Pattern = ""
    """Pattern of the line above a question in which lines such as `above` may be again."""
    first: Pattern = ""
    """Pattern of the question's first line, for a program that draws nothing above it."""
    apart: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Fewest empty rows above such a line, unless it is at the top of the screen; otherwise it is not one."""
    own: Pattern = ""
    """Pattern of those first lines that its program words: one of them counts where there are others, or at the top of
    a screen. Empty: all of them, and anywhere."""
    frame: Reads[str] = ""
    """Characters at both ends of a line that are no part of it."""
    panel: Reads[bool] = False
    """It has a background of its own, and `frame` at the left alone; right of it is something else."""
    headed: Reads[bool] = False
    """It asks by its first line, whatever the lines below look like."""
    heading: Pattern = ""
    """Pattern of all of that line, which a narrow terminal wraps; what it asks about stands below it."""
    highest: Reads[float] = 0.0
    """The share of a screen's rows that its box has at most: what is in one as high as that may scroll."""
    boxed: Reads[bool] = False
    """A command stands in a box of its own inside the question."""
    flush: Reads[bool] = False
    """A label that has no room in its row goes on below its number, not below its first word; nothing else is there."""
    hint: Pattern = ""
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
    again: str = ""
    """What its screen shows once it wants the key of `interrupt` once more. Empty: it says nothing of it."""
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
    home: Shape = ""
    """What its screen shows until it has opened the conversation that it was started with; a text would go elsewhere.
    Empty: it takes no text before, or another way is known to tell."""
    id: Shape = "^[A-Za-z0-9][A-Za-z0-9_-]{5,79}$"
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


class ProgramModeRule(_Table, frozen=True, kw_only=True):
    """One of the program's own modes."""

    name: Reads[str]
    """As the program calls it."""
    like: GuardMode | Literal[""] = ""
    """Our mode that allows as much. Empty: none does, or its name alone does not tell."""
    arguments: tuple[str, ...] = ()
    """Start the program in it."""
    environment: dict[str, str] = {}
    """Variables that do, or help."""
    help: Shape = ""
    """Pattern of a line of its `--help` by which this version has it. Empty: every version has."""
    shown: tuple[Pattern, ...] = ()
    """Patterns of a line beside the input, any of which says that the program is in it."""
    without: Shape = ""
    """Pattern of the arguments, one a line, with which there is no such mode. Empty: there always is."""
    approved: Shape = ""
    """Pattern of an answer that leads to it, of a question of which each answer has a meaning."""


class ModeRules(_Table, frozen=True, kw_only=True):
    """How the program is told how much it may do unasked, and shows it."""

    each: tuple[ProgramModeRule, ...] = ()
    """Of those that are like the same one of ours, the first is the one that is passed."""
    chosen: Shape = ""
    """Pattern of arguments, separated by blanks, by which a command line chooses by itself, or is for something that
    has no mode."""
    widens: Shape = ""
    """Pattern of arguments by which a command line allows more than its mode does; no agent may start it with them."""
    keys: tuple[str, ...] = ()
    """Take it at rest to the next of its modes. Empty: it keeps the one that it was started in."""
    above: Reads[int] = 0
    """Lines above the input in which a mode may be shown, besides those below."""
    none: str = ""
    """What it does, where it has no modes; the end of a sentence."""


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
    notes: Reads[tuple[str, ...]] = ()
    """Traps that are known and not handled by the rules; shown to people."""
    scrub: tuple[str, ...] = ()
    """Environment variables that it must not inherit; `NAME*` is a prefix."""
    environment: dict[str, str] = {}
    """Environment variables that it gets."""
    protocol: ProtocolKind = ""
    """The protocol of its own by which it is connected to, beside its screen (`programs/codex/`, `programs/opencode/`).
    Empty: everything is read from its screen and typed."""
    seen: Reads[tuple[str, ...]] = ()
    """Versions whose screens were seen; what is between the oldest and the newest counts as well. None: it was made
    from the program's documentation, and is untested."""
    login: bool = False
    """Only its login was seen: all else is guessed from movement."""
    version_flag: str = ""
    """The argument with which the program prints its version and ends. Empty: it is never run for that."""
    input: InputRules = InputRules()
    rest: RestRules = RestRules()
    question: QuestionRules = QuestionRules()
    text: TextRules = TextRules()
    titles: TitleRules = TitleRules()
    rules: tuple[StatusRule, ...] = ()
    timing: ProfileTiming = ProfileTiming()
    keys: ProfileKeys = ProfileKeys()
    conversation: ConversationRules = ConversationRules()
    hooks: HookRules = HookRules()
    modes: ModeRules = ModeRules()
    record: RecordKind = ""
    """The kind of file that describes its running session (`programs/session/session_record.py`); empty: none."""

    def started_by(self, argv: Sequence[str]) -> Profile:
        """The profile with the modes that the program has when it is started by this command line."""
        line = "\n".join(word.replace("\n", " ") for word in argv[1:])  # a prompt is one word, whatever it says
        held = [each for each in self.modes.each if each.without and compile_linear(each.without).search(line)]
        if not held:
            return self
        each = tuple(rule for rule in self.modes.each if rule not in held)
        return msgspec.structs.replace(self, modes=msgspec.structs.replace(self.modes, each=each))

    def knows(self, version: str) -> bool:
        """Whether the rules about its screen were seen to hold for this version; for one that is not told (empty), some
        version, or by whoever wrote the profile of a program that tells none.
        """
        if not version:
            return not self.ai or bool(self.seen) or not self.version_flag
        return not self.ai or is_within(version, self.seen)

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
