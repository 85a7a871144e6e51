"""The `python` tool: run a block in the caller's own interpreter, which keeps its variables for the conversation.

Refuses a block that failed before and is unchanged, and a fourth failure in a row with nothing looked at in between.
Where there is a sandbox, an interpreter never runs outside it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from gshtui.commands.declaration import Assessment, CommandError, Drawing, Effect, Invocation, Outcome, SandboxUse
from gshtui.python.interpreter import BlockEnd, Interpreter
from gshtui.python.interpreters import InterpreterOwner, Interpreters, ended_text, lost_text
from gshtui.python.protocol import Done, Figure, ShownValue
from gshtui.system.files import private_files
from gshtui.system.ids import new_id
from gshtui.text import markdown_table
from gshtui.text.png_picture import PictureError, read_png
from gshtui.text.sanitise import literal, one_line, plain, visible
from gshtui.tools.shell.command_output import Capture, Spool, output_text, show_output

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandbox import ProjectSandbox
    from gshtui.guard.sandbox.sandbox_refusal import SandboxRefusal
    from gshtui.guard.sandbox.sandboxes import Sandboxes

_SMALL = 100
"""Pixels of a small copy at most, of its width and of its height."""
_LONGEST = 200_000
"""Characters of one block."""
_MOST_SECONDS = 3_600.0
_REFUSALS = frozenset(
    {
        "OSError",
        "PermissionError",
        "FileNotFoundError",
        "ConnectionError",
        "ConnectionRefusedError",
        "URLError",
        "gaierror",
    }
)
"""Errors that may come from the sandbox."""
PATTERN = "any Python in the sandbox"
"""What `always` allows: every block that cannot leave the sandbox."""


class PythonTool(msgspec.Struct, frozen=True):
    """Runs blocks for agents and for people.

    Args:
        sandboxes: gives the sandboxes of projects; `None`: there are none.
        figures: folder for the pictures that blocks draw.
        max_output_bytes: of a result, if the caller does not say; 0: no limit.
        max_full_bytes: of a block's output that are kept.
    """

    interpreters: Interpreters
    sandboxes: Sandboxes | None
    figures: Path
    max_output_bytes: int
    max_full_bytes: int

    async def sandbox(self, invocation: Invocation) -> ProjectSandbox | str:
        """The sandbox of the caller's project; or why there is none, as the end of a sentence."""
        if self.sandboxes is None:
            return "there is none here"
        return await self.sandboxes.sandbox(Path(os.path.realpath(invocation.project)), invocation.session)

    async def assess(self, invocation: Invocation, code: str) -> Assessment:
        """Show the whole block to the person who decides, and say where it would run."""
        sandbox = await self.sandbox(invocation)
        contained = not isinstance(sandbox, str)
        where = f"in the sandbox: {sandbox.reach}" if not isinstance(sandbox, str) else "outside any sandbox"
        first = next((line for line in code.splitlines() if line.strip()), "")
        lines = code.strip().count("\n") + 1
        more = f" (+{lines - 1} lines)" if lines > 1 else ""
        return Assessment(
            Effect.EXECUTE,
            f"{one_line(literal(first), 200)}{more}",
            inside=False,
            detail=f"{where}\n{visible(code)}",
            key=f"{contained}\0{code}",
            pattern=PATTERN if contained else "",
            warnings=() if contained else (f"It runs with all your rights: {sandbox}.",),
            why="Python code can do whatever you can (rule python)",
            sandbox=contained,
        )

    async def run(self, invocation: Invocation, code: str, seconds: float = 0.0, *, restart: bool = False) -> Outcome:
        """Run a block.

        Args:
            seconds: its time limit; 0: the settings'.
            restart: begin with a new interpreter.

        Raises `CommandError`: it was not run.
        """
        owner = owner_of(invocation)
        if len(code) > _LONGEST:
            raise CommandError(f"The block is longer than {_LONGEST:,} characters.", hint="Write it to a file first.")
        gone = await self.interpreters.restart(owner) if restart else None
        began = [] if not restart else ["[started anew]" if gone is None else f"[{lost_text('Started anew', gone)}]"]
        if not code.strip():
            if restart:
                return Outcome({"restarted": True, "variables": gone or []}, began[0])
            raise CommandError("There is no code.", hint="Give it as `code`.")
        rule = self.interpreters.rule(owner)
        if invocation.caller.is_agent and (objection := rule.objection(code)):
            raise CommandError(objection)
        sandbox = await self.sandbox(invocation)
        if isinstance(sandbox, str) and invocation.sandboxed:
            raise CommandError(f"The block was allowed in the sandbox only, and cannot run there: {sandbox}.")
        interpreter = await self.interpreters.get(owner, invocation.cwd, None if isinstance(sandbox, str) else sandbox)
        limit = min(seconds or self.interpreters.settings.timeout, _MOST_SECONDS)
        outcome, end = await self._captured(invocation, interpreter, code, limit, owner, began)
        if end.done is None or not end.done.ok:
            rule.note_failure(code, _error_name(end))
        else:
            rule.note_progress()
        return outcome

    async def _captured(
        self,
        invocation: Invocation,
        interpreter: Interpreter,
        code: str,
        limit: float,
        owner: InterpreterOwner,
        began: list[str],
    ) -> tuple[Outcome, BlockEnd]:
        async with interpreter.turn:
            news = [*began, *(f"[{text}]" for text in self.interpreters.take_news(owner))]
            name = f"<block {interpreter.blocks + 1}>"
            spool = Spool(self.max_full_bytes)
            try:
                capture = Capture(spool, invocation.output, interpreter.output)
                try:
                    end = await interpreter.run(code, name, limit, invocation.cancelled)
                    capture.drain()
                finally:
                    capture.close()
                figures = end.done.figures if end.done is not None else []
                unkept = await self.interpreters.keep(owner, interpreter, end.variables)
                kept, drawings = await asyncio.to_thread(self._keep_figures, figures)
                refused = await asyncio.to_thread(_refused, spool, end, interpreter)
                told = [f"[the sandbox: {each.sentence}]" for each in refused[:5]]
                about = _notes(end, interpreter, limit, capture.fault, kept)
                notes = "\n".join([*news, *about, *told, *(f"[{text}]" for text in unkept)])
                most = invocation.limit(self.max_output_bytes)
                outcome = await asyncio.to_thread(_outcome, spool, end, interpreter, notes, most, kept, refused)
                return replace(outcome, drawings=drawings), end
            finally:
                spool.close()

    def _keep_figures(self, figures: Sequence[Figure]) -> tuple[list[str], tuple[Drawing, ...]]:
        """Save the pictures; returns a line about each, and those that can be shown."""
        lines: list[str] = []
        drawings: list[Drawing] = []
        for number, figure in enumerate(figures, 1):
            title = one_line(literal(figure.title), 80) or str(number)
            try:
                drawing = _drawing(figure, title)
            except PictureError as error:
                lines.append(f"[figure {title}: the picture {error}]")
                continue
            drawings.append(drawing)
            path = self.figures / f"{new_id()}.png"
            try:
                private_files.make_folder(self.figures)
                private_files.write_whole(path, drawing.png)
            except OSError as error:
                lines.append(f"[figure {title}: it cannot be kept in {self.figures}: {error.strerror or error}]")
            else:
                lines.append(f"[figure {title}: {path}]")
        return lines, tuple(drawings)


def _drawing(figure: Figure, title: str) -> Drawing:
    """A figure as the interpreter reports it, checked. Raises `PictureError`."""
    if not figure.png and figure.error:
        raise PictureError(one_line(literal(figure.error), 200))
    try:
        picture = read_png(base64.b64decode(figure.png, validate=True))
        colours = base64.b64decode(figure.colours, validate=True)
    except binascii.Error:
        raise PictureError("is not a PNG") from None
    columns = figure.columns
    if not (0 < columns <= _SMALL and 0 < len(colours) <= 3 * columns * _SMALL and len(colours) % (3 * columns) == 0):
        columns, colours = 0, b""
    return Drawing(title, picture.width, picture.height, picture.data, columns, colours)


def owner_of(invocation: Invocation) -> InterpreterOwner:
    """Whose interpreter a call means: its agent's, and for a person that of the agent in front."""
    name = invocation.caller.name if invocation.caller.is_agent else invocation.agent
    return InterpreterOwner(invocation.session, name)


def _error_name(end: BlockEnd) -> str:
    if end.done is not None and end.state == "done":
        return (
            f"{one_line(end.done.kind, 60)} in line {end.done.line}" if end.done.line else one_line(end.done.kind, 60)
        )
    return {"timeout": "a time-out", "interrupted": "an interrupt"}.get(end.state, "the end of the interpreter")


def _refused(spool: Spool, end: BlockEnd, interpreter: Interpreter) -> list[SandboxRefusal]:
    """What the sandbox refused to a block, also where it went on. Blocks for a moment."""
    sandbox = interpreter.options.sandbox
    if sandbox is None:
        return []
    from gshtui.guard.sandbox.sandbox_refusal import refusals_in, unreadable_in

    folder = interpreter.options.folder
    printed = output_text(spool)[0] + (f"\n{_error_text(end.done)}" if end.done is not None and not end.done.ok else "")
    told = refusals_in(printed, network=True, is_read_only=partial(sandbox.is_read_only, folder=folder))
    return [*end.refused, *told, *unreadable_in(printed, sandbox.secrets(), sandbox.project)]


def _outcome(
    spool: Spool,
    end: BlockEnd,
    interpreter: Interpreter,
    notes: str,
    most: int,
    figures: Sequence[str],
    refused: Sequence[SandboxRefusal],
) -> Outcome:
    printed, gap, size = output_text(spool)
    done = end.done
    before, after = "", ""
    if done is not None:
        after = "\n".join(filter(None, (_value_text(done.value), *(plain(one.text) for one in done.figures))))
        if not done.ok and end.state == "done":
            before = f"Error: {_error_text(done)}\nOutput before error: "
            before += "\n" if printed else "(none)"
            after = plain(done.trace).rstrip("\n")
    joint = "\n" if after and (before or printed) and not (printed and printed.endswith("\n")) else ""
    full = f"{before}{printed}{joint}{after}"
    if gap is not None:
        gap = replace(gap, start=gap.start + len(before), end=gap.end + len(before))
    seen = show_output(full, most, notes, "(no output)", gap)
    failed = done is None or not done.ok or end.state != "done"
    return Outcome(
        data={
            "ok": not failed,
            "state": end.state,
            "error": _error_text(done) if done is not None and not done.ok else "",
            "line": done.line if done is not None else 0,
            "output": printed,
            "value": _value_text(done.value) if done is not None else "",
            "variables": list(interpreter.names) if end.alive else [],
            "figures": list(figures),
            "seconds": round(end.seconds, 3),
            "sandboxed": interpreter.options.sandbox is not None,
            "alive": end.alive,
            "refused": [{"kind": each.kind, "subject": each.subject, "allow": each.allow} for each in refused],
        },
        sandbox=None if interpreter.options.sandbox is None else SandboxUse(),
        text=seen.text,
        is_error=failed,
        full=full,
        notes=notes,
        gap=gap,
        cut=seen.cut,
        bytes=size + len(f"{before}{joint}{after}".encode(errors="replace")) if printed or full else 0,
        timed_out=end.state == "timeout",
    )


def _error_text(done: Done) -> str:
    said = one_line(literal(f"{done.kind}: {done.message}" if done.message else done.kind), 2_000)
    return f"{said} (line {done.line})" if done.line else said


def _value_text(value: ShownValue | None) -> str:
    if value is None:
        return ""
    if not value.columns:
        return plain(value.text)
    return table_text(value)


def table_text(value: ShownValue) -> str:
    """A table in columns, with what it leaves out."""
    head = [_cell(name) for name in value.columns]
    rows = [[_cell(cell) for cell in row] for row in value.rows]
    lines = markdown_table.padded(markdown_table.table(head, rows)).split("\n")
    width = max(map(len, lines), default=0)
    left = [f"{value.total - len(rows):,} more rows"] if value.total > len(rows) else []
    left += [f"{value.hidden:,} more columns"] if value.hidden > 0 else []
    more = [f"… {' and '.join(left)}"] if left else []
    return "\n".join([lines[0], "─" * min(width, 120), *lines[1:], *more])


def _cell(text: str) -> str:
    return one_line(literal(text), 80).replace("|", "¦") or " "


def _notes(end: BlockEnd, interpreter: Interpreter, limit: float, fault: str, figures: Sequence[str]) -> list[str]:
    notes = list(figures)
    if end.done is not None and end.done.figure_error:
        notes.append(f"[a figure could not be drawn: {one_line(literal(end.done.figure_error), 200)}]")
    kept = "its variables are kept" if end.alive else ended_text("it did not stop, so Python was ended", interpreter)
    match end.state:
        case "timeout":
            notes.append(f"[timed out after {limit:g} s and was interrupted; {kept}]")
        case "interrupted":
            notes.append(f"[interrupted after {end.seconds:.1f} s; {kept}]")
        case "ended":
            why = one_line(literal(end.why), 200) or "it has ended"
            notes.append(f"[{ended_text(f'Python has ended: {why}', interpreter)} The next block starts a new one.]")
        case "done":
            if not end.alive:
                notes.append(f"[{ended_text('Python has ended after the block', interpreter)}]")
    if interpreter.options.sandbox is not None and end.done is not None and end.done.kind in _REFUSALS:
        notes.append(f"[ran in the sandbox: {interpreter.options.sandbox.reach}]")
    if end.moved:
        notes.append(f"[not left in the project, since other programs would obey it: {', '.join(end.moved[:3])}]")
    if fault:
        notes.append(f"[part of the output is missing: {fault}]")
    return notes
