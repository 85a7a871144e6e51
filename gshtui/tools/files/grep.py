"""The `grep` tool: lines that match a regular expression, grouped by file, sanitised and capped."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import shutil
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import msgspec
from msgspec.structs import replace
from pydantic import Field, create_model, model_validator

from gshtui.commands.declaration import Assessment, CommandError, Effect, Invocation, Mark, Outcome, Word
from gshtui.commands.schema import FOR_PEOPLE, PLAIN, RARE, ToolParameters, renamed
from gshtui.guard.policy import sensitive_paths
from gshtui.guard.secrets.child_environment import command_environment
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.struct_types import learned
from gshtui.system.tasks import cancel_and_wait
from gshtui.text.glob_pattern import PatternError, compile_glob
from gshtui.text.sanitise import literal, one_line, plain
from gshtui.tools.files import path_location
from gshtui.tools.files.path_location import shown
from gshtui.tools.files.read import reading
from gshtui.tools.files.workspace import ToolConfig, Workspace

_MOST = 1_000
"""Matching lines."""
_LONGEST = 500


class Spoken(msgspec.Struct):
    """Text in ripgrep's JSON: plain, or base64 if it is not UTF-8."""

    text: str | None = None
    bytes: str | None = None

    def words(self) -> str:
        """Return the text; undecodable bytes as Latin-1."""
        if self.text is not None:
            return self.text
        return base64.b64decode(self.bytes or "").decode("latin-1")

    def name(self) -> str:
        """Return the text as a file name, with undecodable bytes as Python represents them."""
        if self.text is not None:
            return self.text
        return base64.b64decode(self.bytes or "").decode("utf-8", "surrogateescape")


class _Data(msgspec.Struct):
    path: Spoken | None = None
    lines: Spoken | None = None
    line_number: int | None = None


class _Line(msgspec.Struct):
    type: str
    data: _Data


_decode = msgspec.json.Decoder(learned(_Line)).decode


class Matches:
    """Collects matches until there are enough."""

    def __init__(
        self, root: Path, project: Path, limit: int, wanted: re.Pattern[str] | None = None, *, name: str = ""
    ) -> None:
        """Args:
        limit: bytes of text, always at least one match; 0: unlimited.
        wanted: pattern that a file's path must match.
        name: what all matches are in, where no file is searched.
        """
        self._name = name
        self._wanted = wanted
        self._root = root
        self._project = project
        self._room = limit or sys.maxsize
        self._files: dict[str, list[tuple[int, bool, str]]] = {}
        self.count = 0
        """Matching lines so far."""
        self.cut = ""
        """Why there may be more matches; empty if these are all."""

    def add_match(self, line: bytes) -> bool:
        """Add one line of JSON; return false once there are enough matches."""
        try:
            said = _decode(line)
        except (msgspec.DecodeError, RecursionError):
            return True  # a line too long to hold, or of an unknown type
        data = said.data
        if said.type not in ("match", "context") or data.path is None or data.lines is None:
            return True
        matched = said.type == "match"
        name = self._name or data.path.name().removeprefix("./")
        if self._wanted is not None and not self._wanted.match(name):
            return True
        first = data.line_number or 1
        for offset, words in enumerate(data.lines.words().removesuffix("\n").split("\n")):
            if not self._add(name, first + offset, matched, words.removesuffix("\r")):
                return False
        return True

    def _add(self, name: str, number: int, matched: bool, words: str) -> bool:
        text = literal(words[: _LONGEST * 2])
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}… ({len(words):,} characters)"
        rows = self._files.get(name)
        cost = len(text.encode("utf-8", "replace")) + 20 + (0 if rows else 2 * len(name))
        if (cost > self._room and self.count) or (matched and self.count >= _MOST):
            self.cut = f"stopped at {self.count:,} matches; narrow the pattern, the path or file_pattern to see others"
            return False
        self._room -= cost
        self.count += matched
        self._files.setdefault(name, []).append((number, matched, text))
        return True

    def add_found(self, other: Matches) -> bool:
        """Add what another search found; return false once there are enough matches."""
        return all(
            self._add(name, number, matched, text)
            for name, rows in other._files.items()
            for number, matched, text in rows
        )

    def text(self) -> str:
        """Return the matches for people and models, by file in path order."""
        blocks: list[str] = []
        for name, rows in sorted(self._files.items()):
            lines = [self._shown(name)]
            last = 0
            for number, matched, text in rows:
                if last and number > last + 1:
                    lines.append("     ⋯")
                lines.append(f"{number:>6}{':' if matched else '│'}{text}")
                last = number
            blocks.append("\n".join(lines))
        if self.cut:
            blocks.append(f"[{self.cut}]")
        return "\n\n".join(blocks)

    def data(self) -> dict[str, Any]:
        found = [
            {"path": self._shown(name), "line": number, "text": text}
            for name, rows in sorted(self._files.items())
            for number, matched, text in rows
            if matched
        ]
        return {"matches": found, "count": self.count, "complete": not self.cut}

    def _shown(self, name: str) -> str:
        return shown(self._root / name, self._project)


DESCRIPTION = """\
Search file contents for a regular expression (ripgrep's; (?i) ignores case): matching lines as `number:text`. Skips \
binary files and what .gitignore names."""
DETAILS = """\
Results are grouped by file, with the lines around them as `number│text`. Escape literal characters: `foo\\\\(`. Files \
with keys in them are skipped."""
_LONGEST_PIECE = 4 << 20
_NOTE = 200
"""Bytes kept free for what is said about the matches; half of a very small answer at most."""


_In = create_model(
    "_In",
    __base__=ToolParameters,
    **cast("Any", {"in": (Word, Field(default=Word(), description="The same as path", json_schema_extra=FOR_PEOPLE))}),
)
"""`in` is a keyword of Python, so this field cannot be written in a class."""


class GrepParameters(_In):
    """What to search for, and where."""

    pattern: str = Field(description="Regular expression (ripgrep's syntax)", json_schema_extra=PLAIN)
    path: str = Field(default="", description="File or folder; empty: the working folder", json_schema_extra=PLAIN)
    file_pattern: str = Field(default="", description="Such as `*.rs` or `src/**/*.ts`")
    context_lines: int = Field(
        default=2, ge=0, le=20, description="Lines to show around each match", json_schema_extra=PLAIN
    )
    ignore_case: bool = Field(default=False, description="The same as (?i) in the pattern", json_schema_extra=RARE)
    text: Annotated[str | None, Mark.PIPED] = Field(
        default=None, description="Text to search in place of files: what is piped", json_schema_extra=FOR_PEOPLE
    )

    @model_validator(mode="before")
    @classmethod
    def _named_once(cls, data: object) -> object:
        return renamed("in", "path", data)


class _Search(msgspec.Struct, frozen=True):
    """One search, ready to run."""

    root: Path
    """Folder to run in."""
    target: str
    """What to search, relative to `root`."""
    pattern: str
    file_pattern: str
    context: int
    seconds: float
    ignore_case: bool = False
    text: bytes | None = None
    """What to search instead of files."""


T = TypeVar("T")
Otherwise = Callable[[Invocation, GrepParameters], Awaitable[T]]


def piped(config: ToolConfig, otherwise: Otherwise[Outcome]) -> Otherwise[Outcome]:
    """Searches the text that is piped, if one is; files otherwise."""

    async def search(invocation: Invocation, parameters: GrepParameters) -> Outcome:
        if parameters.text is None:
            return await otherwise(invocation, parameters)
        if parameters.path:
            raise CommandError(
                "grep: path and a pipe cannot both be searched.", hint="Leave one out; `cat paths=[…]` joins files."
            )
        return await search_texts(config, invocation, parameters, [("(piped)", parameters.text)])

    return search


def assessed(otherwise: Otherwise[Assessment]) -> Otherwise[Assessment]:
    """Judges a search; one of a text that is piped touches nothing."""

    async def judge(invocation: Invocation, parameters: GrepParameters) -> Assessment:
        if parameters.text is None:
            found = await otherwise(invocation, parameters)
        else:
            found = Assessment(Effect.READ, one_line(literal(parameters.pattern), limit=120))
        return replace(found, below=parameters.file_pattern or "**")

    return judge


async def assess(workspace: Workspace, invocation: Invocation, parameters: GrepParameters) -> Assessment:
    """Judge it as a read of a folder's content, or of one file."""
    place = await asyncio.to_thread(path_location.locate, invocation, parameters.path or ".")
    workspace.record_assessed(invocation, parameters.path or ".", place.real)
    shown = reading(place, "grep")
    subject = one_line(literal(parameters.pattern), limit=120)
    return Assessment(
        effect=shown.effect,
        subject=subject if place.shown == "." else f"{subject} in {place.shown}",
        inside=shown.inside,
        detail=shown.detail,
        key=f"{place.real}\0{parameters.pattern}\0{parameters.file_pattern}",
        pattern=shown.pattern,
        warnings=shown.warnings,
    )


async def run(workspace: Workspace, invocation: Invocation, parameters: GrepParameters) -> Outcome:
    config = workspace.config
    _check(parameters)
    place = await asyncio.to_thread(path_location.locate, invocation, parameters.path or ".")
    path_location.confirm_unchanged(workspace, invocation, place)
    if not place.real.exists():
        raise path_location.missing(place)
    folder = place.real.is_dir()
    search = _Search(
        root=place.real if folder else place.real.parent,
        target="./" if folder else f"./{place.real.name}",
        pattern=parameters.pattern,
        file_pattern=parameters.file_pattern,
        context=parameters.context_lines,
        seconds=config.search_timeout_s,
        ignore_case=parameters.ignore_case,
    )
    wanted = _wanted(parameters.file_pattern) if folder else None
    limit = invocation.limit(config.max_output_bytes)
    limit -= min(_NOTE, limit // 2)
    matches = Matches(search.root, Path(os.path.realpath(invocation.project)), limit, wanted)
    failure = await _collect(config, search, matches)
    if failure and not matches.count:
        raise CommandError(_readable(failure), hint="Escape literal characters, for example \\( or \\{.")
    nothing = f"No match for {one_line(literal(parameters.pattern))} in {place.where}."
    return Outcome(data=matches.data(), text=matches.text() or nothing)


def _wanted(file_pattern: str) -> re.Pattern[str] | None:
    if not file_pattern:
        return None
    try:
        return compile_glob(file_pattern, anywhere=True)
    except PatternError as error:
        raise CommandError(f"{error}.", hint="A file_pattern looks like *.py or src/**/*.ts.") from error


async def _collect(config: ToolConfig, search: _Search, matches: Matches) -> str:
    """Search until it ends, has enough or times out. Return ripgrep's complaints."""
    program = await asyncio.to_thread(shutil.which, config.ripgrep, path=config.environ.get("PATH"))
    if program is None:
        raise CommandError(
            "ripgrep (rg), which this tool needs, is not installed.",
            hint="Install the package `ripgrep`; until then use bash with grep -rn.",
        )
    arguments = _ripgrep(program, search)
    process = await processes.start_child(
        *arguments,
        stdin=asyncio.subprocess.DEVNULL if search.text is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=search.root,
        env=command_environment(config.environ),
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    complaints = asyncio.ensure_future(process.stderr.read(4096))
    fed = asyncio.ensure_future(_feed(process, search.text))
    try:
        async with time_limit(search.seconds), aclosing(_lines(process.stdout)) as lines:
            async for line in lines:
                if not matches.add_match(line):
                    return ""
            code = await process.wait()
        said = (await complaints).decode("utf-8", "replace")
    except TimeoutError:
        matches.cut = f"stopped after {search.seconds:g} s; narrow the path or the pattern"
        return ""
    finally:
        await cancel_and_wait(complaints)
        await cancel_and_wait(fed)
        await processes.kill_child(process)
    return plain(said) if code not in (0, 1) else ""


async def _feed(process: asyncio.subprocess.Process, text: bytes | None) -> None:
    if process.stdin is None or text is None:
        return
    with suppress(ConnectionError):  # it has found enough, or refuses the pattern
        process.stdin.write(text)
        await process.stdin.drain()
        process.stdin.close()


async def search_texts(
    config: ToolConfig, invocation: Invocation, parameters: GrepParameters, texts: Sequence[tuple[str, str]]
) -> Outcome:
    """Search texts that are in no file, each with its name, as files are searched. Raises `CommandError`."""
    _check(parameters)
    wanted = _wanted(parameters.file_pattern)
    texts = [(name, text) for name, text in texts if wanted is None or wanted.match(name.removeprefix("/"))]
    search = _Search(
        Path("/"),
        "-",
        parameters.pattern,
        "",
        parameters.context_lines,
        config.search_timeout_s,
        parameters.ignore_case,
        b"",
    )
    limit = invocation.limit(config.max_output_bytes)
    matches = Matches(Path("/"), Path("/"), limit - min(_NOTE, limit // 2))
    for name, text in texts:
        found = Matches(Path("/"), Path("/"), 0, name=name)
        failure = await _collect(config, replace(search, text=text.encode("utf-8", "replace")), found)
        if failure and not found.count:
            raise CommandError(_readable(failure), hint="Escape literal characters, for example \\( or \\{.")
        if not matches.add_found(found):
            break
    nothing = f"No match for {one_line(literal(parameters.pattern))}."
    return Outcome(data=matches.data(), text=matches.text() or nothing)


def _check(parameters: GrepParameters) -> None:
    if not parameters.pattern:
        raise CommandError("The pattern is empty.", hint="Give a regular expression.")
    if "\0" in parameters.pattern + parameters.file_pattern:
        raise CommandError("A pattern cannot contain a NUL.")


def _ripgrep(program: str, search: _Search) -> list[str]:
    arguments = [program, "--no-config", "--json", "--hidden", f"--context={search.context}", "--engine=auto"]
    if "\\n" in search.pattern or "\n" in search.pattern:
        arguments.append("--multiline")
    if search.ignore_case:
        arguments.append("--ignore-case")
    if name := _name_part(search.file_pattern):
        arguments += [f"--type-add=wanted:{name}", "--type=wanted"]
    if search.target == "./":
        arguments += [f"--glob={glob}" for glob in sensitive_paths.SEARCH_LEAVES_OUT]
    return [*arguments, f"--regexp={search.pattern}", "--", search.target]


def _name_part(file_pattern: str) -> str:
    """The part of the file pattern that concerns the name alone, if it can be separated; `Matches` checks the rest.

    It goes to ripgrep as a type: an including glob would bring back what .gitignore names.
    """
    folder, _, name = file_pattern.rpartition("/")
    return "" if name == "**" or ":" in name or set("{}[]\\") & set(folder) else name


async def _lines(stream: asyncio.StreamReader) -> AsyncGenerator[bytes]:
    """Yield lines without their newlines; an absurdly long one is skipped without holding it in memory."""
    rest = bytearray()
    skipping = False
    while piece := await stream.read(1 << 18):
        *whole, tail = piece.split(b"\n")
        for line in whole:
            if not skipping:
                yield bytes(rest + line)
            rest.clear()
            skipping = False
        rest += tail
        if len(rest) > _LONGEST_PIECE:
            rest.clear()
            skipping = True


def _readable(said: str) -> str:
    """Summarise ripgrep's complaint about a pattern in one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and set(line.strip()) != {"^"}]
    reason = next((line for line in lines if line.startswith("error:")), lines[-1] if lines else "the search failed")
    return f"The search was refused: {one_line(reason.removeprefix('error:').strip(), limit=300)}."
