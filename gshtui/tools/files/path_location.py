"""Where a path really leads, whether that is inside the project, and what to warn a person about.

Refuses impossible paths (empty, NUL, too long) and links that quietly leave the project. Never writes. Every tool that
takes a path calls it twice: to assess and to run.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import msgspec

from gshtui.commands.declaration import CommandError, Invocation
from gshtui.guard.policy import sensitive_paths
from gshtui.text.file_name import read_name, written_name
from gshtui.text.sanitise import literal, one_line
from gshtui.tools.files.workspace import Workspace

_LONGEST = 4096


class Location(msgspec.Struct, frozen=True):
    """A path as asked for, and what it resolves to."""

    asked: str
    path: Path
    """Absolute and without `..`; links not followed."""
    real: Path
    """The path that the kernel would open."""
    inside: bool
    """Really inside the project, and not a secret."""
    shown: str
    """For people: relative inside the project, otherwise the whole real path; sanitised, one line."""
    warnings: tuple[str, ...] = ()
    leaves: bool = False
    """It reads like a path inside the project, but a link leads outside."""
    project: Path = Path("/")
    """Real path of the project's root."""

    @property
    def rule_name(self) -> str:
        """What a rule names it by: as `shown`, without quotes."""
        return one_line(literal(_encodable(_named(self.real, self.project))), limit=_LONGEST)

    @property
    def where(self) -> str:
        """The place as the end of a sentence."""
        return "the project's folder" if self.shown == "." else self.shown


def locate(invocation: Invocation, asked: str) -> Location:
    """Resolve a path for this run. Raises `CommandError`: the path is empty, too long or contains a NUL; its links form
    a loop, or lead out of the folder that it must be in.
    """
    if not asked.strip():
        raise CommandError("The path is empty.", hint="Name a file or folder.")
    if "\0" in asked or len(os.fsencode(_encodable(asked))) > _LONGEST:
        raise CommandError("That cannot be a path: it contains a NUL or is longer than 4,096 bytes.")
    text = os.path.expanduser(read_name(asked))  # noqa: PTH111 - Path.expanduser raises where there is no such user
    path = Path(os.path.normpath(invocation.cwd / text))
    # The kernel resolves links before `..`, so resolve the path as asked, not the shortened form.
    try:
        real = Path(os.path.realpath(invocation.cwd / text))
    except (OSError, ValueError, RuntimeError) as error:
        raise CommandError(f"Cannot resolve {one_line(asked)}: {error}.") from error
    if invocation.within is not None and not real.is_relative_to(os.path.realpath(invocation.within)):
        where = one_line(literal(_encodable(asked)), limit=_LONGEST)
        raise CommandError(f"{where} leads through a link out of its shared folder.", hint="Name the file itself.")
    project = Path(os.path.realpath(invocation.project))
    within = real.is_relative_to(project)
    named_inside = path.is_relative_to(invocation.project) or path.is_relative_to(project)
    secret = sensitive_paths.secret(real) or sensitive_paths.secret(path)
    return Location(
        asked=asked,
        path=path,
        real=real,
        inside=within and not secret,
        shown=shown(real, project),
        warnings=_warnings(path, real, within, secret),
        leaves=named_inside and not within,
        project=project,
    )


def shown(real: Path, project: Path) -> str:
    """Show a real path to people and models, so that it can be given back: relative if it is inside the project."""
    return written_name(_named(real, project))


def _named(real: Path, project: Path) -> str:
    return str(real.relative_to(project) if real.is_relative_to(project) else real)


def confirm_unchanged(workspace: Workspace, invocation: Invocation, place: Location) -> None:
    """Refuse if the path leads somewhere else than the person saw when they approved. Raises `CommandError`: a link was
    put in its way since.
    """
    told = workspace.approved_path(invocation, place.asked)
    if told and told != str(place.real):
        raise CommandError(
            f"{one_line(place.asked)} led to {one_line(told)} when it was approved, but now leads to {place.shown}.",
            hint="Nothing was changed. Somebody changed a link in the path; look at it before you try again.",
        )


def missing(place: Location) -> CommandError:
    """Return the error for a missing file, with the closest names."""
    near = [shown(path, place.project) for path in nearest(place.path)]
    hint = f"Similar names: {', '.join(near)}." if near else "Use glob to see what is there."
    return CommandError(f"{place.shown} does not exist.", hint=hint)


def nearest(path: Path) -> list[Path]:
    """Return the five paths in the same folder (or the nearest existing one) that look most like the path."""
    folder, wanted = path.parent, path.name
    while not folder.is_dir() and folder != folder.parent:
        folder, wanted = folder.parent, folder.name
    try:
        names = sorted(entry.name for entry in folder.iterdir())[:20_000]
    except OSError:
        return []
    folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(wanted.casefold(), folded, n=5, cutoff=0.5)
    return [folder / folded[name] for name in close]


async def complete_path(invocation: Invocation, parameter: str, typed: str) -> list[str]:
    """Complete a path parameter; folders get a slash."""
    if parameter not in ("path", "working_dir"):
        return []
    head, _, start = typed.rpartition("/")
    folder = invocation.cwd / (
        Path(read_name(head) + "/").expanduser() if head else Path("/" if typed.startswith("/") else ".")
    )
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(start) and (start.startswith(".") or not entry.name.startswith(".")):
                    lead = f"{head}/" if "/" in typed else ""
                    found.append(f"{lead}{written_name(entry.name)}{'/' if entry.is_dir() else ''}")
    except OSError:
        return []
    return sorted(found)[:200]


def _warnings(path: Path, real: Path, within: bool, secret: str) -> tuple[str, ...]:
    warnings: list[str] = []
    if path != real:
        warnings.append(f"leads through a link to {one_line(literal(_encodable(str(real))), limit=_LONGEST)}")
    if not within:
        warnings.append("outside the project")
    if secret:
        warnings.append(f"may hold {secret}")
    return tuple(warnings)


def _encodable(text: str) -> str:
    """Keep undecodable bytes of a file name as Python represents them; replace what no name can contain."""
    return text.encode("utf-8", "surrogateescape" if _only_escapes(text) else "replace").decode("utf-8", "replace")


def _only_escapes(text: str) -> bool:
    return not any("\ud800" <= c <= "\udc7f" or "\udd00" <= c <= "\udfff" for c in text)
