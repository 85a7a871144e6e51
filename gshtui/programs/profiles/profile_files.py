"""Reads the profiles of programs from their files, one over the other, and checks them.

A file with `extends` changes single keys of another profile (`profile_overlay.py`); any other file is a whole profile.
One with an unknown key, a bad pattern or a contradiction is rejected with a sentence that names file and key; other
profiles stay usable. Loaded by the fleet and by the commands `profiles` and `hooks`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import msgspec

from gshtui.programs.profiles import profile_bundle
from gshtui.programs.profiles.profile import GENERIC, PATTERN, Profile
from gshtui.programs.profiles.profile_overlay import EXTENDS, OverlayError, overlaid
from gshtui.settings import paths, plugins
from gshtui.settings.toml_file import load_toml, read_bytes
from gshtui.system.json_types import is_object
from gshtui.system.struct_types import learned
from gshtui.text.linear_regex import LinearError, compile_linear
from gshtui.text.plain_name import known_names

_NAME = re.compile(r"^[a-z0-9][a-z0-9-]{0,31}$")


class ProfileError(Exception):
    """A profile cannot be used; one sentence."""


class LoadedProfiles(msgspec.Struct, frozen=True):
    """The profiles by name, their origins, and the problems of those that could not be loaded."""

    profiles: dict[str, Profile] = msgspec.field(default_factory=dict[str, Profile])
    origins: dict[str, Path] = msgspec.field(default_factory=dict[str, Path])
    problems: tuple[str, ...] = ()

    def get(self, name: str) -> Profile:
        """The profile with this name. Raises `ProfileError` if there is none."""
        if name not in self.profiles:
            known = known_names("profiles", sorted(self.profiles))
            raise ProfileError(f"There is no profile {name[:40]!r}. {known}")
        return self.profiles[name]

    def for_argv(self, argv: Sequence[str]) -> Profile:
        """The profile of a command line, by its program, even after `env` or `npx`; else the generic one."""
        before = 0  # words, without the variables that `env` sets
        for at, word in enumerate(argv):
            name = Path(word).name.removeprefix("-")
            before += "=" not in word or word.startswith("-")
            if before > _MOST_BEFORE:
                break
            for profile in self.profiles.values():
                if name in profile.programs and not (profile.bare and script_of(argv[at + 1 :])):
                    return profile.started_by(argv)
            if name not in _LAUNCHERS and "=" not in word and not word.startswith("-"):
                break
        return self.profiles.get(GENERIC) or Profile(name=GENERIC, title="program", ai=False)

    def of_process(self, argv: Sequence[str]) -> Profile:
        """The profile of a running program, by its command line from the system, which may be an interpreter's."""
        script = script_of(argv[1:])
        if script and not script.startswith("-") and Path(argv[0]).name.startswith(_INTERPRETERS):
            return self.for_argv((script, *argv[argv.index(script) + 1 :]) if script in argv else (script,))
        return self.for_argv(argv)


_MOST_BEFORE = 4
"""Words in which a program is looked for, its own the last."""
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


Tables = Mapping[str, Any]
"""A profile as its file has it."""


def load(folder: Path | None = None, before: LoadedProfiles | None = None) -> LoadedProfiles:
    """The profiles that ship with gsh-tui, over them the rules of an update, those of plugins and the user's own.

    Args:
        folder: of the user's profiles; `own_folder()` by default. It need not exist.
        before: what was loaded earlier: of it, profiles stay whose files have become unusable.
    """
    problems: list[str] = []
    found = _Layers(problems, before)
    found.add(_files(Path(__file__).parent, problems), tested=True)
    found.update(folder or own_folder())
    found.add(_plugin_files(problems))
    found.add(_files(folder or own_folder(), problems))
    return LoadedProfiles(found.profiles, found.origins, tuple(problems))


def own_folder() -> Path:
    return paths.config_dir() / "profiles"


class _Layers:
    """Profiles, one file over the other."""

    def __init__(self, problems: list[str], before: LoadedProfiles | None) -> None:
        self.profiles: dict[str, Profile] = {}
        self.origins: dict[str, Path] = {}
        self._tables: dict[str, Tables] = {}
        self._problems = problems
        self._before = before

    def add(self, paths: Sequence[Path], *, tested: bool = False) -> None:
        """Put files over those before them; one that is wrong is a problem, and changes nothing. One that extends
        another of them comes after that.
        """
        own = [(path, self._read(path)) for path in paths]
        for path, tables in sorted(own, key=lambda each: each[1] is not None and EXTENDS in each[1]):
            if tables is not None:
                self._add(path, tables, tested)

    def update(self, folder: Path) -> None:
        """Put the bundle of rules that counts over what ships."""
        try:
            found = profile_bundle.current(folder)
        except profile_bundle.BundleError as error:
            self._problems.append(str(error))
            return
        if found is None:
            return
        path, bundle = found
        for name, changes in bundle.profiles.items():
            try:
                tables = profile_bundle.changed(self._tables[name], changes)
                self._put(made(tables, path), path, tables)
            except (KeyError, OverlayError, ProfileError) as error:
                self._problems.append(f"The rules for {name} in {path} do not count: {str(error).removesuffix('.')}.")

    def _read(self, path: Path) -> Tables | None:
        try:
            return read_tables(path)
        except ProfileError as error:
            self._problems.append(f"{error} {self._kept(path)}".rstrip())
            return None

    def _add(self, path: Path, tables: Tables, tested: bool) -> None:
        try:
            if EXTENDS in tables:
                tables = self._extended(path, tables)
            profile = made(tables, path, tested=tested)
        except ProfileError as error:
            self._problems.append(f"{error} {self._kept(path)}".rstrip())
        else:
            self._put(profile, path, tables)

    def _put(self, profile: Profile, path: Path, tables: Tables) -> None:
        self.profiles[profile.name], self.origins[profile.name] = profile, path
        self._tables[profile.name] = tables

    def _extended(self, path: Path, tables: Tables) -> Tables:
        base = tables[EXTENDS]
        if not isinstance(base, str) or base not in self._tables:
            known = known_names("profiles", sorted(self._tables))
            raise ProfileError(f"{path} is not a profile: `extends` names {base!r}. {known}")
        below = self._tables[base]
        if tables.get("name") not in (None, base):  # another program: it does not take over the other's command lines
            below = {key: value for key, value in below.items() if key != "programs"}
        try:
            return overlaid(below, tables)
        except OverlayError as error:
            raise ProfileError(f"{path} is not a profile: {error}.") from error

    def _kept(self, path: Path) -> str:
        """Keep what was read from this file before; says what counts instead of it."""
        before = self._before
        if before is not None and (names := [name for name, origin in before.origins.items() if origin == path]):
            self.profiles |= {name: before.profiles[name] for name in names}
            self.origins |= dict.fromkeys(names, path)
            return "What was read from it last goes on to count."
        return "It has no effect until it is corrected." if path.stem in self.profiles else ""


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
    """One file with a whole profile. Raises `ProfileError`."""
    return made(read_tables(path), path, tested=tested)


def read_tables(path: Path) -> Tables:
    """A file's tables; `name` is there unless it extends another. Raises `ProfileError`."""
    try:
        data = load_toml((read_bytes(path) or b"").decode("utf-8"))
    except OSError as error:
        raise ProfileError(f"Cannot read {path}: {error.strerror or error}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProfileError(f"{path} is not valid TOML: {error}.") from error
    if EXTENDS not in data:
        data.setdefault("name", path.stem)
    return data


def made(tables: Tables, path: Path, *, tested: bool = False) -> Profile:
    """The profile of these tables. Raises `ProfileError`.

    Args:
        path: for messages.
        tested: its patterns are known to be right. To compile those of every program takes longer than all the rest.
    """
    try:
        profile = msgspec.convert(tables, learned(Profile))
    except msgspec.ValidationError as error:
        hint = ""
        if "title" not in tables:
            hint = f' A file that changes single keys of a profile begins with `{EXTENDS} = "{path.stem}"`.'
        raise ProfileError(f"{path} is not a profile: {error}.{hint}") from error
    if wrong := _wrong(profile, compiled=not tested):
        raise ProfileError(f"{path} is not a profile: {wrong}.")
    return profile


@lru_cache(maxsize=64)
def marks(kind: type[msgspec.Struct]) -> Mapping[str, frozenset[str]]:
    """What the types of a table's keys say of them: see `Reads` and `Pattern`."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: _marked(hints[name]) for name in kind.__struct_fields__}


def _marked(hint: object) -> frozenset[str]:
    notes: tuple[object, ...] = getattr(hint, "__metadata__", ())
    own = {name for note in notes if isinstance(note, msgspec.Meta) for name in note.extra or {}}
    return frozenset(own.union(*(_marked(part) for part in get_args(hint))))


def each_of(value: object) -> Sequence[object]:
    """The values of a key that may have several."""
    return cast("Sequence[object]", value) if isinstance(value, tuple) else (value,)


def patterns_of(table: msgspec.Struct, where: str = "") -> Iterator[tuple[str, str]]:
    """All patterns of a profile or of one of its tables, each with its key."""
    for name, marked in marks(type(table)).items():
        value = getattr(table, name)
        if is_object(value) and PATTERN in marked:
            for key, those in value.items():
                yield from ((f"{where}{name}.{key}", one) for one in those)
            continue
        for number, one in enumerate(each_of(value)):
            at = f"[{getattr(one, 'name', '') or number}]" if isinstance(value, tuple) else ""
            if isinstance(one, msgspec.Struct):
                yield from patterns_of(one, f"{where}{name}{at}.")
            elif isinstance(one, str) and PATTERN in marked:
                yield f"{where}{name}{at}", one


_GROUPS = {"question.choice": 2, "question.keys": 2, "question.letters": 2}
"""Patterns of which parts are taken, and how many."""


def _wrong(profile: Profile, *, compiled: bool) -> str:
    """What is wrong with a profile; empty if nothing is. `compiled`: its patterns are compiled for that."""
    if not _NAME.match(profile.name):
        return f"the name {profile.name[:40]!r} must consist of a-z, 0-9 and -"
    for rule in profile.rules:
        if not rule.all and not rule.footer:
            return f"the rule {rule.name or rule.status!r} has nothing in `all`, so it would always match"
    names = [rule.name for rule in profile.rules if rule.name]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        return f"two rules have the name {twice!r}"
    for key, pattern in patterns_of(profile) if compiled else ():
        try:
            groups = compile_linear(pattern).groups
        except LinearError as error:
            return f"the pattern {pattern!r} of `{key}` is wrong ({error})"
        if pattern and groups < _GROUPS.get(key, 0):
            return f"the pattern {pattern!r} of `{key}` needs {_GROUPS[key]} groups, (…), as the guide to profiles says"
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
