"""The action `profiles update`: a signed bundle of rules is shown, agreed to, tried and kept, or undone.

A bundle may change what only says how a program is read: `Reads` in `profile.py`. Anything else is refused by its name,
so that who may sign rules can start nothing and press nothing. Nothing is ever fetched unasked. Part of the family
`profiles` (`programs/commands.py`).
"""

from __future__ import annotations

import asyncio
import difflib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, ClassVar, get_args, get_type_hints
from urllib.parse import urlsplit, urlunsplit

import msgspec
from pydantic import Field

from gshtui import __version__
from gshtui.commands.declaration import (
    Access,
    Action,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Question,
    Returns,
    UsageError,
)
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.programs.check.check_results import CheckedStep, CheckResult, keep_result, seen_here
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.profiles.profile_bundle import (
    LARGEST,
    PROJECT_KEYS,
    SIGNATURE,
    Bundle,
    BundleError,
    changed,
    parse,
    undo,
    use,
    used,
    verify,
)
from gshtui.programs.profiles.profile_files import (
    LoadedProfiles,
    ProfileError,
    each_of,
    load,
    made,
    marks,
    own_folder,
    read_tables,
)
from gshtui.programs.profiles.profile_overlay import REMOVE, RULES, OverlayError, key_path
from gshtui.programs.profiles.program_versions import installed, kept_versions
from gshtui.settings.toml_file import read_bytes
from gshtui.system.json_types import is_array, is_object
from gshtui.system.network.downloads import DownloadError, download
from gshtui.text.sanitise import plain
from gshtui.text.version_order import newest

_WITHIN = 30.0
"""Seconds to fetch a file."""
_READS = "reads"
_PLACED = frozenset({"before", "after"})
"""What a rule of an overlay has besides its own keys."""
Lines = Mapping[str, Sequence[str]]


class UpdatedRules(msgspec.Struct, frozen=True):
    """What came of an update."""

    version: str
    """That counts now; empty: what ships does."""
    taken: bool
    notes: tuple[str, ...] = ()
    """A sentence about each program."""
    diff: str = ""


class UpdateProfiles(Parameters, Returns[UpdatedRules]):
    """Take rules for reading programs from a signed file, apart from releases of gsh-tui.

    They are shown and asked about first. Each program that they are about and that is installed is checked before and
    after, and where that is worse than before, everything stays as it was. Nothing is ever fetched without this
    command.
    """

    COMMAND: ClassVar[str] = "profiles"
    WORD: ClassVar[str] = "update"
    SHELL = ShellForm(
        ("source",),
        summary="Take signed rules for reading programs.",
        parts=frozenset(),
        waiting="Checking",
        needs_answer=True,
        examples=("gsh-tui profiles update rules.toml", "gsh-tui profiles update --undo"),
        alone=True,
    )
    FORMER_NAMES = {"name": "source"}
    source: Annotated[str, ShellOption(metavar="FILE|URL")] = Field(
        default="", description="The file or address of the rules; its signature is beside it, with .minisig behind it."
    )
    undo: bool = Field(default=False, description="Go back to the rules before the last update.")
    digest: Annotated[str, Mark.CODE_ONLY] = Field(
        default="", description="Of the rules that were shown, if they were: no others are taken."
    )


def update_action(
    environ: Mapping[str, str], keys: Callable[[], Sequence[str]]
) -> Action[UpdateProfiles, UpdatedRules]:
    """`profiles update`. `keys`: those that a person trusts."""

    async def fetched(wanted: UpdateProfiles, cwd: Path) -> tuple[Bundle, bytes, str]:
        """The bundle with its signature and what it changes. Raises `CommandError`."""
        if not wanted.source:
            hint = "For example: profiles update rules.toml"
            raise UsageError("`profiles update` needs a file or an address of rules, or --undo.", hint=hint)
        try:
            data, signature = await _fetch(wanted.source, cwd), await _fetch(_beside(wanted.source), cwd)
            await asyncio.to_thread(verify, data, signature, [*PROJECT_KEYS, *keys()])
            bundle = parse(data)
            if wanted.digest not in ("", bundle.digest):
                raise BundleError("It has changed since it was shown.")
            await asyncio.to_thread(_see_that_it_is_new, bundle)
            return bundle, signature, await asyncio.to_thread(_diff, bundle)
        except BundleError as error:
            raise CommandError(f"The rules in {plain(wanted.source)} are not taken. {error}") from error

    async def asks(invocation: Invocation, wanted: UpdateProfiles) -> Question | None:
        if wanted.undo or not wanted.source:
            return None
        bundle, _, diff = await fetched(wanted, invocation.cwd)
        return Question(
            wanted.model_copy(update={"digest": bundle.digest}),
            f"Take the rules {bundle.version}?",
            "They change how programs are read, and nothing else. A program that is installed is checked before and "
            "after.",
            "Take them",
            note="`profiles update --undo` goes back.",
            quoted=diff,
            doing="Checking",
        )

    async def update(invocation: Invocation, wanted: UpdateProfiles) -> UpdatedRules:
        if invocation.caller.is_agent:
            raise UsageError("Only a person can change how programs are read.")
        if wanted.undo:
            return await asyncio.to_thread(_undone)
        bundle, signature, diff = await fetched(wanted, invocation.cwd)
        names = sorted(bundle.profiles)
        before = {name: await _checked(name, environ, invocation) for name in names}
        with TemporaryDirectory(prefix="gsh-rules-", ignore_cleanup_errors=True) as place:
            rules = Path(place) / "profiles"  # beside the person's own: what nobody has checked to its end never counts
            await asyncio.to_thread(_put_beside, rules, bundle, signature)
            after = {
                name: await _checked(name, environ, invocation, rules=rules, than=than)
                for name in names
                if (than := before[name].result) is not None
            }
        notes = tuple(_compared(name, before[name], after.get(name)) for name in names)
        worse = [name for name in after if is_worse(before[name].result, after[name].result)]
        if not worse:
            await asyncio.to_thread(_take, bundle, signature, after.values())
        return UpdatedRules(await asyncio.to_thread(_counting), not worse, notes, diff)

    return Action(UpdateProfiles, update, _render, asks=asks, access=Access.HUMAN_ONLY, effect=Effect.EXECUTE)


# -- the files -----------------------------------------------------------------------------------------------------


def _is_address(source: str) -> bool:
    return source.partition("://")[0].lower() in ("http", "https")


def _beside(source: str) -> str:
    """Where the signature of these rules is."""
    if not _is_address(source):
        return source + SIGNATURE
    parts = urlsplit(source)
    return urlunsplit(parts._replace(path=parts.path + SIGNATURE))


async def _fetch(source: str, cwd: Path) -> bytes:
    """A file's or an address's bytes. Raises `BundleError`."""
    if _is_address(source):
        return await _downloaded(source)
    if "://" in source:
        raise BundleError(f"Rules are fetched by http and https, not by {source.partition('://')[0]}.")
    path = cwd / Path(source).expanduser()
    try:
        data = await asyncio.to_thread(read_bytes, path)
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror or error}.") from error
    if data is None:
        what = "It has no signature" if source.endswith(SIGNATURE) else "There is no such file"
        raise BundleError(f"{what}: {path} is not there.")
    return data


async def _downloaded(address: str) -> bytes:
    try:
        return await download(address, largest=LARGEST, within=_WITHIN, shown=plain(address))
    except DownloadError as error:
        raise BundleError(error.message) from error


# -- what a bundle may change --------------------------------------------------------------------------------------


def _see_that_it_is_new(bundle: Bundle) -> None:
    if bundle.release != __version__:
        raise BundleError(f"They are for gsh-tui {bundle.release}; this is {__version__}.")
    versions = used(own_folder())
    if versions[-1:] == [bundle.version]:
        raise BundleError(f"The rules {bundle.version} count already.")
    if versions and newest((versions[-1], bundle.version)) != bundle.version:
        raise BundleError(f"They are older than the rules {versions[-1]}, which count; --undo goes back.")


def _diff(bundle: Bundle) -> str:
    """How what is read changes, profile by profile. Raises `BundleError`."""
    shipped = {path.stem: path for path in (Path(__file__).parents[1] / "profiles").glob("*.toml")}
    now = load()
    found: list[str] = []
    for name, changes in bundle.profiles.items():
        if name not in shipped:
            raise BundleError(f"They are about {name!r}, of which gsh-tui has no profile.")
        if refused := next(_others(Profile, changes, ""), ""):
            raise BundleError(f"They set `{name}.{refused}`, which is no rule for reading a program.")
        before = now.profiles[name] if now.origins.get(name) == shipped[name] else _shipped(shipped[name], {})
        after = _shipped(shipped[name], changes)
        if _flat(before, reads=False) != _flat(after, reads=False):
            raise BundleError(f"They would change more of {name} than how it is read.")
        one, other = ([f"{key} = {value}" for key, value in _flat(each).items()] for each in (before, after))
        found += difflib.unified_diff(one, other, name, f"{name} {bundle.version}", lineterm="", n=0)
    return "\n".join(map(plain, found)) or "They change nothing of what is read now."


def _shipped(path: Path, changes: Mapping[str, Any]) -> Profile:
    """A profile that ships, with a bundle's changes. Raises `BundleError`."""
    try:
        tables = read_tables(path)
        if "extends" in tables:
            tables = changed(read_tables(path.with_name(f"{tables['extends']}.toml")), tables)
        return made(changed(tables, changes), Path(path.stem))
    except (OverlayError, ProfileError) as error:
        raise BundleError(f"{str(error).removesuffix('.')}.") from error


def _others(kind: type[msgspec.Struct], table: Mapping[str, Any], where: str) -> Iterator[str]:
    """The keys of a bundle's table that it may not set."""
    hints = get_type_hints(kind, include_extras=True)
    for key, value in table.items():
        at = f"{where}{key}"
        if key == REMOVE and not where:
            yield from (one for one in _texts(value) if not _may_go(one))
        elif key not in hints:
            yield from () if where.startswith(f"{RULES}[") and key in _PLACED else (at,)
        elif _READS in marks(kind)[key]:
            continue
        elif (inner := _table_of(hints[key])) is None:
            yield at
        elif is_array(value):
            for number, one in enumerate(value):
                own = one if is_object(one) else {}
                yield from _others(inner, own, f"{at}[{own.get('name', number)}].")
        elif is_object(value):
            yield from _others(inner, value, f"{at}.")
        else:
            yield at


def _may_go(key: str) -> bool:
    """Whether a bundle may take this key away, or the rule of this name."""
    try:
        parts = key_path(key)
    except OverlayError:
        return False
    if parts[0] == RULES and len(parts) == 2:
        return True
    table: dict[str, Any] = {}
    inner = table
    for part in parts[:-1]:
        inner[part] = inner = dict[str, Any]()
    inner[parts[-1]] = ""
    return not any(_others(Profile, table, ""))


def _texts(value: object) -> list[str]:
    """The texts of a list; the whole as one where it is none."""
    return [str(one) for one in value] if is_array(value) else [str(value)]


def _table_of(hint: object) -> type[msgspec.Struct] | None:
    """The kind of table that a key is, or has a list of."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint
    return next(filter(None, map(_table_of, get_args(hint))), None)


def _flat(table: msgspec.Struct, where: str = "", *, reads: bool = True) -> dict[str, str]:
    """What a profile says of how a program is read, or else all the rest, by key; what is as usual is left out."""
    found: dict[str, str] = {}
    for name, marked in marks(type(table)).items():
        value, key = getattr(table, name), f"{where}{name}"
        if isinstance(value, msgspec.Struct):
            found |= _flat(value, f"{key}.", reads=reads)
        elif tables := [one for one in each_of(value) if isinstance(one, msgspec.Struct)]:
            named = [str(getattr(one, "name", "") or number) for number, one in enumerate(tables)]
            found |= {f"{key}": json.dumps(named)} if reads else {}
            for label, one in zip(named, tables, strict=True):
                found |= _flat(one, f"{key}[{label}].", reads=reads)
        elif (_READS in marked) == reads and value != _usual(type(table), name):
            found[key] = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
    return found


def _usual(kind: type[msgspec.Struct], name: str) -> object:
    fields = kind.__struct_fields__
    defaults = kind.__struct_defaults__
    at = fields.index(name) - (len(fields) - len(defaults))
    return defaults[at] if at >= 0 else msgspec.NODEFAULT


# -- before and after ----------------------------------------------------------------------------------------------


class _Trial(msgspec.Struct, frozen=True):
    """A program's check, or why there is none."""

    name: str
    version: str = ""
    result: CheckResult | None = None
    why: str = ""


async def _checked(
    name: str,
    environ: Mapping[str, str],
    invocation: Invocation,
    *,
    rules: Path | None = None,
    than: CheckResult | None = None,
) -> _Trial:
    """Check a program; what is known of it will do.

    `rules`: the folder of profiles to check instead, until more fails than in `than`.
    """
    from gshtui.programs.check.check_run import CheckError, check_program

    loaded: LoadedProfiles = await asyncio.to_thread(load, rules)
    profile = loaded.get(name)
    found = await asyncio.to_thread(installed, profile, environ)
    if found is None:
        return _Trial(name, why="not installed, so it was not checked")
    version = await kept_versions().find(profile, (found,), environ)
    if rules is None and (known := await asyncio.to_thread(seen_here, name, version)) is not None:
        return _Trial(name, version, known)
    steps: list[CheckedStep] = []
    try:
        async with aclosing(check_program(profile, environ, rules)) as running:
            async for step in running:
                invocation.output(f"{name} {step.step:10} {step.verdict}  {plain(step.reason)}".rstrip() + "\n")
                steps.append(step)
                if than is not None and _fails(steps) > _fails(than.steps):
                    break  # a step that fails takes long
    except CheckError as error:
        return _Trial(name, version, why=f"not checked: {re.sub(r'[.]$', '', str(error))}")
    return _Trial(name, version, CheckResult(tuple(steps)))


def _put_beside(rules: Path, bundle: Bundle, signature: bytes) -> None:
    """Make a folder of profiles as the person's would be with a bundle."""
    if own_folder().is_dir():
        shutil.copytree(own_folder(), rules)
    use(rules, bundle, signature)


def _take(bundle: Bundle, signature: bytes, checked: Iterable[_Trial]) -> None:
    """Have a bundle count, and keep what was found with it."""
    use(own_folder(), bundle, signature)
    for trial in checked:
        if trial.result is not None:
            keep_result(trial.name, trial.version, trial.result)


def is_worse(before: CheckResult | None, after: CheckResult | None) -> bool:
    """Whether more fails than before, or less works."""
    if before is None or after is None:
        return after is None and before is not None
    return _fails(after.steps) > _fails(before.steps) or after.points < before.points


def _fails(steps: Sequence[CheckedStep]) -> int:
    return sum(step.verdict == "N" for step in steps)


def _compared(name: str, before: _Trial, after: _Trial | None) -> str:
    if before.result is None or after is None:
        return f"{name}: {before.why}."
    sums = after.result.sums if after.result is not None else after.why
    return f"{name}: {sums}; before: {before.result.sums}."


def _undone() -> UpdatedRules:
    if not used(own_folder()):
        raise CommandError("There is nothing to undo: the rules that ship with gsh-tui count.")
    last = undo(own_folder())
    return UpdatedRules(_counting(), True, (f"The rules {last} do not count any more.",))


def _counting() -> str:
    return next(reversed(used(own_folder())), "")


def _render(_: Invocation, updated: UpdatedRules) -> Outcome:
    data: dict[str, Any] = {"version": updated.version, "taken": updated.taken, "notes": list(updated.notes)}
    counts = f"The rules {updated.version} count" if updated.version else "The rules that ship with gsh-tui count"
    head = f"{counts} now." if updated.taken else f"That is worse than before, so it was not taken. {counts} still."
    return Outcome(data, "\n".join([head, *updated.notes]), is_error=not updated.taken, diff=updated.diff)
