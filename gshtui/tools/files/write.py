"""The `write` tool: replace the whole content of a file in one step.

Refuses to replace what the caller has not read or what changed since; and git's own files, devices, and links put in
the way.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from gshtui.commands.declaration import Assessment, CommandError, Effect, Invocation, Mark, Outcome, RuleScope, Word
from gshtui.commands.schema import FOR_PEOPLE, PLAIN, ToolParameters, renamed
from gshtui.guard.policy import sensitive_paths
from gshtui.guard.rules.rule_paths import escaped
from gshtui.text import unified_diff
from gshtui.tools.files import file_access, path_location
from gshtui.tools.files.file_type import filetype
from gshtui.tools.files.path_location import Location
from gshtui.tools.files.workspace import Fingerprint, Workspace, fingerprint

DESCRIPTION = """\
Write a whole file; missing folders are created. Refused for a file that you have not read, or that changed since. \
Leave nothing out, never `# … unchanged`. To change a part use `edit`."""
HIDDEN = "[redacted]"
"""What stands for a secret in what an agent is shown (`text/secret_shapes.py`, not loaded for this word)."""
LIMIT = 64 << 20
"""Largest file, in bytes, that `write` and `edit` handle."""
_DIFFED = 4 << 20


class WriteParameters(ToolParameters):
    """What to write, and where."""

    path: str = Field(description="File to write", json_schema_extra=PLAIN)
    content: Annotated[str, Mark.VERBATIM, Mark.PIPED] = Field(
        description="Complete content of the file", json_schema_extra=PLAIN
    )
    to: Word = Field(default=Word(), description="The same as path", json_schema_extra=FOR_PEOPLE)

    @model_validator(mode="before")
    @classmethod
    def _named_once(cls, data: object) -> object:
        return renamed("to", "path", data)


async def assess(workspace: Workspace, invocation: Invocation, parameters: WriteParameters) -> Assessment:
    return await asyncio.to_thread(_assess, workspace, invocation, parameters)


async def run(workspace: Workspace, invocation: Invocation, parameters: WriteParameters) -> Outcome:
    return await asyncio.to_thread(_write, workspace, invocation, parameters)


def writable(invocation: Invocation, asked: str) -> Location:
    """Return the location to write to. Raises `CommandError`: it is a folder, off limits for tools, or a link leads out
    of the project.
    """
    place = path_location.locate(invocation, asked)
    if why := sensitive_paths.guarded(place.real) or sensitive_paths.guarded(place.path):
        raise CommandError(f"No tool may write {place.shown}.", hint=why)
    if place.leaves:
        raise CommandError(
            f"{path_location.shown(place.path, invocation.project)} leads outside the project, to {place.shown}.",
            hint="If you mean that file, name it by that path.",
        )
    if place.real.is_dir() or asked.endswith("/"):
        raise CommandError(f"{place.shown} is a folder.", hint="Name a file in it.")
    return place


def writing(place: Location, tool: str, change: str, *arguments: str) -> Assessment:
    """Judge writing that location. `always` covers the file's folder; for files that configure programs, only the
    file.
    """
    starts = sensitive_paths.starts_things(place.real)
    alone = starts or not place.inside or str(place.shown) == place.real.name
    secret = any(warning.startswith("may hold") for warning in place.warnings)
    name = place.rule_name if alone else str(Path(place.rule_name).parent)
    named = escaped(name)
    return Assessment(
        effect=Effect.WRITE,
        subject=place.shown,
        inside=place.inside and not starts,
        detail=f"{tool} {place.shown}",
        diff=change,
        key="\0".join((str(place.real), *arguments)),
        pattern="" if secret else f"{tool} {name}" if alone else f"{tool} files in {name}",
        scope=RuleScope(paths=(named if alone else f"{named}/*",)),
        warnings=(*place.warnings, *((starts,) if starts else ())),
        why=starts if place.inside else "",
        changes=(str(place.real),),
    )


def keep_secrets(invocation: Invocation, place: Location, before: str, after: str) -> None:
    """Refuse an agent's change that would put what it was shown in place of a secret where the secret is.
    Raises `CommandError`: it would.
    """
    if invocation.caller.is_agent and HIDDEN in after and HIDDEN not in before:
        raise CommandError(
            f"The new text has {HIDDEN} where {place.shown} may have a secret that you were not shown.",
            hint="Change the other lines with edit, and leave out this one.",
        )


def unchanged_since(workspace: Workspace, invocation: Invocation, place: Location, now: Fingerprint) -> None:
    """Refuse if the file changed since the caller last saw it; do nothing if the caller never read it.
    Raises `CommandError`: it changed.
    """
    known = workspace.last_read(invocation, place.real)
    if known is not None and not known.same_content(now):
        raise CommandError(
            f"{place.shown} has changed since you last read it.",
            hint="Read it again, so that no change is lost, then repeat yours.",
        )


def _assess(workspace: Workspace, invocation: Invocation, parameters: WriteParameters) -> Assessment:
    place = writable(invocation, parameters.path)
    workspace.record_assessed(invocation, parameters.path, place.real)
    new = not place.real.exists()
    with file_access.explaining(f"Cannot read {place.shown}"):
        before = b"" if new else file_access.read_whole(place.real, LIMIT)[0]
    change = _change(place, before, parameters.content, new)
    return writing(place, "write", change, parameters.content)


def _write(workspace: Workspace, invocation: Invocation, parameters: WriteParameters) -> Outcome:
    place = writable(invocation, parameters.path)
    path_location.confirm_unchanged(workspace, invocation, place)
    content = parameters.content.encode("utf-8", "surrogatepass")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(
            "The content contains half a character (a lone surrogate).", hint="Send it again."
        ) from error
    with file_access.explaining(f"Cannot write {place.shown}"):
        before = _before(workspace, invocation, place)
        if before is not None:
            keep_secrets(invocation, place, before.decode("utf-8", "replace"), parameters.content)
        parents = _missing_parents(place.real)
        state = file_access.replace(place.real, content)
    workspace.record_read(invocation, place.real, fingerprint(state.st_mtime_ns, content))
    change = _change(place, before or b"", parameters.content, before is None)
    lines = parameters.content.count("\n") + (not parameters.content.endswith("\n") and bool(parameters.content))
    size = f"{lines:,} line{'' if lines == 1 else 's'}, {len(content):,} bytes"
    text = f"{'Created' if before is None else 'Replaced'} {place.shown}: {size}"
    if before is not None:
        text += f" ({unified_diff.count_changes(change)})" if change else " (the same as before)"
    if parents:
        text += f"; created the folder {path_location.shown(parents, invocation.project)}"
    if before is not None and b"\r\n" in before and b"\r\n" not in content:
        text += "; its line ends changed from CRLF to LF"
    return Outcome(data={"path": place.shown, "bytes": len(content), "created": before is None}, text=text, diff=change)


def _before(workspace: Workspace, invocation: Invocation, place: Location) -> bytes | None:
    """The current content, which the caller must have read; nothing if there is no file."""
    if not os.path.lexists(place.real):
        return None
    content, state = file_access.read_whole(place.real, LIMIT)
    if content and invocation.caller.is_agent and workspace.last_read(invocation, place.real) is None:
        raise CommandError(f"{place.shown} exists, and you have not read it.", hint="Read it before you replace it.")
    unchanged_since(workspace, invocation, place, fingerprint(state.st_mtime_ns, content))
    return content


def _missing_parents(real: Path) -> Path | None:
    """The topmost folder that has to be created."""
    missing = None
    for folder in real.parents:
        if folder.exists():
            break
        missing = folder
    return missing


def _change(place: Location, before: bytes, after: str, new: bool) -> str:
    kind = filetype(before[:8192])
    if before and not kind.encoding:
        return f"--- a/{place.shown}\n+++ b/{place.shown}\n({kind.description}, {len(before):,} bytes, is replaced)\n"
    if len(before) + len(after) > _DIFFED:
        return f"--- a/{place.shown}\n+++ b/{place.shown}\n({len(before):,} bytes before, {len(after):,} after)\n"
    old = before.removeprefix(kind.mark).decode(kind.encoding or "utf-8", "replace")
    return unified_diff.make_diff(old, after, place.shown, new=new)
