"""The skills of a folder (built in, the user's own, a trusted project's), and how the system section lists them. A
folder without a valid skill is reported with the reason and never stops the others.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from gshtui.settings import paths, plugins, trust
from gshtui.settings.paths import definition_entries
from gshtui.settings.toml_file import read_bytes
from gshtui.system.expected_error import ExpectedError
from gshtui.text.front_matter import FrontMatterError, parse
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import one_line, plain

if TYPE_CHECKING:
    from gshtui.settings.claude_plugins import ClaudePlugin

FILE = "SKILL.md"
MAX_BYTES = 64 * 1024
"""Of one file that is loaded: some 16,000 tokens."""
MAX_SKILLS = 100
"""Skills that are read of one folder."""
MAX_NAME, MAX_DESCRIPTION = 64, 1024
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
PROJECT_FOLDERS = (".gsh", ".claude", ".agents")
"""Folders of a project that have skills."""
_KEYS = frozenset(
    ("name", "description", "license", "compatibility", "metadata", "allowed-tools", "version", "author", "tags")
)
_SHOWN_FILES = 50
_BUILT_IN = Path(__file__).parent / "builtin"
Source = Literal["built in", "yours", "a plugin's", "the project's"]


class SkillError(ExpectedError):
    """A skill is not available. One sentence; `hint` says what to do."""


class Skill(msgspec.Struct, frozen=True):
    """One skill, without its text."""

    name: str
    description: str
    source: Source
    folder: Path
    """Real path."""
    plugin: ClaudePlugin | None = None
    """That it is of."""


class SkillStore(msgspec.Struct):
    """The skills by name, and one sentence for each bad skill folder."""

    found: dict[str, Skill] = msgspec.field(default_factory=dict[str, Skill])
    problems: list[str] = msgspec.field(default_factory=list[str])

    def sorted(self) -> list[Skill]:
        """By name: a stable order keeps a provider's prompt cache."""
        return [self.found[name] for name in sorted(self.found)]

    def get(self, name: str) -> Skill:
        """Raises `SkillError`."""
        if (skill := self.found.get(name)) is None:
            bad = next((problem for problem in self.problems if f"/{name}/" in problem), "")
            raise SkillError(
                f"There is no skill {name[:MAX_NAME]!r}.",
                bad or known_names("skills", sorted(self.found)),
            )
        return skill


def read_skills(cwd: Path) -> SkillStore:
    """All skills for a folder. Reads files; blocks for a moment. Never raises for what a file holds."""
    shelf = SkillStore()
    _read_folder(shelf, _BUILT_IN, "built in", _BUILT_IN)
    claude = paths.claude_dir() / "skills"
    # Your own for gsh-tui replace those of other programs.
    for own in (claude, paths.home() / ".agents" / "skills", paths.config_dir() / "skills"):
        _read_folder(shelf, own, "yours", None)
    root = paths.project_root(cwd)
    approved, problems = plugins.approved_claude_plugins(root)
    shelf.problems += problems
    for plugin in approved:
        for entry in plugin.skills[:MAX_SKILLS]:
            _add(shelf, entry, "a plugin's", plugin.folder, plugin)
    theirs = [folder for one in PROJECT_FOLDERS if (folder := root / one / "skills").is_dir() and folder != claude]
    if theirs and trust.state(root, None) == "untrusted":
        shelf.problems.append(
            f"The skills in {theirs[0].parent} are not used: this folder is not trusted; run `gsh-tui config trust`."
        )
        return shelf
    for folder in theirs:
        _read_folder(shelf, folder, "the project's", root)
    return shelf


def load_skill(skill: Skill, file: str = "") -> tuple[str, list[str]]:
    """Read a skill's text (or another file of its folder), and the names of its other files. Blocks for a moment.
    Raises `SkillError`: there is no such file, or it is not text, too large, or outside the skill's folder.
    """
    wanted = file.strip() or FILE
    path = Path(os.path.normpath(skill.folder / wanted))
    real = Path(os.path.realpath(path))
    if "\0" in wanted or not path.is_relative_to(skill.folder) or not real.is_relative_to(skill.folder):
        raise SkillError(f"{one_line(wanted, 100)!r} is not in the folder of the skill {skill.name}.")
    text = _text(real)
    body = skill_body(text) if real == skill.folder / FILE else text
    body = body if skill.plugin is None else skill.plugin.placed(body)
    return plain(body), _others(skill.folder)


def skill_body(text: str) -> str:
    """The text after the front matter. Raises `SkillError`."""
    try:
        return parse(text).body
    except FrontMatterError as error:
        raise SkillError(f"Cannot read the skill any more: {error}.") from error


def _read_folder(shelf: SkillStore, folder: Path, source: Source, within: Path | None) -> None:
    """Add the skills of a folder. `within`: where links may lead; anywhere, for the user's own."""
    for entry in definition_entries(folder, lambda entry: not entry.name.startswith("."), MAX_SKILLS, shelf.problems):
        _add(shelf, entry, source, within)


def _add(
    shelf: SkillStore, entry: Path, source: Source, within: Path | None, plugin: ClaudePlugin | None = None
) -> None:
    try:
        skill = _read(entry, source, within, shelf, plugin)
    except (SkillError, FrontMatterError) as error:
        why = error.message if isinstance(error, SkillError) else str(error)
        shelf.problems.append(f"The skill {one_line(str(entry / FILE), 300)} is not used: {why}.")
    else:
        if skill is not None:
            shelf.found[skill.name] = skill


def _read(
    entry: Path, source: Source, within: Path | None, shelf: SkillStore, plugin: ClaudePlugin | None
) -> Skill | None:
    if not entry.is_dir():
        return None  # a readme beside the skills
    folder = Path(os.path.realpath(entry))
    if within is not None and not folder.is_relative_to(os.path.realpath(within)):
        raise SkillError("a link leads out of the project")
    if within is not None and source == "the project's":
        for path in trust.files_in(entry):
            if trust.file_state(within, path) != "trusted":
                raise SkillError(
                    f"{path.name} is new or has changed since you trusted this folder; run `gsh-tui config trust`"
                )
    real = Path(os.path.realpath(folder / FILE))
    if not real.is_relative_to(folder):
        raise SkillError("a link leads out of the skill's folder")
    front = parse(_text(real))
    if front.text("disable-model-invocation") == "true":
        return None
    of_others = plugin is not None or entry.parent.parent.name in (".claude", ".agents")  # have keys of their own
    for key in () if of_others else sorted(set(front.fields) - _KEYS):
        shelf.problems.append(f"{entry / FILE}, line {front.line[key]}: {key!r} is unknown here and is ignored.")
    name = front.text("name") or (entry.name if of_others else "")
    description = one_line(front.text("description"), MAX_DESCRIPTION + 1)
    if not name:
        raise SkillError("it has no `name`")
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise SkillError(
            f"its name {one_line(name, 80)!r} must consist of a-z, 0-9 and single -, at most {MAX_NAME} characters"
        )
    if name != entry.name:
        raise SkillError(f"its name {name!r} is not the name of its folder")
    if not description:
        raise SkillError("it has no `description`")
    if len(description) > MAX_DESCRIPTION:
        raise SkillError(f"its description is longer than {MAX_DESCRIPTION:,} characters")
    before = shelf.found.get(name)
    if before is not None and before.folder == folder:
        return None  # linked twice
    if before is not None and source == "the project's":
        raise SkillError(f"there is already a skill {name!r} ({before.source}), which a project cannot replace")
    if before is not None and plugin is not None:
        name = f"{plugin.name}:{name}"
    return Skill(name, description, source, folder, plugin)


def _text(file: Path) -> str:
    try:
        raw = read_bytes(file)
    except OSError as error:
        raise SkillError(f"cannot read {file.name}: {error.strerror or error}") from error
    if raw is None:
        raise SkillError(f"there is no {file.name} in it")
    if len(raw) > MAX_BYTES:
        raise SkillError(f"{file.name} has {len(raw):,} bytes; the limit is {MAX_BYTES:,}")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SkillError(f"{file.name} is not UTF-8 text") from error
    if "\0" in text:
        raise SkillError(f"{file.name} is not a text file")
    return text


def _others(folder: Path) -> list[str]:
    found: list[str] = []
    for path, folders, files in os.walk(folder):  # links to folders are not followed
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            relative = str(Path(path, name).relative_to(folder))
            if relative != FILE and not name.startswith("."):
                found.append(one_line(relative, 200))
            if len(found) >= _SHOWN_FILES:
                return found
    return found


SECTION_LIMIT = 6_000
"""Characters of all lines together."""
_ONE = 400
"""Characters shown of a description; `skills ls` shows all of it."""
_HEAD = """\
Skills
Instructions for particular kinds of work. Load one that fits before you begin."""


def skills_section(shelf: SkillStore) -> str:
    """The text; empty if there are no skills."""
    lines: list[str] = []
    size, left = 0, 0
    for skill in shelf.sorted():
        said = skill.description if len(skill.description) <= _ONE else skill.description[: _ONE - 1] + "…"
        whose = " (the project's)" if skill.source == "the project's" else ""
        line = f"- {skill.name}{whose}: {said}"
        if size + len(line) > SECTION_LIMIT:
            left += 1
            continue
        size += len(line)
        lines.append(line)
    if left:
        lines.append(f"- and {left} more: `skills` with action=ls names them")
    return "\n".join((_HEAD, *lines)) if lines else ""
